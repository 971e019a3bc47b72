#include "tests/gpu/fake_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <thread>

#include "analysis/analysis.h"
#include "cpu/cpu_analysis.h"
#include "gpu/layout/bounds.h"
#include "gpu/layout/packed_rows.h"
#include "gpu/layout/plan.h"
#include "gpu/layout/query_codes.h"
#include "model/exact_dot.h"
#include "model/nibbles.h"
#include "model/quantize.h"

namespace glove::testing {
namespace {

// Copies as late as a device may, in wait(), and then overwrites the block, as if it were filled with other
// bytes.
class FakeRing : public gpu::CopyRing {
 public:
  explicit FakeRing(FakeDevice::Knobs& knobs) : knobs_(knobs) {}
  ~FakeRing() override {
    for (const Copy& copy : pending_)
      EXPECT_EQ(copy.bytes, 0) << "a ring was given back with a copy on its way";
  }

  int slots() const override { return 3; }
  std::span<std::byte> block(int slot) override { return blocks_[slot]; }
  Status copy(int slot, std::byte* device_address, int64_t bytes) override {
    if (knobs_.fail_copies_after >= 0 && knobs_.fail_copies_after.fetch_sub(1) <= 0) {
      knobs_.fail_copies_after = 0;
      return {ErrorCode::kUnavailable, "fake: the copy failed"};
    }
    ++knobs_.copies;
    pending_[slot] = {device_address, bytes};
    return {};
  }
  Status wait(int slot) override {
    if (pending_[slot].bytes > 0) {
      std::memcpy(pending_[slot].address, blocks_[slot].data(), static_cast<size_t>(pending_[slot].bytes));
      for (std::byte& byte : blocks_[slot]) byte = std::byte{0xA5};
    }
    pending_[slot] = {};
    return {};
  }

