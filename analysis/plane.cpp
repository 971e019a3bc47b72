#include "analysis/plane.h"

#include "base/float_environment.h"
#include "model/exact_dot.h"

namespace glove {
namespace {

Result<std::vector<double>> coordinates(Analysis& analysis, const Points& points,
                                        const PrincipalComponents& components, int64_t component,
                                        const std::vector<double>& weights,
                                        const InterruptCheck& interrupted) {
  std::vector<double> values(static_cast<size_t>(points.rows));
  if (component >= components.dims) return values;
  const std::vector<float> axis(components.vector(component), components.vector(component) + components.dims);
  GLOVE_RETURN_IF_ERROR(analysis.dots(points, axis, values, interrupted));
  const double origin = exact_dot(components.mean.data(), axis.data(), components.dims);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = (weights.empty() ? 1 : weights[i]) * values[i] - origin;
  return values;
}

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
  PlanePlaces places;
  for (int64_t row = 0; row < points.rows; ++row) {
    const auto i = static_cast<size_t>(row);
    if (!weights.empty() && weights[i] == 0) continue;
    places.rows.push_back(row);
    places.x.push_back(x[i]);
    places.y.push_back(y[i]);
  }
  return places;
}

}  // namespace glove
