// Vector addition with events and error codes, checked against the CPU.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
__global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
int main() {
  const int n = 5000;
  float *a, *b, *c, *h = (float *)malloc(n * 4);
  cudaEvent_t from, to;
  cudaEventCreate(&from);
  cudaEventCreate(&to);
  if (cudaMalloc(&a, n * 4) || cudaMalloc(&b, n * 4) || cudaMalloc(&c, n * 4)) return 3;
  for (int i = 0; i < n; i++) h[i] = i;
  cudaMemcpy(a, h, n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(b, h, n * 4, cudaMemcpyHostToDevice);
  cudaEventRecord(from, 0);
  add<<<(n + 127) / 128, 128>>>(a, b, c, n);
  cudaEventRecord(to, 0);
  cudaEventSynchronize(to);
  float ms = -1;
  if (cudaEventElapsedTime(&ms, from, to) || ms < 0) return 4;
  cudaMemcpy(h, c, n * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++)
    if (h[i] != 2.0f * i) return printf("wrong at %d\n", i), 5;
  // what real programs check: bad launches and bad frees give error codes
  add<<<1, 4096>>>(a, b, c, n);
  if (cudaGetLastError() != cudaErrorInvalidConfiguration) return 6;
  if (cudaFree((void *)h) != cudaErrorInvalidValue) return 7;
  if (cudaGetLastError() != cudaErrorInvalidValue || cudaGetLastError() != cudaSuccess) return 8;
  cudaFree(a), cudaFree(b), cudaFree(c);
  printf("ok\n");
  return 0;
}
