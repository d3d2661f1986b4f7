// Two streams, asynchronous copies, pinned memory, an event between them.
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void scale(int *a, int n, int k) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) a[i] *= k;
}
int main() {
  const int n = 4096;
  int *h, *d[2];
  cudaStream_t s[2];
  cudaEvent_t e;
  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
  cudaMallocHost(&h, 2 * n * sizeof(int));
  for (int i = 0; i < 2 * n; i++) h[i] = i;
  for (int k = 0; k < 2; k++) {
    cudaStreamCreate(&s[k]);
    cudaMalloc(&d[k], n * sizeof(int));
    cudaMemcpyAsync(d[k], h + k * n, n * sizeof(int), cudaMemcpyHostToDevice, s[k]);
    scale<<<4, 64, 0, s[k]>>>(d[k], n, k + 2);
  }
  cudaEventRecord(e, s[0]);
  cudaStreamWaitEvent(s[1], e, 0);
  for (int k = 0; k < 2; k++) cudaMemcpyAsync(h + k * n, d[k], n * sizeof(int), cudaMemcpyDeviceToHost, s[k]);
  cudaStreamSynchronize(s[0]);
  cudaStreamSynchronize(s[1]);
  for (int i = 0; i < 2 * n; i++)
    if (h[i] != i * (i < n ? 2 : 3)) return printf("wrong at %d: %d\n", i, h[i]), 1;
  if (cudaStreamDestroy((cudaStream_t)12345) != cudaErrorInvalidResourceHandle) return 2;
  printf("ok\n");
  return 0;
}
