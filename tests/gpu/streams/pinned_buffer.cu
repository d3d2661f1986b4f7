// One pinned buffer is the target of a copy in one stream and the source of another's.
// race @o @i
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void fill(int *a) { a[threadIdx.x] = threadIdx.x; }
int main() {
  int *a, *b, *h, g[64];
  cudaStream_t s, t;
  cudaEvent_t e;
  cudaStreamCreate(&s);
  cudaStreamCreate(&t);
  cudaEventCreate(&e);
  cudaMalloc(&a, 256);
  cudaMalloc(&b, 256);
  cudaMallocHost(&h, 256);
  fill<<<1, 64, 0, s>>>(a);
  cudaMemcpyAsync(h, a, 256, cudaMemcpyDeviceToHost, s); // @o
  cudaEventRecord(e, s);
#ifdef FIXED
  cudaEventSynchronize(e);
#endif
  cudaMemcpyAsync(b, h, 256, cudaMemcpyHostToDevice, t); // @i
  cudaDeviceSynchronize();
  cudaMemcpy(g, b, 256, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; i++)
    if (g[i] != i) return 3;
  printf("ok\n");
}
