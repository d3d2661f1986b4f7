// A variable or constant is set for the next step while a kernel of another stream still reads it.
// race @r @c
// once-more -DKIND=__constant__
#include <cuda_runtime.h>
#include <stdio.h>
#ifndef KIND
#define KIND __device__
#endif
KIND int factor[32];
__global__ void scale(int *a) { a[threadIdx.x] *= factor[threadIdx.x]; } // @r
int main() {
  int *a, h[32], *f;
  cudaStream_t s, t;
  cudaStreamCreate(&s);
  cudaStreamCreate(&t);
  cudaMalloc(&a, sizeof h);
  cudaMallocHost(&f, sizeof h);
  for (int i = 0; i < 32; i++) h[i] = 1, f[i] = 3;
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(factor, f, sizeof h);
  scale<<<1, 32, 0, s>>>(a);
#ifdef FIXED
  cudaMemcpyToSymbolAsync(factor, f, sizeof h, 0, cudaMemcpyHostToDevice, s);
#else
  cudaMemcpyToSymbolAsync(factor, f, sizeof h, 0, cudaMemcpyHostToDevice, t); // @c
#endif
  cudaDeviceSynchronize();
  cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 32; i++)
    if (h[i] != 3) return 3;
  printf("ok\n");
}
