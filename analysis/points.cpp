#include "analysis/points.h"

#include <algorithm>
#include <cstring>
#include <numeric>
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
  if (rows > model->parts().front().rows) {
    std::vector<int32_t> ids(static_cast<size_t>(rows));
    std::iota(ids.begin(), ids.end(), 0);
    return chosen_rows(std::move(model), std::move(ids));
  }
  PointSet set(std::move(model));
  const ModelPart& part = set.model_->parts().front();
  const CodeLevel& level = part.level(8);
  set.points_ = {rows,
                 part.dims,
                 part.vectors.data(),
                 part.norms_squared.data(),
                 level.codes.data(),
                 level.scales.data(),
                 level.residuals.data(),
                 set.model_};
  return set;
}

PointSet PointSet::chosen_rows(ModelPtr model, std::vector<int32_t> ids) {
  PointSet set(std::move(model));
  const size_t rows = ids.size();
  const int64_t dims = set.model_->dims();
  set.vectors_.resize(rows * static_cast<size_t>(dims));
  set.norms_squared_.resize(rows);
  set.scales_.resize(rows);
  set.residuals_.resize(rows);
  set.codes_.resize(static_cast<size_t>(code_bytes(static_cast<int64_t>(rows), dims)));
  for (size_t i = 0; i < rows; ++i) {
    const ModelPart& part = set.model_->part_of(ids[i]);
    const CodeLevel& level = part.level(8);
    const int64_t row = ids[i] - part.first_row;
    std::copy_n(part.vector(row), dims, set.vectors_.data() + static_cast<int64_t>(i) * dims);
    set.norms_squared_[i] = part.norm_squared(row);
    set.scales_[i] = level.scales[static_cast<size_t>(row)];
    set.residuals_[i] = level.residuals[static_cast<size_t>(row)];
    copy_codes(level.codes.data(), row, set.codes_.data(), static_cast<int64_t>(i), dims);
  }
  set.points_ = {static_cast<int64_t>(rows), dims,
                 set.vectors_.data(),        set.norms_squared_.data(),
                 set.codes_.data(),          set.scales_.data(),
                 set.residuals_.data(),      nullptr};
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
