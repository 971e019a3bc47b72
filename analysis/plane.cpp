#include "analysis/plane.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/eigen.h"
#include "analysis/moments.h"
#include "base/random.h"
#include "base/float_environment.h"
#include "model/exact_dot.h"

namespace glove {
namespace {

Result<std::vector<double>> coordinates(Analysis& analysis, const Points& points,
                                        const PrincipalComponents& components, int64_t component,
                                        const std::vector<double>& weights,
                                        const InterruptCheck& interrupted) {
  std::vector<double> values(static_cast<size_t>(points.rows));
  // Without a variance the rows are equal, and only the rounding of the mean would move them.
  if (component >= components.dims || components.variances[static_cast<size_t>(component)] == 0)
    return values;
  const std::vector<float> axis(components.vector(component), components.vector(component) + components.dims);
  GLOVE_RETURN_IF_ERROR(analysis.dots(points, axis, values, interrupted));
  const double origin = exact_dot(components.mean.data(), axis.data(), components.dims);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = (weights.empty() ? 1 : weights[i]) * values[i] - origin;
  return values;
}

// The rows that have a weight, with their places: x[row] and y[row].
PlanePlaces weighted_places(int64_t rows, const std::vector<double>& weights, const std::vector<double>& x,
                            const std::vector<double>& y) {
  PlanePlaces places;
  for (int64_t row = 0; row < rows; ++row) {
    const auto i = static_cast<size_t>(row);
    if (!weights.empty() && weights[i] == 0) continue;
    places.rows.push_back(row);
    places.x.push_back(x[i]);
    places.y.push_back(y[i]);
  }
  return places;
}

// Subspace iteration for the covariance of unit rows y_i = w_i x_i - m, which is not computed itself.
class PlaneIteration {
 public:
  PlaneIteration(Analysis& analysis, const Points& points, const std::vector<double>& weights)
      : analysis_(analysis), points_(points), weights_(weights) {
    SplitMix64 random(0);
    vectors_.resize(static_cast<size_t>(std::min(kPlaneVectors, points.dims)));
    for (std::vector<double>& vector : vectors_)
      for (int64_t j = 0; j < points.dims; ++j)
        vector.push_back(static_cast<double>(random.below(2001)) / 1000 - 1);
    orthonormalize();
  }

  Status run(const InterruptCheck& interrupted) {
    GLOVE_ASSIGN_OR_RETURN(mean_, weighted_mean(analysis_, points_, weights_, interrupted));
    for (int i = 0; i < kPlaneIterations; ++i) {
      for (std::vector<double>& vector : vectors_) GLOVE_RETURN_IF_ERROR(multiply(vector, interrupted));
      orthonormalize();
    }
    return {};
  }

  // The coordinates of all rows along the two directions of the most variance among the vectors.
  Status project(std::vector<double>& x, std::vector<double>& y, const InterruptCheck& interrupted) {
    const size_t count = vectors_.size();
    std::vector<std::vector<double>> along;
    for (const std::vector<double>& vector : vectors_) {
      GLOVE_ASSIGN_OR_RETURN(std::vector<double> values, coordinates(vector, interrupted));
      along.push_back(std::move(values));
    }
    std::vector<double> moment(count * count);
    for (size_t a = 0; a < count; ++a)
      for (size_t b = 0; b < count; ++b)
        moment[a * count + b] = std::inner_product(along[a].begin(), along[a].end(), along[b].begin(), 0.0);
    GLOVE_ASSIGN_OR_RETURN(const EigenSystem system, symmetric_eigen(moment, static_cast<int64_t>(count)));
    for (size_t component = 0; component < std::min<size_t>(2, count); ++component) {
      const double* const shares = system.vectors.data() + component * count;
      const double sign = sign_of(shares);
      for (size_t a = 0; a < count; ++a)
        for (size_t i = 0; i < along[a].size(); ++i)
          (component == 0 ? x : y)[i] += sign * shares[a] * along[a][i];
    }
    return {};
  }

