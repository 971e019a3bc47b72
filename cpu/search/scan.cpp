#include "cpu/search/scan.h"

#include <algorithm>
#include <atomic>
#include <deque>

#include "base/thread_pool.h"
#include "base/timer.h"
#include "cpu/kernels/collector.h"
#include "cpu/kernels/wide_query.h"
#include "cpu/search/coarse_search.h"
#include "cpu/search/code_pieces.h"
#include "cpu/search/last_level.h"
#include "cpu/search/part_chunks.h"
#include "cpu/search/probe_search.h"
#include "cpu/search/search_plan.h"
#include "search/admissible_codes.h"
#include "search/candidates.h"

namespace glove::cpu {
namespace {

// The most bytes that a chunk of work reads (but at least one tile): enough to make the scheduling cost
// negligible, and in a batch the cost of looking at every query's threshold.
constexpr int64_t kChunkBytes = 192 << 10;
constexpr int64_t kBatchChunkBytes = 512 << 10;
// Chunks per thread of a batch, so that no thread waits long for the last one.
constexpr int64_t kChunksPerThread = 16;
// Queries that are quantised together.
constexpr int64_t kQuantizedAtOnce = 16;
// Queries that are scanned together: few enough for their codes and thresholds to stay in a core's cache, and
// to limit the memory for their lower bounds.
constexpr int64_t kBatchQueries = 1024;
constexpr int64_t kBatchLowerBounds = 4 << 20;
// Rows per call of exact_dots.
constexpr int64_t kRowsPerCall = 64;
// Fewer rows than this are scored before another thread could wake up.
constexpr int64_t kRowsWorthThreads = 1024;

int64_t tiles_per_chunk(const ScanContext& context, const ScanKernel& kernel, int64_t queries, int64_t rows) {
  const int64_t tile_bytes = component_groups(context.model.dims()) * kTileRows * kTileComponents;
  const int64_t by_products = kernel.chunk_products / (tile_bytes * queries);
  const int64_t by_bytes = ((queries == 1 ? kChunkBytes : kBatchChunkBytes) + tile_bytes - 1) / tile_bytes;
  const int64_t by_threads =
      queries == 1 ? by_bytes : tile_count(rows) / (context.threads * kChunksPerThread);
  return std::max<int64_t>(1, std::min({by_bytes, by_products, by_threads}));
}

// The state of one batch of requests, which have the same mask, while it is scanned. `copy` has the codes of
// the admissible rows, or is null.
class BatchScan {
 public:
  BatchScan(const ScanContext& context, std::span<const SearchRequest> requests, const AdmissibleCodes* copy)
      : context_(context),
        copy_(copy),
        kernel_(requests.size() == 1         ? *context.kernels.single_query
                : context.model.is_shifted() ? *context.kernels.batch_shifted
                                             : *context.kernels.batch),
        requests_(requests),
        scan_queries_(requests.size()),
        collectors_(static_cast<size_t>(context.threads)) {
    for (size_t i = 0; i < requests.size(); ++i)
      shared_.emplace_back(answer_rows(i)).threshold().raise(round_down_to_float(requests[i].least));
  }

  // Errors: an interrupt, and those of the requests' reader.
  Status run(const InterruptCheck& interrupted) {
    GLOVE_RETURN_IF_ERROR(quantize(interrupted));
    kernel_.pack(scan_queries_, component_groups(context_.model.dims()), packed_);
    if (copy_) return scan(std::span(&copy_->part(), 1), interrupted);
    const std::span<const ModelPart> parts = context_.model.parts();
    if (requests_.front().reader == nullptr) return scan(parts, interrupted);
    // Those in memory come first, because they give the others a threshold.
    for (const ModelPart& part : parts)
      if (!part.level(8).codes.empty()) GLOVE_RETURN_IF_ERROR(scan(std::span(&part, 1), interrupted));
    const auto scan_piece = [&](const PartChunks::Chunk& rows) {
      return scan(std::span(&rows.part, 1), interrupted);
    };
    for (size_t i = 0; i < parts.size(); ++i)
      if (parts[i].level(8).codes.empty())
        GLOVE_RETURN_IF_ERROR(
            for_pieces_of(parts, i, requests_.front().reader, among(), excluded_by_all(), scan_piece));
    return {};
  }

  // Returns how many bytes of codes were read.
  int64_t bytes() const { return bytes_; }

  // Returns the candidates of one request, with the upper bounds of their similarities.
  std::vector<Neighbor> candidates_of(size_t request) const {
    std::vector<const Collector*> all;
    for (const std::vector<Collector>& collectors : collectors_)
      if (!collectors.empty()) all.push_back(&collectors[request]);
    return rows_left(shared_[request], all);
  }

