// The int8 tensor cores of compute capability 9.0 (wgmma), used by four consecutive warps whose first is a
// multiple of four: a warpgroup. Code that includes this must be compiled for sm_90a.
#pragma once

#include <cstddef>
#include <cstdint>

namespace glove::gpu {

constexpr int kWarpgroupThreads = 128;
constexpr int kMatrixRows = 64;      // rows of A and of the sums
constexpr int kMatrixColumns = 256;  // columns of B and of the sums
constexpr int kMatrixDepth = 32;     // components of one multiplication

// Operands are in shared memory, in core matrices of 8 rows (of A) or columns (of B) by 16 components, which
// are 128 consecutive bytes. Core matrices of the next components follow at once, and those of the next 8
// rows or columns `stride` bytes later.
constexpr int kCoreRows = 8;
constexpr int kCoreDepth = 16;
constexpr int kCoreBytes = kCoreRows * kCoreDepth;

// Returns the descriptor of an operand. REQUIRES: both are multiples of 16.
__device__ inline uint64_t matrix_operand(const void* shared, int stride) {
  const auto address = static_cast<uint64_t>(__cvta_generic_to_shared(shared));
  return (address & 0x3ffff) >> 4 | static_cast<uint64_t>(kCoreBytes >> 4) << 16 |
         static_cast<uint64_t>(stride >> 4) << 32;
}

// What is added to the descriptor of an operand for the next kMatrixDepth components.
constexpr uint64_t kNextDepth = kMatrixDepth / kCoreDepth * kCoreBytes >> 4;

// Makes what the calling thread has written to shared memory visible to multiplications that begin after the
// next barrier.
__device__ inline void publish_operands() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// A barrier of the threads of one warpgroup. Block-wide barriers use another one.
__device__ inline void warpgroup_barrier(int warpgroup) {
  asm volatile("bar.sync %0, %1;" ::"r"(1 + warpgroup), "n"(kWarpgroupThreads) : "memory");
}

// The sums of a thread. With w = its warp in the warpgroup, g = lane / 4 and t = lane mod 4, value[4j + 2h +
// c] is that of row 16w + 8h + g and column 8j + 2t + c. All members are called by all threads of the
// warpgroup, in the order in which they stand here. The values must not be touched between begin() and
// wait().
struct WarpgroupSums {
  int value[kMatrixColumns / 2];

  __device__ void begin() {
    pin();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  }

  // sums = A * B (if `first`) or sums += A * B, int8 x int8 -> int32, for kMatrixDepth components.
  __device__ void add(uint64_t a, uint64_t b, bool first) {
    asm volatile(
        "{\n\t.reg .pred add;\n\tsetp.eq.u32 add, %130, 0;\n\t"
        "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
        "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "
        "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "
        "%56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, "
        "%74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, "
        "%92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, "
        "%108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, "
        "%123, %124, %125, %126, %127"
        "}, %128, %129, add;\n\t}"
        : "+r"(value[0]), "+r"(value[1]), "+r"(value[2]), "+r"(value[3]), "+r"(value[4]), "+r"(value[5]),
          "+r"(value[6]), "+r"(value[7]), "+r"(value[8]), "+r"(value[9]), "+r"(value[10]), "+r"(value[11]),
          "+r"(value[12]), "+r"(value[13]), "+r"(value[14]), "+r"(value[15]), "+r"(value[16]),
          "+r"(value[17]), "+r"(value[18]), "+r"(value[19]), "+r"(value[20]), "+r"(value[21]),
          "+r"(value[22]), "+r"(value[23]), "+r"(value[24]), "+r"(value[25]), "+r"(value[26]),
          "+r"(value[27]), "+r"(value[28]), "+r"(value[29]), "+r"(value[30]), "+r"(value[31]),
          "+r"(value[32]), "+r"(value[33]), "+r"(value[34]), "+r"(value[35]), "+r"(value[36]),
          "+r"(value[37]), "+r"(value[38]), "+r"(value[39]), "+r"(value[40]), "+r"(value[41]),
          "+r"(value[42]), "+r"(value[43]), "+r"(value[44]), "+r"(value[45]), "+r"(value[46]),
          "+r"(value[47]), "+r"(value[48]), "+r"(value[49]), "+r"(value[50]), "+r"(value[51]),
          "+r"(value[52]), "+r"(value[53]), "+r"(value[54]), "+r"(value[55]), "+r"(value[56]),
          "+r"(value[57]), "+r"(value[58]), "+r"(value[59]), "+r"(value[60]), "+r"(value[61]),
          "+r"(value[62]), "+r"(value[63]), "+r"(value[64]), "+r"(value[65]), "+r"(value[66]),
          "+r"(value[67]), "+r"(value[68]), "+r"(value[69]), "+r"(value[70]), "+r"(value[71]),
          "+r"(value[72]), "+r"(value[73]), "+r"(value[74]), "+r"(value[75]), "+r"(value[76]),
          "+r"(value[77]), "+r"(value[78]), "+r"(value[79]), "+r"(value[80]), "+r"(value[81]),
          "+r"(value[82]), "+r"(value[83]), "+r"(value[84]), "+r"(value[85]), "+r"(value[86]),
          "+r"(value[87]), "+r"(value[88]), "+r"(value[89]), "+r"(value[90]), "+r"(value[91]),
          "+r"(value[92]), "+r"(value[93]), "+r"(value[94]), "+r"(value[95]), "+r"(value[96]),
          "+r"(value[97]), "+r"(value[98]), "+r"(value[99]), "+r"(value[100]), "+r"(value[101]),
          "+r"(value[102]), "+r"(value[103]), "+r"(value[104]), "+r"(value[105]), "+r"(value[106]),
          "+r"(value[107]), "+r"(value[108]), "+r"(value[109]), "+r"(value[110]), "+r"(value[111]),
          "+r"(value[112]), "+r"(value[113]), "+r"(value[114]), "+r"(value[115]), "+r"(value[116]),
          "+r"(value[117]), "+r"(value[118]), "+r"(value[119]), "+r"(value[120]), "+r"(value[121]),
          "+r"(value[122]), "+r"(value[123]), "+r"(value[124]), "+r"(value[125]), "+r"(value[126]),
          "+r"(value[127])
        : "l"(a), "l"(b), "r"(static_cast<uint32_t>(first)));
  }

  __device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

  __device__ void wait() {
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    pin();
  }

 private:
  // Keeps the compiler from moving uses of the values across this point.
  __device__ void pin() {
#pragma unroll
    for (int& one : value) asm volatile("" : "+r"(one)::"memory");
  }
};

}  // namespace glove::gpu
