#include "cpu/coarse_search.h"

#include <algorithm>
#include <cmath>

#include "base/thread_pool.h"
#include "model/exact_dot.h"
#include "model/nibbles.h"

namespace glove::cpu {
namespace {

// The most bytes of codes that a chunk of work reads (but at least one tile).
constexpr int64_t kChunkBytes = 192 << 10;
// Rows that are scored together, between two looks at the threshold.
constexpr int64_t kRowsPerCall = 16;
// The beginning of a row that is fetched ahead; the processor fetches the rest of a longer row by itself.
constexpr int64_t kFetchedFloats = 128;
constexpr int64_t kFloatsPerLine = 16;
// Scoring a row takes as long as reading its vector and this many bytes of codes, by measurement: its memory
// is not read in order.
constexpr int64_t kScoreBytes = 4096;
// Rows that a search scores at least, and what it is expected to score: as many times k + 10.
constexpr int64_t kFreeScores = 16;
constexpr int64_t kExpectedScores = 24;

int64_t bytes_of_scores(int64_t scores, int64_t dims) {
  return scores * (kScoreBytes + dims * static_cast<int64_t>(sizeof(float)));
}
// Returns how many fewer bytes the codes of 4 bits have than those of 8.
int64_t bytes_saved(int64_t rows, int64_t dims) {
  return code_bytes(rows, dims) - nibble_bytes(rows, dims);
}

int64_t tiles_per_chunk(const Model& model) {
  const int64_t tile_bytes = nibble_bytes(kTileRows, model.dims());
  return std::max<int64_t>(1, kChunkBytes / tile_bytes);
}

float round_down_to_float(double value) {
  const float rounded = static_cast<float>(value);
  return static_cast<double>(rounded) > value ? std::nextafter(rounded, -2.0f) : rounded;
}

bool is_below(const Survivor& a, const Survivor& b) {
  return a.upper < b.upper;
}

void fetch_row(const ModelPart& part, int64_t row) {
  const float* const x = part.vector(row);
  for (int64_t j = 0; j < std::min(part.dims, kFetchedFloats); j += kFloatsPerLine) __builtin_prefetch(x + j);
  __builtin_prefetch(&part.norms_squared[static_cast<size_t>(row)]);
}

}  // namespace

bool wants_coarse_search(const ScanContext& context, const SearchRequest& request) {
  const Model& model = context.model;
  if (context.scan_bits == 8) return false;
  for (const ModelPart& part : model.parts())
    if (!part.has_level(4)) return false;
  const int64_t k = std::min(request.k, model.words());
  return context.scan_bits == 4 || bytes_of_scores((k + 10) * kExpectedScores, model.dims()) <=
                                       bytes_saved(model.words(), model.dims());
}

void SharedBest::offer(std::span<const Neighbor> rows) {
  const std::lock_guard lock(mutex_);
  for (const Neighbor& row : rows) {
    if (!(row.similarity > kNoSimilarity)) continue;
    if (rows_.size() == k_) {
      if (!ranks_before(row, rows_.front())) continue;
      std::pop_heap(rows_.begin(), rows_.end(), ranks_before);
      rows_.back() = row;
    } else {
      rows_.push_back(row);
    }
    std::push_heap(rows_.begin(), rows_.end(), ranks_before);
  }
  if (rows_.size() == k_) threshold_.raise(round_down_to_float(rows_.front().similarity));
}

CoarseSearch::CoarseSearch(const ScanContext& context, const SearchRequest& request)
    : context_(context),
      request_(request),
      k_(std::min(request.k, context.model.words())),
      coarse_query_(quantize_query(request.query->vector, request.query->norm_squared, kMaxCoarseQueryCode)),
      fine_query_(quantize_query(request.query->vector, request.query->norm_squared,
                                 context.kernels.one->max_query_code)),
      wide_(widen(request.query->vector)),
      bounds_(k_),
      best_(k_, bounds_.threshold()),
      slots_(static_cast<size_t>(context.threads)) {
  context.kernels.coarse->pack(coarse_query_, nibble_words(context.model.dims()), coarse_packed_);
  context.kernels.one->pack({&fine_query_, 1}, component_groups(context.model.dims()), fine_packed_);
}

bool CoarseSearch::run(const InterruptCheck& interrupted) {
  const PartChunks chunks(context_.model.parts(), tiles_per_chunk(context_.model) * kTileRows);
  const auto work = [&](int slot, int64_t chunk) {
    Slot& own = slots_[static_cast<size_t>(slot)];
    if (gave_up_.load(std::memory_order_relaxed) || !scan_by_4_bits(own, chunks[chunk]))
      scan_by_8_bits(own, chunks[chunk]);
  };
  return ThreadPool::instance().run(context_.threads, chunks.count(), work, interrupted);
}

bool CoarseSearch::scan_by_4_bits(Slot& slot, const PartChunks::Chunk& chunk) {
  const auto [part, first, last] = chunk;
  const int64_t rows = last - first;
  if (static_cast<int64_t>(slot.survivors.size()) < rows) slot.survivors.resize(static_cast<size_t>(rows));
  const int64_t count = context_.kernels.coarse->scan(part, part.level(4), first / kTileRows,
                                                      tile_count(last), coarse_query_, coarse_packed_.data(),
                                                      bounds_.threshold().value(), slot.survivors.data());
  slot.bytes += nibble_bytes(rows, part.dims) + rows * 2 * static_cast<int64_t>(sizeof(float));
  rows_read_.fetch_add(rows, std::memory_order_relaxed);
  slot.scored_ids.clear();
  const auto begin = slot.survivors.begin();
  std::make_heap(begin, begin + count, is_below);
  for (auto end = begin + count; begin != end;) {
    end = score_best(slot, part, begin, end);
    if (begin != end && !is_worthwhile()) return false;
  }
  return true;
}

bool CoarseSearch::is_worthwhile() {
  const int64_t dims = context_.model.dims();
  const int64_t scores = rows_scored_.load(std::memory_order_relaxed) - kFreeScores * (k_ + 10);
  const int64_t read = rows_read_.load(std::memory_order_relaxed);
  if (bytes_of_scores(scores, dims) > bytes_saved(read, dims))
    gave_up_.store(true, std::memory_order_relaxed);
  return !gave_up_.load(std::memory_order_relaxed);
}

CoarseSearch::SurvivorIterator CoarseSearch::score_best(Slot& slot, const ModelPart& part,
                                                        SurvivorIterator begin, SurvivorIterator end) {
  const std::vector<int32_t>& excluded = request_.query->excluded;
  const float threshold = bounds_.threshold().value();
  const float* vectors[kRowsPerCall] = {};
  Neighbor rows[kRowsPerCall];
  double dots[kRowsPerCall];
  int64_t count = 0;
  while (begin != end && count < kRowsPerCall) {
    if (begin->upper < threshold) {
      end = begin;
      break;
    }
    std::pop_heap(begin, end, is_below);
    const Survivor& survivor = *--end;
    const auto id = static_cast<int32_t>(part.first_row + survivor.row);
    if (std::binary_search(excluded.begin(), excluded.end(), id)) continue;
    fetch_row(part, survivor.row);
    vectors[count] = part.vector(survivor.row);
    rows[count++] = {id, kNoSimilarity};
  }
  context_.kernels.exact_dots(wide_.data(), vectors, count, part.dims, dots);
  for (int64_t i = 0; i < count; ++i) {
    slot.scored_ids.push_back(rows[i].id);
    const double norm_squared = part.norm_squared(rows[i].id - part.first_row);
    if (norm_squared > 0)
      rows[i].similarity = cosine_from_dots(dots[i], request_.query->norm_squared, norm_squared);
  }
  best_.offer({rows, static_cast<size_t>(count)});
  slot.scored += count;
  rows_scored_.fetch_add(count, std::memory_order_relaxed);
  return end;
}

void CoarseSearch::scan_by_8_bits(Slot& slot, const PartChunks::Chunk& chunk) {
  const auto [part, first, last] = chunk;
  if (slot.collector.empty()) {
    // Of this chunk some rows may be scored already. No other chunk that is scanned by 8 bits has such rows.
    slot.excluded = std::move(slot.scored_ids);
    slot.excluded.insert(slot.excluded.end(), request_.query->excluded.begin(),
                         request_.query->excluded.end());
    std::sort(slot.excluded.begin(), slot.excluded.end());
    slot.collector.emplace_back(slot.excluded, bounds_);
  }
  slot.collector.front().refresh();
  context_.kernels.one->scan(part, part.level(8), first / kTileRows, tile_count(last), {&fine_query_, 1},
                             fine_packed_.data(), slot.collector.data());
  const int64_t rows = last - first;
  slot.bytes += code_bytes(rows, part.dims) + rows * 2 * static_cast<int64_t>(sizeof(float));
}

std::vector<Neighbor> CoarseSearch::unscored_rows() const {
  std::vector<float> lower_bounds;
  for (const Neighbor& row : best_.rows()) lower_bounds.push_back(round_down_to_float(row.similarity));
  lower_bounds.insert(lower_bounds.end(), bounds_.lower_bounds().begin(), bounds_.lower_bounds().end());
  for (const Slot& slot : slots_)
    for (const Collector& collector : slot.collector)
      lower_bounds.insert(lower_bounds.end(), collector.unshared().begin(), collector.unshared().end());
  std::erase_if(lower_bounds, [](float bound) { return std::isnan(bound); });
  const float threshold = std::max(bounds_.threshold().value(), kth_largest(lower_bounds, k_));
  std::vector<Neighbor> rows;
  for (const Slot& slot : slots_)
    for (const Collector& collector : slot.collector)
      for (const Collector::Candidate& candidate : collector.candidates())
        if (!(candidate.upper < threshold)) rows.push_back({candidate.id, kNoSimilarity});
  return rows;
}

void CoarseSearch::add_cost(ScanCost& cost) const {
  for (const Slot& slot : slots_) {
    cost.candidates += slot.scored;
    cost.bytes_scanned += slot.bytes;
  }
}

}  // namespace glove::cpu
