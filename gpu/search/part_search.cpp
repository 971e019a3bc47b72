#include "gpu/search/part_search.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace glove::gpu {

Status propose_in_parts(Device& device, std::span<const DevicePart> parts, std::span<SearchRequest> requests,
                        int64_t top_rows, const InterruptCheck& interrupted) {
  std::vector<std::vector<Neighbor>> earlier(parts.size() == 1 ? 0 : requests.size());
  for (const DevicePart& part : parts) {
    GLOVE_RETURN_IF_ERROR(device.propose(part, requests, std::min(part.rows, top_rows), interrupted));
    for (size_t i = 0; i < earlier.size(); ++i) {
      for (Neighbor& row : requests[i].rows) row.id += static_cast<int32_t>(part.first_row);
      earlier[i].insert(earlier[i].end(), requests[i].rows.begin(), requests[i].rows.end());
    }
  }
  for (size_t i = 0; i < earlier.size(); ++i) requests[i].rows = std::move(earlier[i]);
  return {};
}

Status score_all_parts(Device& device, std::span<const DevicePart> parts, const Query& query,
                       std::span<double> dots, const InterruptCheck& interrupted, ScanCost& cost) {
  for (const DevicePart& part : parts) {
    const auto part_dots = dots.subspan(static_cast<size_t>(part.first_row), static_cast<size_t>(part.rows));
    GLOVE_RETURN_IF_ERROR(device.score_all(part, query, part_dots, interrupted, cost));
  }
  return {};
}

}  // namespace glove::gpu
