// The processor's features as read here and as the compiler's own run-time library reads them.
#include "base/x86_features.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <utility>

#if defined(__x86_64__)

namespace glove {
namespace {

TEST(X86Features, AreThoseThatTheCompilerReads) {
  __builtin_cpu_init();
  const X86Features& has = x86_features();
  const std::pair<bool, bool> read_and_expected[] = {{has.ssse3, __builtin_cpu_supports("ssse3")},
                                                     {has.sse4_1, __builtin_cpu_supports("sse4.1")},
                                                     {has.sse4_2, __builtin_cpu_supports("sse4.2")},
                                                     {has.pclmul, __builtin_cpu_supports("pclmul")},
                                                     {has.aes, __builtin_cpu_supports("aes")},
                                                     {has.avx, __builtin_cpu_supports("avx")},
                                                     {has.fma, __builtin_cpu_supports("fma")},
                                                     {has.avx2, __builtin_cpu_supports("avx2")},
                                                     {has.bmi, __builtin_cpu_supports("bmi")},
                                                     {has.bmi2, __builtin_cpu_supports("bmi2")},
                                                     {has.avx512f, __builtin_cpu_supports("avx512f")},
                                                     {has.avx512dq, __builtin_cpu_supports("avx512dq")},
                                                     {has.avx512bw, __builtin_cpu_supports("avx512bw")},
                                                     {has.avx512vl, __builtin_cpu_supports("avx512vl")},
                                                     {has.avx512vnni, __builtin_cpu_supports("avx512vnni")}};
  for (size_t i = 0; i < std::size(read_and_expected); ++i)
    EXPECT_EQ(read_and_expected[i].first, read_and_expected[i].second) << "feature " << i << " of the list";
}

}  // namespace
}  // namespace glove

#endif
