// The event is recorded before the kernel it should stand for.
// race @w @r
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void fill(int *a) { a[threadIdx.x] = 1; } // @w
__global__ void sum(const int *a, int *b) { atomicAdd(b, a[threadIdx.x]); } // @r
int main() {
  int *a, *b, h = 0;
  cudaStream_t s, t;
  cudaEvent_t e;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
  cudaMalloc(&a, 256);
  cudaMalloc(&b, 4);
  cudaMemset(b, 0, 4);
  cudaDeviceSynchronize();
#ifdef FIXED
  fill<<<1, 64, 0, s>>>(a);
  cudaEventRecord(e, s);
#else
  cudaEventRecord(e, s);
  fill<<<1, 64, 0, s>>>(a);
#endif
  cudaStreamWaitEvent(t, e, 0);
  sum<<<1, 64, 0, t>>>(a, b);
  cudaStreamSynchronize(t);
  cudaStreamSynchronize(s);
  cudaMemcpy(&h, b, 4, cudaMemcpyDeviceToHost);
  if (h != 64) return 3;
  printf("ok\n");
}
