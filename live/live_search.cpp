#include "live/live_search.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/float_environment.h"
#include "base/timer.h"
#include "model/exact_dot.h"

namespace glove::live {
namespace {

constexpr int64_t kFirstPiece = 64;
constexpr int64_t kGrowth = 8;
// Rounds of a search in which rows turn out to be gone, before one pass over the user's table is cheaper.
constexpr int kMostRounds = 4;

// The best k rows that were offered.
class BestLiveRows {
 public:
  explicit BestLiveRows(int64_t k) : k_(static_cast<size_t>(k)) {}

  // Scores a row and keeps it if it is among the best so far. A row of other dimensions, which a rebuild may
  // have brought while a statement reads, is ignored. REQUIRES: the float environment.
  void offer(const Query& query, int64_t id, std::span<const float> vector) {
    const double norm_squared = exact_dot(vector.data(), vector.data(), static_cast<int64_t>(vector.size()));
    if (norm_squared > 0) offer(query, id, vector, norm_squared);
  }

  // The same, for a vector with norm_squared = D(x, x) > 0.
  void offer(const Query& query, int64_t id, std::span<const float> vector, double norm_squared) {
    if (vector.size() != query.vector.size()) return;
    const auto dims = static_cast<int64_t>(vector.size());
    const double dot = exact_dot(query.vector.data(), vector.data(), dims);
    const LiveNeighbor row{id, cosine_from_dots(dot, query.norm_squared, norm_squared)};
    if (rows_.size() == k_) {
      if (!live_ranks_before(row, rows_.front())) return;
      std::pop_heap(rows_.begin(), rows_.end(), live_ranks_before);
      rows_.pop_back();
    }
    rows_.push_back(row);
    std::push_heap(rows_.begin(), rows_.end(), live_ranks_before);
  }

  // True if a row with this upper bound of its similarity cannot be among the best k.
  bool rules_out(double upper_bound) const {
    return rows_.size() == k_ && rows_.front().similarity > upper_bound;
  }

  std::vector<LiveNeighbor> take() && {
    std::sort_heap(rows_.begin(), rows_.end(), live_ranks_before);
    return std::move(rows_);
  }

