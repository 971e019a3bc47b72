#include "cpu/search/coarse_search.h"

#include <algorithm>
#include <limits>

#include "base/thread_pool.h"
#include "base/timer.h"
#include "cpu/kernels/wide_query.h"
#include "lists/calibration.h"
#include "lists/planes.h"
#include "model/nibbles.h"

namespace glove::cpu {
namespace {

// The most bytes of codes that a chunk of work reads (but at least one tile).
constexpr int64_t kChunkBytes = 192 << 10;
constexpr int64_t kPlaneChunksPerThread = 16;
// Rows that are scored together, between two looks at the threshold: few, because it often rises.
constexpr int kRowsPerCall = 4;
// Rows that wait and are scored together.
constexpr size_t kRowsPerBatch = 256;
// Rows of the nearest lists that are estimated for a first threshold, in addition to a few for each row of
// the answer.
constexpr int64_t kPilotRows = 512;
constexpr int64_t kPilotRowsPerResult = 16;
// Fewer rows than this are scored before another thread could wake up.
constexpr size_t kRowsWorthThreads = 1024;
int64_t tiles_per_chunk(const Model& model) {
  const int64_t tile_bytes = nibble_bytes(kTileRows, model.dims());
  return std::max<int64_t>(1, kChunkBytes / tile_bytes);
}

// Of plane one. Few enough that each thread has some.
int64_t tiles_per_plane_chunk(const ScanContext& context) {
  const int64_t by_bytes = kChunkBytes / (kTileRows * plane1_row_bytes(context.model.dims()));
  const int64_t by_threads = tile_count(context.model.words()) / (context.threads * kPlaneChunksPerThread);
  return std::max<int64_t>(1, std::min(by_bytes, by_threads));
}

// Rows that a thread reads first if there is no threshold yet: enough for one, because without it every row
// survives. The next kSeedGrowth times as many rows improve it, and so on.
int64_t seed_rows(int64_t k) {
  return tile_count(16 * std::max<int64_t>(k, 1)) * kTileRows;
}
constexpr int64_t kSeedGrowth = 4;

}  // namespace

CoarseSearch::CoarseSearch(const ScanContext& context, const SearchRequest& request, const SearchPlan& plan)
    : context_(context),
      request_(request),
      plan_(plan),
      k_(std::min(request.k, context.model.words())),
      coarse_query_(split_query(request.query->vector, request.query->norm_squared)),
      planes_(plan.first == Level::kPlanes
                  ? std::optional<PlaneParts>(std::in_place, context, *request.query, coarse_query_)
                  : std::nullopt),
      last_(make_last_level(context, request)),
      slots_(static_cast<size_t>(context.threads)) {
  for (size_t i = 0; i < slots_.size(); ++i) slots_[i].number = static_cast<int>(i);
  const std::vector<int32_t>& excluded = request.query->excluded;
  if (std::ssize(excluded) >= kTileRows) excluded_.resize(static_cast<size_t>(context.model.words()));
  for (const int32_t row : excluded)
    if (row >= 0 && row < std::ssize(excluded_)) excluded_[static_cast<size_t>(row)] = true;
  context.kernels.coarse->pack(coarse_query_, nibble_words(context.model.dims()), coarse_packed_);
}

Result<std::vector<Neighbor>> CoarseSearch::run(const InterruptCheck& interrupted, ScanCost& cost) {
  Timer timer;
  GLOVE_RETURN_IF_ERROR(last_->codes().prepare(interrupted));
  if (!scan(interrupted) || !score_waiting(interrupted)) return interrupted_error();
  for (const Slot& slot : slots_) {
    cost.candidates += slot.scored;
    cost.bytes_scanned += slot.bytes;
  }
  cost.bytes_scanned += last_->codes().bytes();
  cost.plan = gave_up_ ? (plan_.last == Level::kVectors ? "8 bits after a coarser level -> vectors"
                                                        : "8 bits after a coarser level")
                       : plan_.words();
  cost.rows_scanned = answerable_rows(context_.model, among());
  cost.scan_us = timer.lap();
  return last_->finish(interrupted, cost);
}

void CoarseSearch::find_threshold() {
  Slot& slot = slots_.front();
  const int64_t rows = (kPilotRows + kPilotRowsPerResult * k_) * rows_per_answerable(context_.model, among());
  slot.rows = planes_->promising(context_.kernels, rows, 2 * k_ + 8, among());
  score(slot);
  last_->forget();  // the scan finds them again
}

void CoarseSearch::scan_by_planes(Slot& slot, const PartChunks::Chunk& chunk) {
  const auto part = static_cast<size_t>(&chunk.part - context_.model.parts().data());
  const int64_t first_tile = chunk.first / kTileRows, end_tile = tile_count(chunk.last);
  const auto scan = [&](int64_t first, int64_t end) { scan_tiles(slot, part, first, end); };
  if (admits_all()) {
    scan(first_tile, end_tile);
  } else {
    const auto admits_row = [this](int64_t row) { return admits(row); };
    for_admissible_positions(chunk.part, first_tile, end_tile, admits_row, scan);
  }
}

void CoarseSearch::scan_tiles(Slot& slot, size_t number, int64_t first, int64_t last) {
  const ModelPart& part = context_.model.parts()[number];
  const int64_t rows = (last - first) * kTileRows;
  if (std::ssize(slot.survivors) < rows) slot.survivors.resize(static_cast<size_t>(rows));
  const PlaneCounts counts = context_.kernels.planes->scan(
      part, first, last, planes_->query(number), last_->threshold(), slot.left, slot.survivors.data());
  slot.rows_read += rows;
  slot.second_reads += counts.second_reads;
  slot.bytes += rows * plane1_row_bytes(part.dims) + counts.second_reads * plane2_row_bytes(part.dims);
  keep_survivors(slot, part, counts.survivors);
}

bool CoarseSearch::scan(const InterruptCheck& interrupted) {
  if (planes_) find_threshold();
  if (!scan_chunks(planes_ ? tiles_per_plane_chunk(context_) : tiles_per_chunk(context_.model), interrupted))
    return false;
  if (!planes_ || !gave_up_) return true;
  for (Slot& slot : slots_) slot.waiting.clear();
  last_->forget();
  planes_.reset();
  return scan_chunks(tiles_per_chunk(context_.model), interrupted);
}

bool CoarseSearch::scan_chunks(int64_t tiles, const InterruptCheck& interrupted) {
  const PartChunks chunks(context_.model.parts(), tiles * kTileRows);
  const SpreadOrder order(chunks.count());
  const auto work = [&](int slot, int64_t number) {
    Slot& own = slots_[static_cast<size_t>(slot)];
    const PartChunks::Chunk chunk = chunks[order[number]];
    const bool gave_up = gave_up_.load(std::memory_order_relaxed);
    if (gave_up && planes_) return;
    if (gave_up || (planes_ && chunk.part.planes == nullptr)) return last_->codes().scan(slot, chunk);
    if (planes_)
      scan_by_planes(own, chunk);
    else
      scan_by_4_bits(own, chunk);
    if (!is_worthwhile(own)) gave_up_.store(true, std::memory_order_relaxed);
  };
  return ThreadPool::instance().run(context_.threads, chunks.count(), work, interrupted);
}

bool CoarseSearch::score_waiting(const InterruptCheck& interrupted) {
  std::vector<std::span<const Candidate>> batches;
  size_t count = 0;
  for (const Slot& slot : slots_) {
    count += slot.waiting.size();
    for (size_t first = 0; first < slot.waiting.size(); first += kRowsPerBatch)
      batches.push_back(
          std::span(slot.waiting).subspan(first, std::min(kRowsPerBatch, slot.waiting.size() - first)));
  }
  const auto work = [&](int slot, int64_t batch) {
    Slot& own = slots_[static_cast<size_t>(slot)];
    const float threshold = last_->threshold();
    own.rows.clear();
    for (const Candidate& row : batches[static_cast<size_t>(batch)])
      if (!(row.upper < threshold)) own.rows.push_back({row.id, kNoScore});
    score(own);
  };
  const int threads = count < kRowsWorthThreads ? 1 : context_.threads;
  return ThreadPool::instance().run(threads, static_cast<int64_t>(batches.size()), work, interrupted);
}

void CoarseSearch::scan_by_4_bits(Slot& slot, const PartChunks::Chunk& chunk) {
  const ModelPart& part = chunk.part;
  const int64_t first = chunk.first, last = chunk.last;
  const bool has_threshold = last_->threshold() > -std::numeric_limits<float>::infinity();
  int64_t rows = has_threshold ? last - first : seed_rows(k_);
  for (int64_t begin = first; begin < last; begin += rows, rows *= kSeedGrowth) {
    const PartChunks::Chunk piece{part, begin, std::min(begin + rows, last)};
    for_admissible_tiles(piece, among(), request_.query->excluded, [&](int64_t first_tile, int64_t end_tile) {
      scan_rows_by_4_bits(slot, part, first_tile * kTileRows, std::min(end_tile * kTileRows, piece.last));
    });
  }
}

void CoarseSearch::scan_rows_by_4_bits(Slot& slot, const ModelPart& part, int64_t first, int64_t last) {
  const int64_t rows = last - first;
  if (static_cast<int64_t>(slot.survivors.size()) < rows) slot.survivors.resize(static_cast<size_t>(rows));
  const int64_t count = context_.kernels.coarse->scan(part, part.level(4), first / kTileRows,
                                                      tile_count(last), coarse_query_, coarse_packed_.data(),
                                                      last_->threshold(), slot.caps, slot.survivors.data());
  slot.bytes += nibble_bytes(rows, part.dims) + rows * 2 * static_cast<int64_t>(sizeof(float));
  slot.rows_read += rows;
  keep_survivors(slot, part, count);
}

void CoarseSearch::keep_survivors(Slot& slot, const ModelPart& part, int64_t count) {
  const auto begin = slot.survivors.begin();
  auto end = begin + count;
  if (!admits_all())
    end = std::remove_if(begin, end, [&](const Survivor& row) { return !admits(part.first_row + row.row); });
  end = score_promising(slot, part, begin, end);
  const float threshold = last_->threshold();
  for (auto row = begin; row != end; ++row)
    if (!(row->upper < threshold))
      slot.waiting.push_back({static_cast<int32_t>(part.first_row + row->row), row->upper});
}

CoarseSearch::SurvivorIterator CoarseSearch::score_promising(Slot& slot, const ModelPart& part,
                                                             SurvivorIterator begin, SurvivorIterator end) {
  float threshold = last_->threshold();
  const auto promising = std::partition(
      begin, end, [threshold](const Survivor& survivor) { return survivor.estimate < threshold; });
  std::sort(promising, end, [](const Survivor& a, const Survivor& b) { return a.estimate < b.estimate; });
  while (promising != end && !((end - 1)->estimate < threshold)) {
    slot.rows.clear();
    for (int i = 0; i < kRowsPerCall && promising != end; ++i)
      slot.rows.push_back({static_cast<int32_t>(part.first_row + (--end)->row), kNoScore});
    score(slot);
    threshold = last_->threshold();
  }
  return end;
}

void CoarseSearch::score(Slot& slot) {
  const std::vector<int32_t>& excluded = request_.query->excluded;
  if (!excluded.empty())
    std::erase_if(slot.rows,
                  [&](const Neighbor& row) { return std::ranges::binary_search(excluded, row.id); });
  if (slot.rows.empty()) return;
  // Without an error: no level of such a search reads a source.
  (void)last_->score(slot.number, slot.rows);
  slot.scored += std::ssize(slot.rows);
}

bool CoarseSearch::is_worthwhile(Slot& slot) {
  const int64_t dims = context_.model.dims();
  const int64_t rows = among() == nullptr ? context_.model.words() : among()->rows_of_tiles();
  const int64_t saved = bytes_saved(plan_.first, slot.rows_read, dims) +
                        bytes_saved(plan_.first, rows, dims) / (2 * context_.threads);
  const auto cost = [&] {
    return cost_of_scores(plan_.last, slot.scored + std::ssize(slot.waiting), dims) +
           slot.second_reads * second_read_bytes(dims);
  };
  if (cost() <= saved) return true;
  const float threshold = last_->threshold();
  std::erase_if(slot.waiting, [threshold](const Candidate& row) { return row.upper < threshold; });
  return cost() <= saved;
}

}  // namespace glove::cpu