 private:
  // (w_i x_i - m) . vector of each row, with the vector in float; 0 for those without a weight.
  Result<std::vector<double>> coordinates(const std::vector<double>& vector,
                                          const InterruptCheck& interrupted) {
    const std::vector<float> narrow(vector.begin(), vector.end());
    std::vector<double> values(static_cast<size_t>(points_.rows));
    GLOVE_RETURN_IF_ERROR(analysis_.dots(points_, narrow, values, interrupted));
    const double origin = std::inner_product(mean_.begin(), mean_.end(), narrow.begin(), 0.0);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = weights_[i] == 0 ? 0 : weights_[i] * values[i] - origin;
    return values;
  }

  // 1, or -1 if the largest component of the sum of shares[a] * vectors_[a] is negative.
  double sign_of(const double* shares) const {
    double largest = 0;
    for (size_t j = 0; j < vectors_[0].size(); ++j) {
      double value = 0;
      for (size_t a = 0; a < vectors_.size(); ++a) value += shares[a] * vectors_[a][j];
      if (std::fabs(value) > std::fabs(largest)) largest = value;
    }
    return largest < 0 ? -1 : 1;
  }

  // vector = the sum of y_i (y_i . vector).
  Status multiply(std::vector<double>& vector, const InterruptCheck& interrupted) {
    GLOVE_ASSIGN_OR_RETURN(std::vector<double> factors, coordinates(vector, interrupted));
    const double sum = std::accumulate(factors.begin(), factors.end(), 0.0);
    for (size_t i = 0; i < factors.size(); ++i) factors[i] *= weights_[i];
    GLOVE_RETURN_IF_ERROR(analysis_.column_sums(points_, factors, vector, interrupted));
    for (size_t j = 0; j < vector.size(); ++j) vector[j] -= sum * mean_[j];
    return {};
  }

  // By the modified method of Gram and Schmidt. A vector that depends on earlier ones becomes 0.
  void orthonormalize() {
    for (size_t a = 0; a < vectors_.size(); ++a) {
      std::vector<double>& vector = vectors_[a];
      for (size_t b = 0; b < a; ++b) {
        const double dot = std::inner_product(vector.begin(), vector.end(), vectors_[b].begin(), 0.0);
        for (size_t j = 0; j < vector.size(); ++j) vector[j] -= dot * vectors_[b][j];
      }
      const double length = std::sqrt(std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0));
      for (double& value : vector) value = length > 0 ? value / length : 0;
    }
  }

  Analysis& analysis_;
  const Points& points_;
  const std::vector<double>& weights_;
  std::vector<double> mean_;                  // [dims], of the unit rows
  std::vector<std::vector<double>> vectors_;  // [dims] each
};

}  // namespace

Result<PlanePlaces> plane_of_components(Analysis& analysis, const Points& points,
                                        const PrincipalComponents& components, bool unit_rows,
                                        const InterruptCheck& interrupted) {
  const ScopedFloatEnvironment environment;
  std::vector<double> weights;
  if (unit_rows) weights = unit_weights(points);
  GLOVE_ASSIGN_OR_RETURN(const std::vector<double> x,
                         coordinates(analysis, points, components, 0, weights, interrupted));
  GLOVE_ASSIGN_OR_RETURN(const std::vector<double> y,
                         coordinates(analysis, points, components, 1, weights, interrupted));
  return weighted_places(points.rows, weights, x, y);
}

Result<PlanePlaces> approximate_plane(Analysis& analysis, const Points& points,
                                      const InterruptCheck& interrupted) {
  const ScopedFloatEnvironment environment;
  const std::vector<double> weights = unit_weights(points);
  std::vector<double> x(static_cast<size_t>(points.rows)), y(x);
  if (rows_are_equal(points, weights)) return weighted_places(points.rows, weights, x, y);
  PlaneIteration iteration(analysis, points, weights);
  GLOVE_RETURN_IF_ERROR(iteration.run(interrupted));
  GLOVE_RETURN_IF_ERROR(iteration.project(x, y, interrupted));
  return weighted_places(points.rows, weights, x, y);
}

}  // namespace glove
