// A whole program with a bug: the reduction lacks its barrier.
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void sum(const int *in, int *out) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = in[t];
  if (t == 0) {
    int v = 0;
    for (int k = 0; k < 128; k++) v += s[k];
    *out = v;
  }
}
int main() {
  int h[128], *a, *b;
  for (int i = 0; i < 128; i++) h[i] = i;
  cudaMalloc(&a, sizeof h), cudaMalloc(&b, 4);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  sum<<<1, 128>>>(a, b);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
