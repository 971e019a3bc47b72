#include "search/ranking.h"

#include <algorithm>
#include <utility>

namespace glove {
namespace {

constexpr int64_t kDefaultFirstPiece = 64;
constexpr int64_t kGrowth = 8;

void add_cost(SearchReport& total, const SearchReport& piece) {
  total.backend = piece.backend;
  total.device = piece.device;
  total.queries = piece.queries;
  total.k = piece.k;
  total.total_us += piece.total_us;
  total.cost.add(piece.cost);
}

}  // namespace

Ranking::Ranking(RankedRelation& relation, Query query, SearchOptions options, int64_t first_piece,
                 int64_t limit, SearchReport labels)
    : relation_(relation),
      query_(std::move(query)),
      options_(std::move(options)),
      next_piece_(first_piece > 0 ? first_piece
                  : limit > 0     ? limit
                                  : kDefaultFirstPiece),
      limit_(limit < 0 ? relation.most_rows() : std::min(limit, relation.most_rows())),
      report_(std::move(labels)) {}

std::span<const Neighbor> Ranking::ready() const {
  return all_ ? all_->sorted() : std::span<const Neighbor>(rows_);
}

Result<std::span<const Neighbor>> Ranking::rows_from(int64_t position) {
  if (position < 0 || position >= limit_) return std::span<const Neighbor>();
  while (position >= static_cast<int64_t>(ready().size()) && !complete_)
    GLOVE_RETURN_IF_ERROR(compute_through(position));
  const auto end = std::min<int64_t>(limit_, static_cast<int64_t>(ready().size()));
  return ready().first(static_cast<size_t>(end)).subspan(static_cast<size_t>(std::min(position, end)));
}

// Takes one step towards row `position`: the next piece, the pass over all rows, or a further sorting step.
Status Ranking::compute_through(int64_t position) {
  const int64_t count = std::min(std::max(next_piece_, position + 1), limit_);
  if (!all_ && !relation_.wants_full_pass(count)) {
    SearchReport report;
    GLOVE_ASSIGN_OR_RETURN(auto answers, relation_.nearest({&query_, 1}, count, options_, report));
    add_cost(report_, report);
    rows_ = std::move(answers.front());
    complete_ = count == limit_ || static_cast<int64_t>(rows_.size()) < count;
  } else {
    if (!all_) {
      SearchReport report;
      GLOVE_ASSIGN_OR_RETURN(OrderedRows rows, relation_.all_rows(query_, options_, report));
      add_cost(report_, report);
      all_ = std::move(rows);
      rows_ = {};
    }
    GLOVE_RETURN_IF_ERROR(all_->sort_first(count, options_.interrupted));
    complete_ = static_cast<int64_t>(all_->sorted().size()) >= std::min(limit_, all_->size());
  }
  next_piece_ = count > limit_ / kGrowth ? limit_ : count * kGrowth;
  return {};
}

}  // namespace glove
