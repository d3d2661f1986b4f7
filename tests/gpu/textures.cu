// Textures and surfaces: their accesses race like others.
//
// check tex_copy --grid 2,4 --block 32 --arg texture:f32:64x4:iota --arg f32:256 => clean
// check surf_own --grid 4 --block 64 --arg surface:int:64x4 => clean
// check surf_shift --grid 1 --block 64 --arg surface:int:65x1 => race @a1 @a2
// check surf_same --grid 2 --block 32 --arg surface:int:32x1 => race @b1 @b1
// check surf_read --grid 1 --block 64 --arg surface:int:64x1:iota --arg int:64 => clean
// check surf_outside --grid 1 --block 32 --arg surface:int:16x1 => out-of-bounds @c1
// check surf_clamped --grid 1 --block 32 --arg surface:int:16x1:iota --arg int:32 => clean
// check tex_and_surf --grid 1 --block 64 --arg texture:int:64x1:iota --arg int:64 => race @d1 @d2
// check tex_none --grid 1 --block 32 --arg 5 --arg f32:32 => out-of-bounds @e1
__global__ void tex_copy(cudaTextureObject_t t, float *out) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y;
  out[y * 64 + x] = tex2D<float>(t, x + 0.5f, y + 0.5f);
}
__global__ void surf_own(cudaSurfaceObject_t s) { surf2Dwrite((int)threadIdx.x, s, threadIdx.x * 4, blockIdx.x); }
__global__ void surf_shift(cudaSurfaceObject_t s) {
  int t = threadIdx.x;
  int v = surf2Dread<int>(s, (t + 1) * 4, 0); // @a1
  surf2Dwrite(v, s, t * 4, 0); // @a2
}
__global__ void surf_same(cudaSurfaceObject_t s) {
  surf2Dwrite((int)(threadIdx.x + blockIdx.x), s, threadIdx.x * 4, 0); // @b1
}
__global__ void surf_read(cudaSurfaceObject_t s, int *out) {
  out[threadIdx.x] = surf2Dread<int>(s, (63 - threadIdx.x) * 4, 0) + surf2Dread<unsigned char>(s, threadIdx.x, 0);
}
__global__ void surf_outside(cudaSurfaceObject_t s) {
  surf2Dwrite((int)threadIdx.x, s, threadIdx.x * 4, 0); // @c1
}
__global__ void surf_clamped(cudaSurfaceObject_t s, int *out) {
  out[threadIdx.x] = surf2Dread<int>(s, threadIdx.x * 4, 0, cudaBoundaryModeClamp);
}
__global__ void tex_and_surf(unsigned long long o, int *out) {
  int t = threadIdx.x;
  surf2Dwrite(t * 2, o, (63 - t) * 4, 0); // @d1
  out[t] = tex2D<int>(o, t + 0.5f, 0.5f); // @d2
}
__global__ void tex_none(cudaTextureObject_t t, float *out) {
  out[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x); // @e1
}
