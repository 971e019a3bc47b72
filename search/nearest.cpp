#include "search/nearest.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/float_environment.h"
#include "base/timer.h"
#include "model/exact_dot.h"

namespace glove {
namespace {

constexpr size_t kQueriesABlock = 1024;
constexpr size_t kRowsBetweenChecks =
    65536;  // under 1 ms of what the engine does with a row, dot products aside
constexpr size_t kDotsBetweenChecks = 4096;
constexpr int64_t kProbedRanks = 1024;  // rank_of searches for these before it scores every row

bool is_excluded(const Query& query, int32_t id) {
  return std::binary_search(query.excluded.begin(), query.excluded.end(), id);
}

bool is_admissible(const Model& model, const Query& query, int32_t id) {
  return model.norm_squared(id) > 0 && !is_excluded(query, id);
}

// Appends the row with its similarity. A damaged model file, which nobody has read yet, may hold NaN: such a
// row is left out, because no order could place it.
void append_row(const Query& query, int32_t id, double dot, double norm_squared,
                std::vector<Neighbor>& rows) {
  const double similarity = cosine_from_dots(dot, query.norm_squared, norm_squared);
  if (!std::isnan(similarity)) rows.push_back({id, similarity});
}

// D(q, x) of every row by one backend.
Status score_every_row(Backend& backend, const ModelPtr& model, const Query& query,
                       const SearchOptions& options, std::vector<double>& dots, ScanCost& cost) {
  dots.resize(static_cast<size_t>(model->words()));
  return backend.score_all(model, query, dots, options.interrupted, cost);
}

// Every admissible row with its similarity, by rising id.
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
    } else if (model.norm_squared(id) > 0) {
      append_row(query, id, dots[i], model.norm_squared(id), rows);
    }
  }
  return rows;
}

// The candidates with their similarities, which the backend has computed or which are computed here.
std::vector<Neighbor> scored(const Model& model, const Query& query, const Candidates& candidates) {
  std::vector<Neighbor> rows;
  rows.reserve(candidates.ids.size());
  for (size_t i = 0; i < candidates.ids.size(); ++i) {
    const int32_t id = candidates.ids[i];
    if (is_excluded(query, id)) continue;
    if (!candidates.similarities.empty()) {
      if (candidates.similarities[i] > kNoSimilarity) rows.push_back({id, candidates.similarities[i]});
    } else if (model.norm_squared(id) > 0) {
      const double dot = exact_dot(query.vector.data(), model.vector(id), model.dims());
      append_row(query, id, dot, model.norm_squared(id), rows);
    }
  }
  return rows;
}

// A backend's candidates -> the first k rows. What comes ranked is only read through.
std::vector<Neighbor> best_of(const Model& model, const Query& query, const Candidates& candidates,
                              int64_t k) {
  std::vector<Neighbor> rows = scored(model, query, candidates);
  const auto kept = static_cast<ptrdiff_t>(std::min<int64_t>(k, static_cast<int64_t>(rows.size())));
  if (!std::is_sorted(rows.begin(), rows.end(), ranks_before)) {
    if (static_cast<size_t>(kept) < rows.size())
      std::nth_element(rows.begin(), rows.begin() + kept, rows.end(), ranks_before);
    std::sort(rows.begin(), rows.begin() + kept, ranks_before);
  }
  rows.resize(static_cast<size_t>(kept));
  return rows;
}

using Answers = std::vector<std::vector<Neighbor>>;

// By certified scans, a block of queries at a time.
Status nearest_by_scan(Backend& backend, const ModelPtr& model, std::span<const Query> queries, int64_t k,
                       const SearchOptions& options, ScanCost& cost, Answers& answers) {
  while (!queries.empty()) {
    const auto block = queries.first(std::min(queries.size(), kQueriesABlock));
    queries = queries.subspan(block.size());
    GLOVE_ASSIGN_OR_RETURN(const std::vector<Candidates> proposed,
                           backend.propose(model, block, k, options.interrupted, cost));
    const Timer timer;
    for (size_t i = 0; i < block.size(); ++i) {
      GLOVE_RETURN_IF_ERROR(check_interrupt(options.interrupted));
      answers.push_back(best_of(*model, block[i], proposed[i], k));
    }
    cost.rescore_us += timer.microseconds();
  }
  return {};
}

// By a pass of D over all rows for each query.
Status nearest_by_full_pass(Backend& backend, const ModelPtr& model, std::span<const Query> queries,
                            int64_t k, const SearchOptions& options, ScanCost& cost, Answers& answers) {
  std::vector<double> dots;
  for (const Query& query : queries) {
    GLOVE_RETURN_IF_ERROR(score_every_row(backend, model, query, options, dots, cost));
    const Timer timer;
    GLOVE_ASSIGN_OR_RETURN(auto scored, admissible_rows(*model, query, dots, options.interrupted));
    OrderedRows rows(std::move(scored));
    cost.candidates += rows.size();
    GLOVE_RETURN_IF_ERROR(rows.sort_first(k, options.interrupted));
    answers.push_back(std::move(rows).take_first(k));
    cost.select_us += timer.microseconds();
  }
  return {};
}

