#include "model/derived_arrays.h"

#include <algorithm>
#include <cstring>

#include "base/concat.h"
#include "model/quantize.h"

namespace glove {
namespace {

// Size of a block of vectors that are derived together: large enough to justify starting threads, but little
// memory.
constexpr int64_t kBlockBytes = int64_t{16} << 20;

}  // namespace

void LevelArrays::reserve(int64_t rows) {
  scales_.reserve(static_cast<size_t>(rows));
  residuals_.reserve(static_cast<size_t>(rows));
}

Status LevelArrays::append(const DerivedLevel& rows, int64_t first, int64_t last) {
  GLOVE_REQUIRE(0 <= first && first <= last && last <= static_cast<int64_t>(rows.scales.size()));
  const int64_t before = this->rows();
  const auto add = [&](std::vector<float>& all, const Buffer<float>& added) {
    if (!added.empty()) all.insert(all.end(), added.begin() + first, added.begin() + last);
  };
  add(scales_, rows.scales);
  add(residuals_, rows.residuals);
  add(along_, rows.along);
  add(lengths_, rows.lengths);
  for (int64_t row = first; row < last; ++row)
    GLOVE_RETURN_IF_ERROR(
        append_codes(rows.codes.data() + row * rows.row_bytes, rows.row_bytes, before + row - first));
  return {};
}

Status LevelArrays::append_codes(const int8_t* row_codes, int64_t row_bytes, int64_t row) {
  constexpr int64_t kWordBytes = 4;
  const int64_t place = row % kTileRows;
  if (place == 0) tile_.assign(static_cast<size_t>(row_bytes * kTileRows), 0);
  char* to = tile_.data() + place * kWordBytes;
  for (int64_t byte = 0; byte < row_bytes; byte += kWordBytes)
    std::memcpy(to + byte * kTileRows, row_codes + byte, kWordBytes);
  if (place + 1 < kTileRows) return {};
  return codes_.append(tile_);
}

Status LevelArrays::finish() {
  if (rows() % kTileRows == 0) return {};
  return codes_.append(tile_);
}

void DerivedArrays::reserve(int64_t rows) {
  norms_squared_.reserve(static_cast<size_t>(rows));
  level8_.reserve(rows);
  if (has_level4_) level4_.reserve(rows);
}

Status DerivedArrays::append(const DerivedRows& rows, int64_t first, int64_t last) {
  GLOVE_REQUIRE(0 <= first && first <= last && last <= static_cast<int64_t>(rows.norms_squared.size()));
  norms_squared_.insert(norms_squared_.end(), rows.norms_squared.begin() + first,
                        rows.norms_squared.begin() + last);
  GLOVE_RETURN_IF_ERROR(level8_.append(rows.level8, first, last));
  return has_level4_ ? level4_.append(rows.level4, first, last) : Status();
}

Status DerivedArrays::append_vectors(const std::string& source, std::span<const float> vectors, int64_t dims,
                                     int threads, const InterruptCheck& interrupted) {
  const int64_t block_rows =
      std::max<int64_t>(kTileRows, kBlockBytes / (dims * static_cast<int64_t>(sizeof(float))));
  const auto block_floats = static_cast<size_t>(block_rows * dims);
  DerivedRows derived;
  derived.has_level4 = has_level4_;
  derived.coding = coding_;
  while (!vectors.empty()) {
    const auto block = vectors.first(std::min(vectors.size(), block_floats));
    GLOVE_ASSIGN_OR_RETURN(const auto fault, derive_rows(block, dims, threads, derived, interrupted));
    if (fault)
      return {ErrorCode::kCorrupt, concat(source, ": row ", rows() + *fault + 1,
                                          " of the vectors has a component that is NaN or infinite")};
    GLOVE_RETURN_IF_ERROR(append(derived, 0, static_cast<int64_t>(block.size()) / dims));
    vectors = vectors.subspan(block.size());
  }
  return {};
}

Status DerivedArrays::finish() {
  GLOVE_RETURN_IF_ERROR(level8_.finish());
  return level4_.finish();
}

}  // namespace glove
