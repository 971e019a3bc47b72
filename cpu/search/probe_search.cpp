#include "cpu/search/probe_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/thread_pool.h"
#include "base/timer.h"
#include "cpu/kernels/collector.h"
#include "cpu/search/plane_parts.h"
#include "lists/planes.h"
#include "model/exact_dot.h"

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
// The lists nearest to a query without its nearest row that are read, if that row's similarity is below this:
// otherwise the query resembles one row and not a sum.
constexpr size_t kRemainderLists = 4;
constexpr double kResemblesOneRow = 0.9;

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

// Returns what is left of a query's direction without that of a row with this similarity.
MaybeQuery without_row(const Query& query, double similarity, const std::vector<float>& row) {
  const double norm_squared = exact_dot(row.data(), row.data(), std::ssize(row));
  if (!(norm_squared > 0)) return std::nullopt;
  const double scale = 1 / std::sqrt(query.norm_squared);
  const double factor = similarity / std::sqrt(norm_squared);
  std::vector<float> remainder(row.size());
  for (size_t i = 0; i < row.size(); ++i)
    remainder[i] = static_cast<float>(scale * double{query.vector[i]} - factor * double{row[i]});
  return make_query(std::move(remainder), {});
}

// Marks what is read now. Returns false if it was read before.
bool take(std::vector<bool>& taken, int64_t number) {
  const auto place = static_cast<size_t>(number);
  if (taken[place]) return false;
  return taken[place] = true;
}

}  // namespace

std::vector<size_t> greatest_estimates(std::span<const float> estimates, size_t count) {
  std::vector<size_t> numbers;
  if (count == 0) return numbers;
  float least = kNoLimit;
  if (count < estimates.size()) {
    std::vector<float> values(estimates.begin(), estimates.end());
    const auto last = values.begin() + static_cast<int64_t>(count - 1);
    std::nth_element(values.begin(), last, values.end(), std::greater<>());
    least = *last;
  }
  const auto is_greater = [least](float estimate) { return estimate > least; };
  int64_t equal = static_cast<int64_t>(count) - std::ranges::count_if(estimates, is_greater);
  for (size_t i = 0; i < estimates.size(); ++i)
    if (estimates[i] > least || (estimates[i] == least && equal-- > 0)) numbers.push_back(i);
  return numbers;
}

ProbeQuery::ProbeQuery(const ScanContext& context, const Query& query, const RecallTable& table)
    : split(split_query(query.vector, query.norm_squared)),
      codes(packed_codes(context, split)),
      order(products_with_centroids(context, table.lists, query)),
      products(scaled(order, table.lists.factors)),
      planes(plane_query(split, codes, products, context.model.dims())) {}

ProbeSearch::ProbeSearch(const ScanContext& context, const SearchRequest& request, const ProbePlan& plan)
    : context_(context),
      request_(request),
      plan_(plan),
      last_(make_last_level(context, request)),
      margin_(plan.table->margin(plan.which)),
      query_(context, *request.query, *plan.table),
      own_offsets_(calibrated_offsets(parts(), plan)),
      offsets_(own_offsets_.empty() ? parts().front().planes->offsets : own_offsets_),
      read_{std::vector<bool>(offsets_.size())},
      order_(query_.order, offsets_),
      next_list_(order_.next()),
      best_(plan.k),
      share_(margin_),
      limit_(kNoLimit) {
  cost_.lists = std::ssize(offsets_) - 1;
  for (const ModelPart& part : parts()) read_.tiles.emplace_back(static_cast<size_t>(tile_count(part.rows)));
}

