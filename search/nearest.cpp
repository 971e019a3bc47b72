#include "search/nearest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/float_environment.h"
#include "base/require.h"
#include "base/timer.h"
#include "search/candidates.h"
#include "search/searcher_choice.h"

namespace glove {
namespace {

constexpr size_t kSmallRange = 4096;  // sorted directly
constexpr size_t kQueriesPerBlock = 1024;
constexpr size_t kRowsBetweenChecks = 65536;  // under 1 ms of work, excluding dot products
constexpr size_t kDotsBetweenChecks = 4096;
constexpr int64_t kFewComponents = 100'000;  // by measurement (bench/RESULTS.md, "Among some rows, on a GPU")
constexpr int64_t kProbedRanks = 1024;       // rank_of searches this many rows before it scores every row

bool is_excluded(const Query& query, int64_t id) {
  return std::binary_search(query.excluded.begin(), query.excluded.end(), id);
}

bool is_admissible(const Query& query, int64_t id) {
  return !is_excluded(query, id) && (query.among == nullptr || query.among->admits(id));
}

// Returns how many rows an answer has at most. The queries have the same mask.
int64_t most_rows(const Model& model, std::span<const Query> queries) {
  const bool masked = !queries.empty() && queries.front().among != nullptr;
  return masked ? queries.front().among->count() : model.words();
}

// Appends the row with its score, if it has one. A damaged model file, which nothing has read before, may
// contain NaN. Such a row is omitted, because it cannot be ordered.
void append_row(const Model& model, const Query& query, int64_t id, double product,
                std::vector<Neighbor>& rows) {
  const double score = score_of(model, query, id, product);
  if (score > kNoScore) rows.push_back({id, score});
}

// Returns every admissible row with its similarity, by ascending id.
Result<std::vector<Neighbor>> admissible_rows(const Model& model, const Query& query,
                                              std::span<const double> dots,
                                              const InterruptCheck& interrupted) {
  std::vector<Neighbor> rows;
  rows.reserve(dots.size());
  auto excluded = query.excluded.begin();
  for (size_t i = 0; i < dots.size(); ++i) {
    if (i % kRowsBetweenChecks == 0) GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    const auto id = static_cast<int32_t>(i);
    if (excluded != query.excluded.end() && *excluded == id) {
      ++excluded;
    } else if (query.among == nullptr || query.among->admits(id)) {
      append_row(model, query, id, dots[i], rows);
    }
  }
  return rows;
}

// Returns every row of one query's relation, by ascending id, with a pass of D over all rows.
Result<std::vector<Neighbor>> score_every_row(Searcher& searcher, const Model& model, const Query& query,
                                              const SearchOptions& options, ScanCost& cost) {
  std::vector<double> dots(static_cast<size_t>(model.words()));
  GLOVE_RETURN_IF_ERROR(searcher.score_all(query, dots, options.interrupted, cost));
  const Timer timer;
  GLOVE_ASSIGN_OR_RETURN(auto rows, admissible_rows(model, query, dots, options.interrupted));
  cost.candidates += static_cast<int64_t>(rows.size());
  cost.select_us += timer.microseconds();
  return rows;
}

// Answers with certified scans, one block of queries at a time.
Status nearest_by_scan(Searcher& searcher, std::span<const Query> queries, int64_t k,
                       const SearchOptions& options, SearchReport& report, Answers& answers) {
  const bool may_approximate = !options.is_exact() && k <= kMostRecallK;
  while (!queries.empty()) {
    const auto block = queries.first(std::min(queries.size(), kQueriesPerBlock));
    queries = queries.subspan(block.size());
    std::vector<SearchRequest> requests(block.size());
    for (size_t i = 0; i < block.size(); ++i) {
      requests[i].query = &block[i];
      requests[i].k = k;
      requests[i].terms = {.interrupted = &options.interrupted,
                           .recall = may_approximate ? options.recall : 1,
                           .reader = options.reader};
    }
    GLOVE_RETURN_IF_ERROR(searcher.search(requests));
    for (SearchRequest& request : requests) {
      GLOVE_RETURN_IF_ERROR(request.status);
      report.cost.add(request.cost);
      if (!options.is_exact()) report.notes.push_back({request.cost.approximate, request.cost.rows_scanned});
      answers.push_back(std::move(request.rows));
    }
  }
  return {};
}

// Answers with a pass of D over all rows for each query.
Status nearest_by_full_pass(Searcher& searcher, const Model& model, std::span<const Query> queries, int64_t k,
                            const SearchOptions& options, SearchReport& report, Answers& answers) {
  ScanCost& cost = report.cost;
  for (const Query& query : queries) {
    GLOVE_ASSIGN_OR_RETURN(auto scored, score_every_row(searcher, model, query, options, cost));
    if (!options.is_exact()) report.notes.push_back({false, model.words()});
    const Timer timer;
    OrderedRows rows(std::move(scored));
    GLOVE_RETURN_IF_ERROR(rows.sort_first(k, options.interrupted));
    answers.push_back(std::move(rows).take_first(k));
    cost.select_us += timer.microseconds();
  }
  return {};
}

// Whether the CPU scores all admissible rows before a device has been asked. A device searches so few tiles
// for one query after another.
bool has_few_rows(const Model& model, std::span<const Query> queries, int64_t k) {
  const RowMaskPtr& among = queries.front().among;
  return among != nullptr && among->count() * model.dims() <= kFewComponents &&
         (queries.size() == 1 || among->rows_of_tiles() < 4 * k * kTileRows);
}

// Calls search(searcher, cost) with the searchers that the options allow until one succeeds, and records it
// in the report. few_rows: begin with the CPU's.
template <class Search>
Status run_search(ModelSearchers& searchers, bool few_rows, const SearchOptions& options,
                  SearchReport& report, Search&& search) {
  const ScopedFloatEnvironment float_environment;
  const Timer timer;
  SearcherChoice choice(searchers, options.backend, options.interrupted, few_rows);
  Status status;
  do {
    GLOVE_ASSIGN_OR_RETURN(Searcher* const searcher, choice.next());
    report.cost = ScanCost();
    report.notes.clear();
    report.backend = choice.backend();
    report.device = searcher->info().device;
    status = search(*searcher, report.cost);
  } while (!choice.settled_by(status));
  // Rows read from a file that was truncated or overwritten meanwhile must not be returned.
  if (status.ok()) status = searchers.model()->health(options.interrupted);
  report.total_us = timer.microseconds();
  return status;
}

// nearest() and candidates_of(). A pass over all rows answers only if `may_pass`.
Result<Answers> answers_of(ModelSearchers& searchers, std::span<const Query> queries, int64_t k,
                           const SearchOptions& options, SearchReport& report, bool may_pass) {
  const Model& model = *searchers.model();
  k = std::min(k, most_rows(model, queries));
  report.queries = static_cast<int64_t>(queries.size());
  report.k = std::max<int64_t>(k, 0);
  if (queries.empty() || k <= 0) return Answers(queries.size());
  Answers answers;
  const bool few_rows = has_few_rows(model, queries, k);
  const bool passes = may_pass && wants_full_pass(model, k);
  GLOVE_RETURN_IF_ERROR(run_search(searchers, few_rows, options, report, [&](Searcher& searcher, ScanCost&) {
    answers.clear();
    answers.reserve(queries.size());
    return passes ? nearest_by_full_pass(searcher, model, queries, k, options, report, answers)
                  : nearest_by_scan(searcher, queries, k, options, report, answers);
  }));
  return answers;
}

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

Result<Answers> nearest(ModelSearchers& searchers, std::span<const Query> queries, int64_t k,
                        const SearchOptions& options, SearchReport& report) {
  return answers_of(searchers, queries, k, options, report, true);
}

Result<Answers> candidates_of(ModelSearchers& searchers, std::span<const Query> queries, int64_t k,
                              const SearchOptions& options, SearchReport& report) {
  GLOVE_REQUIRE(k >= 1);
  return answers_of(searchers, queries, k, options, report, false);
}

Result<std::vector<Neighbor>> score_words(const Model& model, const Query& query,
                                          std::span<const int64_t> ids, const InterruptCheck& interrupted) {
  ScopedFloatEnvironment float_environment;
  std::vector<Neighbor> rows;
  rows.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i % kDotsBetweenChecks == 0) GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    if (is_admissible(query, ids[i]))
      append_row(model, query, ids[i], product_of(model, query, ids[i]), rows);
  }
  GLOVE_RETURN_IF_ERROR(model.health(interrupted));
  return rows;
}

