#include "cpu/search/code_scan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/require.h"
#include "base/thread_pool.h"
#include "cpu/search/search_plan.h"
#include "lists/code_estimate.h"
#include "model/shifted_codes.h"

namespace glove::cpu {
namespace {

// The most bytes that a chunk of work reads (but at least one tile): enough to make the scheduling cost
// negligible, and in a batch the cost of looking at every query's threshold.
constexpr int64_t kChunkBytes = 192 << 10;
constexpr int64_t kBatchChunkBytes = 512 << 10;
// Fewer in a scan by length for one query, which stops at a chunk.
constexpr int64_t kLengthChunkBytes = 16 << 10;
// Chunks per thread of a batch, so that no thread waits long for the last one.
constexpr int64_t kChunksPerThread = 16;
// Covers all roundings where the lengths of a query and a row are multiplied.
constexpr double kLengthSlack = 0x1p-18;
// Queries that are quantised together.
constexpr int64_t kQuantizedAtOnce = 16;

int64_t tiles_per_chunk(const ScanContext& context, const ScanKernel& kernel, int64_t queries, int64_t rows,
                        bool by_length) {
  const int64_t tile_bytes = component_groups(context.model.dims()) * kTileRows * kTileComponents;
  const int64_t by_products = kernel.chunk_products / (tile_bytes * queries);
  const int64_t bytes = queries > 1 ? kBatchChunkBytes : by_length ? kLengthChunkBytes : kChunkBytes;
  const int64_t by_bytes = (bytes + tile_bytes - 1) / tile_bytes;
  const int64_t by_threads =
      queries == 1 ? by_bytes : tile_count(rows) / (context.threads * kChunksPerThread);
  return std::max<int64_t>(1, std::min({by_bytes, by_products, by_threads}));
}

const ScanKernel& kernel_for(const ScanContext& context, size_t queries) {
  if (metric_of(context.model.source().coding) == RowMetric::kHamming) return *context.kernels.bits;
  if (queries == 1) return *context.kernels.single_query;
  return *context.kernels.batch;
}

std::span<const int32_t> excluded_by_all(std::span<const SearchRequest> requests) {
  const std::vector<int32_t>& excluded = requests.front().query->excluded;
  const auto excludes_these = [&](const SearchRequest& each) { return each.query->excluded == excluded; };
  if (!std::ranges::all_of(requests.subspan(1), excludes_these)) return {};
  return excluded;
}

// Rows [first, last) of a part as one of their own.
ModelPart piece_of(const ModelPart& part, int64_t first, int64_t last, std::span<const int8_t> codes) {
  const CodeLevel& level = part.level(8);
  const auto begin = static_cast<size_t>(first), count = static_cast<size_t>(last - first);
  ModelPart piece;
  piece.first_row = part.first_row + first;
  piece.rows = last - first;
  piece.dims = part.dims;
  const auto some = [&](std::span<const float> all) {
    return all.empty() ? all : all.subspan(begin, count);  // rows of bits have no numbers
  };
  piece.levels = {
      {8, codes, some(level.scales), some(level.residuals), some(level.along), some(level.lengths)}};
  return piece;
}

}  // namespace

CodeScan::CodeScan(const ScanContext& context, std::span<const SearchRequest> requests,
                   const CopiedCodes* copy)
    : context_(context),
      requests_(requests),
      copy_(copy),
      kernel_(kernel_for(context, requests.size())),
      excluded_(copy == nullptr ? excluded_by_all(requests) : std::span<const int32_t>()),
      queries_(requests.size()),
      collectors_(static_cast<size_t>(context.threads)) {
  for (const SearchRequest& request : requests)
    bounds_.emplace_back(std::min(request.k, context.model.words()))
        .threshold()
        .raise(round_down_to_float(bound_needed(context.model, *request.query, request.query->least)));
}

Status CodeScan::prepare(const InterruptCheck& interrupted) {
  // By other metrics these leave so few rows that bounding them twice takes longer.
  const bool is_coarse =
      kernel_.max_query_code < kEstimateQueryCode && context_.model.metric() == RowMetric::kL2;
  if (is_coarse) fine_ = std::vector<FineQuery>(requests_.size(), {context_.model, {}});
  const auto quantize_some = [&](int, int64_t first, int64_t last) {
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
      queries_[i] = query_codes(context_.model, *requests_[i].query, kernel_.max_query_code);
      if (is_coarse) fine_[i].codes = query_codes(context_.model, *requests_[i].query, kEstimateQueryCode);
    }
  };
  const int threads = std::ssize(requests_) <= 3 * kQuantizedAtOnce ? 1 : context_.threads;
  GLOVE_RETURN_IF_ERROR(
      ThreadPool::for_pieces(threads, std::ssize(requests_), kQuantizedAtOnce, interrupted, quantize_some));
  kernel_.pack(queries_, component_groups(context_.model.dims()), packed_);
  return {};
}

