#include "search/candidates.h"

namespace glove {

double product_of(const Model& model, const Query& query, int64_t row) {
  const float* const vector = model.vector(row);
  return model.metric() == RowMetric::kL2 ? -exact_distance(query.vector.data(), vector, model.dims())
                                          : exact_dot(query.vector.data(), vector, model.dims());
}

void rescore(const Model& model, const Query& query, std::vector<Neighbor>& rows) {
  for (Neighbor& row : rows)
    row.similarity = score_of(model, query, row.id, product_of(model, query, row.id));
}

void keep_best(const Query& query, int64_t k, std::vector<Neighbor>& rows) {
  // A damaged model file, which nothing has read before, may contain NaN. Such a row is omitted, because it
  // cannot be ordered.
  std::erase_if(rows, [&query](const Neighbor& row) {
    return !(row.similarity > kNoScore) || std::ranges::binary_search(query.excluded, row.id);
  });
  const auto kept = static_cast<ptrdiff_t>(std::min<int64_t>(k, static_cast<int64_t>(rows.size())));
  if (!std::is_sorted(rows.begin(), rows.end(), ranks_before)) {
    if (static_cast<size_t>(kept) < rows.size())
      std::nth_element(rows.begin(), rows.begin() + kept, rows.end(), ranks_before);
    std::sort(rows.begin(), rows.begin() + kept, ranks_before);
  }
  rows.resize(static_cast<size_t>(kept));
  // Answers are cached by their size, and there may have been many more candidates.
  if (rows.capacity() > 4 * rows.size()) rows.shrink_to_fit();
}

std::vector<Neighbor> merge_ranked(std::span<const std::span<const Neighbor>> answers, int64_t k) {
  GLOVE_REQUIRE(k >= 0);
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
