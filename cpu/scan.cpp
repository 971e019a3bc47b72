#include "cpu/scan.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>

#include "base/thread_pool.h"
#include "model/exact_dot.h"

namespace glove::cpu {
namespace {

// Bytes that a chunk of work reads at most (a tile at least): much longer than handing it out takes.
constexpr int64_t kChunkBytes = 192 << 10;
// Queries that are scanned together: their codes and thresholds stay in a core's cache, their lower bounds
// in a bounded amount of memory.
constexpr int64_t kBatchQueries = 1024;
constexpr int64_t kBatchLowerBounds = 4 << 20;
// Rows that exact_dots gets at once.
constexpr int64_t kExactBlock = 64;
// Fewer rows than this are scored sooner than another thread wakes up.
constexpr int64_t kRowsWorthThreads = 1024;

class Stopwatch {
 public:
  // Microseconds since the last call, or since the start.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double us = std::chrono::duration<double, std::micro>(now - start_).count();
    start_ = now;
    return us;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Error interrupted_error() {
  return {ErrorCode::kInterrupted, "interrupted"};
}

ScanRows rows_of(const Model& model) {
  const ModelArrays& arrays = model.arrays();
  return {arrays.codes.data(), arrays.scales.data(), arrays.residuals.data(), arrays.words,
          component_groups(arrays.dims)};
}

int64_t tiles_per_chunk(const ScanKernel& kernel, const ScanRows& rows, int64_t queries) {
  const int64_t tile_bytes = rows.groups * kTileRows * kTileComponents;
  const int64_t by_bytes = (kChunkBytes + tile_bytes - 1) / tile_bytes;
  const int64_t by_products = kernel.chunk_products / (tile_bytes * queries);
  return std::max<int64_t>(1, std::min(by_bytes, by_products));
}

// What one batch of queries needs while it is scanned.
class BatchScan {
 public:
  BatchScan(const ScanContext& context, std::span<const Query> queries, int64_t k)
      : context_(context),
        kernel_(queries.size() == 1 ? *context.kernels.one : *context.kernels.many),
        queries_(queries),
        k_(std::min(k, context.model.words())),
        shared_(queries.size()) {
    scan_queries_.reserve(queries.size());
    for (const Query& query : queries)
      scan_queries_.push_back(quantize_query(query.vector, query.norm_squared, kernel_.max_query_code));
    collectors_.resize(static_cast<size_t>(context.threads));
  }

  // False if it was interrupted.
  bool run() {
    const ScanRows rows = rows_of(context_.model);
    const int64_t tiles = tile_count(rows.rows);
    const int64_t step = tiles_per_chunk(kernel_, rows, static_cast<int64_t>(queries_.size()));
    std::vector<int8_t> packed;
    kernel_.pack(scan_queries_, rows.groups, packed);
    const auto work = [&](int slot, int64_t chunk) {
      std::vector<Collector>& collectors = collectors_of(slot);
      for (Collector& collector : collectors) collector.refresh();
      kernel_.scan(rows, chunk * step, std::min((chunk + 1) * step, tiles), scan_queries_, packed.data(),
                   collectors.data());
    };
    return ThreadPool::instance().run(context_.threads, (tiles + step - 1) / step, work,
                                      context_.interrupted);
  }

  // The rows of one query that no lower bound rules out.
  std::vector<int32_t> survivors(size_t query) const {
    std::vector<float> lower_bounds;
    for (const std::vector<Collector>& collectors : collectors_)
      if (!collectors.empty())
        lower_bounds.insert(lower_bounds.end(), collectors[query].lower_bounds().begin(),
                            collectors[query].lower_bounds().end());
    float threshold = -std::numeric_limits<float>::infinity();
    if (lower_bounds.size() >= static_cast<size_t>(k_)) {
      const auto kth = lower_bounds.begin() + (k_ - 1);
      std::nth_element(lower_bounds.begin(), kth, lower_bounds.end(), std::greater<>());
      threshold = *kth;
    }
    std::vector<int32_t> ids;
    for (const std::vector<Collector>& collectors : collectors_)
      if (!collectors.empty())
        for (const Collector::Candidate& candidate : collectors[query].candidates())
          if (!(candidate.upper < threshold)) ids.push_back(candidate.id);
    return ids;
  }

 private:
  // Made by the thread that takes the slot, when it first does.
  std::vector<Collector>& collectors_of(int slot) {
    std::vector<Collector>& collectors = collectors_[static_cast<size_t>(slot)];
    if (collectors.empty()) {
      std::vector<Collector> fresh;
      fresh.reserve(queries_.size());
      for (size_t q = 0; q < queries_.size(); ++q) fresh.emplace_back(k_, queries_[q].excluded, shared_[q]);
      collectors = std::move(fresh);
    }
    return collectors;
  }

