#include "cpu/search/scan.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>

#include "base/thread_pool.h"
#include "base/timer.h"
#include "cpu/kernels/collector.h"
#include "cpu/kernels/wide_query.h"
#include "cpu/search/among_plan.h"
#include "cpu/search/coarse_search.h"
#include "cpu/search/part_chunks.h"
#include "cpu/search/probe_search.h"
#include "cpu/search/search_cost.h"
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
        kernel_(requests.size() == 1 ? *context.kernels.single_query : *context.kernels.batch),
        requests_(requests),
        scan_queries_(requests.size()),
        collectors_(static_cast<size_t>(context.threads)) {
    for (size_t i = 0; i < requests.size(); ++i)
      shared_.emplace_back(answer_rows(i)).threshold().raise(round_down_to_float(requests[i].least));
  }

  // Returns false if it was interrupted.
  bool run(const InterruptCheck& interrupted) {
    if (!quantize(interrupted)) return false;
    const int64_t groups = component_groups(context_.model.dims());
    const std::span<const ModelPart> parts = copy_ ? std::span(&copy_->part(), 1) : context_.model.parts();
    const int64_t rows_in_all = copy_ ? copy_->part().rows : context_.model.words();
    const int64_t tiles =
        tiles_per_chunk(context_, kernel_, static_cast<int64_t>(requests_.size()), rows_in_all);
    const PartChunks chunks(parts, tiles * kTileRows);
    std::vector<int8_t> packed;
    kernel_.pack(scan_queries_, groups, packed);
    const std::span<const int32_t> excluded = excluded_by_all();
    const auto work = [&](int slot, int64_t chunk) {
      std::vector<Collector>& collectors = collectors_of(slot);
      for (Collector& collector : collectors) collector.refresh();
      const PartChunks::Chunk rows = chunks[chunk];
      for_admissible_tiles(rows, among(), excluded, [&](int64_t first, int64_t end) {
        kernel_.scan(rows.part, rows.part.level(8), first, end, scan_queries_, packed.data(),
                     collectors.data());
        const int64_t last = std::min(end * kTileRows, rows.last);
        bytes_ += scan_bytes(last - first * kTileRows, rows.part.dims);
      });
    };
    return ThreadPool::instance().run(context_.threads, chunks.count(), work, interrupted);
  }

  // Returns how many bytes of codes were read.
  int64_t bytes() const { return bytes_; }

  // Returns the candidates of one request, with the upper bounds of their similarities.
  std::vector<Neighbor> candidates_of(size_t request) const {
    const std::span<const float> shared = shared_[request].lower_bounds();
    std::vector<float> lower_bounds(shared.begin(), shared.end());
    for (const std::vector<Collector>& collectors : collectors_)
      if (!collectors.empty())
        lower_bounds.insert(lower_bounds.end(), collectors[request].unshared().begin(),
                            collectors[request].unshared().end());
    std::erase_if(lower_bounds, [](float bound) { return std::isnan(bound); });
    const float threshold =
        std::max(shared_[request].threshold().value(), kth_largest(lower_bounds, answer_rows(request)));
    std::vector<Neighbor> rows;
    for (const std::vector<Collector>& collectors : collectors_)
      if (!collectors.empty())
        for (const Collector::Candidate& candidate : collectors[request].candidates())
          if (!(candidate.upper < threshold)) rows.push_back({candidate.id, candidate.upper});
    return rows;
  }

 private:
  bool quantize(const InterruptCheck& interrupted) {
    const auto count = static_cast<int64_t>(requests_.size());
    const auto quantize_some = [&](int, int64_t chunk) {
      const int64_t last = std::min(count, (chunk + 1) * kQuantizedAtOnce);
      for (auto i = static_cast<size_t>(chunk * kQuantizedAtOnce); i < static_cast<size_t>(last); ++i) {
        const Query& query = *requests_[i].query;
        scan_queries_[i] = quantize_query(query.vector, query.norm_squared, kernel_.max_query_code);
      }
    };
    const int64_t chunks = (count + kQuantizedAtOnce - 1) / kQuantizedAtOnce;
    const int threads = chunks < 4 ? 1 : context_.threads;
    return ThreadPool::instance().run(threads, chunks, quantize_some, interrupted);
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
  std::deque<SharedBounds> shared_;                 // [request]
  std::vector<std::vector<Collector>> collectors_;  // [slot][request]
  std::atomic<int64_t> bytes_ = 0;
};

