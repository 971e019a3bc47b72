#include "text/common_components.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/moments.h"
#include "analysis/points.h"
#include "analysis/principal.h"
#include "base/float_environment.h"
#include "model/exact_dot.h"

namespace glove {
namespace {

// Returns the factors of rows [first, first + count) in the second moment.
std::vector<double> row_factors(const WordWeights& weights, int64_t first, int64_t count) {
  std::vector<double> factors(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    factors[static_cast<size_t>(i)] = std::sqrt(weights.frequency(first + i)) * weights.weight(first + i);
  return factors;
}

// Returns the second moment of the first rows. It has the bits of one pass over all of them, because a pass
// also adds the sums of the blocks in their order.
Result<std::vector<double>> weighted_moment(Analysis& analysis, const WrittenRows& rows, int64_t used,
                                            const WordWeights& weights, const InterruptCheck& interrupted) {
  std::vector<double> total(static_cast<size_t>(rows.dims * rows.dims));
  std::vector<double> part(total.size());
  for (int64_t first = 0; first < used; first += kMomentBlock) {
    Points points;
    points.rows = std::min(kMomentBlock, used - first);
    points.dims = rows.dims;
    GLOVE_ASSIGN_OR_RETURN(const std::span<const float> vectors, rows.read(first, points.rows));
    points.vectors = vectors.data();
    const std::vector<double> factors = row_factors(weights, first, points.rows);
    GLOVE_RETURN_IF_ERROR(analysis.second_moment(points, MomentRows{factors, {}}, part, interrupted));
    for (size_t i = 0; i < total.size(); ++i) total[i] += part[i];
  }
  return total;
}

CommonComponents leading_components(const PrincipalComponents& principal) {
  CommonComponents result;
  result.dims = principal.dims;
  result.count = std::min(kMostCommonComponents, principal.dims - 1);
  for (int64_t c = 0; c < result.count; ++c)
    for (int64_t j = 0; j < result.dims; ++j)
      result.vectors.push_back(static_cast<float>(principal.vector(c)[j]));
  return result;
}

}  // namespace

void CommonComponents::remove(int64_t components, std::span<double> vector) const {
  for (int64_t c = 0; c < components; ++c) {
    const float* const component = vectors.data() + c * dims;
    const double share = exact_dot(vector.data(), component, dims);
    for (int64_t j = 0; j < dims; ++j)
      vector[static_cast<size_t>(j)] -= share * static_cast<double>(component[j]);
  }
}

Result<CommonComponents> derive_common_components(Analysis& analysis, const ModelPtr& model,
                                                  const WordWeights& weights,
                                                  const InterruptCheck& interrupted) {
  const ScopedFloatEnvironment environment;
  const PointSet set = PointSet::first_rows(model, std::min(model->words(), kCommonComponentWords));
  const std::vector<double> factors = row_factors(weights, 0, set.rows());
  PrincipalOptions options;
  options.center = false;
  options.weights = factors;
  GLOVE_ASSIGN_OR_RETURN(const PrincipalComponents principal,
                         principal_components(analysis, set.points(), options, interrupted));
  return leading_components(principal);
}

Result<std::shared_ptr<const StoredComponents>> derive_stored_components(Analysis& analysis,
                                                                         const WrittenRows& rows,
                                                                         const InterruptCheck& interrupted) {
  const ScopedFloatEnvironment environment;
  if (rows.dims < 2 || rows.dims > kMostStoredDims) return std::shared_ptr<const StoredComponents>();
  const WordWeights weights = WordWeights::of_rank(rows.words, kDefaultSifParameter);
  const int64_t used = std::min(rows.words, kCommonComponentWords);
  GLOVE_ASSIGN_OR_RETURN(const std::vector<double> moment,
                         weighted_moment(analysis, rows, used, weights, interrupted));
  const auto principal = principal_components_of_moment(moment, used, rows.dims);
  GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
  if (!principal.ok()) return std::shared_ptr<const StoredComponents>();
  CommonComponents common = leading_components(principal.value());
  return std::shared_ptr<const StoredComponents>(std::make_shared<StoredComponents>(StoredComponents{
      .a = weights.a(), .words = rows.words, .count = common.count, .vectors = std::move(common.vectors)}));
}

std::shared_ptr<const CommonComponents> stored_common_components(const Model& model,
                                                                 const WordWeights& weights, int64_t needed) {
  const StoredComponents* const stored = model.source().components.get();
  if (stored == nullptr || weights.source() != WeightSource::kZipf || stored->a != weights.a() ||
      stored->words != model.words() || stored->count < needed)
    return nullptr;
  return std::make_shared<const CommonComponents>(
      CommonComponents{model.dims(), stored->count, stored->vectors});
}

}  // namespace glove
