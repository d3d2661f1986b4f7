// A kernel only reads: the host may read too, but not write.
// race @k @w
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void sum(const int *a, int *out) { atomicAdd(out, a[threadIdx.x]); } // @k
int main() {
  int *a, *out, h = 0;
  cudaMallocManaged(&a, 128 * sizeof(int));
  cudaMalloc(&out, sizeof(int));
  cudaMemset(out, 0, sizeof(int));
  for (int i = 0; i < 128; i++) a[i] = 1;
  sum<<<1, 64>>>(a, out);
  int x = a[5];
#ifdef FIXED
  cudaMemcpy(&h, out, sizeof h, cudaMemcpyDeviceToHost);
#endif
  a[6] = 2; // @w
  cudaMemcpy(&h, out, sizeof h, cudaMemcpyDeviceToHost);
  printf(x == 1 && h == 64 ? "ok\n" : "wrong\n");
}