// Up to kRowsPerCall rows of one request.
struct RescoreChunk {
  size_t request;
  size_t first;
};

void rescore_chunk(const ScanContext& context, const RescoreChunk& chunk, const double* wide,
                   SearchRequest& request) {
  const auto rows = std::span(request.rows).subspan(chunk.first);
  score_rows(context, *request.query, wide, rows.first(std::min<size_t>(kRowsPerCall, rows.size())));
}

// Fills in the similarities of every request's rows. Returns false if it was interrupted.
bool rescore(const ScanContext& context, std::span<SearchRequest> requests,
             const InterruptCheck& interrupted) {
  std::vector<RescoreChunk> chunks;
  std::vector<std::vector<double>> wide;
  int64_t rows_in_all = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    wide.push_back(widen(requests[i].query->vector));
    for (size_t first = 0; first < requests[i].rows.size(); first += kRowsPerCall)
      chunks.push_back({i, first});
    rows_in_all += static_cast<int64_t>(requests[i].rows.size());
  }
  const auto work = [&](int, int64_t chunk) {
    const RescoreChunk& rows = chunks[static_cast<size_t>(chunk)];
    rescore_chunk(context, rows, wide[rows.request].data(), requests[rows.request]);
  };
  const int threads = rows_in_all < kRowsWorthThreads ? 1 : context.threads;
  return ThreadPool::instance().run(threads, static_cast<int64_t>(chunks.size()), work, interrupted);
}

Status search_batch(const ScanContext& context, std::span<SearchRequest> requests,
                    const AdmissibleCodes* copy) {
  const SharedInterrupt shared(requests);
  const InterruptCheck& interrupted = shared.check();
  ScanCost cost;
  Timer timer;
  BatchScan scan(context, requests, copy);
  if (!scan.run(interrupted)) return interrupted_error();
  const auto count = static_cast<int64_t>(requests.size());
  const RowMask* const among = requests.front().query->among.get();
  cost.rows_scanned = answerable_rows(context.model, among) * count;
  cost.bytes_scanned = scan.bytes();
  cost.scan_us = timer.lap();
  int64_t rows_in_answers = 0;
  for (const SearchRequest& request : requests) rows_in_answers += std::min(request.k, context.model.words());
  const bool scored = !has_vectors(context.model);
  const auto select = [&](int, int64_t i) {
    std::vector<Neighbor>& rows = requests[static_cast<size_t>(i)].rows;
    rows = scan.candidates_of(static_cast<size_t>(i));
    if (scored) std::ranges::sort(rows, ranks_before);
  };
  const int threads = rows_in_answers < kRowsWorthThreads ? 1 : context.threads;
  if (!ThreadPool::instance().run(threads, count, select, interrupted)) return interrupted_error();
  for (SearchRequest& request : requests)
    request.cost.candidates += static_cast<int64_t>(request.rows.size());
  cost.select_us = timer.lap();
  if (scored) {
    charge(requests, cost);
    return {};
  }
  if (!rescore(context, requests, interrupted)) return interrupted_error();
  const auto keep = [&](int, int64_t i) {
    SearchRequest& request = requests[static_cast<size_t>(i)];
    keep_best(*request.query, request.k, request.rows);
  };
  if (!ThreadPool::instance().run(threads, count, keep, interrupted)) return interrupted_error();
  cost.rescore_us = timer.lap();
  charge(requests, cost);
  return {};
}