Status search_approximately(const ScanContext& context, std::span<SearchRequest> requests) {
  const SharedInterrupt shared(requests);
  const auto answer = [&](SearchRequest& request, const InterruptCheck& interrupted) -> Status {
    const std::optional<ProbePlan> plan = plan_probe(context, request, request.cost.unmet);
    if (!plan) return {};
    const Timer timer;
    ProbeSearch search(context, request, *plan);
    GLOVE_ASSIGN_OR_RETURN(auto rows, search.run(interrupted));
    request.cost.add(search.cost());
    request.cost.scan_us += timer.microseconds();
    request.cost.plan = has_vectors(context.model) ? "lists -> vectors" : "lists -> 8 bits";
    request.cost.approximate = rows.has_value();
    if (!rows) request.cost.unmet = "the query is unlike those of the calibration";
    if (rows) request.rows = std::move(*rows);
    return {};
  };
  if (requests.size() == 1) return answer(requests.front(), shared.check());
  ThreadInterrupt interrupt(shared.check());
  const auto work = [&](int slot, int64_t i) {
    // Requests that read rows from a file, which may fail, come one at a time; these can only be interrupted.
    (void)answer(requests[static_cast<size_t>(i)], interrupt.of(slot));
  };
  if (!ThreadPool::instance().run(context.threads, std::ssize(requests), work, interrupt.of(0)) ||
      interrupt.stopped())
    return interrupted_error();
  return {};
}

Result<std::optional<std::vector<Neighbor>>> ProbeSearch::run(const InterruptCheck& interrupted) {
  const int64_t k = kRecallKs[static_cast<size_t>(plan_.which)];
  const int64_t first = recall_rows(k, 0);
  GLOVE_RETURN_IF_ERROR(read_lists(std::max(first / 4, std::min(4 * k, first)), interrupted));
  GLOVE_RETURN_IF_ERROR(score_first());
  GLOVE_RETURN_IF_ERROR(read_lists(first, interrupted));
  GLOVE_RETURN_IF_ERROR(score_first());
  GLOVE_RETURN_IF_ERROR(score_kept());
  if (!(best_.threshold() > kNoScore)) return std::optional<std::vector<Neighbor>>();
  nearest_.excluded = last_->nearest_excluded();
  const int64_t rows =
      plan_.table->rows_to_read(plan_.which, measurements(), request_.terms.recall, plan_.rows);
  if (rows < 0) return std::optional<std::vector<Neighbor>>();
  GLOVE_RETURN_IF_ERROR(read_remainder());
  GLOVE_RETURN_IF_ERROR(read_lists(rows, interrupted));
  GLOVE_RETURN_IF_ERROR(score_kept());
  GLOVE_RETURN_IF_ERROR(read_others(interrupted));
  GLOVE_ASSIGN_OR_RETURN(auto answer, last_->finish(interrupted, cost_));
  return std::optional(std::move(answer));
}

Status ProbeSearch::read_others(const InterruptCheck& interrupted) {
  CodeScan& codes = last_->codes();
  for (size_t i = 0; i < parts().size(); ++i)
    if (parts()[i].planes == nullptr) GLOVE_RETURN_IF_ERROR(codes.scan_part(i, interrupted));
  cost_.rows_scanned += codes.rows();
  cost_.bytes_scanned += codes.bytes();
  return {};
}

RecallMeasurements ProbeSearch::measurements() const {
  std::vector<double> similarities;
  for (const Neighbor& row : best_.rows()) similarities.push_back(row.similarity);
  std::ranges::sort(similarities, std::greater<>());
  const double nearest = std::max(similarities.front(), nearest_.excluded);
  return measure_recall(order_, plan_.table->lists.scale, kRecallKs[static_cast<size_t>(plan_.which)],
                        similarities, nearest);
}

Status ProbeSearch::read_lists(int64_t rows, const InterruptCheck& interrupted) {
  int64_t next_check = cost_.rows_scanned;
  while (list_rows_ < rows) {
    if (cost_.rows_scanned >= next_check) {
      GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
      next_check = cost_.rows_scanned + kRowsPerCheck;
    }
    const int64_t list = std::exchange(next_list_, order_.next());
    if (list < 0) break;
    list_rows_ += offsets_[static_cast<size_t>(list) + 1] - offsets_[static_cast<size_t>(list)];
    GLOVE_RETURN_IF_ERROR(read_list(list));
    if (list_rows_ < score_after_) continue;
    GLOVE_RETURN_IF_ERROR(score_kept());
    GLOVE_RETURN_IF_ERROR(read_remainder());
  }
  return {};
}

