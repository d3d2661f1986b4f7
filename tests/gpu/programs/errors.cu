// A kernel that writes out of bounds, seen by the program as an error code.
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void fill(int *a, int n) { a[threadIdx.x + n] = 1; }
int main() {
  int *a, count = 0;
  cudaGetDeviceCount(&count);
  if (count != 1 || cudaSetDevice(7) != cudaErrorInvalidDevice) return 3;
  cudaGetLastError();
  cudaMalloc(&a, 64 * sizeof(int));
  fill<<<1, 32>>>(a, 0);
  if (cudaDeviceSynchronize() != cudaSuccess) return 4;
  fill<<<1, 32>>>(a, 48);
  if (cudaDeviceSynchronize() != cudaErrorIllegalAddress) return 5;
  printf("ok\n");
  return 0;
}
