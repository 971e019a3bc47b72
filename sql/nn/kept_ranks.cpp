// The part of RankedScan that finds ranks among those that are kept.
#include <algorithm>
#include <utility>

#include "sql/nn/ranked_scan.h"

namespace glove::sql::nn {
namespace {

// The ranks of the first k rows of an index, by a search for them.
Result<KeptRanks> ranks_of_list(Engine& engine, const RankedSource& source, const Query& query, int64_t k,
                                const SearchOptions& options, SearchReport& report) {
  GLOVE_ASSIGN_OR_RETURN(const auto answers, nearest_with_audits(engine, *source.relation, source.name,
                                                                 {&query, 1}, k, options, report));
  KeptRanks kept = ranks_by_id(answers.front());
  if (!report.notes.empty()) kept.note = report.notes.front();
  kept.note.rows_read = 0;
  kept.audited = report.audited;
  return kept;
}

// The same by a pass over all rows.
Result<KeptRanks> ranks_of_all(const RankedSource& source, const Query& query, int64_t k,
                               const SearchOptions& options, SearchReport& report) {
  GLOVE_ASSIGN_OR_RETURN(OrderedRows rows, source.relation->all_rows(query, options, report));
  const int64_t count = std::min(k, rows.size());
  GLOVE_RETURN_IF_ERROR(rows.sort_first(count, options.interrupted));
  return ranks_by_id(rows.sorted().first(static_cast<size_t>(count)));
}

}  // namespace

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

// Sets kept_ if there is room, and the query was requested more than `searches_first` times before.
Status RankedScan::keep_ranks(int searches_first) {
  RankCache::Asked asked{.query = *query_, .limit = limit(), .recall = options_.recall};
  if (call_.among() != nullptr) asked.among = call_.among()->keys();
  const auto compute = [this]() -> Result<KeptRanks> {
    const bool listed = strategy_ == Strategy::kListed || !source_.relation->wants_full_pass(limit());
    SearchReport report;
    report.kind = "ranks";
    GLOVE_ASSIGN_OR_RETURN(KeptRanks kept,
                           listed ? ranks_of_list(engine_, source_, *query_, limit(), options_, report)
                                  : ranks_of_all(source_, *query_, limit(), options_, report));
    block_.note.rows_read = report.cost.rows_scanned;
    record(std::move(report));
    return kept;
  };
  const auto rows = static_cast<size_t>(std::min(limit(), source_.rows));
  GLOVE_ASSIGN_OR_RETURN(
      kept_.of_index,
      source_.ranks->find(asked, searches_first, rows * (sizeof(Neighbor) + sizeof(int32_t)), compute));
  kept_.limit = limit();
  return {};
}

// Makes the requested rows of kept_.of_index the next ones.
void RankedScan::show_kept_rows() {
  const int64_t rows_read = block_.note.rows_read;
  block_.note = kept_.of_index->note;
  block_.note.rows_read = rows_read;
  block_.audited = kept_.of_index->audited;
  kept_.rows.clear();
  int64_t rank = 0;
  for (const int64_t id : *ids_) {
    const std::optional<size_t> at = kept_.of_index->find(id);
    if (!at || kept_.of_index->ranks[*at] < range_.first_rank ||
        kept_.of_index->ranks[*at] > range_.last_rank)
      continue;
    kept_.rows.push_back(kept_.of_index->rows[*at]);
    rank = kept_.of_index->ranks[*at];
  }
  std::sort(kept_.rows.begin(), kept_.rows.end(), ranks_before);
  next_rank_ = kept_.rows.size() == 1 ? rank : 0;
  requested_left_ = ids_->size();
  set_piece(kept_.rows);
}

Result<bool> RankedScan::look_up_again() {
  read_conditions();
  const Strategy strategy = choose_strategy();
  if (!ids_ || (kept_.of_index != nullptr && limit() != kept_.limit)) return false;
  if (strategy != strategy_ && strategy != Strategy::kNothing) return false;
  block_.note.rows_read = 0;
  if (strategy == Strategy::kNothing) {
    set_piece({});
  } else if (kept_.of_index != nullptr) {
    show_kept_rows();
  } else {
    requested_left_ = ids_->size();
    GLOVE_RETURN_IF_ERROR(score_requested({}));
  }
  return true;
}

}  // namespace glove::sql::nn
