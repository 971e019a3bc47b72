// The loops of nibbles.cpp with AVX2, which includes this file.

GLOVE_AVX2 float choose_avx2(const float* x, double to_largest, int64_t dims) {
  const __m256 rounding = _mm256_set1_ps(kRoundingFloat);
  const __m256d scale = _mm256_set1_pd(to_largest);
  __m256 squares[kFactors];
  for (__m256& square : squares) square = _mm256_setzero_ps();
  int64_t j = 0;
  for (; j + kLanes <= dims; j += kLanes) {
    const __m128 low = _mm256_cvtpd_ps(_mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(x + j)), scale));
    const __m128 high = _mm256_cvtpd_ps(_mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(x + j + 4)), scale));
    const __m256 w = _mm256_set_m128(high, low);
    for (int f = 0; f < kFactors; ++f) {
      const __m256 position =
          _mm256_add_ps(_mm256_mul_ps(w, _mm256_set1_ps(0.5f / factor(f))), _mm256_set1_ps(7.5f));
      const __m256 inside =
          _mm256_min_ps(_mm256_max_ps(position, _mm256_setzero_ps()), _mm256_set1_ps(15.0f));
      const __m256 v = _mm256_sub_ps(_mm256_add_ps(inside, rounding), rounding);
      const __m256 error = _mm256_sub_ps(_mm256_add_ps(w, _mm256_set1_ps(15.0f * factor(f))),
                                         _mm256_mul_ps(_mm256_set1_ps(2.0f * factor(f)), v));
      squares[f] = _mm256_add_ps(squares[f], _mm256_mul_ps(error, error));
    }
  }
  FactorErrors errors;
  for (int f = 0; f < kFactors; ++f) _mm256_storeu_ps(errors.squares[f], squares[f]);
  errors.add(x, to_largest, j, dims);
  return errors.best_factor();
}

// Four components of the unit vector and their codes.
struct UnitCoder {
  __m256d inverse_norm, inverse_step;

  GLOVE_AVX2 UnitCoder(double norm, double s)
      : inverse_norm(_mm256_set1_pd(norm)), inverse_step(_mm256_set1_pd(0.5 / s)) {}
  GLOVE_AVX2 __m256d unit(const float* x) const {
    return _mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(x)), inverse_norm);
  }
  // Returns the code bits v.
  GLOVE_AVX2 __m256d bits(__m256d u) const {
    const __m256d rounding = _mm256_set1_pd(kRounding);
    const __m256d position = _mm256_add_pd(_mm256_mul_pd(u, inverse_step), _mm256_set1_pd(7.5));
    const __m256d inside = _mm256_min_pd(_mm256_max_pd(position, _mm256_setzero_pd()), _mm256_set1_pd(15.0));
    return _mm256_sub_pd(_mm256_add_pd(inside, rounding), rounding);
  }
  GLOVE_AVX2 static __m256d code(__m256d v) {
    return _mm256_sub_pd(_mm256_add_pd(v, v), _mm256_set1_pd(15.0));
  }
};

GLOVE_AVX2 double code_avx2(const float* x, double inverse_norm, double s, int64_t dims, int8_t* codes,
                            int64_t stride) {
  const UnitCoder coder(inverse_norm, s);
  __m256d dots[2] = {_mm256_setzero_pd(), _mm256_setzero_pd()};
  __m256d norms[2] = {_mm256_setzero_pd(), _mm256_setzero_pd()};
  int64_t j = 0;
  for (; j + kLanes <= dims; j += kLanes) {
    __m128i bits[2];
    for (int half = 0; half < 2; ++half) {
      const __m256d u = coder.unit(x + j + 4 * half);
      const __m256d v = coder.bits(u);
      const __m256d code = UnitCoder::code(v);
      dots[half] = _mm256_add_pd(dots[half], _mm256_mul_pd(u, code));
      norms[half] = _mm256_add_pd(norms[half], _mm256_mul_pd(code, code));
      bits[half] = _mm256_cvttpd_epi32(v);
    }
    const __m128i both = _mm_or_si128(bits[0], _mm_slli_epi32(bits[1], 4));
    const int32_t word = _mm_cvtsi128_si32(_mm_shuffle_epi8(both, _mm_set1_epi32(0x0C080400)));
    std::memcpy(codes + j / kNibbleGroup * stride, &word, sizeof(word));
  }
  Fit fit;
  for (int half = 0; half < 2; ++half) {
    _mm256_storeu_pd(fit.dots + 4 * half, dots[half]);
    _mm256_storeu_pd(fit.norms + 4 * half, norms[half]);
  }
  fit.add(x, inverse_norm, s, j, dims, codes, stride);
  return fit.scale();
}

GLOVE_AVX2 double distance_avx2(const float* x, double inverse_norm, double s, double fitted, int64_t dims) {
  const UnitCoder coder(inverse_norm, s);
  const __m256d scale = _mm256_set1_pd(fitted);
  __m256d squares[2] = {_mm256_setzero_pd(), _mm256_setzero_pd()};
  int64_t j = 0;
  for (; j + kLanes <= dims; j += kLanes)
    for (int half = 0; half < 2; ++half) {
      const __m256d u = coder.unit(x + j + 4 * half);
      const __m256d error = _mm256_sub_pd(u, _mm256_mul_pd(scale, UnitCoder::code(coder.bits(u))));
      squares[half] = _mm256_add_pd(squares[half], _mm256_mul_pd(error, error));
    }
  Distance distance;
  for (int half = 0; half < 2; ++half) _mm256_storeu_pd(distance.squares + 4 * half, squares[half]);
  distance.add(x, inverse_norm, s, fitted, j, dims);
  return distance.value();
}

constexpr NibbleLoops kAvx2Loops = {choose_avx2, code_avx2, distance_avx2};
