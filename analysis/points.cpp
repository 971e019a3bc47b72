#include "analysis/points.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/quantize.h"

namespace glove {
namespace {

// Copies the codes of one row to another place in another set of tiles.
void copy_codes(const int8_t* from, int64_t from_row, int8_t* to, int64_t to_row, int64_t dims) {
  for (int64_t component = 0; component < dims; component += kTileComponents)
    std::memcpy(to + code_index(to_row, component, dims), from + code_index(from_row, component, dims),
                kTileComponents);
}

}  // namespace

PointSet PointSet::first_rows(ModelPtr model, int64_t rows) {
  PointSet set(std::move(model));
  const ModelArrays& arrays = set.model_->arrays();
  set.points_ = {rows,
                 arrays.dims,
                 arrays.vectors.data(),
                 arrays.norms_squared.data(),
                 arrays.codes.data(),
                 arrays.scales.data(),
                 arrays.residuals.data()};
  return set;
}

PointSet PointSet::chosen_rows(ModelPtr model, std::vector<int32_t> ids) {
  PointSet set(std::move(model));
  const ModelArrays& arrays = set.model_->arrays();
  const size_t rows = ids.size();
  const auto dims = static_cast<size_t>(arrays.dims);
  set.vectors_.resize(rows * dims);
  set.norms_squared_.resize(rows);
  set.scales_.resize(rows);
  set.residuals_.resize(rows);
  set.codes_.resize(static_cast<size_t>(code_bytes(static_cast<int64_t>(rows), arrays.dims)));
  for (size_t i = 0; i < rows; ++i) {
    const auto id = static_cast<size_t>(ids[i]);
    std::copy_n(arrays.vectors.data() + id * dims, dims, set.vectors_.data() + i * dims);
    set.norms_squared_[i] = arrays.norms_squared[id];
    set.scales_[i] = arrays.scales[id];
    set.residuals_[i] = arrays.residuals[id];
    copy_codes(arrays.codes.data(), ids[i], set.codes_.data(), static_cast<int64_t>(i), arrays.dims);
  }
  set.points_ = {static_cast<int64_t>(rows), arrays.dims,       set.vectors_.data(),
                 set.norms_squared_.data(),  set.codes_.data(), set.scales_.data(),
                 set.residuals_.data()};
  set.ids_ = std::move(ids);
  return set;
}

int64_t PointSet::bytes() const {
  return static_cast<int64_t>(ids_.capacity() * sizeof(int32_t) +
                              (vectors_.capacity() + scales_.capacity() + residuals_.capacity()) *
                                  sizeof(float) +
                              norms_squared_.capacity() * sizeof(double) + codes_.capacity());
}

}  // namespace glove
