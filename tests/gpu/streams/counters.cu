// Atomics of two streams do not race with each other; a plain read does.
// race @a @p
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void count(unsigned *n) { atomicAdd(n, 1u); } // @a
__global__ void look(unsigned *n, unsigned *out) {
#ifdef FIXED
  *out = atomicAdd(n, 0u);
#else
  *out = *n; // @p
#endif
}
int main() {
  unsigned *n, *o, h = 0;
  cudaStream_t s, t;
  cudaStreamCreate(&s);
  cudaStreamCreate(&t);
  cudaMalloc(&n, 4);
  cudaMalloc(&o, 4);
  cudaMemset(n, 0, 4);
  count<<<2, 64, 0, s>>>(n);
  count<<<2, 64, 0, t>>>(n);
  look<<<1, 1, 0, t>>>(n, o);
  cudaDeviceSynchronize();
  cudaMemcpy(&h, n, 4, cudaMemcpyDeviceToHost);
  if (h != 256) return 3;
  printf("ok\n");
}
