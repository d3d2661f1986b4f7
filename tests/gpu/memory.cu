// Transposes, histograms, tiles, sorts, dynamic indices, atomics, byte arrays, bounds.
// check transpose --block 32,8 --arg int:1024:iota --arg int:1024 => clean
// check transpose_bad --block 32,8 --arg int:1024:iota --arg int:1024 => race @a1 @a2
// check transpose_nopad --block 16,16 --arg int:256:iota --arg int:256 => clean
// check transpose_inplace --block 16,16 --arg int:256:iota => race @b1 @b1
// check histogram --grid 2 --block 128 --arg int:256:random=7,16 --arg int:16 => clean
// check histogram_plain --grid 2 --block 128 --arg int:256:random=7,16 --arg int:16 => race @c1 @c1
// check histogram_noclear --grid 2 --block 128 --arg int:256:random=7,16 --arg int:16 => race @d1 @d2
// check histogram_noend --grid 2 --block 128 --arg int:256:random=7,16 --arg int:16 => race @e1 @e2
// check matmul --grid 2,2 --block 8,8 --arg f32:256:iota --arg f32:256:iota --arg f32:256 => clean
// check matmul_first --grid 2,2 --block 8,8 --arg f32:256:iota --arg f32:256:iota --arg f32:256 => race @f1 @f2
// check matmul_second --grid 2,2 --block 8,8 --arg f32:256:iota --arg f32:256:iota --arg f32:256 => race @g1 @g2
// check bitonic --block 128 --arg int:128:random=3,1000 => clean
// check bitonic_bad --block 128 --arg int:128:random=3,1000 => race @h1 @h1
// check oddeven --block 64 --arg int:128:random=3,1000 => clean
// check oddeven_bad --block 64 --arg int:128:random=3,1000 => race @i1 @i2; race @i2 @i2
// check scatter --block 64 --arg int:64:iota --arg int:64 => clean
// check scatter --block 64 --arg int:64:const=3 --arg int:64 => race @j1 @j1
// check gather --block 64 --arg int:64:const=3 --arg int:64 => clean
// check bytes --block 64 --arg u8:64 => clean
// check bytes_bad --block 64 --arg u8:64 => race @k1 @k1
// check max_atomic --grid 2 --block 64 --arg int:128:random --arg int:1 => clean
// check max_racy --grid 2 --block 64 --arg int:128:random --arg int:1 => race @l1 @l1
// check bounds --block 64 --arg int:60 => out-of-bounds @m1
// check bounds_ok --block 64 --arg int:60 --arg 60 => clean
// check uninit --block 64 --arg int:64 => uninitialized-shared @n1
// check two_arrays --block 64 --shared 512 --arg int:64:iota => clean
// check two_arrays_overlap --block 64 --shared 512 --arg int:64:iota => race @o1 @o2
// check neighbours --block 64 --arg int:64:iota => clean
// check grid_stride --grid 4 --block 64 --arg int:1000:iota --arg 1000 => clean
// check grid_stride_bad --grid 4 --block 64 --arg int:1000:iota --arg 1000 => race @p1 @p1
// check vector_load --block 64 --arg f32:256:iota --arg f32:256 => clean
// check vector_overlap --block 64 --arg f32:260:iota => race @q0 @q1
// check atomic_vs_plain --block 64 --arg int:64 => race @r1 @r2
// check local_arrays --block 64 --arg int:64:iota => clean
// check uniform_flag --block 64 --arg int:64:iota --arg int:1 => clean
// check winner --block 64 --arg int:64:iota --arg int:1 => race @s1 @s1

