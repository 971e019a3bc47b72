#include "model/row_map.h"

#include <algorithm>
#include <cmath>

#include "base/float_environment.h"
#include "base/require.h"
#include "model/exact_dot.h"

namespace glove {

void normalize_vector(std::span<float> z) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  const double norm_squared = exact_dot(z.data(), z.data(), static_cast<int64_t>(z.size()));
  if (!(norm_squared > 0)) return;
  const double inverse = 1 / std::sqrt(norm_squared);
  for (float& value : z) value = static_cast<float>(value * inverse);
}

void RowMap::apply(const float* x, float* z) const {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  std::vector<float> y(x, x + dims_in);
  for (size_t j = 0; j < mean.size(); ++j) y[j] = x[j] - mean[j];
  if (matrix.empty()) {
    std::copy(y.begin(), y.end(), z);
  } else {
    for (int64_t o = 0; o < dims_out; ++o)
      z[o] = static_cast<float>(exact_dot(matrix.data() + o * dims_in, y.data(), dims_in));
  }
  if (normalize) normalize_vector({z, static_cast<size_t>(dims_out)});
}

}  // namespace glove
