// Asynchronous copies to shared memory, and barriers that are objects in it.
//
// check copy_waited --grid 2 --block 64 --arg int:128:iota --arg int:128 => clean
// check copy_not_waited --grid 2 --block 64 --arg int:128:iota --arg int:128 => race @a1 @a2
// check copy_own_read --grid 1 --block 32 --arg int:32:iota --arg int:32 => race @b1 @b2
// check copy_no_barrier --grid 1 --block 64 --arg int:64:iota --arg int:64 => race @c1 @c2
// check copy_barrier_before_wait --grid 1 --block 64 --arg int:64:iota --arg int:64 => race @d1 @d2
// check copy_groups --grid 1 --block 64 --arg int:256:iota --arg int:256 => clean
// check copy_wrong_group --grid 1 --block 64 --arg int:128:iota --arg int:64 => race @e1 @e2
// check copy_over_read --grid 1 --block 64 --arg int:64:iota --arg int:64 => race @f1 @f2
// check copy_twice --grid 1 --block 32 --arg int:64:iota --arg int:32 => race @g1 @g2
// check copy_fill --grid 1 --block 32 --arg int:32:iota --arg int:32 => clean
// check copy_lockstep --grid 1 --block 64 --warps independent --arg int:64:iota --arg int:64 => clean
// check mbar_ok --grid 2 --block 64 --arg int:128:iota --arg int:128 => clean
// check mbar_parity --grid 1 --block 64 --arg int:64:iota --arg int:64 => clean
// check mbar_not_waited --grid 1 --block 64 --arg int:64:iota --arg int:64 => race @h1 @h2
// check mbar_init_unseen --grid 1 --block 64 --arg int:64:iota --arg int:64 => race @i1 @i2
// check mbar_producer --grid 1 --block 64 --arg int:32:iota --arg int:32 => clean
// check mbar_copy --grid 1 --block 64 --arg int:64:iota --arg int:64 => clean
// check mbar_never_made --grid 1 --block 32 --arg int:32 => bad-call @j1

typedef unsigned long long u64;
__device__ __forceinline__ unsigned int smem(const void *p) {
  unsigned int a;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(a) : "l"(p));
  return a;
}
#define COPY4(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(smem(to)), "l"(from) : "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group " #n ";" ::: "memory")
#define INIT(b, n) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(smem(b)), "r"(n) : "memory")
#define ARRIVE(s, b) asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(s) : "r"(smem(b)) : "memory")
#define TEST(ok, b, s)                                                                                                 \
  asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"                    \
               : "=r"(ok) : "r"(smem(b)), "l"(s) : "memory")
#define PARITY(ok, b, s)                                                                                               \
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"              \
               : "=r"(ok) : "r"(smem(b)), "r"(s) : "memory")

