// A block belongs to the order of the stream that made it.
// race @m @w
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void fill(int *a) { a[threadIdx.x] = 1; } // @w
int main() {
  int *a;
  cudaStream_t s, t;
  cudaStreamCreate(&s);
  cudaStreamCreate(&t);
  cudaMallocAsync(&a, 256, s); // @m
#ifdef FIXED
  cudaStreamSynchronize(s);
#endif
  fill<<<1, 64, 0, t>>>(a);
  cudaDeviceSynchronize();
  cudaFreeAsync(a, t);
  cudaDeviceSynchronize();
  printf("ok\n");
}
