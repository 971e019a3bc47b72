#include "cpu/search/segment_probe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/timer.h"
#include "cpu/kernels/wide_query.h"
#include "cpu/search/part_chunks.h"
#include "cpu/search/plane_parts.h"
#include "cpu/search/search_cost.h"
#include "lists/code_estimate.h"
#include "lists/planes.h"
#include "search/nearest.h"

namespace glove::cpu {
namespace {

// The rows of lists that are read between two checks for an interrupt.
constexpr int64_t kRowsPerCheck = 1 << 16;
constexpr int64_t kTilesPerCheck = 1 << 10;
// The tiles of a list that are fetched ahead.
constexpr int64_t kMostFetchedTiles = 16;
constexpr int64_t kLineBytes = 64;
// An index that has grown so many times since it was calibrated is searched exactly.
constexpr int64_t kMostGrowth = 2;

const RecallTable* table_of(const ModelPart& part) {
  return part.planes == nullptr ? nullptr : part.planes->recall;
}

int64_t count_between(std::span<const int32_t> rows, const ModelPart& part) {
  const auto from = [&](int64_t row) { return std::lower_bound(rows.begin(), rows.end(), row); };
  return from(part.first_row + part.rows) - from(part.first_row);
}

std::vector<int32_t> products_with_lists(const ScanContext& context, const ListCodes& lists,
                                         const Query& query) {
  std::vector<int32_t> products(static_cast<size_t>(lists.lists()));
  const std::vector<int16_t> codes = encode_query(lists, query.vector, query.norm_squared);
  context.kernels.list_products(codes.data(), lists.codes.data(), lists.lists(), lists.dims, products.data());
  return products;
}

// Returns the offsets of the lists if all parts' rows in them were as many as those of the calibration.
std::vector<int64_t> calibrated_offsets(std::span<const ModelPart> parts, const RecallTable& table) {
  std::vector<int64_t> offsets(static_cast<size_t>(table.lists.lists()) + 1);
  for (const ModelPart& part : parts)
    if (table_of(part) != nullptr)
      for (size_t i = 0; i < offsets.size(); ++i) offsets[i] += part.planes->offsets[i];
  const auto all = static_cast<double>(offsets.back());
  for (int64_t& offset : offsets)
    offset =
        static_cast<int64_t>(static_cast<double>(offset) * static_cast<double>(table.calibrated_rows) / all);
  return offsets;
}

}  // namespace

std::optional<ProbePlan> plan_segment_probe(const ScanContext& context, const SearchRequest& request) {
  const Model& model = context.model;
  if (!(request.recall < 1) || has_vectors(model)) return std::nullopt;
  const RecallTable* table = nullptr;
  const float* centroids = nullptr;
  int64_t listed = 0, hidden = 0;
  for (const ModelPart& part : model.parts()) {
    const RecallTable* const own = table_of(part);
    if (part.planes != nullptr && own == nullptr) return std::nullopt;
    if (own == nullptr) continue;
    table = own;
    centroids = part.planes->centroids.data();
    listed += part.rows;
    hidden += count_between(request.query->excluded, part);
  }
  if (table == nullptr || listed > kMostGrowth * table->calibrated_rows) return std::nullopt;
  double living = static_cast<double>(listed - hidden);
  if (const RowMask* const among = request.query->among.get(); among != nullptr)
    living = std::min(living, static_cast<double>(among->count()) * living / static_cast<double>(listed));
  const double density = living / static_cast<double>(table->calibrated_rows);
  if (!(density > 0)) return std::nullopt;
  const double needed = std::ceil(static_cast<double>(request.k) / density);
  const int which =
      needed > static_cast<double>(kMostRecallK) ? -1 : recall_class(static_cast<int64_t>(needed));
  if (which < 0 || wants_full_pass(model, kRecallKs[static_cast<size_t>(which)])) return std::nullopt;
  const double left = static_cast<double>(kRecallKs[static_cast<size_t>(which)]) * density;
  return ProbePlan{table, centroids, which, std::max(request.k, static_cast<int64_t>(left))};
}

SegmentProbe::SegmentProbe(const ScanContext& context, const SearchRequest& request, const ProbePlan& plan)
    : context_(context),
      request_(request),
      plan_(plan),
      split_(split_query(request.query->vector, request.query->norm_squared)),
      fine_query_(quantize_query(request.query->vector, request.query->norm_squared, kEstimateQueryCode)),
      wide_(widen(request.query->vector)),
      order_products_(products_with_lists(context, plan.table->lists, *request.query)),
      offsets_(calibrated_offsets(context.model.parts(), *plan.table)),
      products_(order_products_.size(), std::numeric_limits<float>::quiet_NaN()),
      order_(order_products_, offsets_),
      next_list_(order_.next()),
      bounds_(plan.k),
      collector_(request.query->excluded, request.query->among.get(), bounds_),
      best_(plan.k) {
  for (const ModelPart& part : context.model.parts())
    taken_.emplace_back(static_cast<size_t>(tile_count(part.rows) / 64 + 1));
  context.kernels.planes->pack(split_, context.model.dims(), codes_);
}

Result<bool> SegmentProbe::run(const InterruptCheck& interrupted, ScanCost& cost) {
  const int64_t k = kRecallKs[static_cast<size_t>(plan_.which)];
  GLOVE_RETURN_IF_ERROR(read_lists(recall_rows(k, 0), interrupted));
  bool known = best_.threshold() > kNoSimilarity;
  if (known) {
    const int64_t rows =
        plan_.table->rows_to_read(plan_.which, measurements(), request_.recall, plan_.table->calibrated_rows);
    known = rows >= 0;
    if (known) {
      GLOVE_RETURN_IF_ERROR(read_lists(rows, interrupted));
      GLOVE_RETURN_IF_ERROR(read_others(interrupted));
    }
  }
  cost.add(cost_);
  return known;
}

std::vector<Neighbor> SegmentProbe::take_rows() {
  std::vector<float> lower_bounds(bounds_.lower_bounds().begin(), bounds_.lower_bounds().end());
  lower_bounds.insert(lower_bounds.end(), collector_.unshared().begin(), collector_.unshared().end());
  std::erase_if(lower_bounds, [](float bound) { return std::isnan(bound); });
  const float threshold = kth_largest(lower_bounds, request_.k);
  std::vector<Neighbor> rows;
  for (const Collector::Candidate& candidate : collector_.candidates())
    if (!(candidate.upper < threshold)) rows.push_back({candidate.id, candidate.upper});
  std::sort(rows.begin(), rows.end(), ranks_before);
  return rows;
}

RecallMeasurements SegmentProbe::measurements() const {
  std::vector<double> similarities;
  for (const Neighbor& row : best_.rows()) similarities.push_back(row.similarity);
  std::sort(similarities.begin(), similarities.end(), std::greater<>());
  return measure_recall(order_, plan_.table->lists.scale, kRecallKs[static_cast<size_t>(plan_.which)],
                        similarities);
}

Status SegmentProbe::read_lists(int64_t rows, const InterruptCheck& interrupted) {
  int64_t next_check = cost_.rows_scanned;
  while (list_rows_ < rows) {
    if (cost_.rows_scanned >= next_check) {
      GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
      next_check = cost_.rows_scanned + kRowsPerCheck;
    }
    const int64_t list = std::exchange(next_list_, order_.next());
    if (list < 0) break;
    if (next_list_ >= 0) fetch_list(next_list_);
    const auto place = static_cast<size_t>(list);
    list_rows_ += offsets_[place + 1] - offsets_[place];
    for (size_t part = 0; part < context_.model.parts().size(); ++part) {
      const ModelPart& own = context_.model.parts()[part];
      if (table_of(own) != nullptr)
        read_list(part, own.planes->offsets[place], own.planes->offsets[place + 1]);
    }
  }
  bound_waiting();
  return {};
}

// Fetches the memory of a list that is read soon: the lists are far apart, and the processor fetches ahead
// only what follows.
void SegmentProbe::fetch_list(int64_t list) const {
  const auto place = static_cast<size_t>(list);
  const auto fetch = [](const auto* values, int64_t first, int64_t last) {
    const auto* const bytes = reinterpret_cast<const char*>(values);
    for (int64_t byte = first; byte < last; byte += kLineBytes) __builtin_prefetch(bytes + byte, 0, 2);
  };
  for (const ModelPart& part : context_.model.parts()) {
    if (table_of(part) == nullptr) continue;
    const PlaneLevel& level = *part.planes;
    const int64_t first = level.offsets[place] / kTileRows;
    const int64_t last = std::min(tile_count(level.offsets[place + 1]), first + kMostFetchedTiles);
    const int64_t tile_bytes = kTileRows * plane_row_bytes(part.dims);
    constexpr int64_t kBoundBytes = kPlaneBounds * kTileRows * static_cast<int64_t>(sizeof(uint16_t));
    fetch(level.plane1.data(), first * tile_bytes, last * tile_bytes);
    fetch(level.bounds1.data(), first * kBoundBytes, last * kBoundBytes);
  }
  const int64_t centroid_bytes = context_.model.dims() * static_cast<int64_t>(sizeof(float));
  fetch(plan_.centroids, list * centroid_bytes, (list + 1) * centroid_bytes);
}

// Reads the positions of a list. Only its first and its last tile may have been read with another list.
void SegmentProbe::read_list(size_t part, int64_t begin, int64_t end) {
  if (begin == end) return;
  int64_t first = begin / kTileRows;
  int64_t last = tile_count(end);
  if (last - first > 1 && !take_tile(part, last - 1)) --last;
  if (!take_tile(part, first)) ++first;
  if (first < last) read_tiles(context_.model.parts()[part], first, last);
}

bool SegmentProbe::take_tile(size_t part, int64_t tile) {
  uint64_t& word = taken_[part][static_cast<size_t>(tile / 64)];
  const uint64_t bit = uint64_t{1} << tile % 64;
  const bool is_new = (word & bit) == 0;
  word |= bit;
  return is_new;
}

// Computes the products of the lists that have rows in these tiles.
void SegmentProbe::multiply_centroids(const ModelPart& part, int64_t first_tile, int64_t last_tile) {
  const auto offsets = part.planes->offsets;
  const double inverse = 1 / std::sqrt(request_.query->norm_squared);
  const auto at = std::upper_bound(offsets.begin(), offsets.end(), first_tile * kTileRows) - 1;
  for (auto list = static_cast<int64_t>(at - offsets.begin());
       list < part.planes->lists() && offsets[static_cast<size_t>(list)] < last_tile * kTileRows; ++list) {
    float& product = products_[static_cast<size_t>(list)];
    if (!std::isnan(product)) continue;
    const float* const centroid = plan_.centroids + list * part.dims;
    double dot = 0;
    context_.kernels.cached_dots(wide_.data(), &centroid, 1, part.dims, &dot);
    product = static_cast<float>(dot * inverse);
  }
}

void SegmentProbe::read_tiles(const ModelPart& part, int64_t first, int64_t last) {
  const auto rows = static_cast<size_t>((last - first) * kTileRows);
  if (scan_.survivors.size() < rows) scan_.survivors.resize(rows);
  multiply_centroids(part, first, last);
  const PlaneCounts counts =
      context_.kernels.planes->scan(part, first, last, plane_query(split_, codes_, products_, part.dims),
                                    collector_.threshold(), scan_.left, scan_.survivors.data());
  const int64_t read = std::min(part.rows - first * kTileRows, static_cast<int64_t>(rows));
  cost_.rows_scanned += read;
  cost_.bytes_scanned +=
      read * plane1_row_bytes(part.dims) + counts.second_reads * plane2_row_bytes(part.dims);
  bound_promising(part, counts.survivors);
}

bool SegmentProbe::is_admissible(int32_t row) const {
  const Query& query = *request_.query;
  return (query.among == nullptr || query.among->admits(row)) &&
         !std::binary_search(query.excluded.begin(), query.excluded.end(), row);
}

// Bounds those of the first survivors that are likely to raise the threshold, the best first; the others
// wait.
void SegmentProbe::bound_promising(const ModelPart& part, int64_t count) {
  const auto begin = scan_.survivors.begin();
  const auto end = std::partition(begin, begin + count, [&](const Survivor& survivor) {
    return is_admissible(static_cast<int32_t>(part.first_row + survivor.row));
  });
  std::sort(begin, end, [](const Survivor& a, const Survivor& b) { return a.estimate > b.estimate; });
  for (auto row = begin; row != end; ++row) {
    if (row + 1 != end && !((row + 1)->estimate < collector_.threshold()))
      fetch_codes(static_cast<int32_t>(part.first_row + (row + 1)->row));
    const auto id = static_cast<int32_t>(part.first_row + row->row);
    if (!(row->estimate < collector_.threshold()))
      bound(id);
    else if (!(row->upper < collector_.threshold()))
      waiting_.push_back({id, row->upper});
  }
}

void SegmentProbe::bound_waiting() {
  std::sort(waiting_.begin(), waiting_.end(),
            [](const Collector::Candidate& a, const Collector::Candidate& b) { return a.upper > b.upper; });
  for (size_t i = 0; i < waiting_.size(); ++i) {
    if (waiting_[i].upper < collector_.threshold()) break;
    if (i + 1 < waiting_.size()) fetch_codes(waiting_[i + 1].id);
    bound(waiting_[i].id);
  }
  waiting_.clear();
}

void SegmentProbe::fetch_codes(int32_t row) const {
  const ModelPart& part = context_.model.part_of(row);
  const int8_t* const codes = part.level(8).codes.data() + code_index(row - part.first_row, 0, part.dims);
  for (int64_t group = 0; group < component_groups(part.dims); ++group)
    __builtin_prefetch(codes + group * kTileRows * kTileComponents);
}

void SegmentProbe::bound(int32_t row) {
  const ModelPart& part = context_.model.part_of(row);
  const CodeLevel& level = part.level(8);
  const int64_t place = row - part.first_row;
  const float estimate = code_estimate(level, place, part.dims, fine_query_);
  const float error = fine_query_.bound.error(level.residuals[static_cast<size_t>(place)]);
  ++cost_.candidates;
  if (!std::isfinite(error)) return;
  best_.offer({row, estimate});
  if (!(estimate + error < collector_.threshold())) collector_.offer(row, estimate, error);
}

// Reads all rows of the segments without lists. The calibration does not know them, so they come last.
Status SegmentProbe::read_others(const InterruptCheck& interrupted) {
  const ScanKernel& kernel = *context_.kernels.single_query;
  QuantizedQuery query;
  std::vector<int8_t> packed;
  const PartChunks chunks(context_.model.parts(), kTilesPerCheck * kTileRows);
  for (int64_t i = 0; i < chunks.count(); ++i) {
    const PartChunks::Chunk chunk = chunks[i];
    if (table_of(chunk.part) != nullptr) continue;
    GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    if (packed.empty()) {
      query = quantize_query(request_.query->vector, request_.query->norm_squared, kernel.max_query_code);
      kernel.pack({&query, 1}, component_groups(context_.model.dims()), packed);
    }
    for_admissible_tiles(chunk, request_.query->among.get(), [&](int64_t first, int64_t end) {
      kernel.scan(chunk.part, chunk.part.level(8), first, end, {&query, 1}, packed.data(), &collector_);
    });
    cost_.rows_scanned += chunk.last - chunk.first;
    cost_.bytes_scanned += scan_bytes(chunk.last - chunk.first, context_.model.dims());
  }
  return {};
}

}  // namespace glove::cpu
