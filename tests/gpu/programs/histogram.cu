// Histogram in shared memory with a device function and printf.
#include <cuda_runtime.h>
#include <stdio.h>
__device__ int bin(unsigned char v) { return v >> 4; }
__global__ void count(const unsigned char *in, int n, int *out) {
  __shared__ int h[16];
  if (threadIdx.x < 16) h[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&h[bin(in[i])], 1);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], h[threadIdx.x]);
  if (blockIdx.x == 0 && threadIdx.x == 0) printf("block 0 counted %d\n", h[0]);
}
int main() {
  static unsigned char in[10000];
  int want[16] = {}, got[16], *o;
  unsigned char *d;
  for (int i = 0; i < 10000; i++) in[i] = i * 37, want[in[i] >> 4]++;
  cudaMalloc(&d, sizeof in), cudaMalloc(&o, sizeof got);
  cudaMemcpy(d, in, sizeof in, cudaMemcpyHostToDevice);
  cudaMemset(o, 0, sizeof got);
  count<<<8, 64>>>(d, 10000, o);
  cudaMemcpy(got, o, sizeof got, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 16; i++)
    if (got[i] != want[i]) return 1;
  printf("ok\n");
  return 0;
}
