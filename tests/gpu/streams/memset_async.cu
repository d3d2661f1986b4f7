// Clearing in one stream, counting in another.
// race @m @a
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void count(unsigned *n) { atomicAdd(n, 1u); } // @a
int main() {
  unsigned *n, h = 0;
  cudaStream_t s, t;
  cudaStreamCreate(&s);
  cudaStreamCreate(&t);
  cudaMalloc(&n, 4);
  cudaMemsetAsync(n, 0, 4, s); // @m
#ifdef FIXED
  count<<<2, 64, 0, s>>>(n);
#else
  count<<<2, 64, 0, t>>>(n);
#endif
  cudaDeviceSynchronize();
  cudaMemcpy(&h, n, 4, cudaMemcpyDeviceToHost);
  if (h != 128) return 3;
  printf("ok\n");
}
