#include "search/merge.h"

#include <algorithm>

namespace glove {

std::vector<Neighbor> merge_ranked(std::span<const std::span<const Neighbor>> answers, int64_t k) {
  std::vector<std::span<const Neighbor>> left;
  size_t rows = 0;
  for (const auto& answer : answers) {
    rows += answer.size();
    if (!answer.empty()) left.push_back(answer);
  }
  std::vector<Neighbor> merged;
  merged.reserve(std::min(rows, static_cast<size_t>(std::max<int64_t>(k, 0))));
  // A heap with the answer that has the best next row on top.
  const auto comes_later = [](std::span<const Neighbor> a, std::span<const Neighbor> b) {
    return ranks_before(b.front(), a.front());
  };
  std::make_heap(left.begin(), left.end(), comes_later);
  while (!left.empty() && static_cast<int64_t>(merged.size()) < k) {
    std::pop_heap(left.begin(), left.end(), comes_later);
    merged.push_back(left.back().front());
    left.back() = left.back().subspan(1);
    if (left.back().empty())
      left.pop_back();
    else
      std::push_heap(left.begin(), left.end(), comes_later);
  }
  return merged;
}

}  // namespace glove
