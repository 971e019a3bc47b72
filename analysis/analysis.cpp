#include "analysis/analysis.h"

#include <vector>

namespace glove {

Status Analysis::gram_product(const Points& points, std::span<const float> vector, std::span<double> product,
                              const InterruptCheck& interrupted) {
  std::vector<double> weights(static_cast<size_t>(points.rows));
  GLOVE_RETURN_IF_ERROR(dots(points, vector, weights, interrupted));
  return column_sums(points, weights, product, interrupted);
}

}  // namespace glove
