// What a CUDA source needs from its toolkit, in the few words that clang's own builtins do not already say.
// Every device function is `nodebug`, so an access inside one is reported at the line that called it.
#ifndef DEADHEAT_CUDA_H
#define DEADHEAT_CUDA_H
#include <stddef.h>

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __managed__ __attribute__((device))
#define __grid_constant__
#define CUDART_VERSION 12000
#define CUDA_VERSION 12000
#define DH_FN static __inline__ __attribute__((device, always_inline, nodebug, unused))
#define DH_BOTH static __inline__ __attribute__((host, device, always_inline, nodebug, unused))

// ---- vector types ----
#define DH_VEC(T, N)                                                                                                   \
  struct N##1 { T x; };                                                                                                \
  struct __attribute__((aligned(2 * sizeof(T)))) N##2 { T x, y; };                                                     \
  struct N##3 { T x, y, z; };                                                                                          \
  struct __attribute__((aligned(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)))) N##4 { T x, y, z, w; };                     \
  DH_BOTH N##1 make_##N##1(T x) { N##1 r = {x}; return r; }                                                            \
  DH_BOTH N##2 make_##N##2(T x, T y) { N##2 r = {x, y}; return r; }                                                    \
  DH_BOTH N##3 make_##N##3(T x, T y, T z) { N##3 r = {x, y, z}; return r; }                                            \
  DH_BOTH N##4 make_##N##4(T x, T y, T z, T w) { N##4 r = {x, y, z, w}; return r; }
DH_VEC(signed char, char)
DH_VEC(unsigned char, uchar)
DH_VEC(short, short)
DH_VEC(unsigned short, ushort)
DH_VEC(int, int)
DH_VEC(unsigned int, uint)
DH_VEC(long, long)
DH_VEC(unsigned long, ulong)
DH_VEC(long long, longlong)
DH_VEC(unsigned long long, ulonglong)
DH_VEC(float, float)
DH_VEC(double, double)
struct dim3 {
  unsigned int x, y, z;
  __attribute__((host, device)) constexpr dim3(unsigned int a = 1, unsigned int b = 1, unsigned int c = 1)
      : x(a), y(b), z(c) {}
  __attribute__((host, device)) constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};

