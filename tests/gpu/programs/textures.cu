// Textures and surfaces as image programs use them: filtered reads of an array, reads of linear memory by index, and a
// surface that is written and copied back.
#include <cmath>
#include <cstdio>
#include <vector>

#define CHECK(x) do { cudaError_t err = (x); if (err != cudaSuccess) { printf("%s: %s\n", #x, cudaGetErrorString(err)); return 1; } } while (0)

const int W = 40, H = 24;

__global__ void enlarge(cudaTextureObject_t t, float *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 2 * W && y < 2 * H) out[y * 2 * W + x] = tex2D<float>(t, (x + 0.5f) / 2, (y + 0.5f) / 2);
}
__global__ void invert(cudaTextureObject_t t, cudaSurfaceObject_t s) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= W || y >= H) return;
  uchar4 c = tex1Dfetch<uchar4>(t, y * W + x);
  surf2Dwrite(make_uchar4(255 - c.x, 255 - c.y, 255 - c.z, c.w), s, x * 4, y);
}
__global__ void wrapped(cudaTextureObject_t t, float4 *out) {
  int i = threadIdx.x;
  out[i] = tex2D<float4>(t, i / 16.0f - 1.0f, 1.75f);
}
__global__ void layers(cudaTextureObject_t t, int *out) {
  out[blockIdx.x * 8 + threadIdx.x] = tex1DLayered<int>(t, threadIdx.x + 0.5f, blockIdx.x);
}

static float at(const std::vector<float> &a, int x, int y) {
  x = x < 0 ? 0 : x >= W ? W - 1 : x;
  y = y < 0 ? 0 : y >= H ? H - 1 : y;
  return a[y * W + x];
}

