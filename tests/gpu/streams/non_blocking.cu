// A stream that does not wait for the default stream, nor it for the stream.
// race @w @c
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void fill(int *a) { a[threadIdx.x] = 5; } // @w
int main() {
  int *a, h[32];
  cudaStream_t s;
#ifdef FIXED
  cudaStreamCreate(&s); // waits and is waited for
#else
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
#endif
  cudaMalloc(&a, sizeof h);
  fill<<<1, 32, 0, s>>>(a);
  cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost); // @c
  for (int i = 0; i < 32; i++)
    if (h[i] != 5) return 3;
  printf("ok\n");
}