__global__ void transpose(int *in, int *out) {
  __shared__ int s[32][33];
  for (int j = 0; j < 32; j += 8) s[threadIdx.y + j][threadIdx.x] = in[(threadIdx.y + j) * 32 + threadIdx.x];
  __syncthreads();
  for (int j = 0; j < 32; j += 8) out[(threadIdx.y + j) * 32 + threadIdx.x] = s[threadIdx.x][threadIdx.y + j];
}
__global__ void transpose_bad(int *in, int *out) {
  __shared__ int s[32][33];
  for (int j = 0; j < 32; j += 8) s[threadIdx.y + j][threadIdx.x] = in[(threadIdx.y + j) * 32 + threadIdx.x]; // @a1
  for (int j = 0; j < 32; j += 8) out[(threadIdx.y + j) * 32 + threadIdx.x] = s[threadIdx.x][threadIdx.y + j]; // @a2
}
__global__ void transpose_nopad(int *in, int *out) {
  __shared__ int s[16 * 16];
  int x = threadIdx.x, y = threadIdx.y;
  s[y * 16 + x] = in[y * 16 + x];
  __syncthreads();
  out[y * 16 + x] = s[x * 16 + y];
}
__global__ void transpose_inplace(int *a) {
  int x = threadIdx.x, y = threadIdx.y;
  a[y * 16 + x] = a[x * 16 + y]; // @b1
}
__global__ void histogram(int *in, int *out) {
  __shared__ int h[16];
  int t = threadIdx.x;
  if (t < 16) h[t] = 0;
  __syncthreads();
  atomicAdd(&h[in[blockIdx.x * blockDim.x + t] & 15], 1);
  __syncthreads();
  if (t < 16) atomicAdd(&out[t], h[t]);
}
__global__ void histogram_plain(int *in, int *out) {
  __shared__ int h[16];
  int t = threadIdx.x;
  if (t < 16) h[t] = 0;
  __syncthreads();
  h[in[blockIdx.x * blockDim.x + t] & 15]++; // @c1
  __syncthreads();
  if (t < 16) atomicAdd(&out[t], h[t]);
}
__global__ void histogram_noclear(int *in, int *out) {
  __shared__ int h[16];
  int t = threadIdx.x;
  if (t < 16) h[t] = 0; // @d1
  atomicAdd(&h[in[blockIdx.x * blockDim.x + t] & 15], 1); // @d2
  __syncthreads();
  if (t < 16) atomicAdd(&out[t], h[t]);
}
__global__ void histogram_noend(int *in, int *out) {
  __shared__ int h[16];
  int t = threadIdx.x;
  if (t < 16) h[t] = 0;
  __syncthreads();
  atomicAdd(&h[in[blockIdx.x * blockDim.x + t] & 15], 1); // @e1
  if (t < 16) atomicAdd(&out[t], h[t]); // @e2
}
#define TILE 8
__global__ void matmul(float *a, float *b, float *c) {
  __shared__ float x[TILE][TILE], y[TILE][TILE];
  int i = threadIdx.y, j = threadIdx.x, row = blockIdx.y * TILE + i, col = blockIdx.x * TILE + j;
  float s = 0;
  for (int k = 0; k < 16; k += TILE) {
    x[i][j] = a[row * 16 + k + j];
    y[i][j] = b[(k + i) * 16 + col];
    __syncthreads();
    for (int m = 0; m < TILE; m++) s += x[i][m] * y[m][j];
    __syncthreads();
  }
  c[row * 16 + col] = s;
}
__global__ void matmul_first(float *a, float *b, float *c) {
  __shared__ float x[TILE][TILE], y[TILE][TILE];
  int i = threadIdx.y, j = threadIdx.x, row = blockIdx.y * TILE + i, col = blockIdx.x * TILE + j;
  float s = 0;
  for (int k = 0; k < 16; k += TILE) {
    x[i][j] = a[row * 16 + k + j];
    y[i][j] = b[(k + i) * 16 + col]; // @f1
    for (int m = 0; m < TILE; m++) s += x[i][m] * y[m][j]; // @f2
    __syncthreads();
  }
  c[row * 16 + col] = s;
}
__global__ void matmul_second(float *a, float *b, float *c) {
  __shared__ float x[TILE][TILE], y[TILE][TILE];
  int i = threadIdx.y, j = threadIdx.x, row = blockIdx.y * TILE + i, col = blockIdx.x * TILE + j;
  float s = 0;
  for (int k = 0; k < 16; k += TILE) {
    x[i][j] = a[row * 16 + k + j];
    y[i][j] = b[(k + i) * 16 + col]; // @g1
    __syncthreads();
    for (int m = 0; m < TILE; m++) s += x[i][m] * y[m][j]; // @g2
  }
  c[row * 16 + col] = s;
}
__device__ __forceinline__ void order(int *s, int i, int j, bool up) {
  if ((s[i] > s[j]) == up) {
    int v = s[i];
    s[i] = s[j];
    s[j] = v;
  }
}
__global__ void bitonic(int *a) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  for (int k = 2; k <= 128; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      int p = t ^ j;
      if (p > t) order(s, t, p, (t & k) == 0);
      __syncthreads();
    }
  a[t] = s[t];
}
__global__ void bitonic_bad(int *a) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  for (int k = 2; k <= 128; k *= 2) {
    for (int j = k / 2; j > 0; j /= 2) {
      int p = t ^ j;
      if (p > t) { int x = s[t], y = s[p]; if ((x > y) == ((t & k) == 0)) s[t] = y, s[p] = x; } // @h1
    }
    __syncthreads();
  }
  a[t] = s[t];
}
__global__ void oddeven(int *a) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  s[t + 64] = a[t + 64];
  for (int k = 0; k < 128; k++) {
    __syncthreads();
    int i = 2 * t + (k & 1);
    if (i + 1 < 128) order(s, i, i + 1, true);
  }
  __syncthreads();
  a[t] = s[t];
  a[t + 64] = s[t + 64];
}
__global__ void oddeven_bad(int *a) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  s[t + 64] = a[t + 64];
  __syncthreads();
  for (int k = 0; k < 128; k++) {
    int i = 2 * t + (k & 1), x = 0, y = 0;
    if (i + 1 < 128) { x = s[i]; y = s[i + 1]; } // @i1
    if (i + 1 < 128) { s[i] = min(x, y) + k; s[i + 1] = max(x, y) + k; } // @i2
  }
  __syncthreads();
  a[t] = s[t];
}
__global__ void scatter(int *idx, int *out) {
  out[idx[threadIdx.x]] = threadIdx.x; // @j1
}
__global__ void gather(int *idx, int *out) {
  out[threadIdx.x] = idx[idx[threadIdx.x]];
}
__global__ void bytes(unsigned char *a) {
  __shared__ unsigned char s[64];
  int t = threadIdx.x;
  s[t ^ 32] = t;
  __syncthreads();
  a[t] = s[t];
}
__global__ void bytes_bad(unsigned char *a) {
  a[(threadIdx.x * 33) % 63] = threadIdx.x; // @k1
}
__global__ void max_atomic(int *in, int *out) {
  atomicMax(out, in[blockIdx.x * blockDim.x + threadIdx.x]);
}
__global__ void max_racy(int *in, int *out) {
  int v = in[blockIdx.x * blockDim.x + threadIdx.x];
  if (v > *out) *out = v; // @l1
}
__global__ void bounds(int *a) {
  a[threadIdx.x] = 1; // @m1
}
__global__ void bounds_ok(int *a, int n) {
  if (threadIdx.x < n) a[threadIdx.x] = 1;
}
__global__ void uninit(int *a) {
  __shared__ int s[128];
  s[threadIdx.x] = 1;
  __syncthreads();
  a[threadIdx.x] = s[threadIdx.x + 64]; // @n1
}
__global__ void two_arrays(int *a) {
  extern __shared__ int s[];
  int *lo = s, *hi = s + 64, t = threadIdx.x;
  lo[t] = a[t];
  hi[63 - t] = a[t];
  __syncthreads();
  a[t] = lo[63 - t] + hi[t];
}
__global__ void two_arrays_overlap(int *a) {
  extern __shared__ int s[];
  int *lo = s, *hi = s + 32, t = threadIdx.x;
  lo[t] = a[t]; // @o1
  hi[t] = a[t] + 7; // @o2
  __syncthreads();
  a[t] = lo[t] + hi[t];
}
__global__ void neighbours(int *a) {
  __shared__ int s[65];
  int t = threadIdx.x;
  s[t + 1] = a[t];
  if (t == 0) s[0] = 0;
  __syncthreads();
  a[t] = s[t + 1] - s[t];
}
__global__ void grid_stride(int *a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) a[i] += 1;
}
__global__ void grid_stride_bad(int *a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x) a[i] += 1; // @p1
}
__global__ void vector_load(float *a, float *b) {
  float4 v = ((float4 *)a)[threadIdx.x];
  v.x += v.w;
  ((float4 *)b)[threadIdx.x] = v;
}
__global__ void vector_overlap(float *a) {
  float2 v = ((float2 *)a)[threadIdx.x]; // @q0
  a[threadIdx.x + 2] = v.x + v.y; // @q1
}
__global__ void atomic_vs_plain(int *a) {
  if (threadIdx.x < 32) atomicAdd(&a[threadIdx.x], 1); // @r1
  else a[threadIdx.x - 32] = 5; // @r2
}
__global__ void local_arrays(int *a) {
  int q[8], t = threadIdx.x;
  for (int k = 0; k < 8; k++) q[k] = a[t] + k;
  a[t] = q[a[t] & 7];
}
__global__ void uniform_flag(int *a, int *flag) {
  if (a[threadIdx.x] > 5) *flag = 1;
}
__global__ void winner(int *a, int *out) {
  if (a[threadIdx.x] > 5) *out = threadIdx.x; // @s1
}
