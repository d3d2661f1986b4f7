// A block is freed in one stream while a kernel in another uses it.
// race @w @f
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void fill(int *a) { a[threadIdx.x] = 1; } // @w
int main() {
  int *a;
  cudaStream_t s, t;
  cudaEvent_t e;
  cudaStreamCreate(&s);
  cudaStreamCreate(&t);
  cudaEventCreate(&e);
  cudaMallocAsync(&a, 256, s);
  cudaEventRecord(e, s);
  cudaStreamWaitEvent(t, e);
  fill<<<1, 64, 0, t>>>(a);
#ifdef FIXED
  cudaEventRecord(e, t);
  cudaStreamWaitEvent(s, e);
#endif
  cudaFreeAsync(a, s); // @f
  cudaDeviceSynchronize();
  printf("ok\n");
}
