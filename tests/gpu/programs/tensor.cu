// Matrices that a warp multiplies together: wmma, and mma with ldmatrix, in half, bfloat, tf32 and bytes. The results are
// compared with plain loops.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <cstdint>

#define CHECK(x) do { cudaError_t err = (x); if (err != cudaSuccess) { printf("%s: %s\n", #x, cudaGetErrorString(err)); return 1; } } while (0)
typedef unsigned int u32;

__device__ __forceinline__ u32 smem(const void *p) {
  u32 a;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(a) : "l"(p));
  return a;
}

// d = a * b + c, 16 by 16 by 16, a by rows, b by columns.
__global__ void wmma_half(const uint16_t *a, const uint16_t *b, const float *c, float *d) {
  u32 x[8], y[8];
  float z[8];
  asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]), "=r"(x[4]), "=r"(x[5]), "=r"(x[6]), "=r"(x[7])
               : "l"(a), "r"(16) : "memory");
  asm volatile("wmma.load.b.sync.aligned.col.m16n16k16.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;"
               : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3]), "=r"(y[4]), "=r"(y[5]), "=r"(y[6]), "=r"(y[7])
               : "l"(b), "r"(16) : "memory");
  asm volatile("wmma.load.c.sync.aligned.row.m16n16k16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;"
               : "=f"(z[0]), "=f"(z[1]), "=f"(z[2]), "=f"(z[3]), "=f"(z[4]), "=f"(z[5]), "=f"(z[6]), "=f"(z[7])
               : "l"(c), "r"(16) : "memory");
  asm volatile("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, "
               "{%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17,%18,%19,%20,%21,%22,%23}, {%0,%1,%2,%3,%4,%5,%6,%7};"
               : "+f"(z[0]), "+f"(z[1]), "+f"(z[2]), "+f"(z[3]), "+f"(z[4]), "+f"(z[5]), "+f"(z[6]), "+f"(z[7])
               : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]), "r"(x[6]), "r"(x[7]),
                 "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]), "r"(y[4]), "r"(y[5]), "r"(y[6]), "r"(y[7]));
  asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.f32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8}, %9;"
               ::"l"(d), "f"(z[0]), "f"(z[1]), "f"(z[2]), "f"(z[3]), "f"(z[4]), "f"(z[5]), "f"(z[6]), "f"(z[7]), "r"(16) : "memory");
}
// The same as two halves of 16 by 8, with the places that PTX documents: a and b come through shared memory.
__global__ void mma_half(const uint16_t *a, const uint16_t *b, const float *c, float *d) {
  __shared__ __attribute__((aligned(16))) uint16_t sa[256], sb[256];
  int t = threadIdx.x;
  for (int k = t; k < 256; k += 32) sa[k] = a[k], sb[k] = b[k];
  __syncthreads();
  for (int half = 0; half < 2; half++) {
    u32 x[4], y[2];
    // Rows of a: the matrices are upper left, lower left, upper right, lower right.
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(smem(&sa[(t % 16) * 16 + t / 16 * 8])) : "memory");
    // b by columns is b transposed by rows.
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(y[0]), "=r"(y[1])
                 : "r"(smem(&sb[(half * 8 + t % 8) * 16 + t / 8 % 2 * 8])) : "memory");
    int row = t / 4, col = half * 8 + t % 4 * 2;
    float z[4] = {c[row * 16 + col], c[row * 16 + col + 1], c[(row + 8) * 16 + col], c[(row + 8) * 16 + col + 1]};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(z[0]), "+f"(z[1]), "+f"(z[2]), "+f"(z[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    d[row * 16 + col] = z[0];
    d[row * 16 + col + 1] = z[1];
    d[(row + 8) * 16 + col] = z[2];
    d[(row + 8) * 16 + col + 1] = z[3];
  }
}
// 16 by 8 by 8 in tf32: a by rows, b by columns.
__global__ void mma_tf32(const float *a, const float *b, float *d) {
  int t = threadIdx.x, g = t / 4, q = t % 4;
  u32 x[4], y[2];
  float z[4] = {0, 0, 0, 0};
  x[0] = __builtin_bit_cast(u32, a[g * 8 + q]);
  x[1] = __builtin_bit_cast(u32, a[(g + 8) * 8 + q]);
  x[2] = __builtin_bit_cast(u32, a[g * 8 + q + 4]);
  x[3] = __builtin_bit_cast(u32, a[(g + 8) * 8 + q + 4]);
  y[0] = __builtin_bit_cast(u32, b[g * 8 + q]);
  y[1] = __builtin_bit_cast(u32, b[g * 8 + q + 4]);
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(z[0]), "+f"(z[1]), "+f"(z[2]), "+f"(z[3])
               : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  d[g * 8 + q * 2] = z[0];
  d[g * 8 + q * 2 + 1] = z[1];
  d[(g + 8) * 8 + q * 2] = z[2];
  d[(g + 8) * 8 + q * 2 + 1] = z[3];
}
// 16 by 8 by 32 in bytes.
__global__ void mma_bytes(const u32 *a, const u32 *b, int *d) {
  int t = threadIdx.x, g = t / 4, q = t % 4;
  u32 x[4] = {a[g * 8 + q], a[(g + 8) * 8 + q], a[g * 8 + q + 4], a[(g + 8) * 8 + q + 4]};
  u32 y[2] = {b[g * 8 + q], b[g * 8 + q + 4]};
  int z[4] = {1, 1, 1, 1};
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+r"(z[0]), "+r"(z[1]), "+r"(z[2]), "+r"(z[3])
               : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  d[g * 8 + q * 2] = z[0];
  d[g * 8 + q * 2 + 1] = z[1];
  d[(g + 8) * 8 + q * 2] = z[2];
  d[(g + 8) * 8 + q * 2 + 1] = z[3];
}