 private:
  size_t k_;
  std::vector<LiveNeighbor> rows_;  // a heap with the worst row first
};

using LiveAnswers = std::vector<std::vector<LiveNeighbor>>;

// Scores every row of the user's table.
Result<LiveAnswers> full_pass(RowSource& source, std::span<const Query> queries, int64_t k,
                              const SearchOptions& options, SearchReport& report) {
  const Timer timer;
  std::vector<BestLiveRows> best(queries.size(), BestLiveRows(k));
  InterruptPoll poll(options.interrupted);
  int64_t rows = 0;
  GLOVE_RETURN_IF_ERROR(source.read_all([&](int64_t id, std::span<const float> vector) -> Status {
    ++rows;
    for (size_t i = 0; i < queries.size(); ++i) best[i].offer(queries[i], id, vector);
    return poll.check();
  }));
  LiveAnswers answers;
  for (BestLiveRows& found : best) answers.push_back(std::move(found).take());
  report.cost.candidates += rows * static_cast<int64_t>(queries.size());
  report.cost.rescore_us += timer.microseconds();
  return answers;
}

void offer_changed(const IndexState& state, const Query& query, BestLiveRows& best) {
  const auto dims = static_cast<size_t>(state.dims);
  const ChangedRows& changed = *state.changed;
  for (size_t i = 0; i < changed.ids.size(); ++i)
    best.offer(query, changed.ids[i], std::span(changed.vectors).subspan(i * dims, dims),
               changed.norms_squared[i]);
}

// Scores the candidates of one query, the best bounds first. Returns false if the user's table lacked some of
// them, which are now hidden: the search must be repeated, because they have ruled out others.
Result<bool> score_candidates(IndexState& state, RowSource& source, const Query& query,
                              std::span<const Neighbor> candidates, BestLiveRows& best) {
  std::vector<float> vector;
  bool complete = true;
  for (const Neighbor& candidate : candidates) {
    if (best.rules_out(candidate.similarity)) break;
    GLOVE_ASSIGN_OR_RETURN(const bool found, source.read_indexed(state, candidate.id, vector));
    if (found) {
      best.offer(query, state.parts->id_of(candidate.id), vector);
    } else {
      hide_row(state, candidate.id);
      complete = false;
    }
  }
  return complete;
}

// Answers queries with a scan of the segments. Those that lost a candidate have no answer yet: `left` lists
// their positions.
Status scan_segments(IndexState& state, RowSource& source, std::span<const Query> queries, int64_t k,
                     const SearchOptions& options, SearchReport& report, LiveAnswers& answers,
                     std::vector<size_t>& left) {
  std::vector<Query> asked;
  for (const size_t i : left) {
    asked.push_back(queries[i]);
    asked.back().excluded = state.hidden;
  }
  SearchReport scan;
  GLOVE_ASSIGN_OR_RETURN(const auto candidates,
                         candidates_of(state.parts->searchers(), asked, k, options, scan));
  report.backend = scan.backend;
  report.device = scan.device;
  report.cost.add(scan.cost);
  const Timer timer;
  std::vector<size_t> again;
  for (size_t i = 0; i < left.size(); ++i) {
    GLOVE_RETURN_IF_ERROR(check_interrupt(options.interrupted));
    BestLiveRows best(k);
    offer_changed(state, queries[left[i]], best);
    GLOVE_ASSIGN_OR_RETURN(const bool complete,
                           score_candidates(state, source, queries[left[i]], candidates[i], best));
    if (complete) {
      answers[left[i]] = std::move(best).take();
    } else {
      again.push_back(left[i]);
    }
  }
  report.cost.rescore_us += timer.microseconds();
  left = std::move(again);
  return {};
}

}  // namespace

void hide_row(IndexState& state, int32_t row) {
  const auto place = std::lower_bound(state.hidden.begin(), state.hidden.end(), row);
  if (place == state.hidden.end() || *place != row) state.hidden.insert(place, row);
}

Result<LiveAnswers> live_nearest(IndexState& state, RowSource& source, std::span<const Query> queries,
                                 int64_t k, const SearchOptions& options, SearchReport& report) {
  const ScopedFloatEnvironment float_environment;
  const Timer timer;
  report.queries = static_cast<int64_t>(queries.size());
  report.k = std::max<int64_t>(k, 0);
  LiveAnswers answers(queries.size());
  if (k <= 0 || queries.empty()) return answers;
  const bool scans = state.parts != nullptr && !wants_full_pass(state.parts->model(), k);
  std::vector<size_t> left(scans ? queries.size() : 0);
  for (size_t i = 0; i < left.size(); ++i) left[i] = i;
  for (int round = 0; round < kMostRounds && !left.empty(); ++round)
    GLOVE_RETURN_IF_ERROR(scan_segments(state, source, queries, k, options, report, answers, left));
  if (!scans) {
    GLOVE_ASSIGN_OR_RETURN(answers, full_pass(source, queries, k, options, report));
  }
  for (const size_t i : left) {
    GLOVE_ASSIGN_OR_RETURN(auto rows, full_pass(source, queries.subspan(i, 1), k, options, report));
    answers[i] = std::move(rows.front());
  }
  report.total_us = timer.microseconds();
  return answers;
}

Result<std::vector<LiveNeighbor>> live_score(RowSource& rows, const Query& query,
                                             std::span<const int64_t> ids) {
  const ScopedFloatEnvironment float_environment;
  BestLiveRows best(std::numeric_limits<int64_t>::max());
  std::vector<float> vector;
  for (const int64_t id : ids) {
    GLOVE_ASSIGN_OR_RETURN(const bool found, rows.read(id, vector));
    if (found) best.offer(query, id, vector);
  }
  return std::move(best).take();
}

LiveRanking::LiveRanking(IndexState& state, RowSource& rows, Query query, SearchOptions options,
                         int64_t first_piece)
    : state_(state),
      source_(rows),
      query_(std::move(query)),
      options_(std::move(options)),
      next_piece_(first_piece > 0 ? first_piece : kFirstPiece) {}

Result<std::span<const LiveNeighbor>> LiveRanking::rows_from(int64_t position) {
  while (position >= static_cast<int64_t>(rows_.size()) && !complete_) {
    int64_t count = std::max(next_piece_, position + 1);
    if (state_.parts == nullptr || wants_full_pass(state_.parts->model(), count))
      count = std::numeric_limits<int64_t>::max();
    GLOVE_ASSIGN_OR_RETURN(auto answers,
                           live_nearest(state_, source_, {&query_, 1}, count, options_, report_));
    rows_ = std::move(answers.front());
    complete_ = static_cast<int64_t>(rows_.size()) < count;
    next_piece_ = count > std::numeric_limits<int64_t>::max() / kGrowth ? count : count * kGrowth;
  }
  if (position >= static_cast<int64_t>(rows_.size())) return std::span<const LiveNeighbor>();
  return std::span<const LiveNeighbor>(rows_).subspan(static_cast<size_t>(position));
}

}  // namespace glove::live
