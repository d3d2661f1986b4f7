// A kernel tells the host by a flag in managed memory that its data is there; the host must look at the flag first.
// race @k @r
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void make(int *data, volatile int *flag) {
  data[threadIdx.x] = threadIdx.x + 1; // @k
  __threadfence_system();
  __syncwarp();
  if (threadIdx.x == 0) *flag = 1;
}
int main() {
  int *data, *flag;
  cudaMallocManaged(&data, 32 * sizeof(int));
  cudaMallocManaged(&flag, sizeof(int));
  make<<<1, 32>>>(data, flag);
#ifdef FIXED
  while (*(volatile int *)flag == 0) {
  }
#endif
  int x = data[3]; // @r
  cudaDeviceSynchronize();
  printf(x == 4 && *flag == 1 ? "ok\n" : "wrong\n");
}
