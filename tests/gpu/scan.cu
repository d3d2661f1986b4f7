// Scans, stencils with halos, double buffering.
// check scan_naive --block 128 --arg int:128:iota --arg int:128 => clean
// check scan_naive_first --block 128 --arg int:128:iota --arg int:128 => race @a1 @a2
// check scan_naive_bad --block 128 --arg int:128:iota --arg int:128 => race @b1 @b2
// check scan_double --block 128 --arg int:128:iota --arg int:128 => clean
// check scan_double_bad --block 128 --arg int:128:iota --arg int:128 => race @c1 @c2
// check scan_blelloch --block 64 --arg int:128:iota --arg int:128 => clean
// check scan_blelloch_bad --block 64 --arg int:128:iota --arg int:128 => race @d1 @d2; race @d3 @d2
// check stencil_halo --grid 2 --block 64 --arg int:128:iota --arg int:128 => clean
// check stencil_halo_bad --grid 2 --block 64 --arg int:128:iota --arg int:128 => race @e1 @e2
// check stencil_inplace --grid 2 --block 64 --arg int:130:iota => race @f1 @f1
// check stencil_outofplace --grid 2 --block 64 --arg int:130:iota --arg int:130 => clean
// check pingpong --block 64 --arg int:64:iota => clean
// check pingpong_bad --block 64 --arg int:64:iota => race @g1 @g1
// check shift_right --block 64 --arg int:64:iota => clean
// check shift_right_bad --block 64 --arg int:64:iota => race @h1 @h1
// check rotate --block 96 --arg int:96:iota => clean
// check rotate_bad --block 96 --arg int:96:iota => race @i1 @i2
// check warp_scan --block 32 --arg int:32:iota --warps independent => clean
// check warp_scan_bad --block 32 --arg int:32:iota --warps independent => race @j1 @j2
// check warp_scan_bad --block 32 --arg int:32:iota => clean

