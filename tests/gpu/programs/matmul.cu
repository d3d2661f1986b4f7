// Tiled matrix multiplication against the CPU.
#include <cuda_runtime.h>
#include <stdio.h>
#define N 48
#define T 16
__global__ void mul(const float *a, const float *b, float *c) {
  __shared__ float x[T][T], y[T][T];
  int i = threadIdx.y, j = threadIdx.x, r = blockIdx.y * T + i, q = blockIdx.x * T + j;
  float s = 0;
  for (int k = 0; k < N; k += T) {
    x[i][j] = a[r * N + k + j];
    y[i][j] = b[(k + i) * N + q];
    __syncthreads();
    for (int m = 0; m < T; m++) s += x[i][m] * y[m][j];
    __syncthreads();
  }
  c[r * N + q] = s;
}
int main() {
  static float a[N * N], b[N * N], c[N * N];
  float *da, *db, *dc;
  for (int i = 0; i < N * N; i++) a[i] = i % 7, b[i] = i % 5;
  cudaMalloc(&da, sizeof a), cudaMalloc(&db, sizeof b), cudaMalloc(&dc, sizeof c);
  cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
  mul<<<dim3(N / T, N / T), dim3(T, T)>>>(da, db, dc);
  cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      float s = 0;
      for (int k = 0; k < N; k++) s += a[i * N + k] * b[k * N + j];
      if (s != c[i * N + j]) return printf("wrong at %d,%d\n", i, j), 1;
    }
  printf("ok\n");
  return 0;
}
