#include "live/live_search.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/float_environment.h"
#include "base/require.h"
#include "base/timer.h"
#include "lists/code_estimate.h"
#include "live/outline_reader.h"
#include "model/exact_dot.h"

namespace glove::live {
namespace {

// Each query of a scan has a copy of the hidden rows. This many together.
constexpr size_t kMostHiddenInScan = size_t{1} << 24;
// Reading a row by its id costs as much as reading this many in a pass over the user's table.
constexpr int64_t kRowsPerRead = 4;

// Returns the row with its score. REQUIRES: norm_squared = D(x, x), the row is in the relation, and the float
// environment.
Neighbor scored(RowMetric metric, const Query& query, int64_t id, std::span<const float> vector,
                double norm_squared) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set() && is_in_relation(metric, norm_squared));
  GLOVE_REQUIRE(vector.size() == query.vector.size());
  return {id, exact_score(metric, query.vector.data(), query.norm_squared, vector.data(), norm_squared,
                          static_cast<int64_t>(vector.size()))};
}

// The same for any vector. One that is not in the relation has no score, nor has one of other dimensions,
// which a rebuild may have brought while a statement reads.
Neighbor scored(RowMetric metric, const Query& query, int64_t id, std::span<const float> vector) {
  if (vector.size() != query.vector.size()) return {id, kNoScore};
  const double norm_squared = exact_dot(vector.data(), vector.data(), static_cast<int64_t>(vector.size()));
  if (!is_in_relation(metric, norm_squared)) return {id, kNoScore};
  return scored(metric, query, id, vector, norm_squared);
}

void offer_changed(const IndexState& state, const Admissible& among, const Query& query, BestRows& best) {
  const LiveRows& changed = *state.changed;
  for (size_t i = 0; i < changed.ids.size(); ++i)
    if (among.has(changed.ids[i]))
      best.offer(scored(state.metric, query, changed.ids[i], changed.vector(i), changed.norms_squared[i]));
}

}  // namespace

Result<bool> LiveRelation::read(int64_t id, std::vector<float>& vector) {
  const std::vector<int64_t>& changed = state_.changed->ids;
  const auto at = std::ranges::lower_bound(changed, id);
  if (at != changed.end() && *at == id) {
    const auto found = state_.changed->vector(static_cast<size_t>(at - changed.begin()));
    vector.assign(found.begin(), found.end());
    return true;
  }
  const std::optional<int32_t> row = row_of(state_, id);
  return row ? source_.read_indexed(state_, *row, vector) : Result(false);
}

// True if reading the admissible rows one by one costs less than a pass over the user's table.
bool LiveRelation::reads_by_id() const {
  if (among_.all() || source_.is_slow()) return false;
  const auto changed = static_cast<int64_t>(state_.changed->ids.size());
  const int64_t rows = changed + (state_.parts == nullptr ? 0 : state_.parts->model().words());
  return among_.keys->size() <= rows / kRowsPerRead;
}

// A scan reads about one and a half times as many vectors as it returns.
bool LiveRelation::wants_full_pass(int64_t k) const {
  if (state_.parts == nullptr || glove::wants_full_pass(state_.parts->model(), k)) return true;
  return reads_by_id() && among_.keys->size() <= k + k / 2;
}

// Passes the rows of the state that are wanted and have a vector.
template <class Wanted, class Use>
Status LiveRelation::read_state(const Wanted& wanted, const InterruptCheck& interrupted, const Use& use) {
  InterruptPoll poll(interrupted);
  std::vector<float> vector;
  const int64_t rows = state_.parts == nullptr ? 0 : state_.parts->model().words();
  for (int32_t row = 0; row < rows; ++row) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    const int64_t id = state_.parts->id_of(row);
    if (!wanted(id) || std::ranges::binary_search(state_.hidden, row)) continue;
    GLOVE_ASSIGN_OR_RETURN(const bool found, source_.read_indexed(state_, row, vector));
    if (found) use(id, std::span<const float>(vector));
  }
  const LiveRows& changed = *state_.changed;
  for (size_t i = 0; i < changed.ids.size(); ++i)
    if (wanted(changed.ids[i])) use(changed.ids[i], changed.vector(i));
  return {};
}

// Passes the admissible rows of these that have a vector.
template <class Use>
Status LiveRelation::read_ids(std::span<const int64_t> ids, const InterruptCheck& interrupted,
                              const Use& use) {
  if (source_.is_slow()) {
    std::vector<int64_t> sorted(ids.begin(), ids.end());
    std::ranges::sort(sorted);
    const auto wanted = [&](int64_t id) { return std::ranges::binary_search(sorted, id) && among_.has(id); };
    return read_state(wanted, interrupted, use);
  }
  InterruptPoll poll(interrupted);
  std::vector<float> vector;
  for (const int64_t id : ids) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    if (!among_.has(id)) continue;
    GLOVE_ASSIGN_OR_RETURN(const bool found, source_.read(id, vector));
    if (found) use(id, std::span<const float>(vector));
  }
  return {};
}

