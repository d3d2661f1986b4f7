// Heat on a plate: many launches with two buffers, against the CPU.
#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>
#define N 40
__global__ void heat(const float *a, float *b) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && x < N - 1 && y > 0 && y < N - 1)
    b[y * N + x] = 0.25f * (a[y * N + x - 1] + a[y * N + x + 1] + a[(y - 1) * N + x] + a[(y + 1) * N + x]);
}
int main() {
  static float h[N * N], g[N * N], r[N * N];
  float *a, *b;
  for (int i = 0; i < N; i++) h[i] = g[i] = 100;
  cudaMalloc(&a, sizeof h), cudaMalloc(&b, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpy(b, h, sizeof h, cudaMemcpyHostToDevice);
  for (int k = 0; k < 10; k++) {
    heat<<<dim3(5, 5), dim3(8, 8)>>>(a, b);
    float *t = a;
    a = b;
    b = t;
    for (int y = 1; y < N - 1; y++)
      for (int x = 1; x < N - 1; x++)
        g[y * N + x] = 0.25f * (h[y * N + x - 1] + h[y * N + x + 1] + h[(y - 1) * N + x] + h[(y + 1) * N + x]);
    memcpy(h, g, sizeof h);
  }
  cudaMemcpy(r, a, sizeof r, cudaMemcpyDeviceToHost);
  for (int i = 0; i < N * N; i++)
    if (r[i] != h[i]) return printf("wrong at %d: %f %f\n", i, r[i], h[i]), 1;
  printf("ok\n");
  return 0;
}