 private:
  struct Copy {
    std::byte* address = nullptr;
    int64_t bytes = 0;
  };
  FakeDevice::Knobs& knobs_;
  std::array<std::byte, 4096> blocks_[3] = {};
  Copy pending_[3];
};

struct Bounds {
  float lower;
  float upper;
};

constexpr Bounds kNoBounds = {-std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity()};

// Computes a row's bounds from its codes and the query's planes.
//   code_of  returns the code of a component
template <class CodeOf>
Bounds bounds_of(int64_t dims, const CodeOf& code_of, float scale, float residual,
                 const std::vector<int8_t>& planes, const QueryBound& bound) {
  if (std::isinf(residual)) return kNoBounds;
  const int8_t* const codes = planes.data();
  int32_t sum = 0;
  for (int64_t j = 0; j < dims; ++j) {
    const int64_t at = j / 4 * 8 + j % 4;
    sum += code_of(j) * (codes[at] * 128 + codes[at + 4]);
  }
  const float estimate = bound.estimate(static_cast<float>(sum), scale);
  const float error = bound.error(residual);
  return {estimate - error, estimate + error};
}

// The same from one of the arrays of a part.
Bounds fine_bounds(const gpu::DevicePart& part, int64_t row, const std::vector<int8_t>& planes,
                   const QuantizedQuery& query) {
  const auto code_of = [&](int64_t j) -> int { return part.level.codes[code_index(row, j, part.dims)]; };
  const float scale = part.level.scales[row];
  const float residual = part.level.residuals[row];
  if (part.coding == nullptr || std::isinf(residual))
    return bounds_of(part.dims, code_of, scale, residual, planes, query.bound);
  int32_t sum = 0;
  for (int64_t j = 0; j < part.dims; ++j) sum += code_of(j) * query.codes[static_cast<size_t>(j)];
  const auto [lower, upper] = gpu::shifted_bounds(query.bound, query.shift, static_cast<float>(sum), scale,
                                                  residual, part.level.along[row], part.level.lengths[row]);
  return {lower, upper};
}

Bounds coarse_bounds(const gpu::DevicePart& part, int64_t row, const std::vector<int8_t>& planes,
                     const QueryBound& bound) {
  const auto code_of = [&](int64_t j) {
    return nibble_code(part.coarse.codes[nibble_index(row, j, part.dims)], j);
  };
  return bounds_of(part.dims, code_of, part.coarse.scales[row], part.coarse.residuals[row], planes, bound);
}

Bounds packed_bounds(const gpu::DevicePart& part, int64_t row, const std::vector<int8_t>& planes,
                     const QueryBound& bound) {
  const int64_t bytes = gpu::packed_row_bytes(part.dims);
  const std::byte* packed = part.packed_rows + row * bytes;
  float numbers[2];
  std::memcpy(numbers, packed + bytes - 8, 8);
  const auto code_of = [&](int64_t j) -> int { return static_cast<int8_t>(packed[j]); };
  return bounds_of(part.dims, code_of, numbers[0], numbers[1], planes, bound);
}

// Whether the part's mask has the row.
bool admits(const gpu::DevicePart& part, int64_t row) {
  return part.mask.words == nullptr || (part.mask.words[row / kTileRows] >> (row % kTileRows) & 1) != 0;
}

double similarity_of(const gpu::DevicePart& part, int64_t row, const Query& query) {
  return cosine_from_dots(exact_dot(query.vector.data(), part.vectors + row * part.dims, part.dims),
                          query.norm_squared, part.norms_squared[row]);
}

// The upper bound of each row that has one, and the row.
using Uppers = std::vector<std::pair<float, int64_t>>;

Uppers uppers_by_4_bits(const gpu::DevicePart& part, const std::vector<int8_t>& planes,
                        const QueryBound& bound) {
  Uppers uppers;
  for (int64_t row = 0; row < part.rows; ++row) {
    const float upper = coarse_bounds(part, row, planes, bound).upper;
    if (admits(part, row) && upper > -std::numeric_limits<float>::infinity()) uppers.emplace_back(upper, row);
  }
  return uppers;
}

// As the scan of 4 bits, with the rows of the best upper bounds as seeds.
std::vector<Neighbor> coarse_search(const gpu::DevicePart& part, const Query& query, int64_t top_rows) {
  const QuantizedQuery quantized = quantize_query(query.vector, query.norm_squared, gpu::kTwoPlaneCode);
  std::vector<int8_t> planes(quantized.codes.size() * 2);
  gpu::pack_planes(quantized.codes, planes.data());
  Uppers uppers = uppers_by_4_bits(part, planes, quantized.bound);
  std::ranges::sort(uppers, std::greater<>());
  std::vector<double> seeds;
  for (size_t i = 0; i < std::min(uppers.size(), static_cast<size_t>(2 * top_rows)); ++i)
    seeds.push_back(similarity_of(part, uppers[i].second, query));
  std::ranges::sort(seeds, std::greater<>());
  const auto k = static_cast<size_t>(top_rows);
  const double threshold = seeds.size() < k ? -2.0 : seeds[k - 1];
  std::vector<Neighbor> candidates;
  for (const auto& [upper, row] : uppers)
    if (upper >= threshold && packed_bounds(part, row, planes, quantized.bound).upper >= threshold)
      candidates.push_back({static_cast<int32_t>(row), similarity_of(part, row, query)});
  return candidates;
}

// As the scan of 8 bits or, for a query of a batch, the scan with one plane, which makes use of Query::least.
std::vector<Neighbor> search(const gpu::DevicePart& part, const Query& query, int64_t top_rows,
                             bool in_batch) {
  const gpu::DeviceQuery quantized =
      in_batch ? gpu::quantize_for_batch(part, query) : gpu::quantize_for_device(part, query);
  std::vector<int8_t> planes(quantized.codes.codes.size() * 2);
  gpu::pack_planes(quantized.codes.codes, planes.data());
  std::vector<Bounds> rows;
  std::vector<int64_t> counts(gpu::kBins);
  for (int64_t row = 0; row < part.rows; ++row) {
    rows.push_back(admits(part, row) ? fine_bounds(part, row, planes, quantized.codes) : kNoBounds);
    if (std::isfinite(rows.back().lower)) ++counts[static_cast<size_t>(gpu::bin_of(rows.back().lower))];
  }
  int bin = gpu::kBins;
  int64_t above = 0;
  while (bin > 0 && above < top_rows) above += counts[static_cast<size_t>(--bin)];
  const uint16_t threshold = gpu::threshold_code(above < top_rows ? gpu::bin_floor(0) : gpu::bin_floor(bin));
  std::vector<Neighbor> candidates;
  for (int64_t row = 0; row < part.rows; ++row) {
    const float upper = rows[static_cast<size_t>(row)].upper;
    const uint16_t code = gpu::upper_code(upper);
    if (code < threshold || (in_batch && upper < quantized.least)) continue;
    candidates.push_back({static_cast<int32_t>(row), gpu::upper_of_code(code)});
    if (part.vectors != nullptr) candidates.back().similarity = similarity_of(part, row, query);
  }
  return candidates;
}

}  // namespace

Result<gpu::DeviceBlock> FakeDevice::allocate(int64_t bytes) {
  if (knobs_.lost) return Error{ErrorCode::kUnavailable, "fake: lost"};
  if (knobs_.allocated + bytes > knobs_.total_bytes) return Error{ErrorCode::kOutOfMemory, "fake: full"};
  knobs_.allocated += bytes;
  ++knobs_.allocations;
  std::vector<std::byte> block(static_cast<size_t>(bytes), std::byte{0x5A});
  std::byte* data = block.data();
  const std::lock_guard lock(mutex_);
  blocks_[data] = std::move(block);
  return gpu::DeviceBlock(this, data, bytes);
}

void FakeDevice::deallocate(std::byte* data) {
  ++knobs_.deallocations;
  while (knobs_.hold_deallocations) std::this_thread::yield();
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(data);
  knobs_.allocated -= static_cast<int64_t>(found->second.size());
  blocks_.erase(found);
}

Result<std::shared_ptr<gpu::CopyRing>> FakeDevice::take_ring() {
  if (knobs_.ring_missing) return Error{ErrorCode::kOutOfMemory, "fake: no pinned memory"};
  return std::shared_ptr<gpu::CopyRing>(std::make_shared<FakeRing>(knobs_));
}

Status FakeDevice::propose(const gpu::DevicePart& part, std::span<SearchRequest> requests, int64_t top_rows,
                           const InterruptCheck& interrupted) {
  if (knobs_.lost) return {ErrorCode::kUnavailable, "fake: lost"};
  for (SearchRequest& request : requests) {
    GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    if (knobs_.searches_left >= 0 && knobs_.searches_left.fetch_sub(1) <= 0) {
      knobs_.lost = true;
      return {ErrorCode::kUnavailable, "fake: lost"};
    }
    const bool coarse = gpu::plan_single(part, top_rows, info_.coarse_from).bits == 4;
    request.rows = coarse ? coarse_search(part, *request.query, top_rows)
                          : search(part, *request.query, top_rows, requests.size() > 1);
    if (part.vectors == nullptr && requests.size() > 1)  // as the kernels for batches
      for (Neighbor& row : request.rows) row.similarity = kNoScore;
    request.cost.rows_scanned += part.admissible_rows();
    request.cost.candidates += std::ssize(request.rows);
    knobs_.coarse_searches += coarse ? 1 : 0;
    ++knobs_.searches;
  }
  return {};
}

Status FakeDevice::pack_rows(const gpu::DevicePart& part, std::byte* rows) {
  if (knobs_.lost) return {ErrorCode::kUnavailable, "fake: lost"};
  const int64_t bytes = gpu::packed_row_bytes(part.dims);
  for (int64_t row = 0; row < tile_count(part.rows) * kTileRows; ++row, rows += bytes) {
    std::fill_n(rows, bytes, std::byte{0});
    for (int64_t j = 0; j < part.dims; ++j)
      rows[j] = static_cast<std::byte>(part.level.codes[code_index(row, j, part.dims)]);
    std::memcpy(rows + bytes - 8, part.level.scales + row, 4);
    std::memcpy(rows + bytes - 4, part.level.residuals + row, 4);
  }
  return {};
}

Status FakeDevice::score_all(const gpu::DevicePart& part, const Query& query, std::span<double> dots,
                             const InterruptCheck&, ScanCost& cost) {
  if (knobs_.lost) return {ErrorCode::kUnavailable, "fake: lost"};
  ++knobs_.searches;
  for (int64_t row = 0; row < part.rows; ++row)
    dots[static_cast<size_t>(row)] =
        exact_dot(query.vector.data(), part.vectors + row * part.dims, part.dims);
  cost.rows_scanned += part.rows;
  return {};
}

namespace {

// The rows that were uploaded, as the CPU's analyses take them.
Points points_of(const gpu::DevicePart& part) {
  return {part.rows,        part.dims,         part.vectors,         part.norms_squared,
          part.level.codes, part.level.scales, part.level.residuals, nullptr};
}

std::unique_ptr<Analysis> host_analysis() {
  return std::move(make_cpu_analysis({"", 2}).value());
}

// Reads what was uploaded, with the CPU's analyses.
class FakePass : public KMeansPass {
 public:
  FakePass(FakeDevice::Knobs& knobs, const gpu::DevicePart& part, Metric metric, int64_t count)
      : knobs_(knobs), analysis_(host_analysis()) {
    pass_ = std::move(analysis_->kmeans_pass(points_of(part), metric, count, {}).value());
  }

