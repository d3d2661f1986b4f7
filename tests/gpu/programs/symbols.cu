// Constant and device symbols, managed memory, 2-D copies.
#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>
__constant__ int weights[4];
__device__ int total;
__global__ void weigh(const int *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&total, a[i] * weights[i & 3]);
}
int main() {
  int w[4] = {1, 10, 100, 1000}, *a, zero = 0, got = 0, want = 0;
  cudaMemcpyToSymbol(weights, w, sizeof w);
  cudaMemcpyToSymbol(total, &zero, sizeof zero);
  cudaMallocManaged(&a, 100 * sizeof(int));
  for (int i = 0; i < 100; i++) a[i] = i, want += i * w[i & 3];
  weigh<<<1, 128>>>(a, 100);
  cudaDeviceSynchronize();
  cudaMemcpyFromSymbol(&got, total, sizeof got);
  if (got != want) return printf("%d instead of %d\n", got, want), 1;
  int host[4][4], back[4][4], *d;
  for (int i = 0; i < 16; i++) host[i / 4][i % 4] = i;
  cudaMalloc(&d, 4 * 64);
  cudaMemcpy2D(d, 64, host, 16, 16, 4, cudaMemcpyHostToDevice);
  cudaMemcpy2D(back, 16, d, 64, 16, 4, cudaMemcpyDeviceToHost);
  if (memcmp(host, back, sizeof host)) return 2;
  printf("ok\n");
  return 0;
}
