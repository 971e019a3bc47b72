#include "model/exact_dot.h"

#include "base/float_environment.h"
#include "base/x86_features.h"

namespace glove {
namespace {

constexpr int kLanes = 8;

// Adds the products of the components from `j` on to the lanes. REQUIRES: j is a multiple of kLanes.
template <class A>
void add_plain(const A* a, const float* b, int64_t j, int64_t dims, double* p) {
  GLOVE_REQUIRE(j % kLanes == 0);
  for (; j + kLanes <= dims; j += kLanes)
    for (int l = 0; l < kLanes; ++l) p[l] += static_cast<double>(a[j + l]) * static_cast<double>(b[j + l]);
  for (int l = 0; j < dims; ++j, ++l) p[l] += static_cast<double>(a[j]) * static_cast<double>(b[j]);
}

#if defined(__x86_64__)
GLOVE_AVX2 void add_avx2(const float* a, const float* b, int64_t dims, double* p) {
  __m256d low = _mm256_loadu_pd(p);
  __m256d high = _mm256_loadu_pd(p + 4);
  int64_t j = 0;
  for (; j + kLanes <= dims; j += kLanes) {
    const __m256d low_products =
        _mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(a + j)), _mm256_cvtps_pd(_mm_loadu_ps(b + j)));
    const __m256d high_products =
        _mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(a + j + 4)), _mm256_cvtps_pd(_mm_loadu_ps(b + j + 4)));
    low = _mm256_add_pd(low, low_products);
    high = _mm256_add_pd(high, high_products);
  }
  _mm256_storeu_pd(p, low);
  _mm256_storeu_pd(p + 4, high);
  add_plain(a, b, j, dims, p);
}
#endif

// Adds the products of all components to the lanes.
void add_products(const float* a, const float* b, int64_t dims, double* p) {
#if defined(__x86_64__)
  static const bool fast = x86_features().avx2;
  if (fast) return add_avx2(a, b, dims, p);
#endif
  add_plain(a, b, 0, dims, p);
}

}  // namespace

double exact_dot(const double* a, const float* b, int64_t dims) {
  GLOVE_REQUIRE(dims >= 0 && ScopedFloatEnvironment::is_set());
  double p[kLanes] = {};
  add_plain(a, b, 0, dims, p);
  return sum_of_lanes(p);
}

double exact_dot(const float* a, const float* b, int64_t dims) {
  GLOVE_REQUIRE(dims >= 0 && ScopedFloatEnvironment::is_set());
  double p[kLanes] = {};
  add_products(a, b, dims, p);
  return sum_of_lanes(p);
}

void PiecewiseDot::add(const float* a, const float* b, int64_t count) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  add_products(a, b, count, lanes_.data());
}

}  // namespace glove