  Status start(const Centroids& centroids) override { return pass_->start(centroids); }
  Result<Step> iterate(const InterruptCheck& interrupted) override {
    if (knobs_.lost) return Error{ErrorCode::kUnavailable, "fake: lost"};
    return pass_->iterate(interrupted);
  }
  Status refill(std::span<const int32_t> rows, std::span<const int32_t> clusters,
                const InterruptCheck& interrupted) override {
    return pass_->refill(rows, clusters, interrupted);
  }
  Status read_centroids(Centroids& centroids) override { return pass_->read_centroids(centroids); }
  Status nearest_two(const Centroids& centroids, std::span<NearestTwo> nearest,
                     const InterruptCheck& interrupted) override {
    return pass_->nearest_two(centroids, nearest, interrupted);
  }
  Status dots(std::span<const float> vector, std::span<double> dots,
              const InterruptCheck& interrupted) override {
    return pass_->dots(vector, dots, interrupted);
  }

 private:
  FakeDevice::Knobs& knobs_;
  std::unique_ptr<Analysis> analysis_;
  std::unique_ptr<KMeansPass> pass_;
};

}  // namespace

Result<std::unique_ptr<KMeansPass>> FakeDevice::kmeans_pass(const gpu::DevicePart& part,
                                                            const FixedSums& format, int64_t count) {
  if (knobs_.lost) return Error{ErrorCode::kUnavailable, "fake: lost"};
  ++knobs_.passes;
  return std::unique_ptr<KMeansPass>(std::make_unique<FakePass>(knobs_, part, format.metric, count));
}

}  // namespace glove::testing
