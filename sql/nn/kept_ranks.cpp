// The part of RankedScan that finds ranks among those that are kept.
#include <algorithm>
#include <utility>

#include "sql/nn/ranked_scan.h"

namespace glove::sql::nn {

// Returns the ranks of a model; nullptr if none are kept.
Result<RankCache::Ranks> RankedScan::find_ranks() {
  if (source_.caches == nullptr) return RankCache::Ranks();
  SearchReport report;
  report.kind = "ranks";
  GLOVE_ASSIGN_OR_RETURN(RankCache::Ranks ranks,
                         source_.caches->ranks.find(*source_.words, *query_, options_, report));
  if (report.queries > 0) record(std::move(report));
  return ranks;
}

// Whether the ranks of some rows of an index are requested, which other calls may repeat with other rows.
bool RankedScan::may_keep_ranks() const {
  const bool ranks = strategy_ == Strategy::kListed || strategy_ == Strategy::kRanked;
  return source_.ranks != nullptr && ids_ && ranks && !call_.is_batch();
}

// Sets kept_ if there is room, and the query was requested more than `searches_first` times before.
Status RankedScan::keep_ranks(int searches_first) {
  RankCache::Asked asked{
      .query = *query_, .limit = limit(), .recall = options_.recall, .certainty = options_.certainty};
  if (call_.among() != nullptr) asked.among = call_.among()->keys();
  const auto rows = static_cast<size_t>(std::min(limit(), source_.rows));
  GLOVE_ASSIGN_OR_RETURN(
      kept_, source_.ranks->find(asked, searches_first, rows * (sizeof(Neighbor) + sizeof(int32_t)),
                                 [this] { return compute_ranks(); }));
  kept_limit_ = limit();
  return {};
}

Result<KeptRanks> RankedScan::compute_ranks() {
  RankedRelation& relation = *source_.relation;
  SearchReport report;
  report.kind = "ranks";
  KeptRanks kept;
  if (strategy_ == Strategy::kListed || !relation.wants_full_pass(limit())) {
    GLOVE_ASSIGN_OR_RETURN(const auto answers, nearest_with_audits(engine_, relation, source_.name,
                                                                   {&*query_, 1}, limit(), options_, report));
    kept = ranks_by_id(answers.front());
    if (!report.notes.empty()) kept.note = report.notes.front();
    kept.note.rows_read = 0;
    kept.audited = report.audited;
  } else {
    GLOVE_ASSIGN_OR_RETURN(OrderedRows rows, relation.all_rows(*query_, options_, report));
    GLOVE_RETURN_IF_ERROR(rows.sort_first(std::min(limit(), rows.size()), options_.interrupted));
    kept = ranks_by_id(rows.sorted().first(static_cast<size_t>(std::min(limit(), rows.size()))));
  }
  block_.note.rows_read = report.cost.rows_scanned;
  record(std::move(report));
  return kept;
}

// Makes the requested rows of kept_ the next ones.
void RankedScan::show_kept_rows() {
  const int64_t rows_read = block_.note.rows_read;
  block_.note = kept_->note;
  block_.note.rows_read = rows_read;
  block_.audited = kept_->audited;
  kept_rows_.clear();
  int64_t rank = 0;
  for (const int64_t id : *ids_) {
    const std::optional<size_t> at = kept_->find(id);
    if (!at || kept_->ranks[*at] < range_.first_rank || kept_->ranks[*at] > range_.last_rank) continue;
    kept_rows_.push_back(kept_->rows[*at]);
    rank = kept_->ranks[*at];
  }
  std::sort(kept_rows_.begin(), kept_rows_.end(), ranks_before);
  next_rank_ = kept_rows_.size() == 1 ? rank : 0;
  requested_left_ = ids_->size();
  set_piece(kept_rows_);
}

Result<bool> RankedScan::look_up_again() {
  read_conditions();
  const Strategy strategy = choose_strategy();
  if (!ids_ || (kept_ != nullptr && limit() != kept_limit_)) return false;
  if (strategy != strategy_ && strategy != Strategy::kNothing) return false;
  block_.note.rows_read = 0;
  if (strategy == Strategy::kNothing) {
    set_piece({});
  } else if (kept_ != nullptr) {
    show_kept_rows();
  } else {
    requested_left_ = ids_->size();
    GLOVE_RETURN_IF_ERROR(score_requested({}));
  }
  return true;
}

}  // namespace glove::sql::nn
