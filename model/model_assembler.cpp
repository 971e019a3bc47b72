#include "model/model_assembler.h"

#include <cstring>

#include "base/utf8.h"
#include "model/limits.h"
#include "model/quantize.h"

namespace glove {
namespace {

constexpr size_t kPrefetchedRows = 8;

std::span<const char> bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

void ModelAssembler::reserve(int64_t rows) {
  const auto count = static_cast<size_t>(rows);
  words_.reserve(rows);
  norms_squared_.reserve(count);
  scales_.reserve(count);
  residuals_.reserve(count);
}

Result<bool> ModelAssembler::append(int64_t dims, const RowBlock& rows, const DerivedRows& derived,
                                    int64_t max_rows) {
  dims_ = dims;
  const auto width = static_cast<size_t>(dims);
  const auto code_width = static_cast<size_t>(padded_dims(dims));
  // Kept rows that follow each other go to the sink in one piece.
  size_t run_begin = 0;
  const auto flush = [&](size_t run_end) {
    const std::span<const float> vectors(rows.vectors);
    return vectors_.append(bytes_of(vectors.subspan(run_begin * width, (run_end - run_begin) * width)));
  };
  for (size_t row = 0; row < rows.words.size(); ++row) {
    if (this->rows() >= max_rows || this->rows() >= kMaxRows) {
      GLOVE_RETURN_IF_ERROR(flush(row));
      if (this->rows() >= max_rows) return false;
      return Error{ErrorCode::kInvalidArgument,
                   "a model holds " + std::to_string(kMaxRows) + " words at most; this file has more"};
    }
    if (row + kPrefetchedRows < rows.words.size())
      words_.prefetch(derived.word_hashes[row + kPrefetchedRows]);
    if (!words_.insert(rows.words[row], derived.word_hashes[row])) {
      ++counts_.duplicates;
      GLOVE_RETURN_IF_ERROR(flush(row));
      run_begin = row + 1;
      continue;
    }
    if (!is_valid_utf8(rows.words[row])) ++counts_.invalid_utf8;
    keep(derived, row);
    GLOVE_RETURN_IF_ERROR(append_codes(derived.codes.data() + row * code_width));
  }
  GLOVE_RETURN_IF_ERROR(flush(rows.words.size()));
  return this->rows() < max_rows;
}

void ModelAssembler::keep(const DerivedRows& derived, size_t row) {
  norms_squared_.push_back(derived.norms_squared[row]);
  scales_.push_back(derived.scales[row]);
  residuals_.push_back(derived.residuals[row]);
  if (derived.norms_squared[row] == 0.0) ++counts_.zero_rows;
}

// The row just inserted.
Status ModelAssembler::append_codes(const int8_t* row_codes) {
  const int64_t groups = component_groups(dims_);
  const int64_t place = (rows() - 1) % kTileRows;
  if (place == 0) tile_.assign(static_cast<size_t>(groups * kTileRows * kTileComponents), 0);
  char* to = tile_.data() + place * kTileComponents;
  for (int64_t group = 0; group < groups; ++group)
    std::memcpy(to + group * kTileRows * kTileComponents, row_codes + group * kTileComponents,
                kTileComponents);
  if (place + 1 < kTileRows) return {};
  return codes_.append(tile_);
}

Status ModelAssembler::finish() {
  if (rows() % kTileRows == 0) return {};
  return codes_.append(tile_);
}

}  // namespace glove