 private:
  Status scan(std::span<const ModelPart> parts, const InterruptCheck& interrupted) {
    int64_t rows_in_all = 0;
    for (const ModelPart& part : parts) rows_in_all += part.rows;
    const int64_t tiles = tiles_per_chunk(context_, kernel_, std::ssize(requests_), rows_in_all);
    const PartChunks chunks(parts, tiles * kTileRows);
    const std::span<const int32_t> excluded = excluded_by_all();
    const auto work = [&](int slot, int64_t chunk) {
      std::vector<Collector>& collectors = collectors_of(slot);
      for (Collector& collector : collectors) collector.refresh();
      const PartChunks::Chunk rows = chunks[chunk];
      for_admissible_tiles(rows, among(), excluded, [&](int64_t first, int64_t end) {
        kernel_.scan(rows.part, rows.part.level(8), first, end, scan_queries_, packed_.data(),
                     collectors.data());
        const int64_t last = std::min(end * kTileRows, rows.last);
        bytes_ += scan_bytes(last - first * kTileRows, rows.part.dims);
      });
    };
    return ThreadPool::for_each(context_.threads, chunks.count(), interrupted, work);
  }

  Status quantize(const InterruptCheck& interrupted) {
    const auto quantize_some = [&](int, int64_t first, int64_t last) {
      for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i)
        scan_queries_[i] = query_codes(context_.model, *requests_[i].query, kernel_.max_query_code);
    };
    const int threads = std::ssize(requests_) <= 3 * kQuantizedAtOnce ? 1 : context_.threads;
    return ThreadPool::for_pieces(threads, std::ssize(requests_), kQuantizedAtOnce, interrupted,
                                  quantize_some);
  }

  // The rows that all requests exclude, if these are the same.
  std::span<const int32_t> excluded_by_all() const {
    const std::vector<int32_t>& excluded = requests_.front().query->excluded;
    const auto excludes_these = [&](const SearchRequest& each) { return each.query->excluded == excluded; };
    if (copy_ || !std::ranges::all_of(requests_.subspan(1), excludes_these)) return {};
    return excluded;
  }

  // The mask of the rows that are scanned.
  const RowMask* among() const { return copy_ ? nullptr : requests_.front().query->among.get(); }
  int64_t answer_rows(size_t request) const { return std::min(requests_[request].k, context_.model.words()); }

  // Created by the thread that uses the slot, at its first use.
  std::vector<Collector>& collectors_of(int slot) {
    std::vector<Collector>& collectors = collectors_[static_cast<size_t>(slot)];
    if (collectors.empty()) {
      std::vector<Collector> fresh;
      fresh.reserve(requests_.size());
      for (size_t i = 0; i < requests_.size(); ++i)
        fresh.emplace_back(requests_[i].query->excluded, among(), shared_[i],
                           copy_ ? copy_->rows() : std::span<const int32_t>());
      collectors = std::move(fresh);
    }
    return collectors;
  }

