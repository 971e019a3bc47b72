#include "search/ordered_rows.h"

#include <algorithm>
#include <array>
#include <utility>

namespace glove {
namespace {
constexpr size_t kSmallRange = 4096;  // sorted directly
}  // namespace

OrderedRows::OrderedRows(std::vector<Neighbor> rows) : rows_(std::move(rows)), boundaries_{rows_.size()} {}

// Splits [sorted_, end) at a pivot, the median of nine rows, and returns the pivot's position.
size_t OrderedRows::partition(size_t end) {
  const size_t step = (end - sorted_) / 9;
  std::array<size_t, 9> sample;
  for (size_t i = 0; i < sample.size(); ++i) sample[i] = sorted_ + i * step + step / 2;
  std::nth_element(sample.begin(), sample.begin() + 4, sample.end(),
                   [&](size_t a, size_t b) { return ranks_before(rows_[a], rows_[b]); });
  std::swap(rows_[sample[4]], rows_[end - 1]);
  const Neighbor pivot = rows_[end - 1];
  const auto middle = std::partition(rows_.begin() + static_cast<ptrdiff_t>(sorted_),
                                     rows_.begin() + static_cast<ptrdiff_t>(end - 1),
                                     [&](const Neighbor& row) { return ranks_before(row, pivot); });
  std::iter_swap(middle, rows_.begin() + static_cast<ptrdiff_t>(end - 1));
  return static_cast<size_t>(middle - rows_.begin());
}

Status OrderedRows::sort_first(int64_t count, const InterruptCheck& interrupted) {
  const size_t target = static_cast<size_t>(std::clamp<int64_t>(count, 0, size()));
  while (sorted_ < target) {
    const size_t end = boundaries_.back();
    if (end - sorted_ <= kSmallRange) {
      std::sort(rows_.begin() + static_cast<ptrdiff_t>(sorted_), rows_.begin() + static_cast<ptrdiff_t>(end),
                ranks_before);
      sorted_ = end;
      boundaries_.pop_back();
      continue;
    }
    GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    const size_t pivot = partition(end);
    boundaries_.push_back(pivot + 1);
    if (pivot > sorted_) boundaries_.push_back(pivot);
  }
  return {};
}

std::vector<Neighbor> OrderedRows::take_first(int64_t count) && {
  rows_.resize(static_cast<size_t>(std::clamp<int64_t>(count, 0, size())));
  rows_.shrink_to_fit();
  return std::move(rows_);
}

}  // namespace glove
