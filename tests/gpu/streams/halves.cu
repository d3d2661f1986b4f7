// Two streams on halves of one buffer; without FIXED the halves overlap by one element.
// race @w @w
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void fill(int *a, int n) {
  if (threadIdx.x < n) a[threadIdx.x] = 9; // @w
}
int main() {
  int *a, h[64];
  cudaStream_t s, t;
  cudaStreamCreate(&s);
  cudaStreamCreate(&t);
  cudaMalloc(&a, sizeof h);
#ifdef FIXED
  fill<<<1, 64, 0, s>>>(a, 32);
#else
  fill<<<1, 64, 0, s>>>(a, 33);
#endif
  fill<<<1, 64, 0, t>>>(a + 32, 32);
  cudaDeviceSynchronize();
  cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; i++)
    if (h[i] != 9) return 3;
  printf("ok\n");
}
