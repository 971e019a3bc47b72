#include "cpu/search/coarse_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/thread_pool.h"
#include "cpu/search/scan.h"
#include "cpu/search/search_cost.h"
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
// Rows of the nearest lists that are read first, in addition to a few for each row of the answer.
constexpr int64_t kFirstPlaneRows = 4096;
constexpr int64_t kFirstPlaneRowsPerResult = 32;
// Rows of the nearest lists that are estimated before these.
constexpr int64_t kPilotRows = 512;
constexpr int64_t kPilotRowsPerResult = 16;
// Fewer rows than this are scored before another thread could wake up.
constexpr size_t kRowsWorthThreads = 1024;
// The rows that a search is expected to score, by measurement on word vectors.
constexpr int64_t expected_scores(int64_t k) {
  return 9 * (k + 100);
}

// Returns how many fewer bytes the codes of 4 bits have than those of 8.
int64_t bytes_saved(int64_t rows, int64_t dims) {
  return code_bytes(rows, dims) - nibble_bytes(rows, dims);
}

// Returns whether scoring the rows that a search is expected to leave costs less than it has saved.
bool is_expected_to_pay(const SearchRequest& request, const Model& model, int64_t saved) {
  return cost_of_scores(model, expected_scores(std::min(request.k, model.words()))) <= saved;
}

// A scan by planes reads the rows of all lists, whichever are admissible. The small segments of a live index
// are in no lists.
bool wants_planes(const ScanContext& context, const SearchRequest& request) {
  const Model& model = context.model;
  const bool is_forced = context.scan_bits == 4;
  const auto suits = [&](const ModelPart& part) {
    if (part.planes == nullptr) return !has_vectors(model);
    return is_forced || request.k <= part.planes->most_k;
  };
  const int64_t in_lists = rows_in_lists(model);
  if (in_lists == 0 || !std::ranges::all_of(model.parts(), suits)) return false;
  const int64_t saved = code_bytes(in_lists, model.dims()) - plane1_bytes(in_lists, model.dims());
  return is_forced || (model.words() <= 2 * rows_to_scan(model, request.query->among.get()) &&
                       is_expected_to_pay(request, model, saved));
}

bool has_codes4(const Model& model) {
  return std::ranges::all_of(model.parts(), [](const ModelPart& part) { return part.has_level(4); });
}

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

struct IsBelow {
  bool operator()(const Survivor& a, const Survivor& b) const { return a.estimate < b.estimate; }
};

}  // namespace

bool wants_coarse_search(const ScanContext& context, const SearchRequest& request) {
  const Model& model = context.model;
  if (context.scan_bits == 8) return false;
  if (wants_planes(context, request)) return true;
  if (!has_codes4(model)) return false;
  return context.scan_bits == 4 ||
         is_expected_to_pay(request, model,
                            bytes_saved(rows_to_scan(model, request.query->among.get()), model.dims()));
}

void SharedBest::offer(std::span<const Neighbor> rows) {
  const Lock lock(mutex_);
  for (const Neighbor& row : rows) best_.offer(row);
  if (best_.threshold() > kNoSimilarity) threshold_.raise(round_down_to_float(best_.threshold()));
}

CoarseSearch::CoarseSearch(const ScanContext& context, const SearchRequest& request)
    : context_(context),
      request_(request),
      k_(std::min(request.k, context.model.words())),
      coarse_query_(split_query(request.query->vector, request.query->norm_squared)),
      fine_query_(quantize_query(request.query->vector, request.query->norm_squared,
                                 context.kernels.single_query->max_query_code)),
      wide_(widen(request.query->vector)),
      planes_(
          wants_planes(context, request)
              ? std::optional<PlaneParts>(std::in_place, context, *request.query, wide_.data(), coarse_query_)
              : std::nullopt),
      bounds_(k_),
      best_(k_, bounds_.threshold()),
      slots_(static_cast<size_t>(context.threads)) {
  const std::vector<int32_t>& excluded = request.query->excluded;
  if (std::ssize(excluded) >= kTileRows) excluded_.resize(static_cast<size_t>(context.model.words()));
  for (const int32_t row : excluded)
    if (row >= 0 && row < std::ssize(excluded_)) excluded_[static_cast<size_t>(row)] = true;
  context.kernels.coarse->pack(coarse_query_, nibble_words(context.model.dims()), coarse_packed_);
  context.kernels.single_query->pack({&fine_query_, 1}, component_groups(context.model.dims()), fine_packed_);
}