// Called at the same places whatever the recall, so that a larger one reads every row that a smaller one
// does.
Status ProbeSearch::read_remainder() {
  const Neighbor nearest = nearest_.row;
  if (nearest.id == nearest_.taken_out || !(nearest.similarity > 0) ||
      std::max(nearest.similarity, nearest_.excluded) >= kResemblesOneRow)
    return {};
  nearest_.taken_out = nearest.id;
  GLOVE_ASSIGN_OR_RETURN(const std::vector<float> direction, last_->direction(nearest.id));
  const MaybeQuery remainder = without_row(*request_.query, nearest.similarity, direction);
  if (!remainder) return {};
  std::vector<int32_t> products = products_with_centroids(context_, plan_.table->lists, *remainder);
  for (size_t i = 0; i < std::min(kRemainderLists, products.size()); ++i) {
    const auto largest = std::ranges::max_element(products);
    GLOVE_RETURN_IF_ERROR(read_list(largest - products.begin()));
    *largest = std::numeric_limits<int32_t>::min();
  }
  return {};
}

Status ProbeSearch::read_list(int64_t list) {
  if (!take(read_.lists, list)) return {};
  ++cost_.lists_read;
  for (size_t part = 0; part < parts().size(); ++part)
    if (table_of(parts()[part]) != nullptr) GLOVE_RETURN_IF_ERROR(read_rows(part, list));
  return {};
}

// Reads the positions of a list. Only its first and its last tile may have been read with another list.
Status ProbeSearch::read_rows(size_t part, int64_t list) {
  const std::span<const int64_t> offsets = parts()[part].planes->offsets;
  const int64_t begin = offsets[static_cast<size_t>(list)];
  const int64_t end = offsets[static_cast<size_t>(list) + 1];
  if (begin == end) return {};
  int64_t first = begin / kTileRows;
  int64_t last = tile_count(end);
  if (last - first > 1 && !take(read_.tiles[part], last - 1)) --last;
  if (!take(read_.tiles[part], first)) ++first;
  if (first == last) return {};
  PlaneTiles tiles = {first, last, list};
  if (next_list_ >= 0) {
    const auto next = static_cast<size_t>(next_list_);
    tiles.next_first = offsets[next] / kTileRows;
    tiles.next_last = std::min(tile_count(offsets[next + 1]), tiles.next_first + kMostFetchedTiles);
  }
  return read_tiles(part, tiles);
}

Status ProbeSearch::read_tiles(size_t number, const PlaneTiles& tiles) {
  const ModelPart& part = parts()[number];
  const size_t before = kept_.count;
  if (part.planes->plane1.empty()) {
    GLOVE_ASSIGN_OR_RETURN(const auto bytes,
                           request_.terms.reader->read_plane1(number, tiles.first, tiles.last));
    const PlanePiece piece(part, tiles, bytes);
    PlaneQuery query = query_.planes;
    query.products = query.products.subspan(piece.first_list());
    context_.kernels.planes->estimate(piece.part(), {0, tiles.last - tiles.first}, query, share_, limit_,
                                      kept_);
    for (size_t i = before; i < kept_.count; ++i)
      kept_.positions[i] += static_cast<int32_t>(tiles.first * kTileRows);
  } else {
    context_.kernels.planes->estimate(part, tiles, query_.planes, share_, limit_, kept_);
  }
  keep_admissible(part, before);
  const int64_t read = std::min(part.rows, tiles.last * kTileRows) - tiles.first * kTileRows;
  cost_.rows_scanned += read;
  cost_.bytes_scanned += read * plane1_row_bytes(part.dims);
  if (score_after_ < kNever) fetch_kept();
  return {};
}

