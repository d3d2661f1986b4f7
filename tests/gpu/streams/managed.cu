// The host uses managed memory while a kernel that writes it may still be running.
// race @k @r
// race @k @w
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void twice(int *a) { a[threadIdx.x] *= 2; } // @k
int main() {
  int *a, *b;
  cudaMallocManaged(&a, 4096);
  cudaMallocManaged(&b, 4096);
  for (int i = 0; i < 64; i++) a[i] = i, b[i] = i;
  twice<<<1, 32>>>(a);
#ifdef FIXED
  cudaDeviceSynchronize();
#endif
  b[3] = 5;   // another block
  a[40] = 5;  // another part of the same page
  int x = a[7]; // @r
  a[8] = 16;  // @w
  cudaDeviceSynchronize();
  a[9] = 18;
  printf(x == 14 && a[9] == 18 && a[10] == 20 && b[3] == 5 ? "ok\n" : "wrong\n");
}
