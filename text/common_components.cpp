#include "text/common_components.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/points.h"
#include "analysis/principal.h"
#include "base/float_environment.h"

namespace glove {
namespace {

// The sum of a_j * b_j in the order of the exact dot product: eight sums over j mod 8, added in pairs.
double dot(const double* a, const float* b, int64_t dims) {
  constexpr int64_t kLanes = 8;
  std::array<double, kLanes> sums{};
  int64_t j = 0;
  for (; j + kLanes <= dims; j += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      sums[static_cast<size_t>(lane)] += a[j + lane] * static_cast<double>(b[j + lane]);
  for (int64_t lane = 0; j < dims; ++j, ++lane)
    sums[static_cast<size_t>(lane)] += a[j] * static_cast<double>(b[j]);
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

}  // namespace

void CommonComponents::remove(int64_t components, std::span<double> vector) const {
  for (int64_t c = 0; c < components; ++c) {
    const float* const component = vectors.data() + c * dims;
    const double share = dot(vector.data(), component, dims);
    for (int64_t j = 0; j < dims; ++j)
      vector[static_cast<size_t>(j)] -= share * static_cast<double>(component[j]);
  }
}

Result<CommonComponents> derive_common_components(Analysis& analysis, const ModelPtr& model,
                                                  const WordWeights& weights,
                                                  const InterruptCheck& interrupted) {
  const ScopedFloatEnvironment environment;
  CommonComponents result;
  result.dims = model->dims();
  result.count = std::min(kMostCommonComponents, model->dims() - 1);
  const PointSet set = PointSet::first_rows(model, std::min(model->words(), kCommonComponentWords));
  std::vector<double> factors(static_cast<size_t>(set.rows()));
  for (int64_t id = 0; id < set.rows(); ++id)
    factors[static_cast<size_t>(id)] = std::sqrt(weights.frequency(id)) * weights.weight(id);
  PrincipalOptions options;
  options.center = false;
  options.weights = factors;
  GLOVE_ASSIGN_OR_RETURN(const PrincipalComponents principal,
                         principal_components(analysis, set.points(), options, interrupted));
  for (int64_t c = 0; c < result.count; ++c)
    for (int64_t j = 0; j < result.dims; ++j)
      result.vectors.push_back(static_cast<float>(principal.vector(c)[j]));
  return result;
}

}  // namespace glove
