#include "cpu/search/probe_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
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

constexpr float kNoLimit = -std::numeric_limits<float>::infinity();
// The rows of the first lists that are scored before there is a threshold, for each row of the answer and in
// addition.
constexpr int64_t kFirstScores = 2;
constexpr int64_t kMoreFirstScores = 16;
// Rows are scored whenever one in so many of the rows that were read is new.
constexpr int64_t kRowsPerScores = 4;
// The rows of lists that are read between two checks for an interrupt.
constexpr int64_t kRowsPerCheck = 1 << 17;
// The tiles of a list that are fetched ahead.
constexpr int64_t kMostFetchedTiles = 16;

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

std::vector<float> scaled(std::span<const int32_t> products, std::span<const float> factors) {
  std::vector<float> scaled(products.size());
  for (size_t i = 0; i < products.size(); ++i) scaled[i] = static_cast<float>(products[i]) * factors[i];
  return scaled;
}

PlaneCodes packed_codes(const ScanContext& context, const SplitQuery& query) {
  PlaneCodes codes;
  context.kernels.planes->pack(query, context.model.dims(), codes);
  return codes;
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

ProbeQuery::ProbeQuery(const ScanContext& context, const Query& query, const PlaneLevel& level)
    : split(split_query(query.vector, query.norm_squared)),
      codes(packed_codes(context, split)),
      order(products_with_centroids(context, level.recall->lists, query)),
      products(scaled(order, level.recall->lists.factors)),
      planes(plane_query(split, codes, products, context.model.dims())) {}

ProbeSearch::ProbeSearch(const ScanContext& context, const SearchRequest& request)
    : context_(context),
      request_(request),
      part_(context.model.parts().front()),
      level_(*part_.planes),
      which_(recall_class(request.k)),
      margin_(level_.recall->margin(which_)),
      wide_(widen(request.query->vector)),
      query_(context, *request.query, level_),
      taken_(static_cast<size_t>(tile_count(part_.rows) / 64 + 1)),
      order_(query_.order, level_.offsets),
      next_list_(order_.next()),
      best_(k()),
      share_(margin_),
      limit_(kNoLimit) {}

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
  const int64_t first = recall_rows(k(), 0);
  GLOVE_RETURN_IF_ERROR(read_lists(std::max(first / 4, std::min(4 * k(), first)), interrupted));
  score_first();
  GLOVE_RETURN_IF_ERROR(read_lists(first, interrupted));
  score_first();
  score_kept();
  bool known = best_.threshold() > kNoSimilarity;
  if (known) {
    const int64_t rows = level_.recall->rows_to_read(which_, measurements(), request_.recall, part_.rows);
    known = rows >= 0;
    if (known) {
      GLOVE_RETURN_IF_ERROR(read_lists(rows, interrupted));
      score_kept();
    }
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
    read_list(list);
    if (list_rows_ >= score_after_) score_kept();
  }
  return {};
}

// Reads the positions of a list. Only its first and its last tile may have been read with another list.
void ProbeSearch::read_list(int64_t list) {
  const int64_t begin = level_.offsets[static_cast<size_t>(list)];
  const int64_t end = level_.offsets[static_cast<size_t>(list) + 1];
  if (begin == end) return;
  list_rows_ += end - begin;
  int64_t first = begin / kTileRows;
  int64_t last = tile_count(end);
  if (last - first > 1 && !take_tile(last - 1)) --last;
  if (!take_tile(first)) ++first;
  if (first == last) return;
  PlaneTiles tiles = {first, last, list};
  if (next_list_ >= 0) {
    const auto next = static_cast<size_t>(next_list_);
    tiles.next_first = level_.offsets[next] / kTileRows;
    tiles.next_last = std::min(tile_count(level_.offsets[next + 1]), tiles.next_first + kMostFetchedTiles);
  }
  read_tiles(tiles);
}

bool ProbeSearch::take_tile(int64_t tile) {
  uint64_t& word = taken_[static_cast<size_t>(tile / 64)];
  const uint64_t bit = uint64_t{1} << tile % 64;
  const bool is_new = (word & bit) == 0;
  word |= bit;
  return is_new;
}

