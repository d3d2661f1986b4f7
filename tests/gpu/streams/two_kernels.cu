// Two kernels in two streams use one buffer; an event orders them when FIXED.
// race @w @r
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void fill(int *a) { a[threadIdx.x] = threadIdx.x; } // @w
__global__ void twice(const int *a, int *b) { b[threadIdx.x] = 2 * a[threadIdx.x]; } // @r
int main() {
  int *a, *b, h[64];
  cudaStream_t s, t;
  cudaEvent_t e;
  cudaStreamCreate(&s);
  cudaStreamCreate(&t);
  cudaEventCreate(&e);
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  fill<<<1, 64, 0, s>>>(a);
#ifdef FIXED
  cudaEventRecord(e, s);
  cudaStreamWaitEvent(t, e, 0);
#endif
  twice<<<1, 64, 0, t>>>(a, b);
  cudaDeviceSynchronize();
  cudaMemcpy(h, b, sizeof h, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; i++)
    if (h[i] != 2 * i) return 3;
  printf("ok\n");
}
