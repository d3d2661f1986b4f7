// A kernel in the default stream, then one in a stream that does not wait for it.
// race @w @r
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void fill(int *a) { a[threadIdx.x] = 5; } // @w
__global__ void more(int *a) { a[threadIdx.x] += 1; } // @r
int main() {
  int *a, h[32];
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaMalloc(&a, sizeof h);
  fill<<<1, 32>>>(a);
#ifdef FIXED
  cudaStreamSynchronize(0);
#endif
  more<<<1, 32, 0, s>>>(a);
  cudaStreamSynchronize(s);
  cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 32; i++)
    if (h[i] != 6) return 3;
  printf("ok\n");
}