Status CodeScan::scan_all(const InterruptCheck& interrupted) {
  GLOVE_RETURN_IF_ERROR(prepare(interrupted));
  if (copy_) return scan(std::span(&copy_->part(), 1), interrupted);
  const std::span<const ModelPart> parts = context_.model.parts();
  if (requests_.front().terms.reader == nullptr) return scan(parts, interrupted);
  for (const bool is_read : {false, true})
    for (size_t i = 0; i < parts.size(); ++i)
      if (parts[i].level(8).codes.empty() == is_read) GLOVE_RETURN_IF_ERROR(scan_part(i, interrupted));
  return {};
}

Status CodeScan::scan_part(size_t number, const InterruptCheck& interrupted) {
  if (queries_.front().codes.empty()) GLOVE_RETURN_IF_ERROR(prepare(interrupted));
  const ModelPart& part = context_.model.parts()[number];
  if (!part.level(8).codes.empty()) return scan(std::span(&part, 1), interrupted);
  PartReader* const reader = requests_.front().terms.reader;
  GLOVE_REQUIRE(reader != nullptr);
  const int64_t step = reader->tiles_at_once(number) * kTileRows;
  for (int64_t first = 0; first < part.rows; first += step) {
    const PartChunks::Chunk rows{part, first, std::min(part.rows, first + step)};
    bool is_admissible = false;
    for_admissible_tiles(rows, among(), excluded_, [&](int64_t, int64_t) { is_admissible = true; });
    if (!is_admissible) continue;
    GLOVE_ASSIGN_OR_RETURN(const auto codes, reader->read_tiles(number, first / kTileRows));
    const ModelPart piece = piece_of(part, first, rows.last, codes);
    GLOVE_RETURN_IF_ERROR(scan(std::span(&piece, 1), interrupted));
  }
  return {};
}

Status CodeScan::scan(std::span<const ModelPart> parts, const InterruptCheck& interrupted) {
  int64_t rows = 0;
  for (const ModelPart& part : parts) rows += part.rows;
  const int64_t tiles = tiles_per_chunk(context_, kernel_, std::ssize(requests_), rows,
                                        copy_ != nullptr && copy_->is_by_length());
  const PartChunks chunks(parts, tiles * kTileRows);
  return ThreadPool::for_each(context_.threads, chunks.count(), interrupted,
                              [&](int slot, int64_t chunk) { scan(slot, chunks[chunk]); });
}

bool CodeScan::may_reach(size_t request, double length) const {
  const QuantizedQuery& query = queries_[request];
  const double longest = std::sqrt(requests_[request].query->norm_squared) * length;
  const double most = static_cast<double>(query.shift.base) + static_cast<double>(query.bound.error_offset) +
                      longest * (1 + kLengthSlack);
  return !(most < static_cast<double>(bounds_[request].threshold().value()));
}

bool CodeScan::is_complete(size_t request) const {
  return copy_ == nullptr || !copy_->is_by_length() || !may_reach(request, copy_->next_length());
}

bool CodeScan::are_too_short(const PartChunks::Chunk& chunk) const {
  if (copy_ == nullptr || !copy_->is_by_length()) return false;
  const auto longest = static_cast<double>(chunk.part.level(8).lengths[static_cast<size_t>(chunk.first)]);
  for (size_t i = 0; i < requests_.size(); ++i)
    if (may_reach(i, longest)) return false;
  return true;
}

void CodeScan::scan(int slot, const PartChunks::Chunk& chunk) {
  if (are_too_short(chunk)) return;
  std::vector<Collector>& collectors = collectors_of(slot);
  for (Collector& collector : collectors) collector.refresh();
  const ModelPart& part = chunk.part;
  for_admissible_tiles(chunk, among(), excluded_, [&](int64_t first, int64_t end) {
    kernel_.scan(part, part.level(8), first, end, queries_, packed_.data(), collectors.data());
    const int64_t rows = std::min(end * kTileRows, chunk.last) - first * kTileRows;
    rows_ += rows;
    bytes_ += part.level(8).scales.empty() ? code_bytes(rows, part.dims) : scan_bytes(rows, part.dims);
  });
}

Collector& CodeScan::collector(int slot, size_t request) {
  Collector& collector = collectors_of(slot)[request];
  collector.refresh();
  return collector;
}

// Called by the thread that uses the slot.
std::vector<Collector>& CodeScan::collectors_of(int slot) {
  std::vector<Collector>& collectors = collectors_[static_cast<size_t>(slot)];
  if (collectors.empty()) {
    std::vector<Collector> fresh;
    fresh.reserve(requests_.size());
    for (size_t i = 0; i < requests_.size(); ++i)
      fresh.emplace_back(requests_[i].query->excluded, among(), bounds_[i],
                         copy_ ? copy_->rows() : std::span<const int32_t>(),
                         fine_.empty() ? nullptr : &fine_[i]);
    collectors = std::move(fresh);
  }
  return collectors;
}

std::vector<Neighbor> CodeScan::candidates_of(size_t request, std::vector<float> lower_bounds) const {
  std::vector<const Collector*> all;
  for (const std::vector<Collector>& collectors : collectors_)
    if (!collectors.empty()) all.push_back(&collectors[request]);
  return rows_left(bounds_[request], all, std::move(lower_bounds));
}

void CodeScan::forget() {
  for (std::vector<Collector>& collectors : collectors_) collectors.clear();
  for (SharedBounds& bounds : bounds_) bounds.clear();
}

}  // namespace glove::cpu
