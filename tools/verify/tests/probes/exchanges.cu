// What the lanes of a warp agree on after they have exchanged numbers, and what a thread's own memory holds.
// The names are as in probes.cu; exchanges.txt lists the verdicts.
#define BLOCK(n) extern "C" __global__ void __launch_bounds__(n)
#define ALL 0xffffffffu

__device__ float number(float x) { return isnan(x) ? -3.4e38f : x; }

// One exchange: the greater number, and of equal ones that of the lower index.
#define EXCHANGE(type, mask, better)                          \
  {                                                           \
    const type other = __shfl_xor_sync(ALL, best, mask);      \
    const int its = __shfl_xor_sync(ALL, where, mask);        \
    if (better) best = other, where = its;                    \
  }
#define ORDER (other > best || (other == best && its < where))
#define BUTTERFLY(type, better) \
  EXCHANGE(type, 16, better) EXCHANGE(type, 8, better) EXCHANGE(type, 4, better) EXCHANGE(type, 2, better) EXCHANGE(type, 1, better)

// The one lane that has the greatest number writes.
BLOCK(32) ok_greatest(const float* in, int* out) {
  float best = number(in[threadIdx.x]);
  int where = threadIdx.x;
  BUTTERFLY(float, ORDER)
  if (where == threadIdx.x) *out = where;
}
BLOCK(32) unproved_greatest_may_be_nan(const float* in, int* out) {
  float best = in[threadIdx.x];
  int where = threadIdx.x;
  BUTTERFLY(float, ORDER)
  if (where == threadIdx.x) *out = where;
}
BLOCK(32) unproved_without_one_exchange(const float* in, int* out) {
  float best = number(in[threadIdx.x]);
  int where = threadIdx.x;
  EXCHANGE(float, 16, ORDER) EXCHANGE(float, 8, ORDER) EXCHANGE(float, 2, ORDER) EXCHANGE(float, 1, ORDER)
  if (where == threadIdx.x) *out = where;
}
BLOCK(32) unproved_equal_numbers_stay(const float* in, int* out) {
  float best = number(in[threadIdx.x]);
  int where = threadIdx.x;
  BUTTERFLY(float, other > best)
  if (where == threadIdx.x) *out = where;
}
BLOCK(32) unproved_equal_numbers_change_places(const float* in, int* out) {
  float best = number(in[threadIdx.x]);
  int where = threadIdx.x;
  BUTTERFLY(float, other >= best)
  if (where == threadIdx.x) *out = where;
}
BLOCK(32) unproved_equal_indices(const float* in, int* out) {
  float best = number(in[threadIdx.x]);
  int where = threadIdx.x & 15;
  BUTTERFLY(float, ORDER)
  if (where == (threadIdx.x & 15)) *out = threadIdx.x;
}
BLOCK(32) unproved_tie_of_other_numbers(const float* in, const int* rank, int* out) {
  float best = number(in[threadIdx.x]);
  int where = rank[threadIdx.x];
  BUTTERFLY(float, ORDER)
  if (where == rank[threadIdx.x]) *out = threadIdx.x;
}
// Subnormal numbers are equal to 0 for the one comparison, and not for the other.
BLOCK(32) unproved_one_comparison_flushes(const float* in, int* out) {
  float best = number(in[threadIdx.x]);
  int where = threadIdx.x;
  const auto greater = [](float a, float b) {
    int result;
    asm("{\n.reg .pred p;\nsetp.gt.ftz.f32 p, %1, %2;\nselp.s32 %0, 1, 0, p;\n}" : "=r"(result) : "f"(a), "f"(b));
    return result != 0;
  };
  BUTTERFLY(float, greater(other, best) || (other == best && its < where))
  if (where == threadIdx.x) *out = where;
}
BLOCK(32) ok_greatest_integer(const int* in, int* out) {
  int best = in[threadIdx.x], where = threadIdx.x;
  BUTTERFLY(int, ORDER)
  if (where == threadIdx.x) *out = where;
}
BLOCK(32) unproved_with_and_without_sign(const int* in, int* out) {
  int best = in[threadIdx.x], where = threadIdx.x;
  BUTTERFLY(int, (unsigned)other > (unsigned)best || (other >= best && its < where))
  if (where == threadIdx.x) *out = where;
}
BLOCK(32) ok_negated_order(const int* in, int* out) {
  int best = in[threadIdx.x], where = threadIdx.x;
  BUTTERFLY(int, !(best > other || (other == best && its >= where)))
  if (where == threadIdx.x) *out = where;
}
// The exchanges are those of each half of the warp, so two lanes write.
BLOCK(32) unproved_greatest_of_each_half(const float* in, int* out) {
  float best = number(in[threadIdx.x]);
  int where = threadIdx.x;
  EXCHANGE(float, 8, ORDER) EXCHANGE(float, 4, ORDER) EXCHANGE(float, 2, ORDER) EXCHANGE(float, 1, ORDER)
  if (where == threadIdx.x) *out = where;
}
// Lanes of different warps have different greatest numbers.
BLOCK(64) race_greatest_of_each_warp(const float* in, int* out) {
  float best = number(in[threadIdx.x]);
  int where = threadIdx.x & 31;
  BUTTERFLY(float, ORDER)
  if (where == (threadIdx.x & 31)) *out = where;
}
// The numbers are unknown ones of each lane, and no loads that all lanes could make.
BLOCK(32) ok_greatest_of_computed(const float* in, int* out) {
  float best = number(__sinf(in[threadIdx.x]));
  int where = threadIdx.x;
  BUTTERFLY(float, ORDER)
  if (where == threadIdx.x) *out = where;
}

