// Bitonic sort across launches, with templates.
#include <cuda_runtime.h>
#include <stdio.h>
template <class T> __global__ void step(T *a, int j, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, p = i ^ j;
  if (p > i && (a[i] > a[p]) == ((i & k) == 0)) {
    T v = a[i];
    a[i] = a[p];
    a[p] = v;
  }
}
int main() {
  const int n = 512;
  static float h[n];
  float *d;
  for (int i = 0; i < n; i++) h[i] = (i * 7919) % 1009;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  for (int k = 2; k <= n; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) step<<<n / 64, 64>>>(d, j, k);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  for (int i = 1; i < n; i++)
    if (h[i - 1] > h[i]) return printf("wrong at %d\n", i), 1;
  printf("ok\n");
  return 0;
}