bool CoarseSearch::run(const InterruptCheck& interrupted) {
  return scan(interrupted) && score_waiting(interrupted);
}

void CoarseSearch::find_threshold() {
  Slot& slot = slots_.front();
  const int64_t rows = (kPilotRows + kPilotRowsPerResult * k_) * rows_per_answerable(context_.model, among());
  slot.rows = planes_->promising(context_.kernels, rows, 2 * k_ + 8, among());
  score(slot);
  best_.clear();  // the scan finds them again
}

bool CoarseSearch::scan_by_planes(const InterruptCheck& interrupted) {
  if (has_vectors(context_.model)) find_threshold();
  const int64_t first_rows = kFirstPlaneRows + kFirstPlaneRowsPerResult * k_;
  const auto nearest = planes_->nearest(first_rows * rows_per_answerable(context_.model, among()));
  const auto read_nearest = [&](int slot, int64_t number) {
    scan_tiles(slots_[static_cast<size_t>(slot)], nearest[static_cast<size_t>(number)]);
  };
  // Before the others, because a thread without a threshold would read plane two of all of its rows.
  if (!ThreadPool::instance().run(context_.threads, std::ssize(nearest), read_nearest, interrupted))
    return false;
  const PartChunks chunks(context_.model.parts(), tiles_per_plane_chunk(context_) * kTileRows);
  // The threshold is near its end now, so the others are read in order.
  const auto work = [&](int slot, int64_t number) {
    if (gave_up_.load(std::memory_order_relaxed)) return;
    Slot& own = slots_[static_cast<size_t>(slot)];
    const PartChunks::Chunk chunk = chunks[number];
    if (chunk.part.planes == nullptr) return scan_by_8_bits(own, chunk);
    const auto part = static_cast<size_t>(&chunk.part - context_.model.parts().data());
    for (const TileRange& tiles : without({part, chunk.first / kTileRows, tile_count(chunk.last)}, nearest))
      scan_tiles(own, tiles);
    if (!is_worthwhile(own)) gave_up_.store(true, std::memory_order_relaxed);
  };
  if (!ThreadPool::instance().run(context_.threads, chunks.count(), work, interrupted)) return false;
  if (!gave_up_) return true;
  for (Slot& slot : slots_) {
    slot.waiting.clear();
    slot.collector.clear();
  }
  best_.clear();
  bounds_.clear();
  return true;
}

void CoarseSearch::scan_tiles(Slot& slot, const TileRange& tiles) {
  const auto scan = [&](int64_t first, int64_t last) { scan_planes(slot, {tiles.part, first, last}); };
  if (admits_all()) return scan(tiles.first, tiles.last);
  const auto admits_row = [this](int64_t row) { return admits(row); };
  for_admissible_positions(context_.model.parts()[tiles.part], tiles.first, tiles.last, admits_row, scan);
}

void CoarseSearch::scan_planes(Slot& slot, const TileRange& tiles) {
  const ModelPart& part = context_.model.parts()[tiles.part];
  const int64_t rows = (tiles.last - tiles.first) * kTileRows;
  if (std::ssize(slot.survivors) < rows) slot.survivors.resize(static_cast<size_t>(rows));
  const PlaneCounts counts =
      context_.kernels.planes->scan(part, tiles.first, tiles.last, planes_->query(tiles.part),
                                    bounds_.threshold().value(), slot.left, slot.survivors.data());
  slot.rows_read += rows;
  slot.second_reads += counts.second_reads;
  slot.bytes += rows * plane1_row_bytes(part.dims) + counts.second_reads * plane2_row_bytes(part.dims);
  keep_survivors(slot, part, counts.survivors);
}

