// Reductions of all styles.
// check red_tree --grid 2 --block 256 --arg int:512:iota --arg int:2 => clean
// check red_tree_nobar --grid 2 --block 256 --arg int:512:iota --arg int:2 => race @a1 @a2; race @a2 @a2
// check red_tree_inner --grid 2 --block 256 --arg int:512:iota --arg int:2 => race @b1 @b1; race @b1 @b2
// check red_interleaved --grid 2 --block 256 --arg int:512:iota --arg int:2 => clean
// check red_interleaved_bad --grid 2 --block 256 --arg int:512:iota --arg int:2 => race @c1 @c1
// check red_last_warp_sync --block 64 --arg int:64:iota --arg int:1 --warps independent => clean
// check red_last_warp_old --block 64 --arg int:64:iota --arg int:1 --warps independent => race @d1 @d1; race @d1 @d2
// check red_last_warp_old --block 64 --arg int:64:iota --arg int:1 => clean
// check red_shuffle --grid 2 --block 128 --arg int:256:iota --arg int:2 => clean
// check red_shuffle_bad --grid 2 --block 128 --arg int:256:iota --arg int:2 => race @e1 @e2
// check red_atomic --grid 4 --block 128 --arg int:512:iota --arg int:1 => clean
// check red_plain --grid 4 --block 128 --arg int:512:iota --arg int:1 => race @f1 @f1
// check red_atomic_shared --grid 2 --block 128 --arg int:256:iota --arg int:2 => clean
// check red_atomic_shared_bad --grid 2 --block 128 --arg int:256:iota --arg int:2 => race @g1 @g2
// check red_two_values --block 128 --arg int:128:iota --arg int:2 => clean
// check red_two_values_bad --block 128 --arg int:128:iota --arg int:2 => race @h1 @h2
// check red_reuse --block 128 --arg int:128:iota --arg int:4 => clean
// check red_reuse_bad --block 128 --arg int:128:iota --arg int:4 => race @i1 @i2

__global__ void red_tree(int *in, int *out) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void red_tree_nobar(int *in, int *out) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * blockDim.x + t]; // @a1
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (t < k) s[t] += s[t + k]; // @a2
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void red_tree_inner(int *in, int *out) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (t < k) s[t] += s[t + k]; // @b1
  }
  if (t == 128) out[blockIdx.x] = s[0]; // @b2
}
__global__ void red_interleaved(int *in, int *out) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int k = 1; k < blockDim.x; k *= 2) {
    int i = 2 * k * t;
    if (i < blockDim.x) s[i] += s[i + k];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void red_interleaved_bad(int *in, int *out) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int k = 1; k < blockDim.x; k *= 2) {
    int i = k * t;
    if (i + k < blockDim.x) s[i] += s[i + k]; // @c1
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void red_last_warp_sync(int *in, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  if (t < 32) {
    for (int k = 32; k > 0; k >>= 1) {
      int v = s[t + k];
      __syncwarp();
      if (t < k) s[t] += v;
      __syncwarp();
    }
    if (t == 0) out[0] = s[0];
  }
}
__global__ void red_last_warp_old(int *in, int *out) {
  __shared__ int s[64];
  volatile int *v = s;
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  if (t < 16) {
    for (int k = 16; k > 0; k >>= 1) v[t] += v[t + k]; // @d1
  }
  if (t == 1) out[0] = s[0]; // @d2
}
__global__ void red_shuffle(int *in, int *out) {
  __shared__ int part[4];
  int t = threadIdx.x, v = in[blockIdx.x * blockDim.x + t];
  for (int k = 16; k > 0; k >>= 1) v += __shfl_down_sync(0xffffffff, v, k);
  if (t % 32 == 0) part[t / 32] = v;
  __syncthreads();
  if (t == 0) out[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}
__global__ void red_shuffle_bad(int *in, int *out) {
  __shared__ int part[4];
  int t = threadIdx.x, v = in[blockIdx.x * blockDim.x + t];
  for (int k = 16; k > 0; k >>= 1) v += __shfl_down_sync(0xffffffff, v, k);
  if (t % 32 == 0) part[t / 32] = v; // @e1
  if (t == 0) out[blockIdx.x] = part[0] + part[1] + part[2] + part[3]; // @e2
}
__global__ void red_atomic(int *in, int *out) {
  atomicAdd(out, in[blockIdx.x * blockDim.x + threadIdx.x]);
}
__global__ void red_plain(int *in, int *out) {
  *out += in[blockIdx.x * blockDim.x + threadIdx.x]; // @f1
}
__global__ void red_atomic_shared(int *in, int *out) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
__global__ void red_atomic_shared_bad(int *in, int *out) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, in[blockIdx.x * blockDim.x + threadIdx.x]); // @g1
  if (threadIdx.x == 0) out[blockIdx.x] = sum; // @g2
}
__global__ void red_two_values(int *in, int *out) {
  __shared__ int lo[128], hi[128];
  int t = threadIdx.x;
  lo[t] = hi[t] = in[t];
  __syncthreads();
  for (int k = 64; k > 0; k >>= 1) {
    if (t < k) {
      lo[t] = min(lo[t], lo[t + k]);
      hi[t] = max(hi[t], hi[t + k]);
    }
    __syncthreads();
  }
  if (t == 0) { out[0] = lo[0]; out[1] = hi[0]; }
}
__global__ void red_two_values_bad(int *in, int *out) {
  __shared__ int lo[128], hi[128];
  int t = threadIdx.x;
  lo[t] = in[t];
  __syncthreads();
  hi[t] = in[t]; // @h1
  for (int k = 64; k > 0; k >>= 1) {
    int v = t < k ? max(hi[t], hi[t + k]) : 0; // @h2
    __syncthreads();
    if (t < k) { lo[t] = min(lo[t], lo[t + k]); hi[t] = v; }
    __syncthreads();
  }
  if (t == 0) { out[0] = lo[0]; out[1] = hi[0]; }
}
__global__ void red_reuse(int *in, int *out) {
  __shared__ int s[128];
  int t = threadIdx.x;
  for (int r = 0; r < 4; r++) {
    s[t] = in[t] + r;
    __syncthreads();
    if (t < 4) out[t] = s[t * 32] + r;
    __syncthreads();
  }
}
__global__ void red_reuse_bad(int *in, int *out) {
  __shared__ int s[128];
  int t = threadIdx.x;
  for (int r = 0; r < 4; r++) {
    s[t] = in[t] + r; // @i1
    __syncthreads();
    if (t < 4) out[t] = s[t * 32] + r; // @i2
  }
}