// Answers one request by the codes of 4 bits first.
Status search_coarse(const ScanContext& context, SearchRequest& request) {
  const std::span<SearchRequest> requests(&request, 1);
  const SharedInterrupt shared(requests);
  const InterruptCheck& interrupted = shared.check();
  ScanCost cost;
  Timer timer;
  CoarseSearch search(context, request);
  if (!search.run(interrupted)) return interrupted_error();
  cost.rows_scanned = answerable_rows(context.model, request.query->among.get());
  search.add_cost(cost);
  cost.scan_us = timer.lap();
  request.rows = search.unscored_rows();
  cost.candidates += static_cast<int64_t>(request.rows.size());
  cost.select_us = timer.lap();
  if (!has_vectors(context.model)) {
    std::sort(request.rows.begin(), request.rows.end(), ranks_before);
    charge(requests, cost);
    return {};
  }
  if (!rescore(context, requests, interrupted)) return interrupted_error();
  request.rows.insert(request.rows.end(), search.scored_rows().begin(), search.scored_rows().end());
  keep_best(*request.query, request.k, request.rows);
  cost.rescore_us = timer.lap();
  charge(requests, cost);
  return {};
}

// Whether the answer of search_coarse() may be shorter than the exact one. A damaged file that nobody has
// verified may have lists or bounds that hide rows.
bool may_lack_rows(const ScanContext& context, const SearchRequest& request) {
  return has_vectors(context.model) && lacks_rows(request, context.model.words());
}

// Answers one request with the exact similarities of all admissible rows.
Status score_admissible(const ScanContext& context, SearchRequest& request) {
  const std::span<SearchRequest> requests(&request, 1);
  const SharedInterrupt shared(requests);
  ScanCost cost;
  Timer timer;
  request.rows.clear();
  for (const int32_t row : request.query->among->rows()) request.rows.push_back({row, kNoSimilarity});
  cost.candidates = static_cast<int64_t>(request.rows.size());
  if (!rescore(context, requests, shared.check())) return interrupted_error();
  keep_best(*request.query, request.k, request.rows);
  cost.rescore_us = timer.lap();
  charge(requests, cost);
  return {};
}

// Answers requests with the same mask exactly.
Status search_exactly(const ScanContext& context, std::span<SearchRequest> requests) {
  GLOVE_ASSIGN_OR_RETURN(const AmongPlan plan, plan_among(context, requests));
  if (plan.scores) {
    for (SearchRequest& request : requests) GLOVE_RETURN_IF_ERROR(score_admissible(context, request));
    return {};
  }
  if (plan.codes == nullptr && requests.size() == 1 && wants_coarse_search(context, requests.front())) {
    SearchRequest& request = requests.front();
    GLOVE_RETURN_IF_ERROR(search_coarse(context, request));
    if (!may_lack_rows(context, request)) return {};
  }
  int64_t k = 1;
  for (const SearchRequest& request : requests) k = std::max(k, request.k);
  const int64_t slots = std::max<int64_t>(1, std::min(k, context.model.words()) * context.threads);
  const auto batch = static_cast<size_t>(std::clamp<int64_t>(kBatchLowerBounds / slots, 1, kBatchQueries));
  while (!requests.empty()) {
    const auto together = requests.first(std::min(batch, requests.size()));
    GLOVE_RETURN_IF_ERROR(search_batch(context, together, plan.codes.get()));
    requests = requests.subspan(together.size());
  }
  return {};
}

// Answers requests with the same mask.
Status search_alike(const ScanContext& context, std::span<SearchRequest> requests) {
  if (std::ranges::none_of(requests, [](const SearchRequest& request) { return request.recall < 1; }))
    return search_exactly(context, requests);
  GLOVE_RETURN_IF_ERROR(search_approximately(context, requests));
  const auto is_left = [](const SearchRequest& request) {
    return !request.approximate && request.source == nullptr;
  };
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
  if (!ThreadPool::instance().run(context.threads, chunks.count(), work, interrupted))
    return interrupted_error();
  cost.rows_scanned += context.model.words();
  cost.rescore_us += timer.lap();
  return {};
}

}  // namespace glove::cpu