bool CoarseSearch::scan(const InterruptCheck& interrupted) {
  if (planes_ && !scan_by_planes(interrupted)) return false;
  if (planes_ && !gave_up_) return true;  // else reads codes of 8 bits
  const PartChunks chunks(context_.model.parts(), tiles_per_chunk(context_.model) * kTileRows);
  const SpreadOrder order(chunks.count());
  const auto work = [&](int slot, int64_t number) {
    Slot& own = slots_[static_cast<size_t>(slot)];
    const PartChunks::Chunk chunk = chunks[order[number]];
    if (gave_up_.load(std::memory_order_relaxed)) {
      scan_by_8_bits(own, chunk);
    } else {
      scan_by_4_bits(own, chunk);
    }
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
    const float threshold = bounds_.threshold().value();
    own.rows.clear();
    for (const Candidate& row : batches[static_cast<size_t>(batch)])
      if (!(row.upper < threshold)) own.rows.push_back({row.id, kNoSimilarity});
    score(own);
  };
  const int threads = count < kRowsWorthThreads ? 1 : context_.threads;
  return ThreadPool::instance().run(threads, static_cast<int64_t>(batches.size()), work, interrupted);
}

void CoarseSearch::scan_by_4_bits(Slot& slot, const PartChunks::Chunk& chunk) {
  const ModelPart& part = chunk.part;
  const int64_t first = chunk.first, last = chunk.last;
  const bool has_threshold = bounds_.threshold().value() > -std::numeric_limits<float>::infinity();
  int64_t rows = has_threshold ? last - first : seed_rows(k_);
  for (int64_t begin = first; begin < last; begin += rows, rows *= kSeedGrowth) {
    const PartChunks::Chunk piece{part, begin, std::min(begin + rows, last)};
    for_admissible_tiles(piece, among(), request_.query->excluded, [&](int64_t first_tile, int64_t end_tile) {
      scan_rows_by_4_bits(slot, part, first_tile * kTileRows, std::min(end_tile * kTileRows, piece.last));
    });
  }
  if (!is_worthwhile(slot)) gave_up_.store(true, std::memory_order_relaxed);
}

void CoarseSearch::scan_rows_by_4_bits(Slot& slot, const ModelPart& part, int64_t first, int64_t last) {
  const int64_t rows = last - first;
  if (static_cast<int64_t>(slot.survivors.size()) < rows) slot.survivors.resize(static_cast<size_t>(rows));
  const int64_t count = context_.kernels.coarse->scan(
      part, part.level(4), first / kTileRows, tile_count(last), coarse_query_, coarse_packed_.data(),
      bounds_.threshold().value(), slot.caps, slot.survivors.data());
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
  const float threshold = bounds_.threshold().value();
  for (auto row = begin; row != end; ++row)
    if (!(row->upper < threshold))
      slot.waiting.push_back({static_cast<int32_t>(part.first_row + row->row), row->upper});
}

CoarseSearch::SurvivorIterator CoarseSearch::score_promising(Slot& slot, const ModelPart& part,
                                                             SurvivorIterator begin, SurvivorIterator end) {
  float threshold = bounds_.threshold().value();
  const auto promising = std::partition(
      begin, end, [threshold](const Survivor& survivor) { return survivor.estimate < threshold; });
  std::make_heap(promising, end, IsBelow());
  while (promising != end && !(promising->estimate < threshold)) {
    slot.rows.clear();
    for (int i = 0; i < kRowsPerCall && promising != end; ++i) {
      std::pop_heap(promising, end, IsBelow());
      slot.rows.push_back({static_cast<int32_t>(part.first_row + (--end)->row), kNoSimilarity});
    }
    score(slot);
    threshold = bounds_.threshold().value();
  }
  return end;
}

