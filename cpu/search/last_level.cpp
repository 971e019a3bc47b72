#include "cpu/search/last_level.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/thread_pool.h"
#include "base/timer.h"
#include "cpu/kernels/wide_query.h"
#include "cpu/search/search_plan.h"
#include "lists/code_estimate.h"
#include "lists/recall_table.h"
#include "model/prefetch.h"

namespace glove::cpu {
namespace {

constexpr size_t kRowsPerDots = 4;
// The beginning of a row that is fetched ahead. The processor fetches the rest of a longer row by itself.
constexpr int64_t kFetchedFloats = 512;
// About as many floats are on their way at any time: a core waits for no more cache lines than those at once.
constexpr int64_t kFloatsAhead = 2048;
// Rows of a piece of work.
constexpr size_t kRowsPerPiece = 64;
// Fewer rows than this are scored before another thread could wake up.
constexpr int64_t kScoresWorthThreads = 1024;

// Fetches the beginning of a row's vector from memory.
void fetch_row(const Model& model, int64_t id) {
  const ModelPart& part = model.part_of(id);
  const int64_t row = id - part.first_row;
  const float* const x = part.vector(row);
  const int64_t floats = std::min(part.dims, kFetchedFloats);
  prefetch(x, floats);
  __builtin_prefetch(x + floats - 1);
  __builtin_prefetch(&part.norms_squared[static_cast<size_t>(row)]);
}

class Vectors final : public LastLevel {
 public:
  Vectors(const ScanContext& context, const SearchRequest& request)
      : LastLevel(context, request),
        wide_(widen(query().vector)),
        k_(std::min(request.k, context.model.words())),
        best_(k_) {}

  void fetch(int64_t row) const override { fetch_row(context_.model, row); }

  Status score(int, std::span<Neighbor> rows) override {
    score_rows(context_, query(), wide_.data(), rows);
    const double least = threshold();
    if (std::ranges::none_of(rows, [&](const Neighbor& row) { return row.similarity >= least; })) return {};
    const Lock lock(mutex_);
    for (const Neighbor& row : rows)
      if (row.similarity >= least) best_.offer(row);
    if (best_.threshold() > kNoScore) bounds_.threshold().raise(round_down_to_float(best_.threshold()));
    return {};
  }

  Result<std::vector<float>> direction(int64_t row) override {
    const float* const vector = context_.model.vector(row);
    return std::vector<float>(vector, vector + context_.model.dims());
  }

  double nearest_excluded() const override {
    const std::vector<int32_t>& excluded = query().excluded;
    std::vector<Neighbor> rows;
    for (size_t i = 0; i < std::min(excluded.size(), kMeasuredExcluded); ++i)
      if (excluded[i] >= 0 && excluded[i] < context_.model.words()) rows.push_back({excluded[i], kNoScore});
    score_rows(context_, query(), wide_.data(), rows);
    double nearest = kNoScore;
    for (const Neighbor& row : rows) nearest = std::max(nearest, row.similarity);
    return nearest;
  }

  void forget() GLOVE_NOT_CHECKED override {
    codes_.forget();
    best_ = BestRows(k_);
  }

  Result<std::vector<Neighbor>> finish(const InterruptCheck& interrupted,
                                       ScanCost& cost) GLOVE_NOT_CHECKED override {
    Timer timer;
    std::vector<float> lower_bounds;
    for (const Neighbor& row : best_.rows()) lower_bounds.push_back(round_down_to_float(row.similarity));
    SearchRequest rest;
    rest.query = request_.query;
    rest.k = request_.k;
    rest.rows = codes_.candidates_of(0, std::move(lower_bounds));
    cost.candidates += std::ssize(rest.rows);
    cost.select_us += timer.lap();
    if (!score_answers(context_, {&rest, 1}, interrupted)) return interrupted_error();
    rest.rows.insert(rest.rows.end(), best_.rows().begin(), best_.rows().end());
    keep_best(query(), request_.k, rest.rows);
    cost.rescore_us += timer.lap();
    return std::move(rest.rows);
  }

 private:
  const std::vector<double> wide_;
  const int64_t k_;
  Mutex mutex_;
  BestRows best_ GLOVE_GUARDED_BY(mutex_);
};

class Bounds final : public LastLevel {
 public:
  Bounds(const ScanContext& context, const SearchRequest& request)
      : LastLevel(context, request), query_codes_(query_codes(context.model, query(), kEstimateQueryCode)) {}

  void fetch(int64_t row) const override {
    const ModelPart& part = context_.model.part_of(row);
    if (part.level(8).codes.empty()) return;
    const int8_t* const codes = part.level(8).codes.data() + code_index(row - part.first_row, 0, part.dims);
    for (int64_t group = 0; group < component_groups(part.dims); ++group)
      __builtin_prefetch(codes + group * kTileRows * kTileComponents);
  }