__global__ void copy_waited(int *in, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x, g = blockIdx.x * 64 + t;
  COPY4(&s[t], &in[g]);
  COMMIT();
  WAIT(0);
  __syncthreads();
  out[g] = s[63 - t];
}
__global__ void copy_not_waited(int *in, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x, g = blockIdx.x * 64 + t;
  COPY4(&s[t], &in[g]); // @a1
  COMMIT();
  __syncthreads();
  out[g] = s[63 - t]; // @a2
}
__global__ void copy_own_read(int *in, int *out) {
  __shared__ int s[32];
  int t = threadIdx.x;
  COPY4(&s[t], &in[t]); // @b1
  COMMIT();
  out[t] = s[t]; // @b2
}
__global__ void copy_no_barrier(int *in, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  COPY4(&s[t], &in[t]); // @c1
  COMMIT();
  WAIT(0);
  out[t] = s[63 - t]; // @c2
}
__global__ void copy_lockstep(int *in, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  COPY4(&s[t], &in[t]);
  COMMIT();
  WAIT(0);
  __syncthreads();
  out[t] = s[63 - t];
}
__global__ void copy_barrier_before_wait(int *in, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  COPY4(&s[t], &in[t]); // @d1
  COMMIT();
  __syncthreads();
  WAIT(0);
  out[t] = s[63 - t]; // @d2
}
// Two stages: the second is under way while the first is used.
__global__ void copy_groups(int *in, int *out) {
  __shared__ int s[2][64];
  int t = threadIdx.x;
  COPY4(&s[0][t], &in[t]);
  COMMIT();
  for (int k = 0; k < 4; k++) {
    if (k < 3) COPY4(&s[(k + 1) & 1][t], &in[(k + 1) * 64 + t]);
    COMMIT();
    WAIT(1);
    __syncthreads();
    out[k * 64 + t] = s[k & 1][63 - t];
    __syncthreads();
  }
}
__global__ void copy_wrong_group(int *in, int *out) {
  __shared__ int s[2][64];
  int t = threadIdx.x;
  COPY4(&s[0][t], &in[t]);
  COMMIT();
  COPY4(&s[1][t], &in[64 + t]); // @e1
  COMMIT();
  WAIT(1);
  __syncthreads();
  out[t] = s[0][63 - t] + s[1][63 - t]; // @e2
}
__global__ void copy_over_read(int *in, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = t;
  __syncthreads();
  out[t] = s[63 - t];   // @f1
  COPY4(&s[t], &in[t]); // @f2
  COMMIT();
  __syncthreads();
  WAIT(0);
  __syncthreads();
  out[t] += s[63 - t];
}
__global__ void copy_twice(int *in, int *out) {
  __shared__ int s[32];
  int t = threadIdx.x;
  COPY4(&s[t], &in[t]);      // @g1
  COPY4(&s[t], &in[32 + t]); // @g2
  COMMIT();
  WAIT(0);
  out[t] = s[t];
}
__global__ void copy_fill(int *in, int *out) {
  __shared__ int s[32];
  int t = threadIdx.x;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(smem(&s[t])), "l"(&in[t]), "r"(t < 16 ? 4 : 0) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  out[t] = s[t];
}
__global__ void mbar_ok(int *in, int *out) {
  __shared__ int s[64];
  __shared__ u64 b;
  int t = threadIdx.x, g = blockIdx.x * 64 + t, done = 0;
  if (t == 0) INIT(&b, 64);
  __syncthreads();
  s[t] = in[g];
  u64 state;
  ARRIVE(state, &b);
  while (!done) TEST(done, &b, state);
  out[g] = s[63 - t];
}
__global__ void mbar_parity(int *in, int *out) {
  __shared__ int s[64];
  __shared__ u64 b;
  int t = threadIdx.x;
  u64 state;
  if (t == 0) INIT(&b, 64);
  __syncthreads();
  for (int k = 0; k < 3; k++) {
    int done = 0;
    s[t] = in[t] + k;
    ARRIVE(state, &b);
    while (!done) PARITY(done, &b, (2 * k) & 1);
    out[t] = s[63 - t];
    done = 0;
    ARRIVE(state, &b);
    while (!done) PARITY(done, &b, (2 * k + 1) & 1);
  }
}
__global__ void mbar_not_waited(int *in, int *out) {
  __shared__ int s[64];
  __shared__ u64 b;
  int t = threadIdx.x;
  u64 state;
  if (t == 0) INIT(&b, 64);
  __syncthreads();
  s[t] = in[t]; // @h1
  ARRIVE(state, &b);
  out[t] = s[63 - t]; // @h2
}
__global__ void mbar_init_unseen(int *in, int *out) {
  __shared__ u64 b;
  int t = threadIdx.x, done = 0;
  u64 state = 0;
  if (t == 0) INIT(&b, 64); // @i1
  ARRIVE(state, &b); // @i2
  while (!done) TEST(done, &b, state);
  out[t] = in[t];
}
// One warp makes, another uses: a barrier for each direction.
__global__ void mbar_producer(int *in, int *out) {
  __shared__ int s[32];
  __shared__ u64 full;
  int t = threadIdx.x, done = 0;
  u64 state;
  if (t == 0) INIT(&full, 32);
  __syncthreads();
  if (t < 32) {
    s[t] = in[t];
    ARRIVE(state, &full);
  } else {
    while (!done) PARITY(done, &full, 0);
    out[t - 32] = s[63 - t];
  }
}
__global__ void mbar_copy(int *in, int *out) {
  __shared__ int s[64];
  __shared__ u64 b;
  int t = threadIdx.x, done = 0;
  if (t == 0) INIT(&b, 64);
  __syncthreads();
  COPY4(&s[t], &in[t]);
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(smem(&b)) : "memory");
  while (!done) PARITY(done, &b, 0);
  out[t] = s[63 - t];
}
__global__ void mbar_never_made(int *out) {
  __shared__ u64 b;
  u64 state;
  ARRIVE(state, &b); // @j1
  out[threadIdx.x] = (int)state;
}