  const ScanContext& context_;
  const AdmissibleCodes* copy_;
  const ScanKernel& kernel_;
  std::span<const SearchRequest> requests_;
  std::vector<QuantizedQuery> scan_queries_;
  std::vector<int8_t> packed_;
  std::deque<SharedBounds> shared_;                 // [request]
  std::vector<std::vector<Collector>> collectors_;  // [slot][request]
  std::atomic<int64_t> bytes_ = 0;
};

Status search_batch(const ScanContext& context, std::span<SearchRequest> requests, const SearchPlan& plan,
                    const AdmissibleCodes* copy) {
  const SharedInterrupt shared(requests);
  const InterruptCheck& interrupted = shared.check();
  ScanCost cost;
  Timer timer;
  BatchScan scan(context, requests, copy);
  GLOVE_RETURN_IF_ERROR(scan.run(interrupted));
  const int64_t count = std::ssize(requests);
  cost.plan = copy == nullptr                ? SearchPlan{Level::kCodes8, plan.last}.words()
              : plan.last == Level::kVectors ? "copied 8 bits -> vectors"
                                             : "copied 8 bits";
  cost.rows_scanned = answerable_rows(context.model, requests.front().query->among.get()) * count;
  cost.bytes_scanned = scan.bytes();
  cost.scan_us = timer.lap();
  int64_t rows_in_answers = 0;
  for (const SearchRequest& request : requests) rows_in_answers += std::min(request.k, context.model.words());
  const bool are_answers = plan.last == Level::kCodes8;
  const auto select = [&](int, int64_t i) {
    std::vector<Neighbor>& rows = requests[static_cast<size_t>(i)].rows;
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

// Whether an answer may be shorter than the exact one. A damaged file that nobody has verified may have lists
// or bounds that hide rows.
bool may_lack_rows(const ScanContext& context, const SearchRequest& request, const SearchPlan& plan) {
  return plan.last == Level::kVectors && lacks_rows(request, context.model.words());
}

// Answers one request with the exact similarities of all admissible rows.
Status score_admissible(const ScanContext& context, SearchRequest& request) {
  const SharedInterrupt shared({&request, 1});
  ScanCost cost;
  Timer timer;
  request.rows.clear();
  for (const int32_t row : request.query->among->rows()) request.rows.push_back({row, kNoSimilarity});
  cost.candidates = std::ssize(request.rows);
  cost.plan = "vectors";
  if (!score_answers(context, {&request, 1}, shared.check())) return interrupted_error();
  cost.rescore_us = timer.lap();
  charge({&request, 1}, cost);
  return {};
}

// Returns the copy that the plan asks for, if there is one, or if this search and the earlier ones with the
// mask would have saved what copying costs. Errors: an interrupt.
Result<AdmissibleCodesPtr> copy_for(const ScanContext& context, const SearchPlan& plan,
                                    std::span<SearchRequest> requests) {
  if (plan.copy_saves == 0) return AdmissibleCodesPtr();
  const RowMask& among = *requests.front().query->among;
  AdmissibleCodesPtr copy = among.codes();
  if (copy != nullptr || among.add_missed(plan.copy_saves) < cost_of_copying(among, context.model.dims()))
    return copy;
  const SharedInterrupt shared(requests);
  GLOVE_ASSIGN_OR_RETURN(copy, AdmissibleCodes::copy(context.model, among, context.threads, shared.check()));
  among.keep(copy);
  return copy;
}

// Answers requests with the same mask exactly.
Status search_exactly(const ScanContext& context, std::span<SearchRequest> requests) {
  const SearchPlan plan = plan_search(facts_of(context.model, requests), context.forced);
  GLOVE_ASSIGN_OR_RETURN(const AdmissibleCodesPtr copy, copy_for(context, plan, requests));
  if (copy == nullptr && plan.first == Level::kVectors) {
    for (SearchRequest& request : requests) GLOVE_RETURN_IF_ERROR(score_admissible(context, request));
    return {};
  }
  if (copy == nullptr && plan.first != Level::kCodes8) {
    GLOVE_RETURN_IF_ERROR(search_coarse(context, requests.front(), plan));
    if (!may_lack_rows(context, requests.front(), plan)) return {};
  }
  int64_t k = 1;
  for (const SearchRequest& request : requests) k = std::max(k, request.k);
  const int64_t slots = std::max<int64_t>(1, std::min(k, context.model.words()) * context.threads);
  const auto batch = static_cast<size_t>(std::clamp<int64_t>(kBatchLowerBounds / slots, 1, kBatchQueries));
  while (!requests.empty()) {
    const auto together = requests.first(std::min(batch, requests.size()));
    GLOVE_RETURN_IF_ERROR(search_batch(context, together, plan, copy.get()));
    requests = requests.subspan(together.size());
  }
  return {};
}

// Answers requests with the same mask.
Status search_alike(const ScanContext& context, std::span<SearchRequest> requests) {
  if (std::ranges::none_of(requests, [](const SearchRequest& request) { return request.recall < 1; }))
    return search_exactly(context, requests);
  GLOVE_RETURN_IF_ERROR(search_approximately(context, requests));
  const auto is_left = [](const SearchRequest& request) { return !request.approximate; };
  std::vector<SearchRequest> others;
  for (SearchRequest& request : requests)
    if (is_left(request)) others.push_back(std::move(request));
  if (others.empty()) return {};
  Status status = search_exactly(context, others);
  auto next = others.begin();
  for (SearchRequest& request : requests)
    if (is_left(request)) request = std::move(*next++);
  return status;
}

}  // namespace

Status search(const ScanContext& context, std::span<SearchRequest> requests) {
  while (!requests.empty()) {
    const auto is_other = [&](const SearchRequest& request) {
      return request.query->among != requests.front().query->among;
    };
    const auto end = std::find_if(requests.begin(), requests.end(), is_other);
    const auto alike = requests.first(static_cast<size_t>(end - requests.begin()));
    GLOVE_RETURN_IF_ERROR(search_alike(context, alike));
    requests = requests.subspan(alike.size());
  }
  return {};
}

Status score_all(const ScanContext& context, const Query& query, std::span<double> dots,
                 const InterruptCheck& interrupted, ScanCost& cost) {
  Timer timer;
  const std::vector<double> wide = widen(query.vector);
  const int64_t dims = context.model.dims();
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
