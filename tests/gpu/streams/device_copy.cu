// cudaMemcpy between device memory does not make the host wait.
// race @c @r
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void add(const int *a, int *b) { b[threadIdx.x] = a[threadIdx.x] + 1; } // @r
int main() {
  int *a, *b, h[64];
  cudaStream_t s;
#ifdef FIXED
  cudaStreamCreate(&s);
#else
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
#endif
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  cudaMemset(b, 0, sizeof h);
  cudaDeviceSynchronize();
  cudaMemcpy(a, b, sizeof h, cudaMemcpyDeviceToDevice); // @c
  add<<<1, 64, 0, s>>>(a, b); // reads a, writes b: both are the copy's
  cudaDeviceSynchronize();
  cudaMemcpy(h, b, sizeof h, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; i++)
    if (h[i] != 1) return 3;
  printf("ok\n");
}
