// OpenCL, through libclc.
// check cl_reduce --grid 4 --block 64 --arg int:256:iota --arg int:4 --arg local:256 => clean
// check cl_reduce_bad --grid 4 --block 64 --arg int:256:iota --arg int:4 --arg local:256 => race @a1 @a2
// check cl_scan --block 64 --arg int:64:iota => clean
// check cl_scan_bad --block 64 --arg int:64:iota => race @b1 @b2
// check cl_transpose --block 16,16 --arg f32:256:iota --arg f32:256 => clean
// check cl_transpose_bad --block 16,16 --arg f32:256:iota --arg f32:256 => race @c1 @c2
// check cl_hist --grid 2 --block 64 --arg int:128:random=5,8 --arg int:8 => clean
// check cl_hist_bad --grid 2 --block 64 --arg int:128:random=5,8 --arg int:8 => race @d1 @d1
// check cl_shift --block 64 --arg int:64:iota => clean
// check cl_shift_bad --block 64 --arg int:64:iota => race @e1 @e1
// check cl_groups --grid 4 --block 32 --arg int:128 => clean
// check cl_groups_bad --grid 4 --block 32 --arg int:128 => race @f1 @f1
// check cl_stencil --grid 2 --block 64 --arg f32:130:iota --arg f32:130 => clean
// check cl_stencil_bad --grid 2 --block 64 --arg f32:130:iota => race @g1 @g1
// check cl_divergent --block 64 --arg int:64 => barrier-divergence @h1
// check cl_global_barrier --block 64 --arg int:64:iota => clean
// check cl_global_barrier_bad --block 64 --arg int:64:iota => race @i1 @i2

__kernel void cl_reduce(__global int *in, __global int *out, __local int *s) {
  int t = get_local_id(0);
  s[t] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = get_local_size(0) / 2; k > 0; k >>= 1) {
    if (t < k) s[t] += s[t + k];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) out[get_group_id(0)] = s[0];
}
__kernel void cl_reduce_bad(__global int *in, __global int *out, __local int *s) {
  int t = get_local_id(0);
  s[t] = in[get_global_id(0)]; // @a1
  for (int k = get_local_size(0) / 2; k > 0; k >>= 1) {
    if (t < k) s[t] += s[t + k]; // @a2
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) out[get_group_id(0)] = s[0];
}
__kernel void cl_scan(__global int *a) {
  __local int s[64];
  int t = get_local_id(0);
  s[t] = a[t];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 1; k < 64; k *= 2) {
    int v = t >= k ? s[t - k] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    s[t] += v;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  a[t] = s[t];
}
__kernel void cl_scan_bad(__global int *a) {
  __local int s[64];
  int t = get_local_id(0);
  s[t] = a[t];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 1; k < 64; k *= 2) {
    int v = t >= k ? s[t - k] : 0; // @b1
    s[t] += v; // @b2
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  a[t] = s[t];
}
__kernel void cl_transpose(__global float *in, __global float *out) {
  __local float s[16][17];
  int x = get_local_id(0), y = get_local_id(1);
  s[y][x] = in[y * 16 + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[y * 16 + x] = s[x][y];
}
__kernel void cl_transpose_bad(__global float *in, __global float *out) {
  __local float s[16][17];
  int x = get_local_id(0), y = get_local_id(1);
  s[y][x] = in[y * 16 + x]; // @c1
  out[y * 16 + x] = s[x][y]; // @c2
}
__kernel void cl_hist(__global int *in, __global int *out) {
  atomic_add(&out[in[get_global_id(0)] & 7], 1);
}
__kernel void cl_hist_bad(__global int *in, __global int *out) {
  out[in[get_global_id(0)] & 7] += 1; // @d1
}
__kernel void cl_shift(__global int *a) {
  int t = get_local_id(0), v = a[(t + 1) % 64];
  barrier(CLK_GLOBAL_MEM_FENCE);
  a[t] = v;
}
__kernel void cl_shift_bad(__global int *a) {
  int t = get_local_id(0);
  a[t] = a[(t + 1) % 64]; // @e1
}
__kernel void cl_groups(__global int *a) {
  a[get_global_id(0)] = get_group_id(0);
}
__kernel void cl_groups_bad(__global int *a) {
  a[get_local_id(0)] = get_group_id(0); // @f1
}
__kernel void cl_stencil(__global float *a, __global float *b) {
  int i = get_global_id(0) + 1;
  b[i] = a[i - 1] + a[i] + a[i + 1];
}
__kernel void cl_stencil_bad(__global float *a) {
  int i = get_global_id(0) + 1;
  a[i] = a[i - 1] + a[i] + a[i + 1]; // @g1
}
__kernel void cl_divergent(__global int *a) {
  int t = get_local_id(0);
  if (t < 40) barrier(CLK_LOCAL_MEM_FENCE); // @h1
  a[t] = t;
}
__kernel void cl_global_barrier(__global int *a) {
  int t = get_local_id(0);
  a[t] = t;
  barrier(CLK_GLOBAL_MEM_FENCE);
  int v = a[63 - t];
  barrier(CLK_GLOBAL_MEM_FENCE);
  a[t] = v;
}
__kernel void cl_global_barrier_bad(__global int *a) {
  int t = get_local_id(0);
  a[t] = t;
  barrier(CLK_LOCAL_MEM_FENCE);
  int v = a[63 - t]; // @i1
  a[t] = v + 1; // @i2
}
