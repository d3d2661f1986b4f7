// Barriers in divergent code, fences and flags between blocks, locks, warp-synchronous code, named barriers.
// check diverge_if --block 64 --arg int:64 => barrier-divergence @a1
// check diverge_ok --block 64 --arg int:64 => clean
// check diverge_uniform --block 64 --arg int:64 --arg 1 => clean
// check diverge_early_exit --block 96 --arg int:96 --arg 70 => clean
// check diverge_loop --block 64 --arg int:64 => barrier-divergence @b1
// check last_block --grid 8 --block 64 --arg int:512:iota --arg int:8 --arg int:2 => clean
// check last_block_nofence --grid 8 --block 64 --arg int:512:iota --arg int:8 --arg int:2 => race @c1 @c2
// check flag_fence --grid 2 --block 32 --arg int:64 --arg int:1 => clean
// check flag_nofence --grid 2 --block 32 --arg int:64 --arg int:1 => race @d1 @d2
// check grid_barrier --grid 4 --block 32 --arg int:128 --arg int:1 => clean
// check grid_barrier_missing --grid 4 --block 32 --arg int:128 --arg int:1 => race @e1 @e2
// check spin_lock --grid 4 --block 32 --arg int:1 --arg int:1 => clean
// check spin_lock_nofence --grid 4 --block 32 --arg int:1 --arg int:1 => race @f1 @f1
// check lane_lock --block 32 --arg int:1 --arg int:1 --warps independent => clean
// check lane_lock_nofence --block 32 --arg int:1 --arg int:1 --warps independent => race @q1 @q1
// check lock_in_block --block 128 --arg int:4 => clean
// check scope_block --grid 2 --block 32 --arg int:1 => race @g1 @g1
// check scope_device --grid 2 --block 32 --arg int:1 => clean
// check blocks_share --grid 4 --block 32 --arg int:32 => race @h1 @h1
// check blocks_own --grid 4 --block 32 --arg int:128 => clean
// check warp_exchange --block 32 --arg int:32:iota --warps independent => clean
// check warp_exchange_bad --block 32 --arg int:32:iota --warps independent => race @i1 @i2
// check warp_exchange_bad --block 32 --arg int:32:iota => clean
// check warp_partial --block 32 --arg int:32:iota --warps independent => clean
// check warp_partial_bad --block 32 --arg int:32:iota --warps independent => race @j1 @j2
// check named_ok --block 128 --arg int:64:iota => clean
// check named_bad --block 128 --arg int:64:iota => race @k1 @k2
// check producer --block 64 --arg int:32:iota => clean
// check vote_count --block 64 --arg int:64:iota => clean
// check barrier_reduce --block 64 --arg int:64:iota => clean
// check same_slot --block 64 --arg int:64:iota => race @l1 @l1
// check recursion --block 32 --arg int:32 => clean
// check device_heap --block 32 --arg int:32 => clean
// check assertion --block 32 --arg int:32:iota => device-assert @m1
// check null_pointer --block 32 --arg 0 => out-of-bounds @n1
// check misaligned --block 32 --arg int:64 => misaligned @o1
// check warp64 --block 64 --arg int:64:iota --warp-size 64 => clean
// check warp64 --block 64 --arg int:64:iota => race @p1 @p2

__global__ void diverge_if(int *a) {
  int t = threadIdx.x;
  if (t < 40) __syncthreads(); // @a1
  a[t] = t;
}
__global__ void diverge_ok(int *a) {
  int t = threadIdx.x;
  if (t < 40) a[t] = t;
  __syncthreads();
}
__global__ void diverge_uniform(int *a, int n) {
  if (n > 0) __syncthreads();
  a[threadIdx.x] = n;
}
__global__ void diverge_early_exit(int *a, int n) {
  if (threadIdx.x >= n) return;
  a[threadIdx.x] = 1;
  __syncthreads();
}
__global__ void diverge_loop(int *a) {
  int t = threadIdx.x;
  for (int k = 0; k < (t & 1) + 1; k++) __syncthreads(); // @b1
  a[t] = t;
}
__device__ unsigned int ticket;
__global__ void last_block(int *in, int *part, int *out) {
  __shared__ bool last;
  int sum = 0;
  if (threadIdx.x == 0) {
    for (int k = 0; k < 64; k++) sum += in[blockIdx.x * 64 + k];
    part[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(&ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    for (int k = 0; k < 8; k++) sum += part[k];
    out[0] = sum;
  }
}
__global__ void last_block_nofence(int *in, int *part, int *out) {
  __shared__ bool last;
  int sum = 0;
  if (threadIdx.x == 0) {
    for (int k = 0; k < 64; k++) sum += in[blockIdx.x * 64 + k];
    part[blockIdx.x] = sum; // @c1
    last = atomicAdd(&ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    for (int k = 0; k < 8; k++) sum += part[k]; // @c2
    out[0] = sum;
  }
}
__global__ void flag_fence(int *data, int *flag) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicExch(flag, 1);
    }
  } else {
    if (threadIdx.x == 0)
      while (atomicAdd(flag, 0) == 0) {}
    __syncthreads();
    data[32 + threadIdx.x] = data[threadIdx.x];
  }
}
__global__ void flag_nofence(int *data, int *flag) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x; // @d1
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(flag, 1);
  } else {
    if (threadIdx.x == 0)
      while (atomicAdd(flag, 0) == 0) {}
    __syncthreads();
    data[32 + threadIdx.x] = data[threadIdx.x]; // @d2
  }
}
__global__ void grid_barrier(int *data, int *count) {
  int i = blockIdx.x * 32 + threadIdx.x;
  data[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(count, 1);
    while (atomicAdd(count, 0) < gridDim.x) {}
    __threadfence();
  }
  __syncthreads();
  int v = data[(i + 32) % 128];
  if (v < 0) data[i] = v;
}
__global__ void grid_barrier_missing(int *data, int *count) {
  int i = blockIdx.x * 32 + threadIdx.x;
  data[i] = i; // @e1
  __syncthreads();
  int v = data[(i + 32) % 128]; // @e2
  if (v == -1) atomicAdd(count, 1);
}
__global__ void spin_lock(int *lock, int *sum) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *sum += 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}
__global__ void spin_lock_nofence(int *lock, int *sum) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    *sum += 1; // @f1
    atomicExch(lock, 0);
  }
}
__global__ void lane_lock(int *lock, int *sum) {
  if (threadIdx.x < 3) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *sum += 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}
