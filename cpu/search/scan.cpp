#include "cpu/search/scan.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "base/timer.h"
#include "cpu/kernels/wide_query.h"
#include "cpu/search/coarse_search.h"
#include "cpu/search/code_scan.h"
#include "cpu/search/last_level.h"
#include "cpu/search/longest_rows.h"
#include "cpu/search/part_chunks.h"
#include "cpu/search/probe_search.h"
#include "cpu/search/search_plan.h"
#include "search/candidates.h"
#include "search/copied_codes.h"

namespace glove::cpu {
namespace {

// The most bytes that a chunk of work reads.
constexpr int64_t kChunkBytes = 192 << 10;
// Queries that are scanned together: few enough for their codes and thresholds to stay in a core's cache, and
// to limit the memory for their lower bounds.
constexpr int64_t kBatchQueries = 1024;
constexpr int64_t kBatchLowerBounds = 4 << 20;
// Rows per call of exact_dots.
constexpr int64_t kRowsPerCall = 64;
// Fewer rows than this are scored before another thread could wake up.
constexpr int64_t kRowsWorthThreads = 1024;

std::string_view words_of(const SearchPlan& plan, const CopiedCodes* copy) {
  const bool has_vectors = plan.last == Level::kVectors;
  if (copy == nullptr) return SearchPlan{Level::kCodes8, plan.last}.words();
  if (copy->is_by_length()) return has_vectors ? "8 bits by length -> vectors" : "8 bits by length";
  return has_vectors ? "copied 8 bits -> vectors" : "copied 8 bits";
}

// Answers requests with the same mask. If `copy` has the longest rows, those that these do not answer are
// left, without rows.
Status search_batch(const ScanContext& context, std::span<SearchRequest> requests, const SearchPlan& plan,
                    const CopiedCodes* copy) {
  const SharedInterrupt shared(requests);
  const InterruptCheck& interrupted = shared.check();
  ScanCost cost;
  Timer timer;
  CodeScan scan(context, requests, copy);
  GLOVE_RETURN_IF_ERROR(scan.scan_all(interrupted));
  const int64_t count = std::ssize(requests);
  cost.plan = words_of(plan, copy);
  if (context.model.parts().front().level(8).scales.empty()) cost.plan = "bits";  // RowMetric::kHamming
  cost.rows_scanned = count * (copy != nullptr && copy->is_by_length()
                                   ? scan.rows()
                                   : answerable_rows(context.model, requests.front().query->among.get()));
  cost.bytes_scanned = scan.bytes();
  cost.scan_us = timer.lap();
  int64_t rows_in_answers = 0;
  for (const SearchRequest& request : requests) rows_in_answers += std::min(request.k, context.model.words());
  const bool are_answers = plan.last == Level::kCodes8;
  const auto select = [&](int, int64_t i) {
    std::vector<Neighbor>& rows = requests[static_cast<size_t>(i)].rows;
    rows.clear();
    if (!scan.is_complete(static_cast<size_t>(i))) return;
    rows = scan.candidates_of(static_cast<size_t>(i));
    if (are_answers) std::ranges::sort(rows, ranks_before);
  };
  const int threads = rows_in_answers < kRowsWorthThreads ? 1 : context.threads;
  if (!ThreadPool::instance().run(threads, count, select, interrupted)) return interrupted_error();
  for (SearchRequest& request : requests) request.cost.candidates += std::ssize(request.rows);
  cost.select_us = timer.lap();
  if (!are_answers && !score_answers(context, requests, interrupted)) return interrupted_error();
  cost.rescore_us = timer.lap();
  charge(requests, cost);
  return {};
}

// Answers one request by a coarse level first.
Status search_coarse(const ScanContext& context, SearchRequest& request, const SearchPlan& plan) {
  const SharedInterrupt shared({&request, 1});
  ScanCost cost;
  CoarseSearch search(context, request, plan);
  GLOVE_ASSIGN_OR_RETURN(request.rows, search.run(shared.check(), cost));
  charge({&request, 1}, cost);
  return {};
}

// Answers one request with the exact similarities of all admissible rows.
Status score_admissible(const ScanContext& context, SearchRequest& request) {
  const SharedInterrupt shared({&request, 1});
  ScanCost cost;
  Timer timer;
  request.rows.clear();
  for (const int32_t row : request.query->among->rows()) request.rows.push_back({row, kNoScore});
  cost.candidates = std::ssize(request.rows);
  cost.plan = "vectors";
  if (!score_answers(context, {&request, 1}, shared.check())) return interrupted_error();
  cost.rescore_us = timer.lap();
  charge({&request, 1}, cost);
  return {};
}

// Returns the copy that the plan asks for, if there is one, or if this search and the earlier ones with the
// mask would have saved what copying costs. Errors: an interrupt.
Result<CopiedCodesPtr> copy_for(const ScanContext& context, const SearchPlan& plan,
                                std::span<SearchRequest> requests) {
  if (plan.copy_saves == 0) return CopiedCodesPtr();
  const RowMask& among = *requests.front().query->among;
  CopiedCodesPtr copy = among.codes();
  if (copy != nullptr || among.add_missed(plan.copy_saves) < cost_of_copying(among, context.model.dims()))
    return copy;
  const SharedInterrupt shared(requests);
  GLOVE_ASSIGN_OR_RETURN(copy,
                         CopiedCodes::copy(context.model, among.rows(), context.threads, shared.check()));
  among.keep(copy);
  return copy;
}

// As search_batch(), for any number of requests.
Status search_batches(const ScanContext& context, std::span<SearchRequest> requests, const SearchPlan& plan,
                      const CopiedCodes* copy) {
  int64_t k = 1;
  for (const SearchRequest& request : requests) k = std::max(k, request.k);
  const int64_t slots = std::max<int64_t>(1, std::min(k, context.model.words()) * context.threads);
  const auto batch = static_cast<size_t>(std::clamp<int64_t>(kBatchLowerBounds / slots, 1, kBatchQueries));
  while (!requests.empty()) {
    const auto together = requests.first(std::min(batch, requests.size()));
    GLOVE_RETURN_IF_ERROR(search_batch(context, together, plan, copy));
    requests = requests.subspan(together.size());
  }
  return {};
}

// Passes those requests on that are left, and puts their answers in their places.
template <class IsLeft, class Search>
Status search_left(std::span<SearchRequest> requests, const IsLeft& is_left, const Search& search) {
  std::vector<SearchRequest> others;
  for (SearchRequest& request : requests)
    if (is_left(request)) others.push_back(std::move(request));
  if (others.empty()) return {};
  Status status = search(others);
  auto next = others.begin();
  for (SearchRequest& request : requests)
    if (is_left(request)) request = std::move(*next++);
  return status;
}

// Returns the model's longest rows if they are worth a scan of their own; otherwise null.
Result<CopiedCodesPtr> longest_rows(const ScanContext& context, std::span<SearchRequest> requests) {
  const SearchRequest& first = requests.front();
  if (context.longest == nullptr || first.query->among != nullptr || first.terms.reader != nullptr)
    return CopiedCodesPtr();
  const SharedInterrupt shared(requests);
  return context.longest->codes(context.model, std::ssize(requests), context.threads, shared.check());
}

// Answers requests with the same mask exactly.
Status search_exactly(const ScanContext& context, std::span<SearchRequest> requests) {
  const SearchPlan plan = plan_search(facts_of(context.model, requests), context.forced);
  GLOVE_ASSIGN_OR_RETURN(const CopiedCodesPtr copy, copy_for(context, plan, requests));
  if (copy == nullptr && plan.first == Level::kVectors) {
    for (SearchRequest& request : requests) GLOVE_RETURN_IF_ERROR(score_admissible(context, request));
    return {};
  }
  if (copy == nullptr && plan.first != Level::kCodes8) {
    GLOVE_RETURN_IF_ERROR(search_coarse(context, requests.front(), plan));
    // A damaged file that nobody has verified may have lists or bounds that hide rows.
    if (plan.last != Level::kVectors || !lacks_rows(requests.front(), context.model.words())) return {};
  }
  GLOVE_ASSIGN_OR_RETURN(const CopiedCodesPtr longest, longest_rows(context, requests));
  if (longest == nullptr) return search_batches(context, requests, plan, copy.get());
  GLOVE_RETURN_IF_ERROR(search_batches(context, requests, plan, longest.get()));
  const auto is_left = [](const SearchRequest& request) { return request.rows.empty(); };
  const int64_t left = std::ranges::count_if(requests, is_left);
  context.longest->count(std::ssize(requests) - left, left);
  return search_left(requests, is_left, [&](std::span<SearchRequest> others) {
    return search_batches(context, others, plan, nullptr);
  });
}

}  // namespace

Status search(const ScanContext& context, std::span<SearchRequest> requests) {
  const auto wants_recall = [](const SearchRequest& request) { return request.terms.recall < 1; };
  if (std::ranges::none_of(requests, wants_recall)) return search_exactly(context, requests);
  GLOVE_RETURN_IF_ERROR(search_approximately(context, requests));
  return search_left(
      requests, [](const SearchRequest& request) { return !request.cost.approximate; },
      [&](std::span<SearchRequest> left) { return search_exactly(context, left); });
}

Status score_all(const ScanContext& context, const Query& query, std::span<double> dots,
                 const InterruptCheck& interrupted, ScanCost& cost) {
  Timer timer;
  const std::vector<double> wide = widen(query.vector);
  const int64_t dims = context.model.dims();
  const bool is_l2 = context.model.metric() == RowMetric::kL2;
  const int64_t step =
      std::max<int64_t>(1, (kChunkBytes / (dims * static_cast<int64_t>(sizeof(float))) / kRowsPerCall)) *
      kRowsPerCall;
  const PartChunks chunks(context.model.parts(), step);
  const auto work = [&](int, int64_t chunk) {
    const auto [part, begin, end] = chunks[chunk];
    double* const part_dots = dots.data() + part.first_row - context.model.first_row();
    const float* rows[kRowsPerCall] = {};
    for (int64_t first = begin; first < end; first += kRowsPerCall) {
      const int64_t count = std::min(kRowsPerCall, end - first);
      for (int64_t i = 0; i < count; ++i) rows[i] = part.vector(first + i);
      for (int64_t i = 0; is_l2 && i < count; ++i)
        part_dots[first + i] = product_of(context.model, query, part.first_row + first + i);
      if (is_l2) continue;
      context.kernels.exact_dots(wide.data(), rows, count, dims, part_dots + first);
    }
  };
  GLOVE_RETURN_IF_ERROR(ThreadPool::for_each(context.threads, chunks.count(), interrupted, work));
  cost.plan = "vectors";
  cost.rows_scanned += context.model.words();
  cost.rescore_us += timer.lap();
  return {};
}

}  // namespace glove::cpu