// Passes every admissible row that has a vector. One by one, it reads no other row.
template <class Use>
Status LiveRelation::read_admissible(bool by_id, const InterruptCheck& interrupted, const Use& use) {
  if (by_id) return read_ids(among_.keys->keys(), interrupted, use);
  if (source_.is_slow()) return read_state([this](int64_t id) { return among_.has(id); }, interrupted, use);
  InterruptPoll poll(interrupted);
  return source_.read_all([&](int64_t id, std::span<const float> vector) -> Status {
    if (among_.has(id)) use(id, vector);
    return poll.check();
  });
}

// Scores every admissible row of the user's table: calls use(i, row) for each row and queries[i]. Calls
// begin() before it reads the first row, and again before it reads the rows one by one, after an error that
// may be one of another row.
template <class Use>
Status LiveRelation::score_table(std::span<const Query> queries, const SearchOptions& options,
                                 SearchReport& report, const std::function<void()>& begin, const Use& use) {
  const Timer timer;
  int64_t rows = 0;
  const auto read = [&](bool by_id) {
    rows = 0;
    begin();
    return read_admissible(by_id, options.interrupted, [&](int64_t id, std::span<const float> vector) {
      ++rows;
      for (size_t i = 0; i < queries.size(); ++i) use(i, scored(state_.metric, queries[i], id, vector));
    });
  };
  Status status = read(reads_by_id());
  if (!status.ok() && status.error().code != ErrorCode::kInterrupted && !among_.all() && !reads_by_id())
    status = read(true);
  GLOVE_RETURN_IF_ERROR(status);
  report.cost.rows_scanned += rows * static_cast<int64_t>(queries.size());
  report.cost.candidates += rows * static_cast<int64_t>(queries.size());
  report.cost.rescore_us += timer.microseconds();
  return {};
}

Result<Answers> LiveRelation::best_of_table(std::span<const Query> queries, int64_t k,
                                            const SearchOptions& options, SearchReport& report) {
  std::vector<BestRows> best;
  GLOVE_RETURN_IF_ERROR(score_table(
      queries, options, report, [&] { best.assign(queries.size(), BestRows(k)); },
      [&best](size_t i, const Neighbor& row) { best[i].offer(row); }));
  Answers answers;
  for (BestRows& rows : best) {
    GLOVE_RETURN_IF_ERROR(check_interrupt(options.interrupted));
    answers.push_back(std::move(rows).take());
  }
  return answers;
}

// Scores the candidates of one query, the best bounds first. Returns how many of them the user's table
// lacked, which are now hidden. If the query is `coarse`, because a batch scans with codes of few bits, finer
// ones spare reading most of them.
Result<int64_t> LiveRelation::score_candidates(const Query& query, std::span<const Neighbor> candidates,
                                               bool coarse, BestRows& best) {
  const Model& model = state_.parts->model();
  std::vector<float> vector;
  QuantizedQuery codes;
  double score = kNoScore, least = kNoScore;  // what a row must have, and its bound
  int64_t gone = 0;
  for (const Neighbor& candidate : candidates) {
    if (const double now = std::max(best.threshold(), query.least); now != score)
      least = bound_needed(model, query, score = now);
    if (least > candidate.similarity) break;
    const auto row = static_cast<int32_t>(candidate.id);
    const int64_t id = state_.parts->id_of(row);
    if (state_.metric == RowMetric::kHamming) {  // many rows may have the distance of the last one
      if (!best.takes({id, candidate.similarity})) continue;
    } else if (coarse && least > kNoScore) {
      if (codes.codes.empty()) codes = query_codes(model, query, kEstimateQueryCode);
      const ModelPart& part = model.part_of(row);
      if (least > code_bound(part.level(8), row - part.first_row, part.dims, codes)) continue;
    }
    GLOVE_ASSIGN_OR_RETURN(const bool found, source_.read_indexed(state_, row, vector));
    if (found) {
      best.offer(scored(state_.metric, query, id, vector));
    } else {
      hide_row(state_, row);
      ++gone;
    }
  }
  return gone;
}

// Returns nullopt if the running statement has removed a segment, or rows, which are hidden then, whose codes
// are not in memory.
Result<std::optional<Answers>> LiveRelation::candidates(std::span<const Query> queries, int64_t k,
                                                        const SearchOptions& options, SearchReport& report) {
  const PartSet& parts = *state_.parts;
  if (!parts.has_outlines()) {
    GLOVE_ASSIGN_OR_RETURN(Answers found, candidates_of(parts.searchers(), queries, k, options, report));
    return std::optional(std::move(found));
  }
  OutlineReader reader(state_, source_, codes_);
  SearchOptions reading = options;
  reading.reader = &reader;
  auto found = candidates_of(parts.searchers(), queries, k, reading, report);
  if (!found.ok() && reader.has_lost_segment()) return std::optional<Answers>();
  GLOVE_RETURN_IF_ERROR(found);
  if (reader.lost_rows().empty()) return std::optional(std::move(found.value()));
  for (const int32_t row : reader.lost_rows()) hide_row(state_, row);
  return std::optional<Answers>();
}

