#include "model/derived_arrays.h"

#include <algorithm>
#include <cstring>

#include "model/quantize.h"

namespace glove {
namespace {

// Vectors that are derived together: much longer than threads take to start, and little memory.
constexpr int64_t kBlockBytes = int64_t{16} << 20;

}  // namespace

void DerivedArrays::reserve(int64_t rows) {
  const auto count = static_cast<size_t>(rows);
  norms_squared_.reserve(count);
  scales_.reserve(count);
  residuals_.reserve(count);
}

Status DerivedArrays::append(const DerivedRows& rows, int64_t first, int64_t last, int64_t dims) {
  const int64_t code_width = padded_dims(dims);
  const int64_t before = this->rows();
  const auto append_range = [&](auto& to, const auto& from) {
    to.insert(to.end(), from.begin() + first, from.begin() + last);
  };
  append_range(norms_squared_, rows.norms_squared);
  append_range(scales_, rows.scales);
  append_range(residuals_, rows.residuals);
  for (int64_t row = first; row < last; ++row)
    GLOVE_RETURN_IF_ERROR(append_codes(rows.codes.data() + row * code_width, before + row - first, dims));
  return {};
}

Status DerivedArrays::append_codes(const int8_t* row_codes, int64_t row, int64_t dims) {
  const int64_t groups = component_groups(dims);
  const int64_t place = row % kTileRows;
  if (place == 0) tile_.assign(static_cast<size_t>(groups * kTileRows * kTileComponents), 0);
  char* to = tile_.data() + place * kTileComponents;
  for (int64_t group = 0; group < groups; ++group)
    std::memcpy(to + group * kTileRows * kTileComponents, row_codes + group * kTileComponents,
                kTileComponents);
  if (place + 1 < kTileRows) return {};
  return codes_.append(tile_);
}

Status DerivedArrays::append_vectors(const std::string& source, std::span<const float> vectors, int64_t dims,
                                     int threads, const InterruptCheck& interrupted) {
  const int64_t block_rows =
      std::max<int64_t>(kTileRows, kBlockBytes / (dims * static_cast<int64_t>(sizeof(float))));
  const auto block_floats = static_cast<size_t>(block_rows * dims);
  DerivedRows derived;
  while (!vectors.empty()) {
    const auto block = vectors.first(std::min(vectors.size(), block_floats));
    GLOVE_ASSIGN_OR_RETURN(const auto fault, derive_rows(block, dims, threads, derived, interrupted));
    if (fault)
      return {ErrorCode::kCorrupt, source + ": row " + std::to_string(rows() + *fault + 1) +
                                       " of the vectors has a component that is NaN or infinite"};
    GLOVE_RETURN_IF_ERROR(append(derived, 0, static_cast<int64_t>(block.size()) / dims, dims));
    vectors = vectors.subspan(block.size());
  }
  return {};
}

Status DerivedArrays::finish() {
  if (rows() % kTileRows == 0) return {};
  return codes_.append(tile_);
}

}  // namespace glove