Result<OrderedRows> all_rows(ModelSearchers& searchers, const Query& query, const SearchOptions& options,
                             SearchReport& report) {
  const Model& model = *searchers.model();
  report.queries = 1;
  report.k = model.words();
  std::vector<Neighbor> rows;
  GLOVE_RETURN_IF_ERROR(
      run_search(searchers, false, options, report, [&](Searcher& searcher, ScanCost& cost) -> Status {
        GLOVE_ASSIGN_OR_RETURN(rows, score_every_row(searcher, model, query, options, cost));
        return {};
      }));
  return OrderedRows(std::move(rows));
}

Result<int64_t> rank_of(ModelSearchers& searchers, const Query& query, const Neighbor& row,
                        const SearchOptions& options, SearchReport& report) {
  const Model& model = *searchers.model();
  report.queries = 1;
  report.k = model.words();
  int64_t rank = 0;
  const Status status =
      run_search(searchers, has_few_rows(model, {&query, 1}, kProbedRanks), options, report,
                 [&](Searcher& searcher, ScanCost& cost) -> Status {
                   std::vector<Neighbor> rows;
                   if (!wants_full_pass(model, kProbedRanks)) {
                     Answers answers;
                     GLOVE_RETURN_IF_ERROR(
                         nearest_by_scan(searcher, {&query, 1}, kProbedRanks, options, report, answers));
                     rows = std::move(answers.front());
                   }
                   if (rows.empty() || ranks_before(rows.back(), row)) {
                     GLOVE_ASSIGN_OR_RETURN(rows, score_every_row(searcher, model, query, options, cost));
                   }
                   const auto before = [&row](const Neighbor& other) { return ranks_before(other, row); };
                   rank = 1 + std::count_if(rows.begin(), rows.end(), before);
                   return {};
                 });
  if (!status.ok()) return status.error();
  return rank;
}

}  // namespace glove
