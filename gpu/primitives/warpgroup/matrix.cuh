// The tensor cores of compute capability 9.0 (wgmma) with operands of 8 or 16 bits, used by four consecutive
// warps whose first is a multiple of four: a warpgroup. Code that includes this must be compiled for sm_90a.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace glove::gpu {

constexpr int kWarpgroupThreads = 128;
constexpr int kMatrixRows = 64;      // rows of A and of the sums
constexpr int kMatrixColumns = 128;  // columns of B and of the sums
constexpr int kDepthBytes = 32;      // of the components of one multiplication
constexpr int kPairWords = 4;        // words of 16 bytes of a row per pair of multiplications

// Operands are in shared memory, in core matrices of 8 rows (of A) or columns (of B) by 16 bytes, which are
// 128 consecutive bytes. Core matrices of the next components follow at once, and those of the next 8 rows or
// columns `stride` bytes later.
constexpr int kCoreRows = 8;
constexpr int kWordBytes = 16;
constexpr int kCoreBytes = kCoreRows * kWordBytes;

// Returns the descriptor of an operand. REQUIRES: both are multiples of 16.
__device__ inline uint64_t matrix_operand(const void* shared, int stride) {
  const auto address = static_cast<uint64_t>(__cvta_generic_to_shared(shared));
  return (address & 0x3ffff) >> 4 | static_cast<uint64_t>(kCoreBytes >> 4) << 16 |
         static_cast<uint64_t>(stride >> 4) << 32;
}

// What is added to the descriptor of an operand for the components of the next multiplication.
constexpr uint64_t kNextDepth = kDepthBytes / kWordBytes * kCoreBytes >> 4;

// Makes what the calling thread has written to shared memory visible to multiplications that begin after the
// next barrier.
__device__ inline void publish_operands() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// A barrier of the threads of one warpgroup. Block-wide barriers use barrier 0.
__device__ inline void warpgroup_barrier(int warpgroup) {
  asm volatile("bar.sync %0, %1;" ::"r"(1 + warpgroup), "n"(kWarpgroupThreads) : "memory");
}

// The operands of inline assembly for all sums of a thread.
// clang-format off
#define GLOVE_SUM_NAMES \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define GLOVE_SUM_OPERANDS(k) \
  k(value[0]), k(value[1]), k(value[2]), k(value[3]), k(value[4]), k(value[5]), k(value[6]), \
  k(value[7]), k(value[8]), k(value[9]), k(value[10]), k(value[11]), k(value[12]), k(value[13]), \
  k(value[14]), k(value[15]), k(value[16]), k(value[17]), k(value[18]), k(value[19]), k(value[20]), \
  k(value[21]), k(value[22]), k(value[23]), k(value[24]), k(value[25]), k(value[26]), k(value[27]), \
  k(value[28]), k(value[29]), k(value[30]), k(value[31]), k(value[32]), k(value[33]), k(value[34]), \
  k(value[35]), k(value[36]), k(value[37]), k(value[38]), k(value[39]), k(value[40]), k(value[41]), \
  k(value[42]), k(value[43]), k(value[44]), k(value[45]), k(value[46]), k(value[47]), k(value[48]), \
  k(value[49]), k(value[50]), k(value[51]), k(value[52]), k(value[53]), k(value[54]), k(value[55]), \
  k(value[56]), k(value[57]), k(value[58]), k(value[59]), k(value[60]), k(value[61]), k(value[62]), \
  k(value[63])
#define GLOVE_INT_SUM(x) "+r"(x)
#define GLOVE_FLOAT_SUM(x) "+f"(x)
// clang-format on

// The sums of a thread: int for operands of int8, float for operands of half. With w = its warp in the
// warpgroup, g = lane / 4 and t = lane mod 4, value[4j + 2h + c] is that of row 16w + 8h + g and column 8j +
// 2t + c. All members are called by all threads of the warpgroup, in the order in which they stand here. The
// values must not be touched between begin() and the wait() for their group.
template <class Value>
struct WarpgroupSums {
  Value value[kMatrixColumns / 2];

  __device__ void begin() {
    pin();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  }

