// Places in the plane for the rows of a model.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/principal.h"

namespace glove {

// The points that have a place, in order.
struct PlanePlaces {
  std::vector<int64_t> rows;  // of the points; all of them, unless zero rows are left out
  std::vector<double> x, y;   // [rows]

  // Memory that the places take.
  int64_t bytes() const {
    return static_cast<int64_t>(rows.capacity() * sizeof(int64_t) +
                                (x.capacity() + y.capacity()) * sizeof(double) + sizeof(*this));
  }
};

// Projects the points, less the mean, on the first two components: y_i = w_i * D(row i, component) less
// D(mean, component), where w_i is 1 or, with `unit_rows`, 1 / |row i|, which leaves zero rows out. If there
// is one dimension only, every y is 0. Errors: an interrupt. Opens its own float environment. REQUIRES: the
// components are those of the points, centred, with the same `unit_rows`.
Result<PlanePlaces> plane_of_components(Analysis& analysis, const Points& points,
                                        const PrincipalComponents& components, bool unit_rows,
                                        const InterruptCheck& interrupted);

constexpr int kPlaneIterations = 20;  // of approximate_plane()
constexpr int64_t kPlaneVectors = 4;  // that it iterates

// Nearly the same for unit rows, without their components: the plane that kPlaneIterations steps of subspace
// iteration find (Rutishauser 1970), from kPlaneVectors random vectors. Any number of dimensions will do, and
// time grows with it as one pass over the rows does. The result is the same on every machine; the places of
// equal rows are (0, 0). Errors: an interrupt. Opens its own float environment.
Result<PlanePlaces> approximate_plane(Analysis& analysis, const Points& points,
                                      const InterruptCheck& interrupted);

}  // namespace glove
