#include "gpu/search/device_searcher.h"

#include <algorithm>

#include "base/cores.h"
#include "base/thread_pool.h"
#include "base/timer.h"
#include "gpu/search/part_search.h"
#include "model/exact_dot.h"
#include "search/candidates.h"

namespace glove::gpu {
namespace {

// Rows of answers that a thread puts in order in less time than it takes to wake up.
constexpr int64_t kRowsPerThread = 2048;

// Computes D for every row on the host, for models whose vectors did not fit on the device.
Status score_on_host(const Model& model, const Query& query, std::span<double> dots,
                     const InterruptCheck& interrupted) {
  constexpr int64_t kChunkRows = 4096;
  const auto work = [&](int, int64_t chunk) {
    const int64_t end = std::min(model.words(), (chunk + 1) * kChunkRows);
    for (int64_t row = chunk * kChunkRows; row < end; ++row)
      dots[static_cast<size_t>(row)] = exact_dot(query.vector.data(), model.vector(row), model.dims());
  };
  const int64_t chunks = (model.words() + kChunkRows - 1) / kChunkRows;
  if (!ThreadPool::instance().run(usable_cores(), chunks, work, interrupted)) return interrupted_error();
  return {};
}

}  // namespace

Status DeviceSearcher::search(std::span<SearchRequest> requests) {
  GLOVE_RETURN_IF_ERROR(device_->available());
  const Model& model = *resident_->model();
  // Excluded words are filtered out here, so that many more rows are requested.
  int64_t top_rows = 0;
  for (const SearchRequest& request : requests)
    top_rows = std::max(top_rows, request.k + static_cast<int64_t>(request.query->excluded.size()));
  const SharedInterrupt shared(requests);
  const std::span<const DevicePart> parts = resident_->parts();
  if (Status status = propose_in_parts(device_->device(), parts, requests, top_rows, shared.check());
      !status.ok()) {
    device_->note_error(status.error());
    return status;
  }
  const bool scored = parts.front().vectors != nullptr;
  const auto finish = [&](int, int64_t i) {
    SearchRequest& request = requests[static_cast<size_t>(i)];
    if (!scored) rescore(model, *request.query, request.rows);
    for (Neighbor& row : request.rows) row.id += static_cast<int32_t>(first_row_);
    keep_best(*request.query, request.k, request.rows);
  };
  const Timer timer;
  const auto count = static_cast<int64_t>(requests.size());
  const int64_t threads = std::clamp<int64_t>(count * top_rows / kRowsPerThread, 1, usable_cores());
  if (!ThreadPool::instance().run(static_cast<int>(threads), count, finish, shared.check()))
    return interrupted_error();
  ScanCost cost;
  cost.rescore_us = timer.microseconds();
  charge(requests, cost);
  resident_->upload_rest();
  return {};
}

Status DeviceSearcher::score_all(const Query& query, std::span<double> dots,
                                 const InterruptCheck& interrupted, ScanCost& cost) {
  GLOVE_RETURN_IF_ERROR(device_->available());
  const Model& model = *resident_->model();
  const std::span<const DevicePart> parts = resident_->parts();
  if (parts.front().vectors == nullptr) {
    resident_->upload_rest();
    const Timer timer;
    GLOVE_RETURN_IF_ERROR(score_on_host(model, query, dots, interrupted));
    cost.rows_scanned += model.words();
    cost.rescore_us += timer.microseconds();
    return {};
  }
  Status status = score_all_parts(device_->device(), parts, query, dots, interrupted, cost);
  if (!status.ok()) device_->note_error(status.error());
  return status;
}

}  // namespace glove::gpu
