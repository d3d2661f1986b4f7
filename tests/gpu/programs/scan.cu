// Scan over blocks in two kernels, with dynamic shared memory.
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void scan(const int *in, int *out, int *sums) {
  extern __shared__ int s[];
  int t = threadIdx.x, n = blockDim.x, i = blockIdx.x * n + t;
  s[t] = in[i];
  __syncthreads();
  for (int k = 1; k < n; k *= 2) {
    int v = t >= k ? s[t - k] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  out[i] = s[t];
  if (t == n - 1) sums[blockIdx.x] = s[t];
}
__global__ void shift(int *out, const int *sums) {
  int v = 0;
  for (int k = 0; k < blockIdx.x; k++) v += sums[k];
  out[blockIdx.x * blockDim.x + threadIdx.x] += v;
}
int main() {
  const int n = 1024;
  static int h[n], r[n];
  int *a, *b, *s;
  for (int i = 0; i < n; i++) h[i] = i % 11;
  cudaMalloc(&a, sizeof h), cudaMalloc(&b, sizeof h), cudaMalloc(&s, 64);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  scan<<<8, 128, 128 * sizeof(int)>>>(a, b, s);
  shift<<<8, 128>>>(b, s);
  cudaMemcpy(r, b, sizeof r, cudaMemcpyDeviceToHost);
  for (int i = 0, v = 0; i < n; i++)
    if (r[i] != (v += h[i])) return printf("wrong at %d\n", i), 1;
  printf("ok\n");
  return 0;
}
