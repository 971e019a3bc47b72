#include "search/engine.h"

#include <algorithm>
#include <utility>

#include "loader/exact_dot.h"
#include "loader/float_environment.h"
#include "search/backend_choice.h"
#include "search/timer.h"

namespace glove {
namespace {

constexpr int64_t kQueriesABlock = 1024;
constexpr int64_t kAnswerBytes = int64_t{64} << 20;

bool is_admissible(const Model& model, const Query& query, int32_t id) {
  return model.norm_squared(id) > 0 && !std::binary_search(query.excluded.begin(), query.excluded.end(), id);
}

Neighbor make_neighbor(const Model& model, const Query& query, int32_t id, double dot) {
  return {id, cosine_from_dots(dot, query.norm_squared, model.norm_squared(id))};
}

Status interrupted_error() {
  return Status(ErrorCode::kInterrupted, "interrupted");
}

// D(q, x) of every row by one backend.
Status score_every_row(Backend& backend, const ModelPtr& model, const Query& query,
                       const SearchOptions& options, std::vector<double>& dots, ScanCost& cost) {
  dots.resize(static_cast<size_t>(model->words()));
  return backend.score_all(model, query, dots, options.interrupted, cost);
}

std::vector<Neighbor> admissible_rows(const Model& model, const Query& query, std::span<const double> dots) {
  std::vector<Neighbor> rows;
  rows.reserve(dots.size());
  auto excluded = query.excluded.begin();
  for (size_t i = 0; i < dots.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    while (excluded != query.excluded.end() && *excluded < id) ++excluded;
    if (excluded != query.excluded.end() && *excluded == id) continue;
    if (model.norm_squared(id) > 0) rows.push_back(make_neighbor(model, query, id, dots[i]));
  }
  return rows;
}

// A backend's candidates -> the first k rows.
std::vector<Neighbor> rescore(const Model& model, const Query& query, const Candidates& candidates,
                              int64_t k) {
  std::vector<Neighbor> rows;
  rows.reserve(candidates.ids.size());
  for (size_t i = 0; i < candidates.ids.size(); ++i) {
    const int32_t id = candidates.ids[i];
    if (!is_admissible(model, query, id)) continue;
    const double dot = candidates.dots.empty()
                           ? exact_dot(query.vector.data(), model.vector(id), model.dims())
                           : candidates.dots[i];
    rows.push_back(make_neighbor(model, query, id, dot));
  }
  const auto kept = static_cast<ptrdiff_t>(std::min<int64_t>(k, static_cast<int64_t>(rows.size())));
  std::partial_sort(rows.begin(), rows.begin() + kept, rows.end(), ranks_before);
  rows.resize(static_cast<size_t>(kept));
  return rows;
}

using Answers = std::vector<std::vector<Neighbor>>;

// By certified scans, a block of queries at a time.
Status nearest_by_scan(Backend& backend, const ModelPtr& model, std::span<const Query> queries, int64_t k,
                       const SearchOptions& options, ScanCost& cost, Answers& answers) {
  while (!queries.empty()) {
    const auto block = queries.first(std::min(queries.size(), static_cast<size_t>(kQueriesABlock)));
    queries = queries.subspan(block.size());
    GLOVE_ASSIGN_OR_RETURN(const std::vector<Candidates> proposed,
                           backend.propose(model, block, k, options.interrupted, cost));
    const Timer timer;
    for (size_t i = 0; i < block.size(); ++i) {
      if (options.interrupted && options.interrupted()) return interrupted_error();
      answers.push_back(rescore(*model, block[i], proposed[i], k));
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
    OrderedRows rows(admissible_rows(*model, query, dots));
    cost.candidates += rows.size();
    GLOVE_RETURN_IF_ERROR(rows.sort_first(k, options.interrupted));
    answers.push_back(std::move(rows).take_first(k));
    cost.select_us += timer.microseconds();
  }
  return {};
}

// Runs `search` on the backend that the options choose and describes it in the report.
Status run_search(const ModelPtr& model, const SearchOptions& options, SearchReport& report,
                  const std::function<Status(Backend&, ScanCost&)>& search) {
  ScopedFloatEnvironment float_environment;
  const Timer timer;
  Status status = with_backend(model, options.backend, [&](Backend& backend) {
    report.cost = ScanCost();
    report.backend = backend.name();
    report.device = backend.residency(*model).device;
    return search(backend, report.cost);
  });
  report.total_us = timer.microseconds();
  return status;
}

}  // namespace

Result<std::vector<std::vector<Neighbor>>> nearest(const ModelPtr& model, std::span<const Query> queries,
                                                   int64_t k, const SearchOptions& options,
                                                   SearchReport& report) {
  k = std::min(k, model->words());
  report.queries = static_cast<int64_t>(queries.size());
  report.k = std::max<int64_t>(k, 0);
  if (queries.empty() || k <= 0) return Answers(queries.size());
  Answers answers;
  const bool full_pass = wants_full_pass(*model, k);
  GLOVE_RETURN_IF_ERROR(run_search(model, options, report, [&](Backend& backend, ScanCost& cost) {
    answers.clear();
    answers.reserve(queries.size());
    return full_pass ? nearest_by_full_pass(backend, model, queries, k, options, cost, answers)
                     : nearest_by_scan(backend, model, queries, k, options, cost, answers);
  }));
  return answers;
}

int64_t queries_a_batch(const Model& model, int64_t k) {
  const int64_t rows = std::clamp<int64_t>(k, 1, std::max<int64_t>(model.words(), 1));
  return std::clamp<int64_t>(kAnswerBytes / (rows * static_cast<int64_t>(sizeof(Neighbor))), 1,
                             kQueriesABlock);
}

std::vector<Neighbor> score_words(const Model& model, const Query& query, std::span<const int32_t> ids) {
  ScopedFloatEnvironment float_environment;
  std::vector<Neighbor> rows;
  rows.reserve(ids.size());
  for (const int32_t id : ids)
    if (is_admissible(model, query, id))
      rows.push_back(
          make_neighbor(model, query, id, exact_dot(query.vector.data(), model.vector(id), model.dims())));
  return rows;
}

Result<OrderedRows> all_rows(const ModelPtr& model, const Query& query, const SearchOptions& options,
                             SearchReport& report) {
  report.queries = 1;
  report.k = model->words();
  std::vector<double> dots;
  GLOVE_RETURN_IF_ERROR(run_search(model, options, report, [&](Backend& backend, ScanCost& cost) {
    return score_every_row(backend, model, query, options, dots, cost);
  }));
  ScopedFloatEnvironment float_environment;
  OrderedRows rows(admissible_rows(*model, query, dots));
  report.cost.candidates = rows.size();
  return rows;
}

Result<int64_t> rank_of(const ModelPtr& model, const Query& query, const Neighbor& row,
                        const SearchOptions& options, SearchReport& report) {
  report.queries = 1;
  report.k = model->words();
  std::vector<double> dots;
  GLOVE_RETURN_IF_ERROR(run_search(model, options, report, [&](Backend& backend, ScanCost& cost) {
    return score_every_row(backend, model, query, options, dots, cost);
  }));
  ScopedFloatEnvironment float_environment;
  int64_t before = 0;
  for (size_t i = 0; i < dots.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    if (is_admissible(*model, query, id) && ranks_before(make_neighbor(*model, query, id, dots[i]), row))
      ++before;
  }
  return before + 1;
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
