// The rows that an analysis works on: a whole model, its first rows, or chosen ones.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "model/model.h"

namespace glove {

// Rows as a backend reads them, laid out as in ModelPart and CodeLevel. A view: the owner of the arrays
// outlives it.
struct Points {
  int64_t rows = 0;
  int64_t dims = 0;
  const float* vectors = nullptr;         // [rows, dims], row-major
  const double* norms_squared = nullptr;  // [rows]
  const int8_t* codes = nullptr;          // tiles of model/quantize.h
  const float* scales = nullptr;          // [rows]
  const float* residuals = nullptr;       // [rows]
  // The model if these are its first rows and lie in its first part; null for copies of chosen rows.
  ModelPtr model = nullptr;

  const float* vector(int64_t row) const { return vectors + row * dims; }
};

// Owns a selection of a model's rows and keeps the model alive. Immutable; any thread may read it.
class PointSet {
 public:
  // The first `rows` rows of the model, without copying them if they lie in one part and their codes are
  // those of unit vectors, as the copies' are. REQUIRES: 0 <= rows <= model->words().
  static PointSet first_rows(ModelPtr model, int64_t rows);
  // Copies of the rows with these ids, in their order. REQUIRES: every id is a row of the model.
  static PointSet chosen_rows(ModelPtr model, std::vector<int32_t> ids);
  // The same. Errors: an interrupt.
  static Result<PointSet> first_rows(ModelPtr model, int64_t rows, const InterruptCheck& interrupted);
  static Result<PointSet> chosen_rows(ModelPtr model, std::vector<int32_t> ids,
                                      const InterruptCheck& interrupted);

  PointSet(PointSet&&) = default;
  PointSet& operator=(PointSet&&) = default;

  const Points& points() const { return points_; }
  const ModelPtr& model() const { return model_; }
  int64_t rows() const { return points_.rows; }
  // The model's row that point `index` is.
  int64_t row_id(int64_t index) const { return ids_.empty() ? index : ids_[static_cast<size_t>(index)]; }
  // Memory that the selection itself takes.
  int64_t bytes() const;

 private:
  explicit PointSet(ModelPtr model) : model_(std::move(model)) {}

  Status copy_rows(const InterruptCheck& interrupted);

  ModelPtr model_;
  Points points_;
  std::vector<int32_t> ids_;  // empty: the model's first rows
  std::vector<float> vectors_, scales_, residuals_;
  std::vector<double> norms_squared_;
  std::vector<int8_t> codes_;
};

}  // namespace glove
