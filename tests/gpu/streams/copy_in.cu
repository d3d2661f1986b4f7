// A copy from pinned memory in one stream, the kernel that uses it in another.
// race @c @r
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void add(int *a, int *b) { b[threadIdx.x] = a[threadIdx.x] + 1; } // @r
int main() {
  int *a, *b, *h;
  cudaStream_t s, t;
  cudaStreamCreate(&s);
  cudaStreamCreate(&t);
  cudaMalloc(&a, 512);
  cudaMalloc(&b, 512);
  cudaMallocHost(&h, 512);
  for (int i = 0; i < 128; i++) h[i] = i;
  cudaMemcpyAsync(a, h, 512, cudaMemcpyHostToDevice, s); // @c
#ifdef FIXED
  cudaStreamSynchronize(s);
#endif
  add<<<1, 128, 0, t>>>(a, b);
  cudaStreamSynchronize(t);
  cudaStreamSynchronize(s);
  cudaMemcpy(h, b, 512, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 128; i++)
    if (h[i] != i + 1) return 3;
  printf("ok\n");
}