void ProbeSearch::read_tiles(const PlaneTiles& tiles) {
  context_.kernels.planes->estimate(part_, tiles, query_.planes, share_, limit_, kept_);
  const int64_t read = std::min(part_.rows, tiles.last * kTileRows) - tiles.first * kTileRows;
  cost_.rows_scanned += read;
  cost_.bytes_scanned += read * plane1_row_bytes(part_.dims);
  if (score_after_ < kNever) fetch_kept();
}

int32_t ProbeSearch::row_at(int32_t position) const {
  if (position >= part_.rows) return -1;
  const int32_t row = level_.rows[static_cast<size_t>(position)];
  return row < part_.rows ? row : -1;
}

// Fetches the vectors of the rows whose numbers were fetched before, and the numbers of the others.
void ProbeSearch::fetch_kept() {
  for (; kept_.fetched < kept_.numbered; ++kept_.fetched)
    if (const int32_t row = row_at(kept_.positions[kept_.fetched]); row >= 0)
      fetch_row(context_.model, part_.first_row + row);
  for (; kept_.numbered < kept_.count; ++kept_.numbered)
    if (kept_.positions[kept_.numbered] < part_.rows)
      __builtin_prefetch(level_.rows.data() + kept_.positions[kept_.numbered]);
}

// Scores rows that were kept. What is kept and scored before a row is read does not depend on the recall, so
// a larger one scores every row that a smaller one does.
void ProbeSearch::score_kept() {
  std::vector<Survivor> rows;
  for (size_t i = 0; i < kept_.count; ++i)
    if (const int32_t row = row_at(kept_.positions[i]); row >= 0)
      rows.push_back({row, 0, std::isnan(kept_.estimates[i]) ? 1 : kept_.estimates[i]});
  kept_.count = kept_.fetched = kept_.numbered = 0;
  score_after_ = list_rows_ + list_rows_ / kRowsPerScores;
  score(rows);
}

// Scores the most promising of the first rows, so that there is a threshold, and drops those below it.
void ProbeSearch::score_first() {
  std::vector<size_t> order(kept_.count);
  std::iota(order.begin(), order.end(), size_t{0});
  for (float& estimate : std::span(kept_.estimates).first(kept_.count))
    if (std::isnan(estimate)) estimate = 1;
  const auto first =
      order.begin() + std::min<int64_t>(kFirstScores * k() + kMoreFirstScores, std::ssize(order));
  std::nth_element(order.begin(), first, order.end(), [this](size_t a, size_t b) {
    const float estimate_a = kept_.estimates[a], estimate_b = kept_.estimates[b];
    return estimate_a != estimate_b ? estimate_a > estimate_b : a < b;
  });
  std::vector<Survivor> rows;
  for (auto i = order.begin(); i != first; ++i) {
    if (const int32_t row = row_at(kept_.positions[*i]); row >= 0)
      rows.push_back({row, 0, kept_.estimates[*i]});
    kept_.positions[*i] = -1;
  }
  score(rows);
  size_t left = 0;
  for (size_t i = 0; i < kept_.count; ++i) {
    if (kept_.positions[i] < 0 || kept_.estimates[i] < limit_) continue;
    kept_.positions[left] = kept_.positions[i];
    kept_.estimates[left++] = kept_.estimates[i];
  }
  kept_.count = left;
}

// Scores those rows that may reach the threshold, and raises it.
void ProbeSearch::score(std::span<const Survivor> survivors) {
  const std::vector<int32_t>& excluded = request_.query->excluded;
  scored_.clear();
  for (const Survivor& survivor : survivors) {
    const int64_t id = part_.first_row + survivor.row;
    if (!(survivor.upper < limit_) && !std::binary_search(excluded.begin(), excluded.end(), id))
      scored_.push_back({id, kNoSimilarity});
  }
  if (scored_.empty()) return;
  score_rows(context_, *request_.query, wide_.data(), scored_);
  cost_.candidates += std::ssize(scored_);
  for (const Neighbor& row : scored_) best_.offer(row);
  const double threshold = best_.threshold();
  if (!(threshold > kNoSimilarity)) return;
  limit_ = round_down_to_float(threshold);
  share_ = margin_ * static_cast<float>(std::sqrt(std::max(0.0, 1 - threshold * threshold)));
}

}  // namespace glove::cpu
