// The three programs of the GRace paper, written anew from its text.
//
// scan: inclusive scan of a block; SCAN_FIRST_BARRIER is left out to make the paper's bug.
// em: expectation-maximization step that assumes 256 threads in a block; launch it with 320 for the paper's bug.
// cocluster: the row step of co-clustering; cluster numbers out of range make the paper's bug.
#define THREADS 256

extern __shared__ float pool[];

__global__ void scan(float *in, float *out, int n) {
  __shared__ float s[512];
  int t = threadIdx.x;
  s[t] = t < n ? in[t] : 0;
  s[t + 256] = t + 256 < n ? in[t + 256] : 0;
#ifdef SCAN_FIRST_BARRIER
  __syncthreads();
#endif
  float left = t > 0 ? s[t - 1] : 0;
  float right = s[t + 255];
  __syncthreads();
  for (int k = 1; k < 256; k *= 2) {
    float v = t >= k ? s[t - k] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  out[t] = s[t] + left - left + right - right;
}

// One step for one-dimensional mixtures: every thread weighs its points, then sums per component are reduced. The
// partial sums have room for THREADS threads and are indexed modulo that number.
__global__ void em(const float *points, int n, const float *mean, const float *weight, int components, float *sums) {
  __shared__ float part[THREADS];
  __shared__ float share[THREADS];
  __shared__ float m[16], w[16];
  int t = threadIdx.x, slot = t % THREADS;
  if (t < components) {
    m[t] = mean[t];
    w[t] = weight[t];
  }
  __syncthreads();
  for (int c = 0; c < components; c++) {
    float p = 0, q = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
      float all = 0, mine = 0;
      for (int k = 0; k < components; k++) {
        float d = points[i] - m[k], e = w[k] * __expf(-0.5f * d * d);
        all += e;
        if (k == c) mine = e;
      }
      p += mine / all;
      q += mine / all * points[i];
    }
    part[slot] = p;
    share[slot] = q;
    __syncthreads();
    for (int k = THREADS / 2; k > 0; k >>= 1) {
      if (t < k) {
        part[t] += part[t + k];
        share[t] += share[t + k];
      }
      __syncthreads();
    }
    if (t == 0) {
      sums[(blockIdx.x * components + c) * 2] = part[0];
      sums[(blockIdx.x * components + c) * 2 + 1] = share[0];
    }
    __syncthreads();
  }
}

// Row step: each thread finds the best row cluster of its rows. Cluster statistics are staged in shared memory; the new
// numbers are written behind them. colCL holds column clusters: they must be smaller than colClusters.
__global__ void cocluster(const float *data, const int *colCL, const float *comp, int rows, int cols, int rowClusters,
                          int colClusters, int *rowCL) {
  float *acomp = pool;
  float *quality = acomp + rowClusters * colClusters;
  int *chosen = (int *)(quality + rowClusters);
  int t = threadIdx.x;
  for (int k = t; k < rowClusters * colClusters; k += blockDim.x) acomp[k] = comp[k];
  if (t < rowClusters) quality[t] = 0;
  __syncthreads();
  for (int r = blockIdx.x * blockDim.x + t; r < rows; r += gridDim.x * blockDim.x) {
    float best = 1e30f;
    int arg = 0;
    for (int rc = 0; rc < rowClusters; rc++) {
      float cost = quality[rc];
      for (int c = 0; c < cols; c++) {
        float d = data[r * cols + c] - acomp[rc * colClusters + colCL[c]];
        cost += d * d;
      }
      if (cost < best) {
        best = cost;
        arg = rc;
      }
    }
    chosen[t] = arg;
    rowCL[r] = arg;
  }
}