  const ScanContext& context_;
  const ScanKernel& kernel_;
  std::span<const Query> queries_;
  int64_t k_;
  std::vector<QuantizedQuery> scan_queries_;
  std::deque<SharedThreshold> shared_;
  std::vector<std::vector<Collector>> collectors_;  // [slot][query]
};

// As Kernels::exact_dots wants it.
std::vector<double> widen(std::span<const float> vector) {
  std::vector<double> wide(vector.begin(), vector.end());
  wide.resize((wide.size() + 7) / 8 * 8);
  return wide;
}

// Fills in the similarities of every query's candidates. False if it was interrupted.
bool rescore(const ScanContext& context, std::span<const Query> queries, std::span<Candidates> candidates) {
  struct Block {
    size_t query;
    size_t first;
  };
  std::vector<Block> blocks;
  std::vector<std::vector<double>> wide;
  int64_t rows_in_all = 0;
  for (size_t q = 0; q < queries.size(); ++q) {
    wide.push_back(widen(queries[q].vector));
    candidates[q].similarities.resize(candidates[q].ids.size());
    for (size_t first = 0; first < candidates[q].ids.size(); first += kExactBlock)
      blocks.push_back({q, first});
    rows_in_all += static_cast<int64_t>(candidates[q].ids.size());
  }
  const auto work = [&](int, int64_t chunk) {
    const auto [q, first] = blocks[static_cast<size_t>(chunk)];
    const float* rows[kExactBlock] = {};
    const std::span ids = std::span(candidates[q].ids).subspan(first);
    const auto count = std::min<size_t>(kExactBlock, ids.size());
    for (size_t i = 0; i < count; ++i) rows[i] = context.model.vector(ids[i]);
    context.kernels.exact_dots(wide[q].data(), rows, static_cast<int64_t>(count), context.model.dims(),
                               candidates[q].similarities.data() + first);
    for (size_t i = 0; i < count; ++i) {
      const double norm_squared = context.model.norm_squared(ids[i]);
      double& value = candidates[q].similarities[first + i];
      value =
          norm_squared > 0 ? cosine_from_dots(value, queries[q].norm_squared, norm_squared) : kNoSimilarity;
    }
  };
  const int threads = rows_in_all < kRowsWorthThreads ? 1 : context.threads;
  return ThreadPool::instance().run(threads, static_cast<int64_t>(blocks.size()), work, context.interrupted);
}

Status propose_batch(const ScanContext& context, std::span<const Query> queries, int64_t k, ScanCost& cost,
                     std::vector<Candidates>& results) {
  Stopwatch watch;
  BatchScan scan(context, queries, k);
  if (!scan.run()) return interrupted_error();
  const ModelArrays& arrays = context.model.arrays();
  cost.rows_scanned += arrays.words * static_cast<int64_t>(queries.size());
  cost.bytes_scanned +=
      static_cast<int64_t>(arrays.codes.size() + arrays.scales.size_bytes() + arrays.residuals.size_bytes());
  cost.scan_us += watch.lap();
  const size_t before = results.size();
  results.resize(before + queries.size());
  const std::span<Candidates> fresh = std::span(results).subspan(before);
  const auto select = [&](int, int64_t q) {
    fresh[static_cast<size_t>(q)].ids = scan.survivors(static_cast<size_t>(q));
  };
  const int threads = static_cast<int64_t>(queries.size()) * k < kRowsWorthThreads ? 1 : context.threads;
  if (!ThreadPool::instance().run(threads, static_cast<int64_t>(queries.size()), select, context.interrupted))
    return interrupted_error();
  for (const Candidates& candidates : fresh) cost.candidates += static_cast<int64_t>(candidates.ids.size());
  cost.select_us += watch.lap();
  if (!rescore(context, queries, fresh)) return interrupted_error();
  cost.rescore_us += watch.lap();
  return {};
}

}  // namespace

Result<std::vector<Candidates>> propose(const ScanContext& context, std::span<const Query> queries, int64_t k,
                                        ScanCost& cost) {
  const int64_t slots = std::max<int64_t>(1, std::min(k, context.model.words()) * context.threads);
  const auto batch = static_cast<size_t>(std::clamp<int64_t>(kBatchLowerBounds / slots, 1, kBatchQueries));
  std::vector<Candidates> results;
  results.reserve(queries.size());
  while (!queries.empty()) {
    const auto part = queries.first(std::min(batch, queries.size()));
    GLOVE_RETURN_IF_ERROR(propose_batch(context, part, k, cost, results));
    queries = queries.subspan(part.size());
  }
  return results;
}

Status score_all(const ScanContext& context, const Query& query, std::span<double> dots, ScanCost& cost) {
  Stopwatch watch;
  const std::vector<double> wide = widen(query.vector);
  const int64_t dims = context.model.dims();
  const auto count = static_cast<int64_t>(dots.size());
  const int64_t step =
      std::max<int64_t>(1, (kChunkBytes / (dims * static_cast<int64_t>(sizeof(float))) / kExactBlock)) *
      kExactBlock;
  const auto work = [&](int, int64_t chunk) {
    const float* rows[kExactBlock] = {};
    const int64_t end = std::min((chunk + 1) * step, count);
    for (int64_t first = chunk * step; first < end; first += kExactBlock) {
      const int64_t block = std::min(kExactBlock, end - first);
      for (int64_t i = 0; i < block; ++i) rows[i] = context.model.vector(first + i);
      context.kernels.exact_dots(wide.data(), rows, block, dims, dots.data() + first);
    }
  };
  if (!ThreadPool::instance().run(context.threads, (count + step - 1) / step, work, context.interrupted))
    return interrupted_error();
  cost.rows_scanned += count;
  cost.rescore_us += watch.lap();
  return {};
}

}  // namespace glove::cpu
