// The paper's tables, for instrumented kernels on real GPUs. `runtime.ptx` is this file compiled by
// `deadheat gpu ptx`; the instrumenter splices it into the user's module and sets the two table sizes.
//
// warpTable: one address per thread, in shared memory (dh_warp_table), or in device memory when the kernel has no
// shared memory left. Inter-warp: "addr" keeps one stamp of the last write and one of the readers per word of shared
// memory; "stmt" keeps one row per executed statement and compares rows at every barrier.
#define CELLS 12288u
#define BLOCKS 64u
#define ROWS 4096u
#define REPORTS 4096u

struct dh_report_t {
  unsigned int count;
  unsigned int lost;
  // kind (0 same instruction, 1 warps), first site, second site (or ~0), shared-memory address, thread, other warp
  unsigned int rows[REPORTS][6];
};
__device__ dh_report_t dh_report;
__device__ unsigned int dh_write[BLOCKS][CELLS], dh_read[BLOCKS][CELLS];
__device__ unsigned int dh_write_site[BLOCKS][CELLS], dh_read_site[BLOCKS][CELLS];
__device__ unsigned int dh_rows[BLOCKS], dh_row[BLOCKS][ROWS][2], dh_row_addr[BLOCKS][ROWS][32];
__device__ unsigned int dh_warp_global[BLOCKS][1024];
__device__ unsigned int dh_done[BLOCKS], dh_base[BLOCKS];
__shared__ unsigned int dh_warp_table[1024];