  // sums = A * B (if kFirst) or sums += A * B, for kDepthBytes of components. Products are exact; additions
  // of floats have at least the precision of a float that truncates. A is in registers: a thread has
  // components of the two rows of its sums, four bytes in a word. With a row's words numbered from 0 to 7,
  // a.x and a.z are t and t + 4 of the first row, a.y and a.w those of the second one. b: matrix_operand().
  template <bool kFirst>
  __device__ void add(uint4 a, uint64_t b);

  // Ends a group of multiplications.
  __device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

  // Waits for all groups but the last kPending of the calling warp. REQUIRES: these sums' is not among them.
  template <int kPending = 0>
  __device__ void wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
    pin();
  }

 private:
  // Keeps the compiler from moving uses of the values across this point.
  __device__ void pin() {
#pragma unroll
    for (Value& one : value) {
      if constexpr (std::is_same_v<Value, int>)
        asm volatile("" : GLOVE_INT_SUM(one)::"memory");
      else
        asm volatile("" : GLOVE_FLOAT_SUM(one)::"memory");
    }
  }
};

template <>
template <bool kFirst>
__device__ inline void WarpgroupSums<int>::add(uint4 a, uint64_t b) {
  asm volatile(
      "{\n\t.reg .pred add;\n\tsetp.eq.u32 add, %69, 0;\n\t"
      "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {" GLOVE_SUM_NAMES
      "}, {%64, %65, %66, %67}, %68, add;\n\t}"
      : GLOVE_SUM_OPERANDS(GLOVE_INT_SUM)
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "l"(b), "n"(static_cast<uint32_t>(kFirst)));
}

template <>
template <bool kFirst>
__device__ inline void WarpgroupSums<float>::add(uint4 a, uint64_t b) {
  asm volatile(
      "{\n\t.reg .pred add;\n\tsetp.eq.u32 add, %69, 0;\n\t"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" GLOVE_SUM_NAMES
      "}, {%64, %65, %66, %67}, %68, add, 1, 1, 0;\n\t}"
      : GLOVE_SUM_OPERANDS(GLOVE_FLOAT_SUM)
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "l"(b), "n"(static_cast<uint32_t>(kFirst)));
}

// The rows that a thread multiplies: 16 bytes of each of the two rows of its sums for each pair of
// multiplications.
template <int kPairs>
struct WarpgroupRows {
  uint4 words[kPairs][2];

  // Starts loading. first, second: the thread's 16 bytes of the first pair, and where the rows end. Past the
  // end, the last 16 bytes stand for others, because B is zero there.
  __device__ __forceinline__ void load(const uint4* first, const uint4* second, int words_left) {
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) {
      const int at = min(pair * kPairWords, words_left - 1);
      words[pair][0] = __ldg(first + at);
      words[pair][1] = __ldg(second + at);
    }
  }

  // Brings the words into the order of multiply(). It must not happen among the multiplications, which would
  // then wait for each other.
  __device__ __forceinline__ void arrange() {
#pragma unroll
    for (uint4(&pair)[2] : words) {
      const uint4 a = pair[0];
      const uint4 b = pair[1];
      pair[0] = make_uint4(a.x, b.x, a.y, b.y);
      pair[1] = make_uint4(a.z, b.z, a.w, b.w);
#pragma unroll
      for (uint4& word : pair) asm volatile("" : "+r"(word.x), "+r"(word.y), "+r"(word.z), "+r"(word.w));
    }
  }

  // sums = rows * B. REQUIRES: arrange() after the last load(), and sums.begin().
  template <class Value>
  __device__ __forceinline__ void multiply(WarpgroupSums<Value>& sums, uint64_t b) const {
    sums.template add<true>(words[0][0], b);
#pragma unroll
    for (int depth = 1; depth < 2 * kPairs; ++depth)
      sums.template add<false>(words[depth / 2][depth % 2], b + static_cast<uint64_t>(depth) * kNextDepth);
  }
};

#undef GLOVE_SUM_NAMES
#undef GLOVE_SUM_OPERANDS
#undef GLOVE_INT_SUM
#undef GLOVE_FLOAT_SUM

}  // namespace glove::gpu
