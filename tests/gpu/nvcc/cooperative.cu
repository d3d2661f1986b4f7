// Cooperative groups: a barrier of the whole grid, tiles, and a block. RACY leaves the first grid barrier out.
#include <cooperative_groups.h>
#include <stdio.h>
namespace cg = cooperative_groups;
__global__ void turn(int *a, int n) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  int i = grid.thread_rank();
  a[i] = i;
#ifndef RACY
  grid.sync();
#endif
  int v = a[n - 1 - i];
  grid.sync();
  for (int o = 16; o > 0; o /= 2) v += tile.shfl_down(v, o);
  block.sync();
  if (tile.thread_rank() == 0) a[i] = v;
}
int main() {
  int *a, n = 256, h[256];
  cudaMalloc(&a, n * 4);
  void *args[] = {&a, &n};
  if (cudaLaunchCooperativeKernel((void *)turn, dim3(4), dim3(64), args, 0, 0)) return 2;
  cudaMemcpy(h, a, n * 4, cudaMemcpyDeviceToHost);
  for (int k = 0; k < n; k += 32) {
    int sum = 0;
    for (int i = k; i < k + 32; i++) sum += n - 1 - i;
    if (h[k] != sum) return printf("%d: %d, not %d\n", k, h[k], sum), 3;
  }
  printf("ok\n");
}