// ---- ids ----
#define DH_IDS(NAME, SREG)                                                                                             \
  struct NAME##_t {                                                                                                    \
    __declspec(property(get = gx)) unsigned int x;                                                                     \
    __declspec(property(get = gy)) unsigned int y;                                                                     \
    __declspec(property(get = gz)) unsigned int z;                                                                     \
    DH_FN unsigned int gx() { return __nvvm_read_ptx_sreg_##SREG##_x(); }                                              \
    DH_FN unsigned int gy() { return __nvvm_read_ptx_sreg_##SREG##_y(); }                                              \
    DH_FN unsigned int gz() { return __nvvm_read_ptx_sreg_##SREG##_z(); }                                              \
    __attribute__((device, always_inline, nodebug)) operator dim3() const { return dim3(gx(), gy(), gz()); }           \
    __attribute__((device, always_inline, nodebug)) operator uint3() const {                                           \
      uint3 r = {gx(), gy(), gz()};                                                                                    \
      return r;                                                                                                        \
    }                                                                                                                  \
  };                                                                                                                   \
  extern const __attribute__((device, weak)) NAME##_t NAME;
DH_IDS(threadIdx, tid)
DH_IDS(blockIdx, ctaid)
DH_IDS(blockDim, ntid)
DH_IDS(gridDim, nctaid)
static const int warpSize = 32;

// ---- barriers and fences (__syncthreads itself is a builtin) ----
DH_FN void __syncwarp(unsigned int mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }
DH_FN int __syncthreads_count(int p) { return __nvvm_bar0_popc(p); }
DH_FN int __syncthreads_and(int p) { return __nvvm_bar0_and(p); }
DH_FN int __syncthreads_or(int p) { return __nvvm_bar0_or(p); }
DH_FN void __threadfence_block() { __nvvm_membar_cta(); }
DH_FN void __threadfence() { __nvvm_membar_gl(); }
DH_FN void __threadfence_system() { __nvvm_membar_sys(); }
DH_FN void __nanosleep(unsigned int) {}
DH_FN void __trap() { __asm__ volatile("trap;"); }
DH_FN void __brkpt() {}
DH_FN long long clock64() { return __nvvm_read_ptx_sreg_clock64(); }
DH_FN int clock() { return __nvvm_read_ptx_sreg_clock(); }

// ---- atomics ----
#define DH_ATOM(NAME, OP, T, B, SUF)                                                                                   \
  DH_FN T atomic##NAME(T *p, T v) { return (T)__nvvm_atom_##OP##_gen_##SUF((B *)p, (B)v); }                            \
  DH_FN T atomic##NAME##_block(T *p, T v) { return (T)__nvvm_atom_cta_##OP##_gen_##SUF((B *)p, (B)v); }                \
  DH_FN T atomic##NAME##_system(T *p, T v) { return (T)__nvvm_atom_sys_##OP##_gen_##SUF((B *)p, (B)v); }
DH_ATOM(Add, add, int, int, i)
DH_ATOM(Add, add, unsigned int, int, i)
DH_ATOM(Add, add, unsigned long long, long long, ll)
DH_ATOM(Add, add, float, float, f)
DH_ATOM(Add, add, double, double, d)
DH_ATOM(Exch, xchg, int, int, i)
DH_ATOM(Exch, xchg, unsigned int, int, i)
DH_ATOM(Exch, xchg, unsigned long long, long long, ll)
DH_ATOM(Max, max, int, int, i)
DH_ATOM(Max, max, unsigned int, unsigned int, ui)
DH_ATOM(Max, max, long long, long long, ll)
DH_ATOM(Max, max, unsigned long long, unsigned long long, ull)
DH_ATOM(Min, min, int, int, i)
DH_ATOM(Min, min, unsigned int, unsigned int, ui)
DH_ATOM(Min, min, long long, long long, ll)
DH_ATOM(Min, min, unsigned long long, unsigned long long, ull)
DH_ATOM(And, and, int, int, i)
DH_ATOM(And, and, unsigned int, int, i)
DH_ATOM(And, and, unsigned long long, long long, ll)
DH_ATOM(Or, or, int, int, i)
DH_ATOM(Or, or, unsigned int, int, i)
DH_ATOM(Or, or, unsigned long long, long long, ll)
DH_ATOM(Xor, xor, int, int, i)
DH_ATOM(Xor, xor, unsigned int, int, i)
DH_ATOM(Xor, xor, unsigned long long, long long, ll)
DH_ATOM(Inc, inc, unsigned int, unsigned int, ui)
DH_ATOM(Dec, dec, unsigned int, unsigned int, ui)
DH_FN int atomicSub(int *p, int v) { return __nvvm_atom_add_gen_i(p, -v); }
DH_FN unsigned int atomicSub(unsigned int *p, unsigned int v) { return __nvvm_atom_add_gen_i((int *)p, -(int)v); }
DH_FN float atomicExch(float *p, float v) { return __builtin_bit_cast(float, __nvvm_atom_xchg_gen_i((int *)p, __builtin_bit_cast(int, v))); }
#define DH_CAS(T, B, SUF)                                                                                              \
  DH_FN T atomicCAS(T *p, T c, T v) { return (T)__nvvm_atom_cas_gen_##SUF((B *)p, (B)c, (B)v); }                       \
  DH_FN T atomicCAS_block(T *p, T c, T v) { return (T)__nvvm_atom_cta_cas_gen_##SUF((B *)p, (B)c, (B)v); }             \
  DH_FN T atomicCAS_system(T *p, T c, T v) { return (T)__nvvm_atom_sys_cas_gen_##SUF((B *)p, (B)c, (B)v); }
DH_CAS(int, int, i)
DH_CAS(unsigned int, int, i)
DH_CAS(unsigned long long, long long, ll)

// ---- warp functions ----
DH_FN int __any_sync(unsigned int m, int p) { return __nvvm_vote_any_sync(m, p); }
DH_FN int __all_sync(unsigned int m, int p) { return __nvvm_vote_all_sync(m, p); }
DH_FN unsigned int __ballot_sync(unsigned int m, int p) { return __nvvm_vote_ballot_sync(m, p); }
DH_FN unsigned int __activemask() {
  unsigned int m;
  __asm__ volatile("activemask.b32 %0;" : "=r"(m));
  return m;
}
DH_FN unsigned int __match_any_sync(unsigned int m, unsigned int v) { return __nvvm_match_any_sync_i32(m, v); }
DH_FN unsigned int __lane_id() { return __nvvm_read_ptx_sreg_laneid(); }
#define DH_SHFL(NAME, OP, DEFAULT_C)                                                                                   \
  DH_FN int NAME(unsigned int m, int v, int s, int width = 32) {                                                       \
    return __nvvm_shfl_sync_##OP##_i32(m, v, s, ((32 - width) << 8) | DEFAULT_C);                                      \
  }                                                                                                                    \
  DH_FN unsigned int NAME(unsigned int m, unsigned int v, int s, int width = 32) {                                     \
    return (unsigned int)NAME(m, (int)v, s, width);                                                                    \
  }                                                                                                                    \
  DH_FN float NAME(unsigned int m, float v, int s, int width = 32) {                                                   \
    return __nvvm_shfl_sync_##OP##_f32(m, v, s, ((32 - width) << 8) | DEFAULT_C);                                      \
  }                                                                                                                    \
  DH_FN unsigned long long NAME(unsigned int m, unsigned long long v, int s, int width = 32) {                         \
    unsigned int lo = NAME(m, (unsigned int)v, s, width), hi = NAME(m, (unsigned int)(v >> 32), s, width);             \
    return (unsigned long long)hi << 32 | lo;                                                                          \
  }                                                                                                                    \
  DH_FN long long NAME(unsigned int m, long long v, int s, int width = 32) {                                           \
    return (long long)NAME(m, (unsigned long long)v, s, width);                                                        \
  }                                                                                                                    \
  DH_FN double NAME(unsigned int m, double v, int s, int width = 32) {                                                 \
    return __builtin_bit_cast(double, NAME(m, __builtin_bit_cast(unsigned long long, v), s, width));                   \
  }
DH_SHFL(__shfl_sync, idx, 0x1f)
DH_SHFL(__shfl_up_sync, up, 0)
DH_SHFL(__shfl_down_sync, down, 0x1f)
DH_SHFL(__shfl_xor_sync, bfly, 0x1f)

// ---- integers ----
DH_FN int __popc(unsigned int x) { return __builtin_popcount(x); }
DH_FN int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
DH_FN int __clz(int x) { return x ? __builtin_clz(x) : 32; }
DH_FN int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
DH_FN int __ffs(int x) { return x ? __builtin_ctz(x) + 1 : 0; }
DH_FN int __ffsll(long long x) { return x ? __builtin_ctzll(x) + 1 : 0; }
DH_FN unsigned int __brev(unsigned int x) { return __builtin_bitreverse32(x); }
DH_FN int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
DH_FN unsigned int __umul24(unsigned int a, unsigned int b) { return (a & 0xffffff) * (b & 0xffffff); }
DH_FN unsigned int __umulhi(unsigned int a, unsigned int b) { return ((unsigned long long)a * b) >> 32; }
DH_FN int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
DH_FN float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
DH_FN unsigned int __float_as_uint(float x) { return __builtin_bit_cast(unsigned int, x); }
DH_FN float __uint_as_float(unsigned int x) { return __builtin_bit_cast(float, x); }
DH_FN long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
DH_FN double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
template <class T> DH_FN T __ldg(const T *p) { return *p; }
#define DH_MINMAX(T)                                                                                                   \
  DH_FN T min(T a, T b) { return b < a ? b : a; }                                                                      \
  DH_FN T max(T a, T b) { return a < b ? b : a; }
DH_MINMAX(int)
DH_MINMAX(unsigned int)
DH_MINMAX(long)
DH_MINMAX(unsigned long)
DH_MINMAX(long long)
DH_MINMAX(unsigned long long)
DH_MINMAX(float)
DH_MINMAX(double)
DH_FN int abs(int x) { return x < 0 ? -x : x; }

// ---- mathematics: the machine has these built in ----
#define DH_M1(N)                                                                                                       \
  extern "C" __attribute__((device)) double N(double) noexcept;                                                        \
  extern "C" __attribute__((device)) float N##f(float) noexcept;
#define DH_M2(N)                                                                                                       \
  extern "C" __attribute__((device)) double N(double, double) noexcept;                                                \
  extern "C" __attribute__((device)) float N##f(float, float) noexcept;
DH_M1(sin) DH_M1(cos) DH_M1(tan) DH_M1(asin) DH_M1(acos) DH_M1(atan) DH_M1(sinh) DH_M1(cosh) DH_M1(tanh)
DH_M1(exp) DH_M1(exp2) DH_M1(expm1) DH_M1(log) DH_M1(log2) DH_M1(log10) DH_M1(log1p) DH_M1(sqrt) DH_M1(rsqrt)
DH_M1(cbrt) DH_M1(floor) DH_M1(ceil) DH_M1(trunc) DH_M1(round) DH_M1(rint) DH_M1(fabs) DH_M1(erf)
DH_M2(pow) DH_M2(atan2) DH_M2(hypot) DH_M2(fmod) DH_M2(fmin) DH_M2(fmax) DH_M2(copysign)
extern "C" __attribute__((device)) double fma(double, double, double) noexcept;
extern "C" __attribute__((device)) float fmaf(float, float, float) noexcept;
DH_FN float __expf(float x) { return expf(x); }
DH_FN float __logf(float x) { return logf(x); }
DH_FN float __sinf(float x) { return sinf(x); }
DH_FN float __cosf(float x) { return cosf(x); }
DH_FN float __powf(float x, float y) { return powf(x, y); }
DH_FN float __fdividef(float x, float y) { return x / y; }
DH_FN float __saturatef(float x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

// ---- printf, assert, malloc ----
extern "C" __attribute__((device)) int printf(const char *, ...);
extern "C" __attribute__((device)) void *malloc(size_t) noexcept(true);
extern "C" __attribute__((device)) void free(void *) noexcept(true);
extern "C" __attribute__((device, noreturn)) void __assertfail(const char *, const char *, unsigned int, const char *, size_t);
extern "C" inline __attribute__((device, noreturn, always_inline, nodebug)) void __assert_fail(const char *what, const char *file, unsigned int line, const char *function) noexcept(true) {
  __assertfail(what, file, line, function, 1);
}


// ---- textures and surfaces ----
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero = 0, cudaBoundaryModeClamp = 1, cudaBoundaryModeTrap = 2 };
// What a fetch gives, and how the type asked for is made of it.
template <class T> struct dh_texel;
#define DH_TEXEL(T, N, R)                                                                                              \
  template <> struct dh_texel<T> { typedef R raw; DH_FN T of(R r) { return (T)r.x; } };                                \
  template <> struct dh_texel<N##1> { typedef R raw; DH_FN N##1 of(R r) { return make_##N##1((T)r.x); } };             \
  template <> struct dh_texel<N##2> { typedef R raw; DH_FN N##2 of(R r) { return make_##N##2((T)r.x, (T)r.y); } };     \
  template <> struct dh_texel<N##4> {                                                                                  \
    typedef R raw;                                                                                                     \
    DH_FN N##4 of(R r) { return make_##N##4((T)r.x, (T)r.y, (T)r.z, (T)r.w); }                                         \
  };
DH_TEXEL(float, float, float4)
DH_TEXEL(signed char, char, int4)
DH_TEXEL(short, short, int4)
DH_TEXEL(int, int, int4)
DH_TEXEL(unsigned char, uchar, uint4)
DH_TEXEL(unsigned short, ushort, uint4)
DH_TEXEL(unsigned int, uint, uint4)
#define DH_TEX_AS(FN, R, DT, OUT, HOW, CT, COORDS, SIG, ...)                                                           \
  DH_FN void FN SIG(R, r) {                                                                                            \
    __asm__ volatile(HOW ".v4." DT "." CT " {%0, %1, %2, %3}, [%4, " COORDS "];"                                       \
                     : OUT(r->x), OUT(r->y), OUT(r->z), OUT(r->w)                                                      \
                     : "l"(o), __VA_ARGS__);                                                                           \
  }
#define DH_TEX(FN, HOW, CT, COORDS, SIG, ...)                                                                          \
  DH_TEX_AS(FN, float4, "f32", "=f", HOW, CT, COORDS, SIG, __VA_ARGS__)                                                \
  DH_TEX_AS(FN, int4, "s32", "=r", HOW, CT, COORDS, SIG, __VA_ARGS__)                                                  \
  DH_TEX_AS(FN, uint4, "u32", "=r", HOW, CT, COORDS, SIG, __VA_ARGS__)
#define DH_SIG_I(R, r) (R * r, cudaTextureObject_t o, int x)
#define DH_SIG_F(R, r) (R * r, cudaTextureObject_t o, float x)
#define DH_SIG_FF(R, r) (R * r, cudaTextureObject_t o, float x, float y)
#define DH_SIG_FFF(R, r) (R * r, cudaTextureObject_t o, float x, float y, float z)
#define DH_SIG_FL(R, r) (R * r, cudaTextureObject_t o, float x, int n)
#define DH_SIG_FFL(R, r) (R * r, cudaTextureObject_t o, float x, float y, int n)
DH_TEX(dh_fetch1, "tex.1d", "s32", "{%5}", DH_SIG_I, "r"(x))
DH_TEX(dh_tex1, "tex.1d", "f32", "{%5}", DH_SIG_F, "f"(x))
DH_TEX(dh_tex2, "tex.2d", "f32", "{%5, %6}", DH_SIG_FF, "f"(x), "f"(y))
DH_TEX(dh_tex3, "tex.3d", "f32", "{%5, %6, %7, %7}", DH_SIG_FFF, "f"(x), "f"(y), "f"(z))
DH_TEX(dh_texa1, "tex.a1d", "f32", "{%6, %5}", DH_SIG_FL, "f"(x), "r"(n))
DH_TEX(dh_texa2, "tex.a2d", "f32", "{%7, %5, %6, %6}", DH_SIG_FFL, "f"(x), "f"(y), "r"(n))
DH_TEX(dh_gather0, "tld4.r.2d", "f32", "{%5, %6}", DH_SIG_FF, "f"(x), "f"(y))
DH_TEX(dh_gather1, "tld4.g.2d", "f32", "{%5, %6}", DH_SIG_FF, "f"(x), "f"(y))
DH_TEX(dh_gather2, "tld4.b.2d", "f32", "{%5, %6}", DH_SIG_FF, "f"(x), "f"(y))
DH_TEX(dh_gather3, "tld4.a.2d", "f32", "{%5, %6}", DH_SIG_FF, "f"(x), "f"(y))
#define DH_TEX_FN(NAME, FN, PARAMS, ...)                                                                               \
  template <class T> DH_FN T NAME PARAMS {                                                                             \
    typename dh_texel<T>::raw r;                                                                                       \
    FN(&r, o, __VA_ARGS__);                                                                                            \
    return dh_texel<T>::of(r);                                                                                         \
  }
DH_TEX_FN(tex1Dfetch, dh_fetch1, (cudaTextureObject_t o, int x), x)
DH_TEX_FN(tex1D, dh_tex1, (cudaTextureObject_t o, float x), x)
DH_TEX_FN(tex2D, dh_tex2, (cudaTextureObject_t o, float x, float y), x, y)
DH_TEX_FN(tex3D, dh_tex3, (cudaTextureObject_t o, float x, float y, float z), x, y, z)
DH_TEX_FN(tex1DLayered, dh_texa1, (cudaTextureObject_t o, float x, int n), x, n)
DH_TEX_FN(tex2DLayered, dh_texa2, (cudaTextureObject_t o, float x, float y, int n), x, y, n)
DH_TEX_FN(tex2DLod, dh_tex2, (cudaTextureObject_t o, float x, float y, float), x, y)
template <class T> DH_FN T tex2Dgather(cudaTextureObject_t o, float x, float y, int comp = 0) {
  typename dh_texel<T>::raw r;
  switch (comp) {
  case 0: dh_gather0(&r, o, x, y); break;
  case 1: dh_gather1(&r, o, x, y); break;
  case 2: dh_gather2(&r, o, x, y); break;
  default: dh_gather3(&r, o, x, y);
  }
  return dh_texel<T>::of(r);
}
// Surfaces: x counts bytes. One instruction for each size of element; coordinates come as the text and operands of it.
template <int N> struct dh_words;
template <> struct dh_words<1> { unsigned short a; };
template <> struct dh_words<2> { unsigned short a; };
template <> struct dh_words<4> { unsigned int a; };
template <> struct dh_words<8> { unsigned int a, b; };
template <> struct dh_words<16> { unsigned int a, b, c, d; };

template <int M> struct dh_mode {};
#define DH_SURF_GET(NAME, GEOM, TY, N, M, MODE, REGS, OUT, AT, PARAMS, ...)                                             \
  DH_FN void dh_get_##NAME(dh_words<N> &w, dh_mode<M>, cudaSurfaceObject_t o, DH_ALL PARAMS) {                         \
    __asm__ volatile("suld.b." GEOM "." TY "." MODE " " REGS ", " AT ";" : DH_ALL OUT : "l"(o), __VA_ARGS__ : "memory"); \
  }
#define DH_SURF_PUT(NAME, GEOM, TY, N, M, MODE, REGS, IN, AT, PARAMS, ...)                                              \
  DH_FN void dh_put_##NAME(dh_words<N> w, dh_mode<M>, cudaSurfaceObject_t o, DH_ALL PARAMS) {                          \
    __asm__ volatile("sust.b." GEOM "." TY "." MODE " " AT ", " REGS ";" : : DH_ALL IN, "l"(o), __VA_ARGS__ : "memory"); \
  }
#define DH_ALL(...) __VA_ARGS__
#define DH_SURF_SIZES(NAME, GEOM, M, MODE, A1, A2, A4, PARAMS, ...)                                                     \
  DH_SURF_GET(NAME, GEOM, "b8", 1, M, MODE, "{%0}", ("=h"(w.a)), A1, PARAMS, __VA_ARGS__)                              \
  DH_SURF_GET(NAME, GEOM, "b16", 2, M, MODE, "{%0}", ("=h"(w.a)), A1, PARAMS, __VA_ARGS__)                             \
  DH_SURF_GET(NAME, GEOM, "b32", 4, M, MODE, "{%0}", ("=r"(w.a)), A1, PARAMS, __VA_ARGS__)                             \
  DH_SURF_GET(NAME, GEOM, "v2.b32", 8, M, MODE, "{%0, %1}", ("=r"(w.a), "=r"(w.b)), A2, PARAMS, __VA_ARGS__)           \
  DH_SURF_GET(NAME, GEOM, "v4.b32", 16, M, MODE, "{%0, %1, %2, %3}",                                                   \
              ("=r"(w.a), "=r"(w.b), "=r"(w.c), "=r"(w.d)), A4, PARAMS, __VA_ARGS__)                                   \
  DH_SURF_PUT(NAME, GEOM, "b8", 1, M, MODE, "{%0}", ("h"(w.a)), A1, PARAMS, __VA_ARGS__)                               \
  DH_SURF_PUT(NAME, GEOM, "b16", 2, M, MODE, "{%0}", ("h"(w.a)), A1, PARAMS, __VA_ARGS__)                              \
  DH_SURF_PUT(NAME, GEOM, "b32", 4, M, MODE, "{%0}", ("r"(w.a)), A1, PARAMS, __VA_ARGS__)                              \
  DH_SURF_PUT(NAME, GEOM, "v2.b32", 8, M, MODE, "{%0, %1}", ("r"(w.a), "r"(w.b)), A2, PARAMS, __VA_ARGS__)             \
  DH_SURF_PUT(NAME, GEOM, "v4.b32", 16, M, MODE, "{%0, %1, %2, %3}",                                                   \
              ("r"(w.a), "r"(w.b), "r"(w.c), "r"(w.d)), A4, PARAMS, __VA_ARGS__)
#define DH_SURF(NAME, GEOM, A1, A2, A4, PARAMS, ARGS, ...)                                                              \
  DH_SURF_SIZES(NAME, GEOM, cudaBoundaryModeZero, "zero", A1, A2, A4, PARAMS, __VA_ARGS__)                             \
  DH_SURF_SIZES(NAME, GEOM, cudaBoundaryModeClamp, "clamp", A1, A2, A4, PARAMS, __VA_ARGS__)                           \
  DH_SURF_SIZES(NAME, GEOM, cudaBoundaryModeTrap, "trap", A1, A2, A4, PARAMS, __VA_ARGS__)                             \
  template <class T> DH_FN void NAME##read(T *p, cudaSurfaceObject_t o, DH_ALL PARAMS, int mode = cudaBoundaryModeTrap) { \
    dh_words<sizeof(T)> w;                                                                                             \
    if (mode == cudaBoundaryModeZero) dh_get_##NAME(w, dh_mode<cudaBoundaryModeZero>(), o, DH_ALL ARGS);               \
    else if (mode == cudaBoundaryModeClamp) dh_get_##NAME(w, dh_mode<cudaBoundaryModeClamp>(), o, DH_ALL ARGS);        \
    else dh_get_##NAME(w, dh_mode<cudaBoundaryModeTrap>(), o, DH_ALL ARGS);                                            \
    __builtin_memcpy(p, &w, sizeof(T));                                                                                \
  }                                                                                                                    \
  template <class T> DH_FN T NAME##read(cudaSurfaceObject_t o, DH_ALL PARAMS, int mode = cudaBoundaryModeTrap) {       \
    T v;                                                                                                               \
    NAME##read(&v, o, DH_ALL ARGS, mode);                                                                              \
    return v;                                                                                                          \
  }                                                                                                                    \
  template <class T> DH_FN void NAME##write(T v, cudaSurfaceObject_t o, DH_ALL PARAMS, int mode = cudaBoundaryModeTrap) { \
    dh_words<sizeof(T)> w = {};                                                                                        \
    __builtin_memcpy(&w, &v, sizeof(T));                                                                               \
    if (mode == cudaBoundaryModeZero) dh_put_##NAME(w, dh_mode<cudaBoundaryModeZero>(), o, DH_ALL ARGS);               \
    else if (mode == cudaBoundaryModeClamp) dh_put_##NAME(w, dh_mode<cudaBoundaryModeClamp>(), o, DH_ALL ARGS);        \
    else dh_put_##NAME(w, dh_mode<cudaBoundaryModeTrap>(), o, DH_ALL ARGS);                                            \
  }
DH_SURF(surf1D, "1d", "[%1, {%2}]", "[%2, {%3}]", "[%4, {%5}]", (int x), (x), "r"(x))
DH_SURF(surf2D, "2d", "[%1, {%2, %3}]", "[%2, {%3, %4}]", "[%4, {%5, %6}]", (int x, int y), (x, y), "r"(x), "r"(y))
DH_SURF(surf3D, "3d", "[%1, {%2, %3, %4, %4}]", "[%2, {%3, %4, %5, %5}]", "[%4, {%5, %6, %7, %7}]",
        (int x, int y, int z), (x, y, z), "r"(x), "r"(y), "r"(z))
DH_SURF(surf2DLayered, "a2d", "[%1, {%2, %3, %4, %4}]", "[%2, {%3, %4, %5, %5}]", "[%4, {%5, %6, %7, %7}]",
        (int x, int y, int n), (x, y, n), "r"(n), "r"(x), "r"(y))
#include "deadheat_runtime.h"
#endif
