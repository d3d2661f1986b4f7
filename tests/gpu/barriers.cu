// Barriers under conditions. `static` marks what only the analysis can tell: whole warps go different ways, and on this
// machine nobody waits for ever.
// check div_lanes --block 64 --arg int:64 => barrier-divergence @a1
// check div_warp --block 64 --arg int:64 => static barrier-divergence @b1
// check div_warp --block 32 --arg int:64 => clean
// check div_always --block 64 --arg int:64 => clean
// check div_always --block 1024 --arg int:1024 => static barrier-divergence @c1
// check div_block --grid 4 --block 64 --arg int:256 => clean
// check div_argument --block 64 --arg int:64 --arg 3 => clean
// check div_row --block 32,2 --arg int:64 => static barrier-divergence @d1
// check div_row --block 16,4 --arg int:64 => barrier-divergence @d1
// check div_stride --block 64 --arg int:64:iota => barrier-divergence @e1
// check div_stride_ok --block 64 --arg int:64:iota => clean
// check div_roles --block 64 --arg int:64 => clean
// check div_return --block 96 --arg int:96 --arg 70 => clean
// check div_return_work --block 96 --arg int:96 --arg 70 => barrier-divergence @f1
// check div_flag --block 64 --arg int:64 => clean
// check div_nested --block 64 --arg int:64 --arg 1 => barrier-divergence @g1
// check div_nested --block 64 --arg int:64 --arg 0 => clean
// check div_mask --block 64 --arg int:64 => clean

__global__ void div_lanes(int *a) {
  int t = threadIdx.x;
  if (t & 1) {
    a[t] = 1;
    __syncthreads(); // @a1
  }
  a[t] = t;
}
__global__ void div_warp(int *a) {
  int t = threadIdx.x;
  if (t < 32) __syncthreads(); // @b1
  a[t] = t;
}
__global__ void div_always(int *a) {
  int t = threadIdx.x;
  if (t < 512) __syncthreads(); // @c1
  a[t] = t;
}
__global__ void div_block(int *a) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x & 1) __syncthreads();
  a[t] = t;
}
__global__ void div_argument(int *a, int n) {
  if (n > 2) __syncthreads();
  a[threadIdx.x] = n;
}
__global__ void div_row(int *a) {
  if (threadIdx.y == 0) __syncthreads(); // @d1
  a[threadIdx.y * blockDim.x + threadIdx.x] = 1;
}
__global__ void div_stride(int *a) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  for (int k = 32; k > 0; k >>= 1) {
    if (t < k) {
      s[t] += s[t + k];
      __syncthreads(); // @e1
    }
  }
  a[t] = s[t];
}
__global__ void div_stride_ok(int *a) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  for (int k = 32; k > 0; k >>= 1) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  a[t] = s[t];
}
__global__ void div_roles(int *a) {
  __shared__ int s;
  int t = threadIdx.x;
  if (t < 32) {
    if (t == 0) s = 5;
    __syncthreads();
  } else {
    __syncthreads();
    a[t] = s;
  }
}
__global__ void div_return(int *a, int n) {
  int t = threadIdx.x;
  if (t >= n) return;
  a[t] = 1;
  __syncthreads();
  a[t] += 1;
}
__global__ void div_return_work(int *a, int n) {
  int t = threadIdx.x;
  if (t < n) {
    a[t] = 1;
    __syncthreads(); // @f1
  }
  a[t] += 1;
}
__global__ void div_flag(int *a) {
  __shared__ int go;
  if (threadIdx.x == 0) go = a[0] == 0;
  __syncthreads();
  if (go) __syncthreads();
  a[threadIdx.x] = 1;
}
__global__ void div_nested(int *a, int n) {
  int t = threadIdx.x;
  if (n) {
    if (t % 3 == 0) __syncthreads(); // @g1
  }
  a[t] = t;
}
__global__ void div_mask(int *a) {
  int t = threadIdx.x;
  if ((t & 63) == t) __syncthreads();
  a[t] = t;
}

// How often a thread comes to a barrier in a loop. Threads that have nothing left to do are not waited for.
//
// check loop_by_lane --grid 1 --block 64 --arg int:64 => barrier-divergence @z1
// check loop_by_data --grid 1 --block 64 --arg int:64:iota => barrier-divergence @z2
// check loop_then_end --grid 1 --block 64 --arg int:64 => clean
// check loop_by_warp --grid 1 --block 64 --arg int:64 => clean
// check loop_alike --grid 1 --block 64 --arg int:64:const=3 => clean
__global__ void loop_by_lane(int *a) {
  for (int k = 0; k <= threadIdx.x % 4; k++) {
    a[threadIdx.x] += k;
    __syncthreads(); // @z1
  }
  a[threadIdx.x] += 100;
}
__global__ void loop_by_data(int *a) {
  for (int k = a[threadIdx.x] % 5; k >= 0; k--) {
    a[threadIdx.x] += 5 * k;
    __syncthreads(); // @z2
  }
  a[threadIdx.x] += 100;
}
__global__ void loop_then_end(int *a) {
  for (int k = 0; k <= threadIdx.x % 4; k++) {
    a[threadIdx.x] += k;
    __syncthreads();
  }
}
__global__ void loop_by_warp(int *a) {
  for (int k = 0; k <= threadIdx.x / 32; k++) {
    a[threadIdx.x] += k;
    __syncthreads();
  }
}
__global__ void loop_alike(int *a) {
  int n = a[threadIdx.x];
  for (int k = 0; k < n; k++) {
    a[threadIdx.x] += k;
    __syncthreads();
  }
  a[threadIdx.x] += 100;
}
