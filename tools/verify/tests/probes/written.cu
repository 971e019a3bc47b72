// Reads of shared memory of which the data decide the place, or whether it was written. written.txt lists the
// verdicts, and ../assumptions.py what the proofs assume.
#define BLOCK(n) extern "C" __global__ void __launch_bounds__(n)

BLOCK(32) ok_any_place(const int* in, int* out) {
  __shared__ int s[64];
  s[threadIdx.x] = s[threadIdx.x + 32] = 1; __syncthreads();
  out[threadIdx.x] = s[in[threadIdx.x] & 63]; }
BLOCK(32) undefined_half(const int* in, int* out) {
  __shared__ int s[64];
  s[threadIdx.x] = 1; __syncthreads();
  out[threadIdx.x] = s[in[threadIdx.x] & 63]; }
BLOCK(32) undefined_nowhere(const int* in, int* out) {
  __shared__ int s[64], other[32];
  other[threadIdx.x] = 1; __syncthreads();
  if (in[32] > 0) out[threadIdx.x] = s[in[threadIdx.x] & 63] + other[31 - threadIdx.x]; }
BLOCK(32) ok_even_places(const int* in, int* out) {
  __shared__ int s[64];
  s[2 * threadIdx.x] = 1; __syncthreads();
  out[threadIdx.x] = s[2 * (in[threadIdx.x] & 31)]; }
BLOCK(32) undefined_odd_places(const int* in, int* out) {
  __shared__ int s[64];
  s[2 * threadIdx.x] = 1; __syncthreads();
  out[threadIdx.x] = s[2 * (in[threadIdx.x] & 31) + 1]; }
// Not all was written for certain, so the proofs of all but ok_atomics_behind_barrier assume that what is read was.
BLOCK(32) ok_some_bytes(const unsigned* in, char* out) {
  __shared__ char s[128];
  s[4 * threadIdx.x] = s[4 * threadIdx.x + 1] = s[4 * threadIdx.x + 2] = 1; __syncthreads();
  out[threadIdx.x] = s[in[threadIdx.x] & 127]; }
BLOCK(64) ok_list(const int* in, int* out, int n) {
  __shared__ int s[64];
  if (static_cast<int>(threadIdx.x) < n) s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[in[threadIdx.x] & 63]; }
BLOCK(64) ok_where_written(const int* in, int* out) {
  __shared__ int s[64];
  if (in[threadIdx.x] > 0) s[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x]; }
BLOCK(64) ok_atomics_behind_barrier(int* out) {
  __shared__ int s;
  if (threadIdx.x == 0) atomicExch(&s, 0);
  __syncthreads();
  out[threadIdx.x] = atomicAdd(&s, 1); }
BLOCK(64) ok_atomics_in_any_order(int* out) {
  __shared__ int s;
  if (threadIdx.x == 0) atomicExch(&s, 0);
  out[threadIdx.x] = atomicAdd(&s, 1); }
// What one way has written covers no other on which less was.
BLOCK(64) ok_less_on_one_way(const int* in, int* out) {
  __shared__ int s[64];
  if (in[0] > 0) { atomicExch(&s[threadIdx.x], 1); __syncthreads(); }
  else { if (in[threadIdx.x + 1] > 1) atomicExch(&s[threadIdx.x], 1); __syncthreads(); }
  __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x]; }