// Makes positions in one part, from `first` on, positions in all parts, and drops those whose rows the
// request does not admit.
void ProbeSearch::keep_admissible(const ModelPart& part, size_t first) {
  const RowMask* const among = request_.query->among.get();
  size_t left = first;
  for (size_t i = first; i < kept_.count; ++i) {
    if (kept_.positions[i] >= part.rows) continue;
    const auto position = static_cast<int32_t>(part.first_row + kept_.positions[i]);
    if (among != nullptr) {
      const int64_t row = row_at(position);
      if (row < 0 || !among->admits(row)) continue;
    }
    kept_.positions[left] = position;
    kept_.estimates[left++] = std::isnan(kept_.estimates[i]) ? 1 : kept_.estimates[i];
  }
  kept_.count = left;
}

int64_t ProbeSearch::row_at(int32_t position) const {
  const ModelPart& part = context_.model.part_of(position);
  const int32_t row = part.planes->rows[static_cast<size_t>(position - part.first_row)];
  return row >= 0 && row < part.rows ? part.first_row + row : -1;
}

// Fetches what the rows are scored by whose numbers were fetched before, and the numbers of the others.
void ProbeSearch::fetch_kept() {
  for (; kept_.fetched < kept_.numbered; ++kept_.fetched)
    if (const int64_t row = row_at(kept_.positions[kept_.fetched]); row >= 0) last_->fetch(row);
  for (; kept_.numbered < kept_.count; ++kept_.numbered) fetch_number(kept_.positions[kept_.numbered]);
}

// Fetches from memory what row_at() reads.
void ProbeSearch::fetch_number(int32_t position) const {
  const ModelPart& part = context_.model.part_of(position);
  __builtin_prefetch(part.planes->rows.data() + (position - part.first_row));
}

// Scores rows that were kept. What is kept and scored before a row is read does not depend on the recall, so
// a larger one scores every row that a smaller one does.
Status ProbeSearch::score_kept() {
  scored_.clear();
  for (size_t i = 0; i < kept_.count; ++i) choose(i);
  kept_.count = kept_.fetched = kept_.numbered = 0;
  score_after_ = list_rows_ + list_rows_ / kRowsPerScores;
  return score_chosen();
}

// Scores the most promising of the first rows, so that there is a threshold, and drops those below it.
Status ProbeSearch::score_first() {
  const std::vector<size_t> numbers =
      greatest_estimates(std::span(kept_.estimates).first(kept_.count),
                         static_cast<size_t>(kFirstScores * plan_.k + kMoreFirstScores));
  for (const size_t i : numbers) fetch_number(kept_.positions[i]);
  scored_.clear();
  for (const size_t i : numbers) {
    choose(i);
    kept_.positions[i] = -1;
  }
  GLOVE_RETURN_IF_ERROR(score_chosen());
  size_t left = 0;
  for (size_t i = 0; i < kept_.count; ++i) {
    if (kept_.positions[i] < 0 || kept_.estimates[i] < limit_) continue;
    kept_.positions[left] = kept_.positions[i];
    kept_.estimates[left++] = kept_.estimates[i];
  }
  kept_.count = left;
  return {};
}

// Appends a row to those that are scored together, if it may reach the threshold.
void ProbeSearch::choose(size_t kept) {
  if (kept_.estimates[kept] < limit_) return;
  const std::vector<int32_t>& excluded = request_.query->excluded;
  const auto row = static_cast<int32_t>(row_at(kept_.positions[kept]));
  if (row >= 0 && !std::ranges::binary_search(excluded, row)) scored_.push_back({row, kNoScore});
}

// Scores those rows, and raises the threshold.
Status ProbeSearch::score_chosen() {
  if (scored_.empty()) return {};
  GLOVE_RETURN_IF_ERROR(last_->score(0, scored_));
  cost_.candidates += std::ssize(scored_);
  for (const Neighbor& row : scored_) {
    best_.offer(row);
    if (ranks_before(row, nearest_.row)) nearest_.row = row;
  }
  const double threshold = best_.threshold();
  if (!(threshold > kNoScore)) return {};
  limit_ = round_down_to_float(threshold);
  share_ = margin_ * static_cast<float>(std::sqrt(std::max(0.0, 1 - threshold * threshold)));
  return {};
}

}  // namespace glove::cpu