int main() {
  std::vector<float> a(W * H);
  for (int i = 0; i < W * H; i++) a[i] = (i * 37 % 101) * 0.25f;
  cudaChannelFormatDesc d = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &d, W, H));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, a.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice));
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeArray;
  r.res.array.array = array;
  cudaTextureDesc td = {};
  td.addressMode[0] = td.addressMode[1] = cudaAddressModeClamp;
  td.filterMode = cudaFilterModeLinear;
  cudaTextureObject_t t = 0;
  CHECK(cudaCreateTextureObject(&t, &r, &td, nullptr));
  float *big;
  CHECK(cudaMalloc(&big, 4 * W * H * sizeof(float)));
  enlarge<<<dim3(5, 6), dim3(16, 8)>>>(t, big);
  std::vector<float> b(4 * W * H);
  CHECK(cudaMemcpy(b.data(), big, b.size() * 4, cudaMemcpyDeviceToHost));
  for (int y = 0; y < 2 * H; y++)
    for (int x = 0; x < 2 * W; x++) {
      float u = (x + 0.5f) / 2 - 0.5f, v = (y + 0.5f) / 2 - 0.5f;
      int i = (int)floorf(u), j = (int)floorf(v);
      float p = u - i, q = v - j;
      float want = (1 - p) * (1 - q) * at(a, i, j) + p * (1 - q) * at(a, i + 1, j) + (1 - p) * q * at(a, i, j + 1) +
                   p * q * at(a, i + 1, j + 1);
      if (fabsf(want - b[y * 2 * W + x]) > 1e-3f) return printf("enlarge %d %d: %f, not %f\n", x, y, b[y * 2 * W + x], want), 1;
    }

  std::vector<uchar4> c(W * H), e(W * H);
  for (int i = 0; i < W * H; i++) c[i] = make_uchar4(i, i * 3, i * 7, 9);
  uchar4 *dc;
  CHECK(cudaMalloc(&dc, W * H * 4));
  CHECK(cudaMemcpy(dc, c.data(), W * H * 4, cudaMemcpyHostToDevice));
  cudaResourceDesc lin = {};
  lin.resType = cudaResourceTypeLinear;
  lin.res.linear.devPtr = dc;
  lin.res.linear.desc = cudaCreateChannelDesc<uchar4>();
  lin.res.linear.sizeInBytes = W * H * 4;
  cudaTextureDesc plain = {};
  cudaTextureObject_t tl = 0;
  CHECK(cudaCreateTextureObject(&tl, &lin, &plain, nullptr));
  cudaChannelFormatDesc d4 = cudaCreateChannelDesc<uchar4>();
  cudaArray_t image;
  CHECK(cudaMallocArray(&image, &d4, W, H, cudaArraySurfaceLoadStore));
  cudaResourceDesc ri = {};
  ri.resType = cudaResourceTypeArray;
  ri.res.array.array = image;
  cudaSurfaceObject_t s = 0;
  CHECK(cudaCreateSurfaceObject(&s, &ri));
  invert<<<dim3(3, 3), dim3(16, 8)>>>(tl, s);
  CHECK(cudaMemcpy2DFromArray(e.data(), W * 4, image, 0, 0, W * 4, H, cudaMemcpyDeviceToHost));
  for (int i = 0; i < W * H; i++)
    if (e[i].x != 255 - c[i].x || e[i].y != 255 - c[i].y || e[i].z != 255 - c[i].z || e[i].w != 9)
      return printf("invert %d\n", i), 1;

  // The same image as numbers from 0 to 1, with coordinates that wrap.
  cudaTextureDesc tw = {};
  tw.addressMode[0] = cudaAddressModeWrap;
  tw.addressMode[1] = cudaAddressModeMirror;
  tw.readMode = cudaReadModeNormalizedFloat;
  tw.normalizedCoords = 1;
  cudaTextureObject_t t4 = 0;
  CHECK(cudaCreateTextureObject(&t4, &ri, &tw, nullptr));
  float4 *df, hf[32];
  CHECK(cudaMalloc(&df, sizeof hf));
  wrapped<<<1, 32>>>(t4, df);
  CHECK(cudaMemcpy(hf, df, sizeof hf, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; i++) {
    int x = (int)floorf((i / 16.0f) * W) % W, y = H - 1 - ((int)(1.75f * H) - H);
    if (fabsf(hf[i].x - e[y * W + x].x / 255.0f) > 1e-5f) return printf("wrapped %d: %f\n", i, hf[i].x), 1;
  }

  // Layers, filled by a three-dimensional copy.
  int l[3 * 8], m[3 * 8];
  for (int i = 0; i < 24; i++) l[i] = 1000 - i;
  cudaChannelFormatDesc di = cudaCreateChannelDesc<int>();
  cudaArray_t la;
  CHECK(cudaMalloc3DArray(&la, &di, make_cudaExtent(8, 0, 3), cudaArrayLayered));
  cudaMemcpy3DParms p = {};
  p.srcPtr = make_cudaPitchedPtr(l, 8 * 4, 8, 1);
  p.dstArray = la;
  p.extent = make_cudaExtent(8, 1, 3);
  p.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&p));
  cudaResourceDesc rl = {};
  rl.resType = cudaResourceTypeArray;
  rl.res.array.array = la;
  cudaTextureObject_t tla = 0;
  CHECK(cudaCreateTextureObject(&tla, &rl, &plain, nullptr));
  int *dm;
  CHECK(cudaMalloc(&dm, sizeof m));
  layers<<<3, 8>>>(tla, dm);
  CHECK(cudaMemcpy(m, dm, sizeof m, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 24; i++)
    if (m[i] != l[i]) return printf("layers %d: %d\n", i, m[i]), 1;

  CHECK(cudaDestroyTextureObject(t));
  CHECK(cudaDestroySurfaceObject(s));
  if (cudaDestroyTextureObject(t) != cudaErrorInvalidValue) return 1;
  CHECK(cudaFreeArray(array));
  CHECK(cudaFreeArray(image));
  puts("ok");
  return 0;
}
