#include <algorithm>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "base/timer.h"
#include "gpu/residency/device_masks.h"
#include "gpu/search/searchers.h"
#include "search/candidates.h"

namespace glove::gpu {
namespace {

// Rows of answers that a thread puts in order in less time than it takes to wake up.
constexpr int64_t kRowsPerThread = 2048;
constexpr int64_t kRequestsAtOnce = 32;

// Computes product_of() of every row on the host, for models whose vectors are not on the device.
Status score_on_host(const Model& model, const Query& query, std::span<double> dots,
                     const InterruptCheck& interrupted) {
  constexpr int64_t kChunkRows = 4096;
  const auto work = [&](int, int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i)
      dots[static_cast<size_t>(i)] = product_of(model, query, model.first_row() + i);
  };
  return ThreadPool::for_pieces(usable_cores(), model.words(), kChunkRows, interrupted, work);
}

// Returns how the parts of a model lie in the tiles of its masks.
std::vector<PlacedRows> placed_parts(std::span<const DevicePart> parts) {
  std::vector<PlacedRows> placed;
  for (const DevicePart& part : parts) {
    const int64_t first_tile = placed.empty() ? 0 : placed.back().first_tile + tile_count(placed.back().rows);
    placed.push_back({first_tile, part.first_row, part.rows});
  }
  return placed;
}

// Device::propose for all parts, with the model's row ids: each part's candidates contain the part's best
// rows, so together they contain the model's best rows.
Status propose_in_parts(Device& device, std::span<const DevicePart> parts, std::span<SearchRequest> requests,
                        int64_t top_rows, const InterruptCheck& interrupted) {
  std::vector<std::vector<Neighbor>> earlier(parts.size() == 1 ? 0 : requests.size());
  for (const DevicePart& part : parts) {
    for (SearchRequest& request : requests) request.rows.clear();
    if (part.rows_to_scan() > 0)
      GLOVE_RETURN_IF_ERROR(device.propose(part, requests, std::min(part.rows, top_rows), interrupted));
    for (size_t i = 0; i < requests.size(); ++i) {
      std::vector<Neighbor>& rows = requests[i].rows;
      if (part.first_row > 0)
        for (Neighbor& row : rows) row.id += static_cast<int32_t>(part.first_row);
      if (earlier.empty()) continue;
      earlier[i].insert(earlier[i].end(), rows.begin(), rows.end());
      if (&part == &parts.back()) rows = std::move(earlier[i]);
    }
  }
  return {};
}

// Device::score_all for all parts, one after another.
Status score_in_parts(Device& device, std::span<const DevicePart> parts, const Query& query,
                      std::span<double> dots, const InterruptCheck& interrupted, ScanCost& cost) {
  for (const DevicePart& part : parts) {
    const auto rows = static_cast<size_t>(part.rows);
    GLOVE_RETURN_IF_ERROR(device.score_all(part, query, dots.first(rows), interrupted, cost));
    dots = dots.subspan(rows);
  }
  return {};
}

// Searches each part of the arena's model by a launch of its own.
class DeviceSearcher final : public Searcher {
 public:
  explicit DeviceSearcher(std::shared_ptr<Arena> arena)
      : arena_(std::move(arena)), masks_(arena_->device(), placed_parts(arena_->parts())) {}

  Status search(std::span<SearchRequest> requests) override {
    const Model& model = *arena_->model();
    // Excluded words are filtered out here, so that many more rows are requested.
    int64_t top_rows = 0;
    for (const SearchRequest& request : requests)
      top_rows = std::max(top_rows, request.k + static_cast<int64_t>(request.query->excluded.size()));
    const SharedInterrupt shared(requests);
    DeviceMasks::MaskPtr mask;  // as long as a launch reads it
    std::vector<DevicePart> masked;
    std::span<const DevicePart> parts = arena_->parts();
    if (const RowMaskPtr& among = requests.front().query->among; among != nullptr) {
      GLOVE_ASSIGN_OR_RETURN(mask, masks_.mask_for(among, {}, 0, shared.check()));
      masked.assign(parts.begin(), parts.end());
      for (size_t i = 0; i < masked.size(); ++i) {
        masked[i].mask = mask->placed[i];
        masked[i] = from_first_admissible(masked[i]);
      }
      parts = masked;
    }
    GLOVE_RETURN_IF_ERROR(arena_->device()->run(
        [&](Device& device) { return propose_in_parts(device, parts, requests, top_rows, shared.check()); }));
    const bool scored = parts.front().vectors != nullptr;
    const auto finish = [&](int, int64_t first, int64_t last) {
      const auto own = requests.subspan(static_cast<size_t>(first), static_cast<size_t>(last - first));
      for (SearchRequest& request : own) {
        if (!scored) rescore(model, *request.query, request.rows);
        keep_best(*request.query, request.k, request.rows);
      }
    };
    const Timer timer;
    const auto count = static_cast<int64_t>(requests.size());
    const int64_t threads = std::clamp<int64_t>(count * top_rows / kRowsPerThread, 1, usable_cores());
    const int64_t at_once = scored ? kRequestsAtOnce : 1;  // rescoring takes much longer
    GLOVE_RETURN_IF_ERROR(
        ThreadPool::for_pieces(static_cast<int>(threads), count, at_once, shared.check(), finish));
    ScanCost cost;
    cost.rescore_us = timer.microseconds();
    charge(requests, cost);
    arena_->upload_rest();
    return {};
  }

  Status score_all(const Query& query, std::span<double> dots, const InterruptCheck& interrupted,
                   ScanCost& cost) override {
    GLOVE_RETURN_IF_ERROR(arena_->device()->available());
    const Model& model = *arena_->model();
    const std::span<const DevicePart> parts = arena_->parts();
    if (parts.front().vectors == nullptr) {
      arena_->upload_rest();
      const Timer timer;
      GLOVE_RETURN_IF_ERROR(score_on_host(model, query, dots, interrupted));
      cost.rows_scanned += model.words();
      cost.rescore_us += timer.microseconds();
      return {};
    }
    return arena_->device()->run(
        [&](Device& device) { return score_in_parts(device, parts, query, dots, interrupted, cost); });
  }

  SearcherInfo info() const override {
    return arena_->device()->info(arena_->device_bytes() + masks_.bytes());
  }

 private:
  const std::shared_ptr<Arena> arena_;
  DeviceMasks masks_;
};

}  // namespace

std::shared_ptr<Searcher> make_device_searcher(std::shared_ptr<Arena> arena) {
  return std::make_shared<DeviceSearcher>(std::move(arena));
}

}  // namespace glove::gpu
