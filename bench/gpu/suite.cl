// Kernels that Deadheat and Oclgrind both run, for `make bench-gpu`. A line `// run KERNEL OPTIONS` says how to launch
// one. Compiled as it stands, every kernel is clean; with -DRACY the barrier (or atomic) that a beginner forgets is
// missing, and every kernel has a race between different warps of a work-group, or between work-groups.
//
// run reduce --grid 96 --block 256 --arg int:24576:iota --arg int:96
// run scan --grid 32 --block 256 --arg int:8192:iota --arg int:8192
// run transpose --grid 16,16 --block 16,16 --arg f32:65536:iota --arg f32:65536
// run matmul --grid 6,6 --block 16,16 --arg f32:9216:iota --arg f32:9216:iota --arg f32:9216 --arg 96
// run matmul_plain --grid 4,4 --block 16,16 --arg f32:4096:iota --arg f32:4096:iota --arg f32:4096 --arg 64
// run histogram --grid 32 --block 256 --arg int:65536:random=3,65536 --arg int:256 --arg 65536
// run stencil --grid 32 --block 256 --arg f32:8192:iota --arg f32:8192 --arg 8
// run bitonic --grid 24 --block 256 --arg int:6144:random=5,100000
// run nbody --grid 4 --block 256 --arg f32:1024:iota --arg f32:1024 --arg 1024
// run saxpy --grid 512 --block 256 --arg f32:131072:iota --arg f32:131072:iota
// run spmv --grid 16 --block 256 --arg int:65536:random=7,4096 --arg f32:65536:const=1 --arg f32:4096:iota --arg f32:4096 --arg 16
// run convolve --grid 32 --block 256 --arg f32:8192:iota --arg f32:8192
// run buffered --grid 16 --block 256 --arg int:65536:iota --arg int:4096 --arg 16
// run columns --grid 8 --block 256 --arg f32:131072:iota --arg f32:2048 --arg 64

#ifdef RACY
#define FORGOTTEN
#else
#define FORGOTTEN barrier(CLK_LOCAL_MEM_FENCE)
#endif

__kernel void reduce(__global int *in, __global int *out) {
  __local int s[256];
  int t = get_local_id(0);
  s[t] = in[get_global_id(0)];
  FORGOTTEN;
  for (int k = 128; k > 0; k >>= 1) {
    if (t < k) s[t] += s[t + k];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) out[get_group_id(0)] = s[0];
}

__kernel void scan(__global int *in, __global int *out) {
  __local int s[256];
  int t = get_local_id(0);
  s[t] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 1; k < 256; k *= 2) {
    int v = t >= k ? s[t - k] : 0;
    FORGOTTEN;
    s[t] += v;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[get_global_id(0)] = s[t];
}

__kernel void transpose(__global float *in, __global float *out) {
  __local float s[16][17];
  int x = get_local_id(0), y = get_local_id(1), n = get_global_size(0);
  s[y][x] = in[get_global_id(1) * n + get_global_id(0)];
  FORGOTTEN;
  out[(get_group_id(0) * 16 + y) * n + get_group_id(1) * 16 + x] = s[x][y];
}

__kernel void matmul(__global float *a, __global float *b, __global float *c, int n) {
  __local float p[16][16], q[16][16];
  int x = get_local_id(0), y = get_local_id(1), row = get_global_id(1), col = get_global_id(0);
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    p[y][x] = a[row * n + k + x];
    q[y][x] = b[(k + y) * n + col];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 16; j++) sum += p[y][j] * q[j][x];
    FORGOTTEN;
  }
  c[row * n + col] = sum;
}

__kernel void matmul_plain(__global float *a, __global float *b, __global float *c, int n) {
  int row = get_global_id(1), col = get_global_id(0);
  for (int k = 0; k < n; k++)
#ifdef RACY
    c[col] += a[row * n + k] * b[k * n + col];
#else
    c[row * n + col] += a[row * n + k] * b[k * n + col];
#endif
}

__kernel void histogram(__global int *in, __global int *out, int n) {
  __local int bins[256];
  int t = get_local_id(0);
  bins[t] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
#ifdef RACY
    bins[in[i] & 255] += 1;
#else
    atomic_add(&bins[in[i] & 255], 1);
#endif
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&out[t], bins[t]);
}

__kernel void stencil(__global float *in, __global float *out, int steps) {
  __local float s[258];
  int t = get_local_id(0) + 1;
  s[t] = in[get_global_id(0)];
  if (t == 1) s[0] = s[257] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < steps; k++) {
    float v = (s[t - 1] + s[t] + s[t + 1]) / 3;
    FORGOTTEN;
    s[t] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[get_global_id(0)] = s[t];
}

__kernel void bitonic(__global int *data) {
  __local int s[256];
  int t = get_local_id(0);
  s[t] = data[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int size = 2; size <= 256; size *= 2)
    for (int k = size / 2; k > 0; k /= 2) {
      int other = t ^ k;
      if (other > t) {
        int a = s[t], b = s[other];
        if ((a > b) == ((t & size) == 0)) {
          s[t] = b;
          s[other] = a;
        }
      }
      FORGOTTEN;
    }
  data[get_global_id(0)] = s[t];
}

__kernel void nbody(__global float *at, __global float *force, int n) {
  __local float tile[256];
  int t = get_local_id(0);
  float me = at[get_global_id(0)], f = 0;
  for (int k = 0; k < n; k += 256) {
    tile[t] = at[k + t];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 256; j++) {
      float d = tile[j] - me;
      f += d / (d * d + 1.0f);
    }
    FORGOTTEN;
  }
  force[get_global_id(0)] = f;
}

__kernel void saxpy(__global float *x, __global float *y) {
#ifdef RACY
  int i = get_global_id(0) & ~32;
#else
  int i = get_global_id(0);
#endif
  for (int k = 0; k < 4; k++) y[i] = 2 * x[i] + y[i];
}

__kernel void spmv(__global int *col, __global float *val, __global float *x, __global float *y, int row) {
  int r = get_global_id(0);
  float sum = 0;
  for (int k = 0; k < row; k++) sum += val[r * row + k] * x[col[r * row + k]];
#ifdef RACY
  x[r] = sum;
#else
  y[r] = sum;
#endif
}

__kernel void convolve(__global float *in, __global float *out) {
  __local float s[256 + 16];
  int t = get_local_id(0), n = get_global_size(0);
  int first = get_group_id(0) * 256 - 8;
  for (int k = t; k < 256 + 16; k += 256) s[k] = first + k >= 0 && first + k < n ? in[first + k] : 0;
  FORGOTTEN;
  float sum = 0;
  for (int k = 0; k <= 16; k++) sum += s[t + k] * (9 - abs(k - 8));
  out[get_global_id(0)] = sum;
}

__kernel void buffered(__global int *in, __global int *out, int tiles) {
  __local int s[2][256];
  int t = get_local_id(0), sum = 0;
  for (int k = 0; k < tiles; k++) {
    s[k & 1][t] = in[(get_group_id(0) * tiles + k) * 256 + t];
    FORGOTTEN;
    sum += s[k & 1][(t + 1) & 255] + s[k & 1][(t + 77) & 255];
  }
  out[get_global_id(0)] = sum;
}

__kernel void columns(__global float *in, __global float *out, int rows) {
  int c = get_global_id(0), n = get_global_size(0);
  float sum = 0;
  for (int r = 0; r < rows; r++) sum += in[r * n + c];
#ifdef RACY
  out[c / 2] = sum;
#else
  out[c] = sum;
#endif
}
