// cudaMemset returns before the memory is set: a stream that does not wait for the default stream may be faster.
// race @m @a
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void count(unsigned *n) { atomicAdd(n, 1u); } // @a
int main() {
  unsigned *n, h = 0;
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaMalloc(&n, 4);
  cudaMemset(n, 0, 4); // @m
#ifdef FIXED
  cudaDeviceSynchronize();
#endif
  count<<<2, 64, 0, s>>>(n);
  cudaDeviceSynchronize();
  cudaMemcpy(&h, n, 4, cudaMemcpyDeviceToHost);
  if (h != 128) return 3;
  printf("ok\n");
}