// Runs `search` on the backend that the options choose and describes it in the report.
Status run_search(ModelSearchers& searchers, const SearchOptions& options, SearchReport& report,
                  const std::function<Status(Backend&, ScanCost&)>& search) {
  ScopedFloatEnvironment float_environment;
  const Timer timer;
  const Model& model = *searchers.model();
  Status status = searchers.with_backend(options.backend, options.interrupted, [&](Backend& backend) {
    report.cost = ScanCost();
    report.backend = backend.name();
    report.device = backend.residency(model).device;
    return search(backend, report.cost);
  });
  // Rows read from a file that was cut or overwritten meanwhile are not believed.
  if (status.ok()) status = model.health();
  report.total_us = timer.microseconds();
  return status;
}

}  // namespace

Result<std::vector<std::vector<Neighbor>>> nearest(ModelSearchers& searchers, std::span<const Query> queries,
                                                   int64_t k, const SearchOptions& options,
                                                   SearchReport& report) {
  const ModelPtr& model = searchers.model();
  k = std::min(k, model->words());
  report.queries = static_cast<int64_t>(queries.size());
  report.k = std::max<int64_t>(k, 0);
  if (queries.empty() || k <= 0) return Answers(queries.size());
  Answers answers;
  const bool full_pass = wants_full_pass(*model, k);
  const auto search = [&](Backend& backend, ScanCost& cost) {
    answers.clear();
    answers.reserve(queries.size());
    return full_pass ? nearest_by_full_pass(backend, model, queries, k, options, cost, answers)
                     : nearest_by_scan(backend, model, queries, k, options, cost, answers);
  };
  GLOVE_RETURN_IF_ERROR(run_search(searchers, options, report, search));
  return answers;
}

Result<std::vector<Neighbor>> score_words(const Model& model, const Query& query,
                                          std::span<const int32_t> ids, const InterruptCheck& interrupted) {
  ScopedFloatEnvironment float_environment;
  std::vector<Neighbor> rows;
  rows.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i % kDotsBetweenChecks == 0) GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    if (!is_admissible(model, query, ids[i])) continue;
    const double dot = exact_dot(query.vector.data(), model.vector(ids[i]), model.dims());
    append_row(query, ids[i], dot, model.norm_squared(ids[i]), rows);
  }
  GLOVE_RETURN_IF_ERROR(model.health());
  return rows;
}

Result<OrderedRows> all_rows(ModelSearchers& searchers, const Query& query, const SearchOptions& options,
                             SearchReport& report) {
  const ModelPtr& model = searchers.model();
  report.queries = 1;
  report.k = model->words();
  std::vector<Neighbor> rows;
  const auto search = [&](Backend& backend, ScanCost& cost) -> Status {
    std::vector<double> dots;
    GLOVE_RETURN_IF_ERROR(score_every_row(backend, model, query, options, dots, cost));
    const Timer timer;
    GLOVE_ASSIGN_OR_RETURN(rows, admissible_rows(*model, query, dots, options.interrupted));
    cost.candidates = static_cast<int64_t>(rows.size());
    cost.select_us += timer.microseconds();
    return {};
  };
  GLOVE_RETURN_IF_ERROR(run_search(searchers, options, report, search));
  return OrderedRows(std::move(rows));
}

Result<int64_t> rank_of(ModelSearchers& searchers, const Query& query, const Neighbor& row,
                        const SearchOptions& options, SearchReport& report) {
  const ModelPtr& model = searchers.model();
  report.queries = 1;
  report.k = model->words();
  int64_t rank = 0;
  const auto search = [&](Backend& backend, ScanCost& cost) -> Status {
    std::vector<Neighbor> rows;
    if (!wants_full_pass(*model, kProbedRanks)) {
      Answers nearest_rows;
      GLOVE_RETURN_IF_ERROR(
          nearest_by_scan(backend, model, {&query, 1}, kProbedRanks, options, cost, nearest_rows));
      rows = std::move(nearest_rows.front());
    }
    if (rows.empty() || ranks_before(rows.back(), row)) {
      std::vector<double> dots;
      GLOVE_RETURN_IF_ERROR(score_every_row(backend, model, query, options, dots, cost));
      GLOVE_ASSIGN_OR_RETURN(rows, admissible_rows(*model, query, dots, options.interrupted));
      cost.candidates += static_cast<int64_t>(rows.size());
    }
    rank =
        1 + std::count_if(rows.begin(), rows.end(), [&](const Neighbor& r) { return ranks_before(r, row); });
    return {};
  };
  GLOVE_RETURN_IF_ERROR(run_search(searchers, options, report, search));
  return rank;
}

std::optional<double> cosine_similarity(std::span<const float> a, std::span<const float> b) {
  ScopedFloatEnvironment float_environment;
  const auto dims = static_cast<int64_t>(a.size());
  const double norm_squared_a = exact_dot(a.data(), a.data(), dims);
  const double norm_squared_b = exact_dot(b.data(), b.data(), dims);
  if (!(norm_squared_a > 0) || !(norm_squared_b > 0)) return std::nullopt;
  return cosine_from_dots(exact_dot(a.data(), b.data(), dims), norm_squared_a, norm_squared_b);
}

}  // namespace glove
