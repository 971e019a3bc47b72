#include "cpu/search/probe_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/thread_interrupt.h"
#include "base/thread_pool.h"
#include "base/timer.h"
#include "cpu/kernels/wide_query.h"
#include "cpu/search/plane_parts.h"
#include "cpu/search/segment_probe.h"
#include "lists/planes.h"
#include "search/nearest.h"

namespace glove::cpu {
namespace {

constexpr float kNoThreshold = -std::numeric_limits<float>::infinity();
constexpr size_t kRowsPerCall = 4;
constexpr size_t kRowsPerBatch = 24;
// The rows of lists that are read between two checks for an interrupt.
constexpr int64_t kRowsPerCheck = 1 << 17;
// The rows of a list that are fetched ahead.
constexpr int64_t kMostFetchedRows = 256;
constexpr int64_t kLineBytes = 64;

float round_down_to_float(double value) {
  const float rounded = static_cast<float>(value);
  return static_cast<double>(rounded) > value ? std::nextafter(rounded, -2.0f) : rounded;
}

std::vector<int32_t> products_with_centroids(const ScanContext& context, const ListCodes& lists,
                                             const Query& query) {
  std::vector<int32_t> products(static_cast<size_t>(lists.lists()));
  const std::vector<int16_t> codes = encode_query(lists, query.vector, query.norm_squared);
  context.kernels.list_products(codes.data(), lists.codes.data(), lists.lists(), lists.dims, products.data());
  return products;
}

}  // namespace

bool wants_probe_search(const ScanContext& context, const SearchRequest& request) {
  const Model& model = context.model;
  if (!(request.recall < 1) || request.query->among != nullptr || model.parts().size() != 1 ||
      !has_vectors(model))
    return false;
  const PlaneLevel* const planes = model.parts().front().planes;
  const int which = recall_class(request.k);
  return planes != nullptr && planes->recall != nullptr && !planes->recall->is_damaged && which >= 0 &&
         !wants_full_pass(model, kRecallKs[static_cast<size_t>(which)]);
}

ProbeSearch::ProbeSearch(const ScanContext& context, const SearchRequest& request)
    : context_(context),
      request_(request),
      part_(context.model.parts().front()),
      level_(*part_.planes),
      which_(recall_class(request.k)),
      split_(split_query(request.query->vector, request.query->norm_squared)),
      wide_(widen(request.query->vector)),
      order_products_(products_with_centroids(context, level_.recall->lists, *request.query)),
      products_(static_cast<size_t>(level_.lists()), std::numeric_limits<float>::quiet_NaN()),
      taken_(static_cast<size_t>(tile_count(part_.rows) / 64 + 1)),
      order_(order_products_, level_.offsets),
      next_list_(order_.next()),
      best_(k()),
      threshold_(kNoThreshold) {
  context.kernels.planes->pack(split_, part_.dims, codes_);
}

namespace {

// Runs a search for a request, and takes its answer unless that must be exact.
template <class Search>
Status run_probe(Search& search, const InterruptCheck& interrupted, SearchRequest& request) {
  const Timer timer;
  ScanCost cost;
  GLOVE_ASSIGN_OR_RETURN(request.approximate, search.run(interrupted, cost));
  if (request.approximate) request.rows = search.take_rows();
  cost.scan_us = timer.microseconds();
  request.cost.add(cost);
  return {};
}

}  // namespace

Status search_approximately(const ScanContext& context, std::span<SearchRequest> requests) {
  const SharedInterrupt shared(requests);
  const auto answer = [&](SearchRequest& request, const InterruptCheck& interrupted) -> Status {
    if (wants_probe_search(context, request)) {
      ProbeSearch search(context, request);
      return run_probe(search, interrupted, request);
    }
    const std::optional<ProbePlan> plan = plan_segment_probe(context, request);
    if (!plan) return {};
    SegmentProbe search(context, request, *plan);
    return run_probe(search, interrupted, request);
  };
  if (requests.size() == 1) return answer(requests.front(), shared.check());
  ThreadInterrupt interrupt(shared.check());
  const auto work = [&](int slot, int64_t i) {
    (void)answer(requests[static_cast<size_t>(i)], interrupt.of(slot));  // run() returns the only error
  };
  if (!ThreadPool::instance().run(context.threads, std::ssize(requests), work, interrupt.of(0)) ||
      interrupt.stopped())
    return interrupted_error();
  return {};
}

Result<bool> ProbeSearch::run(const InterruptCheck& interrupted, ScanCost& cost) {
  GLOVE_RETURN_IF_ERROR(read_lists(recall_rows(k(), 0), interrupted));
  bool known = best_.threshold() > kNoSimilarity;
  if (known) {
    const int64_t rows = level_.recall->rows_to_read(which_, measurements(), request_.recall, part_.rows);
    known = rows >= 0;
    if (known) GLOVE_RETURN_IF_ERROR(read_lists(rows, interrupted));
  }
  cost.add(cost_);
  return known;
}

std::vector<Neighbor> ProbeSearch::take_rows() {
  std::vector<Neighbor> rows = std::move(best_).take();
  rows.resize(std::min(rows.size(), static_cast<size_t>(request_.k)));
  return rows;
}

RecallMeasurements ProbeSearch::measurements() const {
  std::vector<double> similarities;
  for (const Neighbor& row : best_.rows()) similarities.push_back(row.similarity);
  std::ranges::sort(similarities, std::greater<>());
  return measure_recall(order_, level_.recall->lists.scale, k(), similarities);
}

Status ProbeSearch::read_lists(int64_t rows, const InterruptCheck& interrupted) {
  int64_t next_check = list_rows_;
  while (list_rows_ < rows) {
    if (list_rows_ >= next_check) {
      GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
      next_check = list_rows_ + kRowsPerCheck;
    }
    const int64_t list = std::exchange(next_list_, order_.next());
    if (list < 0) break;
    if (next_list_ >= 0) fetch_list(next_list_);
    read_list(level_.offsets[static_cast<size_t>(list)], level_.offsets[static_cast<size_t>(list) + 1]);
  }
  score_waiting();
  return {};
}

// Fetches the memory of a list that is read soon: the lists are far apart, and the processor fetches ahead
// only what follows.
void ProbeSearch::fetch_list(int64_t list) const {
  const int64_t begin = level_.offsets[static_cast<size_t>(list)];
  const int64_t end = std::min(level_.offsets[static_cast<size_t>(list) + 1], begin + kMostFetchedRows);
  const auto fetch = [](const auto* values, int64_t first, int64_t last) {
    const auto* const bytes = reinterpret_cast<const char*>(values);
    for (int64_t byte = first; byte < last; byte += kLineBytes) __builtin_prefetch(bytes + byte, 0, 2);
  };
  const int64_t tile = begin / kTileRows;
  const int64_t end_tile = tile_count(end);
  const int64_t tile_bytes = kTileRows * plane_row_bytes(part_.dims);
  constexpr int64_t kBoundBytes = kPlaneBounds * kTileRows * static_cast<int64_t>(sizeof(uint16_t));
  const int64_t centroid_bytes = part_.dims * static_cast<int64_t>(sizeof(float));
  fetch(level_.plane1.data(), tile * tile_bytes, end_tile * tile_bytes);
  fetch(level_.bounds1.data(), tile * kBoundBytes, end_tile * kBoundBytes);
  fetch(level_.plane2.data(), begin * plane2_row_bytes(part_.dims), end * plane2_row_bytes(part_.dims));
  fetch(level_.centroids.data(), list * centroid_bytes, (list + 1) * centroid_bytes);
}

// Reads the positions of a list. Only its first and its last tile may have been read with another list.
void ProbeSearch::read_list(int64_t begin, int64_t end) {
  if (begin == end) return;
  list_rows_ += end - begin;
  int64_t first = begin / kTileRows;
  int64_t last = tile_count(end);
  if (last - first > 1 && !take_tile(last - 1)) --last;
  if (!take_tile(first)) ++first;
  if (first < last) read_tiles(first, last);
}

bool ProbeSearch::take_tile(int64_t tile) {
  uint64_t& word = taken_[static_cast<size_t>(tile / 64)];
  const uint64_t bit = uint64_t{1} << tile % 64;
  const bool is_new = (word & bit) == 0;
  word |= bit;
  return is_new;
}

// Computes the products of the lists that have rows in these tiles.
void ProbeSearch::multiply_centroids(int64_t first_tile, int64_t last_tile) {
  const auto offsets = level_.offsets;
  const double inverse = 1 / std::sqrt(request_.query->norm_squared);
  const auto at = std::upper_bound(offsets.begin(), offsets.end(), first_tile * kTileRows) - 1;
  for (auto list = static_cast<int64_t>(at - offsets.begin());
       list < level_.lists() && offsets[static_cast<size_t>(list)] < last_tile * kTileRows; ++list) {
    float& product = products_[static_cast<size_t>(list)];
    if (!std::isnan(product)) continue;
    const float* const centroid = level_.centroids.data() + list * part_.dims;
    double dot = 0;
    context_.kernels.cached_dots(wide_.data(), &centroid, 1, part_.dims, &dot);
    product = static_cast<float>(dot * inverse);
  }
}

void ProbeSearch::read_tiles(int64_t first, int64_t last) {
  const auto rows = static_cast<size_t>((last - first) * kTileRows);
  if (survivors_.size() < rows) survivors_.resize(rows);
  multiply_centroids(first, last);
  const PlaneCounts counts =
      context_.kernels.planes->scan(part_, first, last, plane_query(split_, codes_, products_, part_.dims),
                                    threshold_, left_, survivors_.data());
  const int64_t read = std::min(part_.rows - first * kTileRows, static_cast<int64_t>(rows));
  cost_.rows_scanned += read;
  cost_.bytes_scanned +=
      read * plane1_row_bytes(part_.dims) + counts.second_reads * plane2_row_bytes(part_.dims);
  score_promising(counts.survivors);
}

// Scores those of the first survivors that are likely to raise the threshold, the best first; the others
// wait.
void ProbeSearch::score_promising(int64_t count) {
  const auto begin = survivors_.begin();
  auto end = begin + count;
  const auto promising =
      std::partition(begin, end, [this](const Survivor& survivor) { return survivor.estimate < threshold_; });
  const auto is_less = [](const Survivor& a, const Survivor& b) { return a.estimate < b.estimate; };
  std::make_heap(promising, end, is_less);
  while (promising != end && !(promising->estimate < threshold_)) {
    Neighbor rows[kRowsPerCall];
    size_t size = 0;
    for (; size < kRowsPerCall && promising != end; ++size) {
      std::pop_heap(promising, end, is_less);
      rows[size] = {part_.first_row + (--end)->row, kNoSimilarity};
    }
    score({rows, size});
  }
  for (auto row = begin; row != end; ++row)
    if (!(row->upper < threshold_)) waiting_.push_back(*row);
}

void ProbeSearch::score_waiting() {
  std::ranges::sort(waiting_, std::greater<>(), &Survivor::upper);
  Neighbor rows[kRowsPerBatch];
  for (size_t i = 0; i < waiting_.size();) {
    size_t size = 0;
    for (; size < kRowsPerBatch && i < waiting_.size() && !(waiting_[i].upper < threshold_); ++i)
      rows[size++] = {part_.first_row + waiting_[i].row, kNoSimilarity};
    if (size == 0) break;
    score({rows, size});
  }
  waiting_.clear();
}

void ProbeSearch::score(std::span<Neighbor> rows) {
  const std::vector<int32_t>& excluded = request_.query->excluded;
  if (!excluded.empty()) {
    const auto end = std::remove_if(rows.begin(), rows.end(), [&](const Neighbor& row) {
      return std::binary_search(excluded.begin(), excluded.end(), row.id);
    });
    rows = rows.first(static_cast<size_t>(end - rows.begin()));
  }
  if (rows.empty()) return;
  score_rows(context_, *request_.query, wide_.data(), rows);
  cost_.candidates += std::ssize(rows);
  for (const Neighbor& row : rows) best_.offer(row);
  if (best_.threshold() > kNoSimilarity) threshold_ = round_down_to_float(best_.threshold());
}

}  // namespace glove::cpu