  Status score(int slot, std::span<Neighbor> rows) override {
    Collector& collector = codes_.collector(slot);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i + 1 < rows.size()) fetch(rows[i + 1].id);
      const ModelPart& part = context_.model.part_of(rows[i].id);
      const float error =
          query_codes_.bound.error(part.level(8).residuals[static_cast<size_t>(rows[i].id - part.first_row)]);
      if (std::isinf(error)) continue;
      GLOVE_ASSIGN_OR_RETURN(const RowCodes row, codes_of(rows[i].id));
      if (row.level.codes.empty()) continue;
      const float estimate = code_estimate(row.level, row.place, part.dims, query_codes_);
      if (!std::isnan(error)) rows[i].similarity = estimate;
      collector.offer(static_cast<int32_t>(rows[i].id), estimate, error);
    }
    return {};
  }

  Result<std::vector<float>> direction(int64_t row) override {
    GLOVE_ASSIGN_OR_RETURN(const RowCodes codes, codes_of(row));
    if (codes.level.codes.empty()) return std::vector<float>();
    std::vector<float> direction;
    for (int64_t i = 0; i < context_.model.dims(); ++i)
      direction.push_back(
          codes.level.codes[static_cast<size_t>(code_index(codes.place, i, context_.model.dims()))]);
    return direction;
  }

  // The rows that a live index omits are deleted ones.
  double nearest_excluded() const override { return kNoScore; }

  void forget() override { codes_.forget(); }

  Result<std::vector<Neighbor>> finish(const InterruptCheck&, ScanCost& cost) override {
    const Timer timer;
    std::vector<Neighbor> rows = codes_.candidates_of(0);
    std::ranges::sort(rows, ranks_before);
    cost.select_us += timer.microseconds();
    return rows;
  }

 private:
  struct RowCodes {
    CodeLevel level;  // without codes if the row is not there any more
    int64_t place;    // of the row
  };

  Result<RowCodes> codes_of(int64_t row) {
    const ModelPart& part = context_.model.part_of(row);
    if (!part.level(8).codes.empty()) return RowCodes{part.level(8), row - part.first_row};
    GLOVE_ASSIGN_OR_RETURN(const CodeLevel level, request_.terms.reader->read_row(row));
    return RowCodes{level, 0};
  }

  const QuantizedQuery query_codes_;
};

// Up to kRowsPerPiece rows of one request.
struct Piece {
  size_t request;
  size_t first;
};

}  // namespace

LastLevel::LastLevel(const ScanContext& context, const SearchRequest& request)
    : context_(context), request_(request), codes_(context, {&request, 1}), bounds_(codes_.bounds()) {}

std::unique_ptr<LastLevel> make_last_level(const ScanContext& context, const SearchRequest& request) {
  if (has_vectors(context.model)) return std::make_unique<Vectors>(context, request);
  return std::make_unique<Bounds>(context, request);
}

void score_rows(const ScanContext& context, const Query& query, const double* wide,
                std::span<Neighbor> rows) {
  const Model& model = context.model;
  const int64_t dims = model.dims();
  const bool is_l2 = model.metric() == RowMetric::kL2;
  const auto ahead = static_cast<size_t>(std::clamp<int64_t>(kFloatsAhead / dims, kRowsPerDots, 64));
  for (size_t i = 0; i < std::min(ahead, rows.size()); ++i) fetch_row(model, rows[i].id);
  for (size_t first = 0; first < rows.size(); first += kRowsPerDots) {
    const size_t count = std::min(kRowsPerDots, rows.size() - first);
    const float* vectors[kRowsPerDots] = {};
    double dots[kRowsPerDots];
    for (size_t i = first; i < first + count; ++i) {
      if (i + ahead < rows.size()) fetch_row(model, rows[i + ahead].id);
      vectors[i - first] = model.vector(rows[i].id);
    }
    if (!is_l2) context.kernels.cached_dots(wide, vectors, static_cast<int64_t>(count), dims, dots);
    for (size_t i = 0; i < count; ++i) {
      Neighbor& row = rows[first + i];
      row.similarity = score_of(model, query, row.id, is_l2 ? product_of(model, query, row.id) : dots[i]);
    }
  }
}

bool score_answers(const ScanContext& context, std::span<SearchRequest> requests,
                   const InterruptCheck& interrupted) {
  std::vector<Piece> pieces;
  std::vector<std::vector<double>> wide;
  int64_t rows_in_all = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    wide.push_back(widen(requests[i].query->vector));
    for (size_t first = 0; first < requests[i].rows.size(); first += kRowsPerPiece)
      pieces.push_back({i, first});
    rows_in_all += std::ssize(requests[i].rows);
  }
  const int threads = rows_in_all < kScoresWorthThreads ? 1 : context.threads;
  const auto score = [&](int, int64_t number) {
    const Piece& piece = pieces[static_cast<size_t>(number)];
    SearchRequest& request = requests[piece.request];
    const auto rows = std::span(request.rows).subspan(piece.first);
    score_rows(context, *request.query, wide[piece.request].data(),
               rows.first(std::min(kRowsPerPiece, rows.size())));
  };
  if (!ThreadPool::instance().run(threads, std::ssize(pieces), score, interrupted)) return false;
  const auto keep = [&](int, int64_t i) {
    SearchRequest& request = requests[static_cast<size_t>(i)];
    keep_best(*request.query, request.k, request.rows);
  };
  return ThreadPool::instance().run(threads, std::ssize(requests), keep, interrupted);
}

}  // namespace glove::cpu
