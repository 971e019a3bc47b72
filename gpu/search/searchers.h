// The searchers of models and live indexes that are on devices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "gpu/residency/arena.h"
#include "gpu/search/side_threads.h"
#include "search/searcher.h"

namespace glove::gpu {

// Searches a model with vectors that is resident on a device.
std::shared_ptr<Searcher> make_device_searcher(std::shared_ptr<Arena> arena);

// Searches a live index whose segments are in device memory. Their vectors are in the user's table, so the
// searcher returns candidates, as Searcher::search() describes for a model without vectors; its score_all()
// returns kUnavailable. REQUIRES: the arena has the model's parts; the caller is within
// SharedDevice::in_turn().
std::shared_ptr<Searcher> make_segment_searcher(std::shared_ptr<Arena> arena, ModelPtr model);

// Rows [first_row, first_row + rows) of a model, and who answers for them, with the model's ids.
struct SearchedSlice {
  int64_t first_row = 0;
  int64_t rows = 0;
  std::string device;                   // "device 1 (NVIDIA H200)"
  std::shared_ptr<Searcher> on_device;  // null if the device failed before
  std::shared_ptr<Searcher> on_host;    // null if nobody answers in place of the device
  std::string failure;                  // why on_device is null

  // Returns "0 to 319".
  std::string range() const {
    return std::to_string(first_row) + " to " + std::to_string(first_row + rows - 1);
  }
};

// Searches a model that is spread over several devices. A slice whose device fails is answered by the host
// from then on; the log says so once, and info() as long as the searcher lives. If the last device that is
// left fails, so does the search.
// `path` is the model's, for messages. `log` may be null, and must otherwise outlive the searcher.
// REQUIRES: the slices are contiguous from row 0 on, and at least one has its device.
std::shared_ptr<Searcher> make_spread_searcher(std::string path, std::vector<SearchedSlice> slices,
                                               std::shared_ptr<SideThreads> threads, Log* log);

}  // namespace glove::gpu