void CoarseSearch::score(Slot& slot) {
  const std::vector<int32_t>& excluded = request_.query->excluded;
  if (!excluded.empty())
    std::erase_if(slot.rows, [&](const Neighbor& row) {
      return std::binary_search(excluded.begin(), excluded.end(), row.id);
    });
  if (slot.rows.empty()) return;
  if (!has_vectors(context_.model)) {
    for (size_t i = 0; i < slot.rows.size(); ++i) {
      if (i + 1 < slot.rows.size()) prefetch_codes(static_cast<int32_t>(slot.rows[i + 1].id));
      bound_by_8_bits(slot, static_cast<int32_t>(slot.rows[i].id));
    }
    slot.scored += static_cast<int64_t>(slot.rows.size());
    return;
  }
  score_rows(context_, *request_.query, wide_.data(), slot.rows);
  slot.scored += static_cast<int64_t>(slot.rows.size());
  const double threshold = bounds_.threshold().value();
  std::erase_if(slot.rows, [&](const Neighbor& row) { return row.similarity < threshold; });
  if (!slot.rows.empty()) best_.offer(slot.rows);
}

bool CoarseSearch::is_worthwhile(Slot& slot) {
  const int64_t dims = context_.model.dims();
  const auto saved_by = [&](int64_t rows) {
    return planes_ ? code_bytes(rows, dims) - plane1_bytes(rows, dims) : bytes_saved(rows, dims);
  };
  const int64_t saved =
      saved_by(slot.rows_read) + saved_by(rows_to_scan(context_.model, among())) / (2 * context_.threads);
  const auto cost = [&] {
    return cost_of_scores(context_.model, slot.scored + static_cast<int64_t>(slot.waiting.size())) +
           slot.second_reads * second_read_bytes(dims);
  };
  if (cost() <= saved) return true;
  const float threshold = bounds_.threshold().value();
  std::erase_if(slot.waiting, [threshold](const Candidate& row) { return row.upper < threshold; });
  return cost() <= saved;
}

Collector& CoarseSearch::collector_of(Slot& slot) {
  if (slot.collector.empty()) slot.collector.emplace_back(request_.query->excluded, among(), bounds_);
  slot.collector.front().refresh();
  return slot.collector.front();
}

void CoarseSearch::scan_by_8_bits(Slot& slot, const PartChunks::Chunk& chunk) {
  const ModelPart& part = chunk.part;
  Collector& collector = collector_of(slot);
  for_admissible_tiles(chunk, among(), request_.query->excluded, [&](int64_t first, int64_t end) {
    context_.kernels.single_query->scan(part, part.level(8), first, end, {&fine_query_, 1},
                                        fine_packed_.data(), &collector);
    slot.bytes += scan_bytes(std::min(end * kTileRows, chunk.last) - first * kTileRows, part.dims);
  });
}

void CoarseSearch::prefetch_codes(int32_t row) const {
  const ModelPart& part = context_.model.part_of(row);
  const int8_t* codes = part.level(8).codes.data() + code_index(row - part.first_row, 0, part.dims);
  for (int64_t group = 0; group < component_groups(part.dims); ++group)
    __builtin_prefetch(codes + group * kTileRows * kTileComponents);
}

void CoarseSearch::bound_by_8_bits(Slot& slot, int32_t row) {
  const ModelPart& part = context_.model.part_of(row);
  const CodeLevel& level = part.level(8);
  const int64_t row_of_part = row - part.first_row;
  const int8_t* codes = level.codes.data() + code_index(row_of_part, 0, part.dims);
  const int16_t* query = fine_query_.codes.data();
  int32_t sum = 0;
  for (int64_t group = 0; group < component_groups(part.dims); ++group) {
    for (int64_t i = 0; i < kTileComponents; ++i) sum += codes[i] * query[i];
    codes += kTileRows * kTileComponents;
    query += kTileComponents;
  }
  const auto place = static_cast<size_t>(row_of_part);
  const QueryBound& bound = fine_query_.bound;
  collector_of(slot).offer(row, bound.estimate(static_cast<float>(sum), level.scales[place]),
                           bound.error(level.residuals[place]));
  slot.bytes += scan_bytes(1, part.dims) / kTileRows;
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
        if (!(candidate.upper < threshold)) rows.push_back({candidate.id, candidate.upper});
  return rows;
}

void CoarseSearch::add_cost(ScanCost& cost) const {
  for (const Slot& slot : slots_) {
    cost.candidates += slot.scored;
    cost.bytes_scanned += slot.bytes;
  }
}

}  // namespace glove::cpu
