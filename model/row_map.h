// An affine map of rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace glove {

// x -> z: y_j = (float)(x_j - mean_j), then z_o = (float)D(matrix row o, y), then, if it is to be normalised
// and not zero, z / |z|. All of it is specified to the last bit, as D is.
struct RowMap {
  int64_t dims_in = 0;
  int64_t dims_out = 0;
  std::vector<float> mean;    // [dims_in], or empty: nothing is subtracted
  std::vector<float> matrix;  // [dims_out, dims_in], or empty: the identity
  bool normalize = false;

  // Maps one row. REQUIRES: x[dims_in], z[dims_out]; the float environment.
  void apply(const float* x, float* z) const;
};

// The last step of the map. REQUIRES: the float environment.
void normalize_vector(std::span<float> z);

}  // namespace glove