// Answers the queries in `left`, which lists their positions, with a scan of the segments for the first
// `wanted` rows, of which up to wanted - k may be gone. Leaves those in it that have no answer yet, because
// they lost more candidates, which have ruled out others, or a segment.
Status LiveRelation::scan_segments(std::span<const Query> queries, int64_t k, int64_t wanted,
                                   const SearchOptions& options, SearchReport& report, Answers& answers,
                                   std::vector<size_t>& left) {
  std::vector<size_t> again;
  for (std::span<const size_t> rest = left; !rest.empty();) {
    const auto block = rest.first(std::min(rest.size(), 1 + kMostHiddenInScan / (1 + state_.hidden.size())));
    rest = rest.subspan(block.size());
    std::vector<Query> asked;
    for (const size_t i : block) {
      asked.push_back(queries[i]);
      asked.back().excluded = state_.hidden;
      asked.back().among = among_.rows;
    }
    SearchReport scan;
    GLOVE_ASSIGN_OR_RETURN(const auto found, candidates(asked, wanted, options, scan));
    if (!found) {
      again.insert(again.end(), block.begin(), block.end());
      continue;
    }
    report.backend = scan.backend;
    report.device = scan.device;
    report.cost.add(scan.cost);
    const Timer timer;
    if (!options.is_exact())
      for (size_t i = 0; i < block.size(); ++i)
        report.notes[block[i]] = i < scan.notes.size()
                                     ? scan.notes[i]
                                     : AnswerNote{false, scan.cost.rows_scanned / std::ssize(block)};
    const bool coarse = block.size() > 1 && !state_.parts->has_outlines();
    for (size_t i = 0; i < block.size(); ++i) {
      GLOVE_RETURN_IF_ERROR(check_interrupt(options.interrupted));
      const Query& query = queries[block[i]];
      BestRows best(k);
      offer_changed(state_, among_, query, best);
      GLOVE_ASSIGN_OR_RETURN(const int64_t gone, score_candidates(query, (*found)[i], coarse, best));
      if (gone <= wanted - k) {
        answers[block[i]] = std::move(best).take();
      } else {
        again.push_back(block[i]);
      }
    }
    report.cost.rescore_us += timer.microseconds();
  }
  left = std::move(again);
  return {};
}

Result<Answers> LiveRelation::nearest(std::span<const Query> queries, int64_t k, const SearchOptions& options,
                                      SearchReport& report) {
  GLOVE_REQUIRE(queries.empty() || queries.front().excluded.empty());
  const ScopedFloatEnvironment float_environment;
  const Timer timer;
  report.queries = static_cast<int64_t>(queries.size());
  report.k = std::max<int64_t>(k, 0);
  Answers answers(queries.size());
  if (k <= 0 || queries.empty()) return answers;
  if (wants_full_pass(k)) {
    GLOVE_ASSIGN_OR_RETURN(answers, best_of_table(queries, k, options, report));
  } else {
    std::vector<size_t> left(queries.size());
    if (!options.is_exact()) report.notes.resize(queries.size());
    std::iota(left.begin(), left.end(), size_t{0});
    for (int64_t wanted = k; !left.empty() && !wants_full_pass(wanted); wanted *= 2) {
      const size_t hidden = state_.hidden.size();
      GLOVE_RETURN_IF_ERROR(scan_segments(queries, k, wanted, options, report, answers, left));
      if (state_.hidden.size() == hidden) break;  // a segment is gone
    }
    for (const size_t i : left) {
      GLOVE_ASSIGN_OR_RETURN(auto rows, best_of_table(queries.subspan(i, 1), k, options, report));
      if (!options.is_exact()) report.notes[i] = {};
      answers[i] = std::move(rows.front());
    }
  }
  report.total_us = timer.microseconds();
  return answers;
}

Result<OrderedRows> LiveRelation::all_rows(const Query& query, const SearchOptions& options,
                                           SearchReport& report) {
  const ScopedFloatEnvironment float_environment;
  const Timer timer;
  std::vector<Neighbor> rows;
  GLOVE_RETURN_IF_ERROR(score_table(
      {&query, 1}, options, report, [&rows] { rows.clear(); },
      [&rows](size_t, const Neighbor& row) {
        if (row.similarity > kNoScore) rows.push_back(row);
      }));
  report.queries = 1;
  report.k = static_cast<int64_t>(rows.size());
  report.total_us = timer.microseconds();
  return OrderedRows(std::move(rows));
}

Result<std::vector<Neighbor>> LiveRelation::score(const Query& query, std::span<const int64_t> ids,
                                                  const InterruptCheck& interrupted) {
  const ScopedFloatEnvironment float_environment;
  std::vector<Neighbor> rows;
  GLOVE_RETURN_IF_ERROR(read_ids(ids, interrupted, [&](int64_t id, std::span<const float> vector) {
    const Neighbor row = scored(state_.metric, query, id, vector);
    if (row.similarity > kNoScore) rows.push_back(row);
  }));
  return rows;
}

}  // namespace glove::live