__device__ unsigned int dh_tid() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
__device__ unsigned int dh_block() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }
__device__ void dh_add(unsigned int kind, unsigned int a, unsigned int b, unsigned int addr, unsigned int t, unsigned int w) {
  unsigned int n = atomicAdd(&dh_report.count, 1u);
  if (n >= REPORTS) {
    atomicAdd(&dh_report.lost, 1u);
    return;
  }
  unsigned int *r = dh_report.rows[n];
  r[0] = kind, r[1] = a, r[2] = b, r[3] = addr, r[4] = t, r[5] = w;
}
// Algorithm 2. Each lane looks for a later lane with its address.
__device__ void dh_intra(unsigned int *table, unsigned int addr, unsigned int site, unsigned int tid) {
  unsigned int lanes = __activemask(), lane = tid & 31, base = tid & ~31u;
  table[tid] = addr;
  __syncwarp(lanes);
  for (unsigned int k = lane + 1; k < 32; k++)
    if ((lanes >> k & 1) && table[base + k] == addr) dh_add(0, site, site, addr, tid, base / 32);
  __syncwarp(lanes);
}
// kind: 0 read, 1 write, 2 atomic
extern "C" __device__ __noinline__ void dh_addr(unsigned int addr, unsigned int site, unsigned int kind, unsigned int epoch, unsigned int in_shared) {
  unsigned int tid = dh_tid(), b = dh_block(), cell = addr / 4;
  if (b >= BLOCKS || cell >= CELLS) return;
  if (kind == 1) dh_intra(in_shared ? dh_warp_table : dh_warp_global[b], addr, site, tid);
  // a stamp is epoch, atomic or not, and warp + 1; the warp 127 stands for several
  unsigned int warp = tid / 32 + 1, me = epoch << 8 | (kind == 2 ? 128 : 0) | warp;
  volatile unsigned int *w = dh_write[b], *r = dh_read[b];
  if (kind == 0) {
    unsigned int old = r[cell];
    if (old >> 8 != epoch) r[cell] = me, dh_read_site[b][cell] = site;
    else if ((old & 127) != warp) r[cell] = epoch << 8 | 127;
  }
  __threadfence_block();
  if (kind == 0) {
    unsigned int x = w[cell];
    if (x >> 8 == epoch && (x & 127) != 0 && (x & 127) != warp) dh_add(1, site, dh_write_site[b][cell], addr, tid, (x & 127) - 1);
    return;
  }
  unsigned int y = r[cell];
  if (y >> 8 == epoch && (y & 127) != 0 && (y & 127) != warp) dh_add(1, site, dh_read_site[b][cell], addr, tid, (y & 127) - 1);
}
// Called before the write's own mark: what was there before is the other write.
extern "C" __device__ __noinline__ void dh_addr_write(unsigned int addr, unsigned int site, unsigned int kind, unsigned int epoch, unsigned int in_shared) {
  unsigned int tid = dh_tid(), b = dh_block(), cell = addr / 4;
  if (b >= BLOCKS || cell >= CELLS) return;
  unsigned int warp = tid / 32 + 1, me = epoch << 8 | (kind == 2 ? 128 : 0) | warp;
  // a plain write stays visible behind an atomic of the same warp
  unsigned int old = *(volatile unsigned int *)&dh_write[b][cell];
  bool keep = kind == 2 && old >> 8 == epoch && (old & 127) == warp && !(old & 128);
  if (!keep) old = atomicExch(&dh_write[b][cell], me);
  bool both_atomic = kind == 2 && (old & 128);
  if (old >> 8 == epoch && (old & 127) != 0 && (old & 127) != warp && !both_atomic)
    dh_add(1, site, dh_write_site[b][cell], addr, tid, (old & 127) - 1);
  if (!keep) dh_write_site[b][cell] = site;
  dh_addr(addr, site, kind, epoch, in_shared);
}
extern "C" __device__ __noinline__ void dh_stmt(unsigned int addr, unsigned int site, unsigned int kind, unsigned int epoch, unsigned int in_shared) {
  unsigned int tid = dh_tid(), b = dh_block(), lanes = __activemask(), lane = tid & 31, row = 0;
  if (b >= BLOCKS) return;
  if (kind == 1) dh_intra(in_shared ? dh_warp_table : dh_warp_global[b], addr, site, tid);
  if (lane == __ffs(lanes) - 1) {
    row = atomicAdd(&dh_rows[b], 1u);
    if (row < ROWS) {
      dh_row[b][row][0] = site << 2 | kind;
      dh_row[b][row][1] = tid / 32;
      for (int k = 0; k < 32; k++) dh_row_addr[b][row][k] = ~0u;
    }
  }
  row = __shfl_sync(lanes, row, __ffs(lanes) - 1);
  __syncwarp(lanes);
  if (row < ROWS) dh_row_addr[b][row][lane] = addr;
  else if (row == ROWS) atomicAdd(&dh_report.lost, 1u);
}
// Algorithm 3, between two barriers: every warp takes rows in turn, every lane one address.
extern "C" __device__ __noinline__ void dh_compare() {
  unsigned int tid = dh_tid(), b = dh_block(), lane = tid & 31, threads = blockDim.x * blockDim.y * blockDim.z;
  if (b >= BLOCKS) return;
  unsigned int n = dh_rows[b] < ROWS ? dh_rows[b] : ROWS;
  for (unsigned int i = tid / 32; i < n; i += (threads + 31) / 32)
    for (unsigned int j = i + 1; j < n; j++) {
      unsigned int x = dh_row[b][i][0], y = dh_row[b][j][0];
      if (dh_row[b][i][1] == dh_row[b][j][1] || ((x | y) & 3) == 0 || (x & 3) == 2 && (y & 3) == 2) continue;
      unsigned int addr = dh_row_addr[b][i][lane];
      if (addr == ~0u) continue;
      for (int k = 0; k < 32; k++)
        if (dh_row_addr[b][j][k] == addr) dh_add(1, x >> 2, y >> 2, addr, dh_row[b][i][1] * 32 + lane, dh_row[b][j][1]);
    }
}
extern "C" __device__ __noinline__ void dh_clear() {
  if (dh_tid() == 0 && dh_block() < BLOCKS) dh_rows[dh_block()] = 0;
}
// The first epoch of this launch: behind all epochs of the launches before it.
extern "C" __device__ __noinline__ unsigned int dh_begin() {
  return dh_block() < BLOCKS ? dh_base[dh_block()] + 1 : 1;
}
// The last thread of a block to end compares what no barrier came to compare, and prepares the next launch.
extern "C" __device__ __noinline__ void dh_finish() {
  unsigned int b = dh_block(), threads = blockDim.x * blockDim.y * blockDim.z;
  if (b >= BLOCKS) return;
  __threadfence();
  if (atomicAdd(&dh_done[b], 1u) != threads - 1) return;
  __threadfence();
  unsigned int n = dh_rows[b] < ROWS ? dh_rows[b] : ROWS;
  for (unsigned int i = 0; i < n; i++)
    for (unsigned int j = i + 1; j < n; j++) {
      unsigned int x = dh_row[b][i][0], y = dh_row[b][j][0];
      if (dh_row[b][i][1] == dh_row[b][j][1] || ((x | y) & 3) == 0 || (x & 3) == 2 && (y & 3) == 2) continue;
      for (int l = 0; l < 32; l++)
        for (int k = 0; k < 32; k++)
          if (dh_row_addr[b][i][l] != ~0u && dh_row_addr[b][j][k] == dh_row_addr[b][i][l])
            dh_add(1, x >> 2, y >> 2, dh_row_addr[b][i][l], dh_row[b][i][1] * 32 + l, dh_row[b][j][1]);
    }
  dh_rows[b] = 0;
  dh_done[b] = 0;
  dh_base[b] = (dh_base[b] + 4096) & 0xffffff;
}
// keeps the functions above in the module
__global__ void dh_keep(unsigned int x) {
  dh_addr(x, x, x, x, x);
  dh_addr_write(x, x, x, x, x);
  dh_stmt(x, x, x, x, x);
  dh_compare();
  dh_clear();
  dh_finish();
  dh_rows[0] = dh_begin();
}