// The four greatest numbers of 128, one after the other: who has one strikes it out in its own array.
#define FOUR_GREATEST(strike, first)                                                     \
  float mine[4];                                                                         \
  for (int i = 0; i < 4; ++i) mine[i] = first(in[32 * i + threadIdx.x]);                 \
  for (int k = 0; k < 4; ++k) {                                                          \
    float best = mine[0];                                                                \
    int where = threadIdx.x;                                                             \
    for (int i = 1; i < 4; ++i)                                                          \
      if (mine[i] > best) best = mine[i], where = 32 * i + threadIdx.x;                  \
    BUTTERFLY(float, ORDER)                                                              \
    if (where % 32 == threadIdx.x) {                                                     \
      mine[where / 32] = strike;                                                         \
      out[k] = where;                                                                    \
    }                                                                                    \
  }
BLOCK(32) ok_four_greatest(const float* in, int* out) { FOUR_GREATEST(-3.4e38f, number) }
BLOCK(32) unproved_strikes_out_with_nan(const float* in, int* out) { FOUR_GREATEST(in[128], number) }
BLOCK(32) unproved_four_of_which_some_are_nan(const float* in, int* out) { FOUR_GREATEST(-3.4e38f, ) }

// A thread's own array, which counts the rounds of a loop.
#define COUNT_ROUNDS                                                    \
  volatile int own[8];                                                  \
  for (int i = 0; i < 8; ++i) own[i] = 0;                               \
  const int at = threadIdx.x & 7;                                       \
  for (int round = 0; round < rounds; ++round) {                        \
    own[at] = own[at] + 1;                                              \
    __syncthreads();                                                    \
  }
BLOCK(32) race_at_the_hundredth_round(int rounds, int* out) {
  COUNT_ROUNDS
  if (own[at] == 100) *out = threadIdx.x;
}
BLOCK(32) ok_never_before_the_first_round(int rounds, int* out) {
  COUNT_ROUNDS
  if (own[at] < 0) *out = threadIdx.x;
}

// A store behind two branches that jump over it: it is made if neither does.
#define STORE_BEHIND_TWO                                                                     \
  __shared__ int s[32];                                                                      \
  s[threadIdx.x] = 0;                                                                        \
  __syncthreads();                                                                           \
  if (threadIdx.x == 0)                                                                      \
    asm volatile("{\n.reg .pred p, q;\nsetp.le.s32 p, %1, 0;\n@p bra END;\nsetp.le.s32 q, %2, 0;\n@q bra END;\n" \
                 "st.shared.u32 [%0], 5;\nEND:\n}" ::"r"((unsigned)__cvta_generic_to_shared(s)), "r"(a), "r"(b) : "memory"); \
  __syncthreads();
BLOCK(32) unproved_second_branch_alone(int a, int b, int* out) {
  STORE_BEHIND_TWO
  if (b > 0 && s[0] == 0) *out = threadIdx.x;
}
BLOCK(32) ok_both_branches(int a, int b, int* out) {
  STORE_BEHIND_TWO
  if (a > 0 && b > 0 && s[0] == 0) *out = threadIdx.x;
}
