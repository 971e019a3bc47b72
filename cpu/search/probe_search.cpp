#include "cpu/search/probe_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/thread_pool.h"
#include "base/timer.h"
#include "cpu/kernels/wide_query.h"
#include "cpu/search/plane_parts.h"
#include "lists/planes.h"
#include "search/nearest.h"

namespace glove::cpu {
namespace {

constexpr float kNoLimit = -std::numeric_limits<float>::infinity();
// The rows of the first lists that are scored before there is a threshold, for each row of the answer and in
// addition.
constexpr int64_t kFirstScores = 2;
constexpr int64_t kMoreFirstScores = 16;
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
      margin_(level_.recall->margin(which_)),
      split_(split_query(request.query->vector, request.query->norm_squared)),
      wide_(widen(request.query->vector)),
      order_products_(products_with_centroids(context, level_.recall->lists, *request.query)),
      products_(static_cast<size_t>(level_.lists())),
      taken_(static_cast<size_t>(tile_count(part_.rows) / 64 + 1)),
      order_(order_products_, level_.offsets),
      next_list_(order_.next()),
      best_(k()),
      share_(margin_),
      limit_(kNoLimit) {
  context.kernels.planes->pack(split_, part_.dims, codes_);
  const float* const factors = level_.recall->lists.factors.data();
  for (size_t i = 0; i < products_.size(); ++i)
    products_[i] = static_cast<float>(order_products_[i]) * factors[i];
}

Status search_approximately(const ScanContext& context, std::span<SearchRequest> requests) {
  const SharedInterrupt shared(requests);
  const auto answer = [&](SearchRequest& request, const InterruptCheck& interrupted) -> Status {
    const Timer timer;
    ProbeSearch search(context, request);
    ScanCost cost;
    GLOVE_ASSIGN_OR_RETURN(request.approximate, search.run(interrupted, cost));
    if (request.approximate) request.rows = search.take_rows();
    cost.scan_us = timer.microseconds();
    request.cost.add(cost);
    return {};
  };
  if (requests.size() == 1 && wants_probe_search(context, requests.front()))
    return answer(requests.front(), shared.check());
  const auto work = [&](int, int64_t i) {
    SearchRequest& request = requests[static_cast<size_t>(i)];
    if (wants_probe_search(context, request)) (void)answer(request, {});  // nothing stops it
  };
  if (!ThreadPool::instance().run(context.threads, std::ssize(requests), work, shared.check()))
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
    if (list_rows_ >= score_after_) score_kept();
  }
  score_kept();
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
  fetch(level_.plane1.data(), tile * tile_bytes, end_tile * tile_bytes);
  fetch(level_.bounds1.data(), tile * kBoundBytes, end_tile * kBoundBytes);
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

void ProbeSearch::read_tiles(int64_t first, int64_t last) {
  context_.kernels.planes->estimate(part_, first, last, plane_query(split_, codes_, products_, part_.dims),
                                    share_, limit_, kept_);
  const int64_t read = std::min(part_.rows, last * kTileRows) - first * kTileRows;
  cost_.rows_scanned += read;
  cost_.bytes_scanned += read * plane1_row_bytes(part_.dims);
  if (limit_ > kNoLimit) fetch_kept();
}

int32_t ProbeSearch::row_at(int32_t position) const {
  if (position >= part_.rows) return -1;
  const int32_t row = level_.rows[static_cast<size_t>(position)];
  return row < part_.rows ? row : -1;
}

// Fetches the vectors of the rows whose numbers were fetched before, and the numbers of the others.
void ProbeSearch::fetch_kept() {
  for (; fetched_ < numbered_; ++fetched_)
    if (const int32_t row = row_at(kept_.positions[fetched_]); row >= 0)
      fetch_row(context_.model, part_.first_row + row);
  for (; numbered_ < kept_.count; ++numbered_)
    __builtin_prefetch(level_.rows.data() + kept_.positions[numbered_]);
}

// Scores the rows that were kept. Until there is a threshold these are all, and the most promising ones give
// one. What is kept and scored before a row is read does not depend on the recall, so a larger one scores
// every row that a smaller one does.
void ProbeSearch::score_kept() {
  score_after_ = 2 * list_rows_;
  std::vector<Survivor> rows;
  for (size_t i = 0; i < kept_.count; ++i)
    if (const int32_t row = row_at(kept_.positions[i]); row >= 0)
      rows.push_back({row, 0, std::isnan(kept_.estimates[i]) ? 1 : kept_.estimates[i]});
  kept_.count = fetched_ = numbered_ = 0;
  std::span<const Survivor> left = rows;
  if (!(limit_ > kNoLimit)) {
    const auto first = std::min<int64_t>(kFirstScores * k() + kMoreFirstScores, std::ssize(rows));
    std::nth_element(rows.begin(), rows.begin() + first, rows.end(), [](const Survivor& a, const Survivor& b) {
      return a.upper != b.upper ? a.upper > b.upper : a.row < b.row;
    });
    score(left.first(static_cast<size_t>(first)));
    left = left.subspan(static_cast<size_t>(first));
  }
  score(left);
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
