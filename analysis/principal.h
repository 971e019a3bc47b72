// Principal components of rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/analysis.h"

namespace glove {

// Wider rows would keep the eigenvalue solver, which works on one thread, busy for too long.
constexpr int64_t kMostPrincipalDims = 2048;

struct PrincipalOptions {
  bool center = true;
  bool unit_rows = false;  // rows are divided by their length first; zero rows are left out
  // [rows], or empty; instead of unit_rows: row i is multiplied by weights[i].
  std::span<const double> weights = {};
};

// Component c explains variances[c] of the rows. The sum of squares along it is its singular value's square;
// a variance is that sum divided by rows - 1 (centred) or rows (not centred).
struct PrincipalComponents {
  int64_t rows = 0;  // that had a weight
  int64_t dims = 0;
  std::vector<float> mean;              // [dims]; zeros if not centred
  std::vector<double> variances;        // [dims], falling, at least 0
  std::vector<double> singular_values;  // [dims], falling
  std::vector<double> vectors;          // [dims, dims]: row c is component c, a unit vector
  double total_variance = 0;

  const double* vector(int64_t component) const { return vectors.data() + component * dims; }
  // Memory that the components take.
  int64_t bytes() const {
    return static_cast<int64_t>(
        mean.size() * sizeof(float) +
        (variances.size() + singular_values.size() + vectors.size()) * sizeof(double) + sizeof(*this));
  }
};

// All components of the points. Errors: no row with a weight, too many dimensions, an interrupt. Opens its
// own float environment.
Result<PrincipalComponents> principal_components(Analysis& analysis, const Points& points,
                                                 const PrincipalOptions& options,
                                                 const InterruptCheck& interrupted);

// The mean that these components have if the options are the default ones, for rows with any number of
// dimensions. Errors: no row, an interrupt. Opens its own float environment.
Result<std::vector<float>> mean_of_rows(Analysis& analysis, const Points& points,
                                        const InterruptCheck& interrupted);

// All components of rows whose second moment, not centred, is summed already (analysis/moments.h). `rows` is
// how many have a weight. The same bits and errors as of the rows.
//   moment  [dims, dims]
Result<PrincipalComponents> principal_components_of_moment(std::span<const double> moment, int64_t rows,
                                                           int64_t dims);

}  // namespace glove
