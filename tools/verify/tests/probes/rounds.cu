// What the rounds of a loop around barriers have in common.

// A number that is loaded before a barrier is the one that is loaded behind it, in each round.
extern "C" __global__ void __launch_bounds__(64) load_kept(const int* index, int* out, int n) {
  for (int i = 0; i < n; ++i) {
    const int place = index[i];
    __syncthreads();
    if (threadIdx.x == 0) out[place] = 1;
    if (threadIdx.x == 32) out[index[i] + 1] = 2;
    __syncthreads();
  }
}

// It is not that of the next round.
extern "C" __global__ void __launch_bounds__(64) load_of_next_round(const int* index, int* out, int n) {
  int place = index[0];
  for (int i = 0; i < n; ++i) {
    __syncthreads();
    if (threadIdx.x == 0) out[place] = 1;
    if (threadIdx.x == 32) out[index[i + 1] + 1] = 2;
    place = index[i + 1];
    __syncthreads();
  }
}
