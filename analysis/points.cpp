#include "analysis/points.h"

#include <cstring>
#include <numeric>
#include <utility>

#include "base/float_environment.h"
#include "base/require.h"
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
  return first_rows(std::move(model), rows, {}).value();  // nothing stops it
}

PointSet PointSet::chosen_rows(ModelPtr model, std::vector<int32_t> ids) {
  return chosen_rows(std::move(model), std::move(ids), {}).value();
}

Result<PointSet> PointSet::first_rows(ModelPtr model, int64_t rows, const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(rows >= 0 && rows <= model->words());
  if (rows > model->parts().front().rows || model->is_shifted()) {
    std::vector<int32_t> ids(static_cast<size_t>(rows));
    std::iota(ids.begin(), ids.end(), 0);
    return chosen_rows(std::move(model), std::move(ids), interrupted);
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

Result<PointSet> PointSet::chosen_rows(ModelPtr model, std::vector<int32_t> ids,
                                       const InterruptCheck& interrupted) {
  PointSet set(std::move(model));
  set.ids_ = std::move(ids);
  GLOVE_RETURN_IF_ERROR(set.copy_rows(interrupted));
  set.points_ = {static_cast<int64_t>(set.ids_.size()),
                 set.model_->dims(),
                 set.vectors_.data(),
                 set.norms_squared_.data(),
                 set.codes_.data(),
                 set.scales_.data(),
                 set.residuals_.data(),
                 nullptr};
  return set;
}

// Copies the rows of ids_. The arrays grow row by row, because filling large ones with zeros takes long.
Status PointSet::copy_rows(const InterruptCheck& interrupted) {
  const ScopedFloatEnvironment environment;
  const int64_t dims = model_->dims();
  vectors_.reserve(ids_.size() * static_cast<size_t>(dims));
  norms_squared_.reserve(ids_.size());
  scales_.reserve(ids_.size());
  residuals_.reserve(ids_.size());
  codes_.reserve(static_cast<size_t>(code_bytes(static_cast<int64_t>(ids_.size()), dims)));
  InterruptPoll poll(interrupted);
  for (const int32_t id : ids_) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    const ModelPart& part = model_->part_of(id);
    const CodeLevel& level = part.level(8);
    const int64_t row = id - part.first_row;
    const auto copied = static_cast<int64_t>(scales_.size());
    vectors_.insert(vectors_.end(), part.vector(row), part.vector(row) + dims);
    norms_squared_.push_back(part.norm_squared(row));
    scales_.push_back(level.scales[static_cast<size_t>(row)]);
    residuals_.push_back(level.residuals[static_cast<size_t>(row)]);
    codes_.resize(static_cast<size_t>(code_bytes(copied + 1, dims)));
    if (model_->is_shifted())
      quantize_row(part.vector(row), part.norm_squared(row), dims,
                   codes_.data() + code_index(copied, 0, dims), kTileRows * kTileComponents, scales_.back(),
                   residuals_.back());
    else
      copy_codes(level.codes.data(), row, codes_.data(), copied, dims);
  }
  return {};
}

int64_t PointSet::bytes() const {
  return static_cast<int64_t>(ids_.capacity() * sizeof(int32_t) +
                              (vectors_.capacity() + scales_.capacity() + residuals_.capacity()) *
                                  sizeof(float) +
                              norms_squared_.capacity() * sizeof(double) + codes_.capacity());
}

}  // namespace glove
