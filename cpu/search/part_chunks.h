// The rows of a model's parts in chunks of work.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "base/require.h"
#include "model/model_part.h"
#include "search/row_mask.h"

namespace glove::cpu {

// Immutable; safe to use from many threads at once. The parts outlive it.
class PartChunks {
 public:
  // Rows [first, last) of one part.
  struct Chunk {
    const ModelPart& part;
    int64_t first;
    int64_t last;
  };

  // Chunks of `rows` rows, in order. None spans two parts, so the last one of a part may be smaller.
  PartChunks(std::span<const ModelPart> parts, int64_t rows) : parts_(parts), rows_(rows) {
    for (const ModelPart& part : parts) ends_.push_back(count() + (part.rows + rows - 1) / rows);
  }

  int64_t count() const { return ends_.empty() ? 0 : ends_.back(); }

  // REQUIRES: 0 <= index < count().
  Chunk operator[](int64_t index) const {
    GLOVE_REQUIRE(0 <= index && index < count());
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), index);
    const ModelPart& part = parts_[static_cast<size_t>(end - ends_.begin())];
    const int64_t first = (index - (end == ends_.begin() ? 0 : *(end - 1))) * rows_;
    return {part, first, std::min(first + rows_, part.rows)};
  }

 private:
  std::span<const ModelPart> parts_;
  int64_t rows_;
  std::vector<int64_t> ends_;  // of each part, the number of its last chunk plus one
};

// Calls scan(first, end) for each run of tiles in [first, end) for which admits(tile) is true.
template <class Admits, class Scan>
void for_runs(int64_t first, int64_t end, const Admits& admits, const Scan& scan) {
  while (first < end) {
    while (first < end && !admits(first)) ++first;
    const int64_t begin = first;
    while (first < end && admits(first)) ++first;
    if (begin < first) scan(begin, first);
  }
}

// Calls scan(first_tile, end_tile) for each run of tiles of the chunk that have a row that is admissible
// (null: all are) and not excluded. `excluded` is ascending, without duplicates.
template <class Scan>
void for_admissible_tiles(const PartChunks::Chunk& chunk, const RowMask* among,
                          std::span<const int32_t> excluded, const Scan& scan) {
  const int64_t first = chunk.first / kTileRows, end = tile_count(chunk.last);
  if (among == nullptr && std::ssize(excluded) < kTileRows) return scan(first, end);
  auto next = std::lower_bound(excluded.begin(), excluded.end(), chunk.part.first_row + first * kTileRows);
  const auto admits = [&](int64_t tile) {
    const int64_t row = chunk.part.first_row + tile * kTileRows;
    if (among != nullptr && !among->admits_tile(row)) return false;
    while (next != excluded.end() && *next < row) ++next;
    const int64_t rows = std::min(kTileRows, chunk.part.rows - tile * kTileRows);
    return excluded.end() - next < rows || next[rows - 1] != row + rows - 1;
  };
  for_runs(first, end, admits, scan);
}

// The same for tiles [first, end) of the positions of a part that has planes, of whose rows those are
// admissible for which admits_row(row) is true. A damaged file may have positions of rows that do not exist.
template <class AdmitsRow, class Scan>
void for_admissible_positions(const ModelPart& part, int64_t first, int64_t end, const AdmitsRow& admits_row,
                              const Scan& scan) {
  const auto admits = [&](int64_t tile) {
    const auto rows = part.planes->rows.subspan(static_cast<size_t>(tile * kTileRows));
    const auto is_admissible = [&](int32_t row) {
      return row >= 0 && row < part.rows && admits_row(part.first_row + row);
    };
    return std::ranges::any_of(rows.first(std::min<size_t>(kTileRows, rows.size())), is_admissible);
  };
  for_runs(first, end, admits, scan);
}

// The numbers 0 to count - 1 in an order in which the first few, however many, are spread evenly over all.
// Models are often sorted by the frequency of their words, which have near neighbours of about their own
// frequency; read in this order, these are found early and raise the threshold.
class SpreadOrder {
 public:
  explicit SpreadOrder(int64_t count) : count_(count), step_(std::max<int64_t>(1, count * 618 / 1000)) {
    while (std::gcd(step_, count_) != 1) ++step_;
  }
  // REQUIRES: 0 <= position < count
  int64_t operator[](int64_t position) const {
    GLOVE_REQUIRE(0 <= position && position < count_);
    return position * step_ % count_;
  }

 private:
  int64_t count_;
  int64_t step_;  // about count / golden ratio
};

}  // namespace glove::cpu