__global__ void lane_lock_nofence(int *lock, int *sum) {
  if (threadIdx.x < 3) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    *sum += 1; // @q1
    atomicExch(lock, 0);
  }
}
__global__ void lock_in_block(int *out) {
  __shared__ int lock, sum;
  if (threadIdx.x == 0) lock = sum = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS(&lock, 0, 1) != 0) {}
    __threadfence_block();
    sum += 1;
    __threadfence_block();
    atomicExch(&lock, 0);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[0] = sum;
}
__global__ void scope_block(int *a) {
  atomicAdd_block(a, 1); // @g1
}
__global__ void scope_device(int *a) {
  atomicAdd(a, 1);
}
__global__ void blocks_share(int *a) {
  a[threadIdx.x] = blockIdx.x; // @h1
}
__global__ void blocks_own(int *a) {
  a[blockIdx.x * 32 + threadIdx.x] = blockIdx.x;
}
__global__ void warp_exchange(int *a) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncwarp();
  a[t] = s[31 - t];
}
__global__ void warp_exchange_bad(int *a) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = a[t]; // @i1
  a[t] = s[31 - t]; // @i2
}
__global__ void warp_partial(int *a) {
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t < 16) {
    s[t] = a[t];
    __syncwarp(0xffff);
    a[t] = s[15 - t];
  }
}
__global__ void warp_partial_bad(int *a) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = a[t]; // @j1
  if (t < 16) {
    __syncwarp(0xffff);
    a[t] = s[31 - t]; // @j2
  }
}
__device__ __forceinline__ void named(int id, int n) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__global__ void named_ok(int *a) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < 64) {
    s[t] = a[t];
    named(1, 64);
    a[t] = s[63 - t];
  }
}
__global__ void named_bad(int *a) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < 64) s[t] = a[t]; // @k1
  if (t >= 64) named(1, 64);
  if (t < 64) a[t] = s[63 - t]; // @k2
}
__global__ void producer(int *a) {
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t < 32) {
    s[t] = a[t];
    asm volatile("bar.arrive 2, 64;" ::: "memory");
  } else {
    named(2, 64);
    a[t - 32] = s[63 - t];
  }
}
__global__ void vote_count(int *a) {
  unsigned int m = __ballot_sync(0xffffffff, a[threadIdx.x] & 1);
  a[threadIdx.x] = __popc(m);
}
__global__ void barrier_reduce(int *a) {
  int n = __syncthreads_count(a[threadIdx.x] > 10);
  a[threadIdx.x] = n;
}
__global__ void same_slot(int *a) {
  __shared__ int s[8];
  s[threadIdx.x & 7] = a[threadIdx.x]; // @l1
  __syncthreads();
  a[threadIdx.x] = s[threadIdx.x & 7];
}
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__global__ void recursion(int *a) { a[threadIdx.x] = fib(threadIdx.x % 8); }
__global__ void device_heap(int *a) {
  int *p = (int *)malloc(64);
  for (int k = 0; k < 16; k++) p[k] = threadIdx.x + k;
  a[threadIdx.x] = p[15];
  free(p);
}
#include <assert.h>
__global__ void assertion(int *a) {
  assert(a[threadIdx.x] < 20); // @m1
}
__global__ void null_pointer(int *a) {
  a[threadIdx.x] = 1; // @n1
}
__global__ void misaligned(char *a) {
  if (threadIdx.x == 0) *(int *)(a + 1) = 1; // @o1
}
__global__ void warp64(int *a) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = a[t]; // @p1
  a[t] = s[63 - t]; // @p2
}