// Small whole numbers and quarters are exact in every format.
static uint16_t half_of(float f) {
  uint32_t b;
  memcpy(&b, &f, 4);
  if (f == 0) return 0;
  return (uint16_t)((b >> 16 & 0x8000) | (((b >> 23 & 0xff) - 112) << 10) | (b >> 13 & 0x3ff));
}

int main() {
  float a[256], b[256], c[256], d[256];
  uint16_t ha[256], hb[256];
  for (int i = 0; i < 256; i++) {
    a[i] = (i * 7 % 17 - 8) * 0.25f;
    b[i] = i * 5 % 13 - 6;
    c[i] = i % 11;
    ha[i] = half_of(a[i]), hb[i] = half_of(b[i]);
  }
  uint16_t *da, *db;
  float *dc, *dd;
  CHECK(cudaMalloc(&da, sizeof ha));
  CHECK(cudaMalloc(&db, sizeof hb));
  CHECK(cudaMalloc(&dc, sizeof c));
  CHECK(cudaMalloc(&dd, sizeof d));
  CHECK(cudaMemcpy(da, ha, sizeof ha, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, hb, sizeof hb, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dc, c, sizeof c, cudaMemcpyHostToDevice));
  for (int how = 0; how < 2; how++) {
    if (how == 0) wmma_half<<<1, 32>>>(da, db, dc, dd);
    else mma_half<<<1, 32>>>(da, db, dc, dd);
    CHECK(cudaMemcpy(d, dd, sizeof d, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 16; i++)
      for (int j = 0; j < 16; j++) {
        float want = c[i * 16 + j];
        for (int k = 0; k < 16; k++) want += a[i * 16 + k] * b[j * 16 + k];
        if (d[i * 16 + j] != want) return printf("half %d: %d %d: %f, not %f\n", how, i, j, d[i * 16 + j], want), 1;
      }
  }
  CHECK(cudaMemcpy(dc, a, sizeof a, cudaMemcpyHostToDevice));
  float *dt;
  CHECK(cudaMalloc(&dt, sizeof b));
  CHECK(cudaMemcpy(dt, b, sizeof b, cudaMemcpyHostToDevice));
  mma_tf32<<<1, 32>>>(dc, dt, dd);
  CHECK(cudaMemcpy(d, dd, sizeof d, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 8; j++) {
      float want = 0;
      for (int k = 0; k < 8; k++) want += a[i * 8 + k] * b[j * 8 + k];
      if (d[i * 8 + j] != want) return printf("tf32 %d %d: %f, not %f\n", i, j, d[i * 8 + j], want), 1;
    }
  int8_t ba[512], bb[256];
  int bd[128], *dbd;
  for (int i = 0; i < 512; i++) ba[i] = i * 37 % 255 - 127, bb[i % 256] = i * 11 % 255 - 127;
  u32 *dba, *dbb;
  CHECK(cudaMalloc(&dba, sizeof ba));
  CHECK(cudaMalloc(&dbb, sizeof bb));
  CHECK(cudaMalloc(&dbd, sizeof bd));
  CHECK(cudaMemcpy(dba, ba, sizeof ba, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dbb, bb, sizeof bb, cudaMemcpyHostToDevice));
  mma_bytes<<<1, 32>>>(dba, dbb, dbd);
  CHECK(cudaMemcpy(bd, dbd, sizeof bd, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 8; j++) {
      int want = 1;
      for (int k = 0; k < 32; k++) want += ba[i * 32 + k] * bb[j * 32 + k];
      if (bd[i * 8 + j] != want) return printf("bytes %d %d: %d, not %d\n", i, j, bd[i * 8 + j], want), 1;
    }
  puts("ok");
}
