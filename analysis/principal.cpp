#include "analysis/principal.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "analysis/eigen.h"
#include "analysis/moments.h"
#include "base/concat.h"
#include "base/float_environment.h"

namespace glove {
namespace {

// `what` is computed of the rows.
Status check_rows(int64_t rows, const std::string& what) {
  if (rows == 0) return invalid_argument("there is no row to compute ", what, " of");
  return {};
}

Status check_size(int64_t rows, int64_t dims) {
  if (dims > kMostPrincipalDims)
    return invalid_argument("the model has ", dims,
                            " dimensions; principal components are computed for at most ",
                            kMostPrincipalDims);
  return check_rows(rows, "principal components");
}

// Rounded to float, so that rows less the mean have exact products.
Result<std::vector<float>> rounded_mean(Analysis& analysis, const Points& points,
                                        std::span<const double> weights, const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(const std::vector<double> mean,
                         weighted_mean(analysis, points, weights, interrupted));
  return std::vector<float>(mean.begin(), mean.end());
}

// Fills in what follows from the second moment. `divisor`: of the sums of squares.
Status add_components(std::span<const double> moment, int64_t divisor, const InterruptCheck& interrupted,
                      PrincipalComponents& result) {
  GLOVE_ASSIGN_OR_RETURN(EigenSystem system, symmetric_eigen(moment, result.dims, interrupted));
  for (const double value : system.values) {
    const double sum = std::max(0.0, value);
    result.singular_values.push_back(std::sqrt(sum));
    result.variances.push_back(sum / static_cast<double>(divisor));
    result.total_variance += sum / static_cast<double>(divisor);
  }
  result.vectors = std::move(system.vectors);
  return {};
}

}  // namespace

Result<PrincipalComponents> principal_components(Analysis& analysis, const Points& points,
                                                 const PrincipalOptions& options,
                                                 const InterruptCheck& interrupted) {
  const ScopedFloatEnvironment environment;
  std::vector<double> unit;
  if (options.unit_rows) unit = unit_weights(points);
  const std::span<const double> weights = options.unit_rows ? std::span<const double>(unit) : options.weights;
  PrincipalComponents result;
  result.rows = weighted_rows(points, weights);
  result.dims = points.dims;
  GLOVE_RETURN_IF_ERROR(check_size(result.rows, result.dims));
  result.mean.resize(static_cast<size_t>(points.dims));
  MomentRows rows{weights, {}};
  if (options.center) {
    GLOVE_ASSIGN_OR_RETURN(result.mean, rounded_mean(analysis, points, weights, interrupted));
    rows.center = result.mean;
  }
  std::vector<double> moment(static_cast<size_t>(points.dims * points.dims));
  // The mean of equal rows is one of them, but its rounding must not become a variance.
  if (!options.center || !rows_are_equal(points, weights))
    GLOVE_RETURN_IF_ERROR(analysis.second_moment(points, rows, moment, interrupted));
  GLOVE_RETURN_IF_ERROR(add_components(moment, std::max<int64_t>(1, result.rows - (options.center ? 1 : 0)),
                                       interrupted, result));
  return result;
}

Result<std::vector<float>> mean_of_rows(Analysis& analysis, const Points& points,
                                        const InterruptCheck& interrupted) {
  const ScopedFloatEnvironment environment;
  GLOVE_RETURN_IF_ERROR(check_rows(points.rows, "a mean"));
  return rounded_mean(analysis, points, {}, interrupted);
}

Result<PrincipalComponents> principal_components_of_moment(std::span<const double> moment, int64_t rows,
                                                           int64_t dims) {
  const ScopedFloatEnvironment environment;
  GLOVE_RETURN_IF_ERROR(check_size(rows, dims));
  PrincipalComponents result;
  result.rows = rows;
  result.dims = dims;
  result.mean.resize(static_cast<size_t>(dims));
  GLOVE_RETURN_IF_ERROR(add_components(moment, rows, {}, result));
  return result;
}

}  // namespace glove
