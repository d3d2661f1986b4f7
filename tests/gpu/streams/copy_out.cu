// The result is copied out in another stream than the one that computes it.
// race @w @c
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void fill(int *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = 7; } // @w
int main() {
  int *a, *h;
  cudaStream_t s, t;
  cudaStreamCreate(&s);
  cudaStreamCreate(&t);
  cudaMalloc(&a, 1024);
  cudaHostAlloc(&h, 1024, cudaHostAllocDefault);
  fill<<<4, 64, 0, s>>>(a);
#ifdef FIXED
  t = s;
#endif
  cudaMemcpyAsync(h, a, 1024, cudaMemcpyDeviceToHost, t); // @c
  cudaDeviceSynchronize();
  for (int i = 0; i < 256; i++)
    if (h[i] != 7) return 3;
  printf("ok\n");
}
