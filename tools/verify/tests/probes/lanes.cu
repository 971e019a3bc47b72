// Lanes of a warp that come to a place under conditions of their own: it need not be the first of them that meets another
// thread there.
#define BLOCK(n) extern "C" __global__ void __launch_bounds__(n)

__device__ int key(int thread) { return thread + (thread & 31); }  // of threads 16 and 32 the same

BLOCK(64) race_of_another_lane(const int* in, int* out) {
  if (in[0] == key(threadIdx.x)) out[0] = threadIdx.x; }
BLOCK(64) race_of_another_lane_in_shared(const int* in, int* out) {
  __shared__ int s;
  if (threadIdx.x == 0) s = 0;
  __syncthreads();
  if (in[0] == key(threadIdx.x)) s = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s; }
BLOCK(64) ok_one_lane(const int* in, int* out) {
  if (in[0] == threadIdx.x) out[0] = threadIdx.x; }
BLOCK(32) race_of_another_lane_in_blocks(const int* in, int* out) {
  if (in[0] == threadIdx.x + 8 * blockIdx.x) out[0] = threadIdx.x; }
BLOCK(32) ok_one_lane_of_all_blocks(const int* in, int* out) {
  if (in[0] == threadIdx.x + 32 * blockIdx.x) out[0] = threadIdx.x; }