__global__ void scan_naive(int *in, int *out) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  for (int k = 1; k < blockDim.x; k *= 2) {
    int v = t >= k ? s[t - k] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  out[t] = s[t];
}
__global__ void scan_naive_first(int *in, int *out) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = in[t]; // @a1
  for (int k = 1; k < blockDim.x; k *= 2) {
    int v = t >= k ? s[t - k] : 0; // @a2
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  out[t] = s[t];
}
__global__ void scan_naive_bad(int *in, int *out) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  for (int k = 1; k < blockDim.x; k *= 2) {
    int v = t >= k ? s[t - k] : 0; // @b1
    s[t] += v; // @b2
    __syncthreads();
  }
  out[t] = s[t];
}
__global__ void scan_double(int *in, int *out) {
  __shared__ int s[2][128];
  int t = threadIdx.x, cur = 0;
  s[0][t] = in[t];
  __syncthreads();
  for (int k = 1; k < blockDim.x; k *= 2) {
    s[1 - cur][t] = s[cur][t] + (t >= k ? s[cur][t - k] : 0);
    cur = 1 - cur;
    __syncthreads();
  }
  out[t] = s[cur][t];
}
__global__ void scan_double_bad(int *in, int *out) {
  __shared__ int s[2][128];
  int t = threadIdx.x, cur = 0;
  s[0][t] = in[t]; // @c1
  for (int k = 1; k < blockDim.x; k *= 2) {
    s[1 - cur][t] = s[cur][t] + (t >= k ? s[cur][t - k] : 0); // @c2
    cur = 1 - cur;
    __syncthreads();
  }
  out[t] = s[cur][t];
}
__global__ void scan_blelloch(int *in, int *out) {
  __shared__ int s[128];
  int t = threadIdx.x, off = 1;
  s[2 * t] = in[2 * t];
  s[2 * t + 1] = in[2 * t + 1];
  for (int d = 64; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) s[off * (2 * t + 2) - 1] += s[off * (2 * t + 1) - 1];
    off *= 2;
  }
  if (t == 0) s[127] = 0;
  for (int d = 1; d < 128; d *= 2) {
    off >>= 1;
    __syncthreads();
    if (t < d) {
      int a = off * (2 * t + 1) - 1, b = off * (2 * t + 2) - 1, v = s[a];
      s[a] = s[b];
      s[b] += v;
    }
  }
  __syncthreads();
  out[2 * t] = s[2 * t];
  out[2 * t + 1] = s[2 * t + 1];
}
__global__ void scan_blelloch_bad(int *in, int *out) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = in[t]; // @d1
  s[t + 64] = in[t + 64]; // @d3
  out[t] = s[2 * t + 1]; // @d2
  __syncthreads();
}
__global__ void stencil_halo(int *in, int *out) {
  __shared__ int s[66];
  int t = threadIdx.x, g = blockIdx.x * 64 + t;
  s[t + 1] = in[g];
  if (t == 0) s[0] = g > 0 ? in[g - 1] : 0;
  if (t == 63) s[65] = g < 127 ? in[g + 1] : 0;
  __syncthreads();
  out[g] = s[t] + s[t + 1] + s[t + 2];
}
__global__ void stencil_halo_bad(int *in, int *out) {
  __shared__ int s[66];
  int t = threadIdx.x, g = blockIdx.x * 64 + t;
  s[0] = 0;
  s[65] = 0;
  __syncthreads();
  s[t + 1] = in[g]; // @e1
  out[g] = s[t] + s[t + 1] + s[t + 2]; // @e2
}
__global__ void stencil_inplace(int *a) {
  int g = blockIdx.x * 64 + threadIdx.x;
  a[g + 1] = a[g] + a[g + 1] + a[g + 2]; // @f1
}
__global__ void stencil_outofplace(int *a, int *b) {
  int g = blockIdx.x * 64 + threadIdx.x;
  b[g + 1] = a[g] + a[g + 1] + a[g + 2];
}
__global__ void pingpong(int *a) {
  __shared__ int s[2][64];
  int t = threadIdx.x;
  s[0][t] = a[t];
  __syncthreads();
  for (int k = 0; k < 4; k++) {
    s[(k + 1) & 1][t] = s[k & 1][(t + 1) % 64];
    __syncthreads();
  }
  a[t] = s[0][t];
}
__global__ void pingpong_bad(int *a) {
  __shared__ int s[2][64];
  int t = threadIdx.x;
  s[0][t] = a[t];
  s[1][t] = 0;
  __syncthreads();
  for (int k = 0; k < 4; k++)
    s[(k + 1) & 1][t] = s[k & 1][(t + 1) % 64]; // @g1
  __syncthreads();
  a[t] = s[0][t];
}
__global__ void shift_right(int *a) {
  int t = threadIdx.x, v = t > 0 ? a[t - 1] : 0;
  __syncthreads();
  a[t] = v;
}
__global__ void shift_right_bad(int *a) {
  int t = threadIdx.x;
  if (t > 0) a[t] = a[t - 1]; // @h1
}
__global__ void rotate(int *a) {
  extern __shared__ int dummy[];
  __shared__ int s[96];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  a[t] = s[(t + 32) % 96];
}
__global__ void rotate_bad(int *a) {
  __shared__ int s[96];
  int t = threadIdx.x;
  s[t] = a[t]; // @i1
  a[t] = s[(t + 32) % 96]; // @i2
}
__global__ void warp_scan(int *a) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncwarp();
  for (int k = 1; k < 32; k *= 2) {
    int v = t >= k ? s[t - k] : 0;
    __syncwarp();
    s[t] += v;
    __syncwarp();
  }
  a[t] = s[t];
}
__global__ void warp_scan_bad(int *a) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncwarp();
  for (int k = 1; k < 32; k *= 2) {
    int v = t >= k ? s[t - k] : 0; // @j1
    s[t] += v; // @j2
  }
  a[t] = s[t];
}
