// One default stream per thread: what a thread started is not done because the thread has ended.
// options -fgpu-default-stream=per-thread
// race @w @r
// race @w @c
#include <cuda_runtime.h>
#include <stdio.h>
#include <thread>
__global__ void fill(int *a) { a[threadIdx.x] = 4; } // @w
__global__ void more(int *a) { a[threadIdx.x] += 1; } // @r
int main() {
  int *a, h[32];
  cudaMalloc(&a, sizeof h);
  std::thread([=] {
    fill<<<1, 32>>>(a);
#ifdef FIXED
    cudaStreamSynchronize(0);
#endif
  }).join();
  more<<<1, 32>>>(a);
  cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost); // @c
  for (int i = 0; i < 32; i++)
    if (h[i] != 5) return 3;
  printf("ok\n");
}
