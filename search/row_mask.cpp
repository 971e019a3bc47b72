#include "search/row_mask.h"

#include <bit>

namespace glove {
namespace {

constexpr size_t kKeysBetweenChecks = size_t{1} << 16;

// Returns the first position from `begin` on whose id is not below `key`, in time logarithmic in its
// distance.
size_t first_from(std::span<const int64_t> ids, size_t begin, int64_t key) {
  size_t step = 1;
  while (begin + step < ids.size() && ids[begin + step - 1] < key) {
    begin += step;
    step *= 2;
  }
  const auto from = ids.begin() + static_cast<ptrdiff_t>(begin);
  const auto to = ids.begin() + static_cast<ptrdiff_t>(std::min(ids.size(), begin + step));
  return static_cast<size_t>(std::lower_bound(from, to, key) - ids.begin());
}

// Whether the ids are consecutive numbers, as those of a table are from which no row was deleted.
bool are_consecutive(std::span<const int64_t> ids) {
  return static_cast<uint64_t>(ids.back()) - static_cast<uint64_t>(ids.front()) == ids.size() - 1;
}

}  // namespace

// Calls use(i) for each ids[i] that is in the set. Ids may come from a damaged file: whatever their order, i
// is a position.
template <class Use>
Status RowMask::for_common(const KeySet& keys, std::span<const int64_t> ids,
                           const InterruptCheck& interrupted, const Use& use) {
  if (ids.empty()) return {};
  const bool consecutive = are_consecutive(ids);
  const auto all = keys.keys();
  size_t next = 0;
  for (size_t i = first_from(all, 0, ids.front()); i < all.size(); ++i) {
    if (i % kKeysBetweenChecks == 0) GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    next = consecutive
               ? static_cast<size_t>(static_cast<uint64_t>(all[i]) - static_cast<uint64_t>(ids.front()))
               : first_from(ids, next, all[i]);
    if (next >= ids.size()) break;
    if (consecutive || ids[next] == all[i]) use(next);
  }
  return {};
}

Status RowMask::admit(const KeySet& keys, std::span<const int64_t> ids, int64_t first_row,
                      const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(ids.empty() || ids.front() <= ids.back());
  // The positions ascend, so that a word is complete once another one begins.
  size_t at = static_cast<size_t>(first_row) / kWordBits;
  uint64_t bits = 0;
  Status status = for_common(keys, ids, interrupted, [&](size_t i) {
    const size_t row = static_cast<size_t>(first_row) + i;
    if (row / kWordBits != at) {
      words_[at] |= std::exchange(bits, 0);
      at = row / kWordBits;
    }
    bits |= uint64_t{1} << (row % kWordBits);
  });
  words_[at] |= bits;
  return status;
}

Status RowMask::admit(const KeySet& keys, std::span<const int64_t> ids, std::span<const int32_t> rows,
                      const InterruptCheck& interrupted) {
  return for_common(keys, ids, interrupted, [&](size_t i) { set(rows[i]); });
}

void RowMask::admit_range(int64_t first, int64_t end, const RowMask* among) {
  while (first < end) {
    const auto word = static_cast<size_t>(first) / kWordBits;
    const auto bit = static_cast<size_t>(first) % kWordBits;
    const auto rows = std::min(kWordBits - bit, static_cast<size_t>(end - first));
    const uint64_t bits = ~uint64_t{0} >> (kWordBits - rows) << bit;
    words_[word] |= among == nullptr ? bits : bits & among->words_[word];
    first += static_cast<int64_t>(rows);
  }
}

void RowMask::complete(const Model& model) {
  GLOVE_REQUIRE(is_of(model));
  count_ = 0;
  for (const uint64_t word : words_) count_ += std::popcount(word);
  rows_of_tiles_ = 0;
  for (const ModelPart& part : model.parts())
    for (int64_t row = 0; row < part.rows; row += kTileRows)
      if (admits_tile(part.first_row + row)) rows_of_tiles_ += std::min(kTileRows, part.rows - row);
}

std::vector<int32_t> RowMask::rows() const {
  std::vector<int32_t> rows;
  rows.reserve(static_cast<size_t>(count_));
  for (size_t i = 0; i < words_.size(); ++i)
    for (uint64_t word = words_[i]; word != 0; word &= word - 1)
      rows.push_back(static_cast<int32_t>(i * kWordBits + static_cast<size_t>(std::countr_zero(word))));
  return rows;
}

CopiedCodesPtr RowMask::codes() const {
  const Lock lock(mutex_);
  return codes_;
}

void RowMask::keep(CopiedCodesPtr codes) const {
  const Lock lock(mutex_);
  std::swap(codes_, codes);  // frees the former one without the lock
}

int64_t RowMask::add_missed(int64_t cost) const {
  const Lock lock(mutex_);
  return missed_ += cost;
}

}  // namespace glove
