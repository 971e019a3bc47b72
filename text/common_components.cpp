#include "text/common_components.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

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
  const PointSet set = PointSet::first_rows(model, std::min(model->words(), kCommonComponentWords));
  return derive_common_components(analysis, set.points(), weights, interrupted);
}

Result<CommonComponents> derive_common_components(Analysis& analysis, const Points& points,
                                                  const WordWeights& weights,
                                                  const InterruptCheck& interrupted) {
  const ScopedFloatEnvironment environment;
  CommonComponents result;
  result.dims = points.dims;
  result.count = std::min(kMostCommonComponents, points.dims - 1);
  std::vector<double> factors(static_cast<size_t>(points.rows));
  for (int64_t id = 0; id < points.rows; ++id)
    factors[static_cast<size_t>(id)] = std::sqrt(weights.frequency(id)) * weights.weight(id);
  PrincipalOptions options;
  options.center = false;
  options.weights = factors;
  GLOVE_ASSIGN_OR_RETURN(const PrincipalComponents principal,
                         principal_components(analysis, points, options, interrupted));
  for (int64_t c = 0; c < result.count; ++c)
    for (int64_t j = 0; j < result.dims; ++j)
      result.vectors.push_back(static_cast<float>(principal.vector(c)[j]));
  return result;
}

Result<std::shared_ptr<const StoredComponents>> derive_stored_components(Analysis& analysis,
                                                                         const Points& points, int64_t words,
                                                                         const InterruptCheck& interrupted) {
  const ScopedFloatEnvironment environment;
  const WordWeights weights = WordWeights::of_rank(words, kDefaultSifParameter);
  auto derived = derive_common_components(analysis, points, weights, interrupted);
  if (!derived.ok() && derived.error().code == ErrorCode::kInterrupted) return derived.error();
  const auto is_finite = [](float value) { return std::isfinite(value); };
  if (!derived.ok() || derived.value().count < 1 || !std::ranges::all_of(derived.value().vectors, is_finite))
    return std::shared_ptr<const StoredComponents>();
  return std::shared_ptr<const StoredComponents>(
      std::make_shared<StoredComponents>(StoredComponents{.a = weights.a(),
                                                          .words = points.rows,
                                                          .count = derived.value().count,
                                                          .vectors = std::move(derived.value().vectors)}));
}

std::shared_ptr<const CommonComponents> stored_common_components(const Model& model,
                                                                 const WordWeights& weights, int64_t needed) {
  const StoredComponents* const stored = model.source().components.get();
  if (stored == nullptr || weights.source() != WeightSource::kZipf || stored->a != weights.a() ||
      stored->words != std::min(model.words(), kCommonComponentWords) || stored->count < needed)
    return nullptr;
  return std::make_shared<const CommonComponents>(
      CommonComponents{model.dims(), stored->count, stored->vectors});
}

}  // namespace glove
