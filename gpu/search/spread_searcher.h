// A model that is spread over several devices, as a Searcher.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "gpu/search/side_threads.h"
#include "search/searcher.h"

namespace glove::gpu {

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

// Searches all slices side by side, one on the calling thread, and merges their answers; a large batch in
// several pieces at once. A slice whose device fails is answered by the host from then on; the log says so
// once, and info() as long as the searcher lives. If the last device that is left fails, so does the search.
class SpreadSearcher final : public Searcher {
 public:
  // `path` is the model's, for messages. `log` may be null, and must otherwise outlive the searcher.
  // REQUIRES: the slices are contiguous from row 0 on, and at least one has its device.
  SpreadSearcher(std::string path, std::vector<SearchedSlice> slices, std::shared_ptr<SideThreads> threads,
                 Log* log);

  Status search(std::span<SearchRequest> requests) override;
  Status score_all(const Query& query, std::span<double> dots, const InterruptCheck& interrupted,
                   ScanCost& cost) override;
  SearcherInfo info() const override;

 private:
  // Calls question(searcher) with the searcher of slice i on its device and, if the device fails, on the
  // host.
  template <class Question>
  Status ask(size_t i, const Question& question);
  size_t pieces_of(std::span<const SearchRequest> requests) const;
  bool hand_over(size_t i, const std::string& reason);
  void log_hand_over(const SearchedSlice& slice) const;
  static void merge(std::span<SearchRequest> requests, std::span<std::vector<SearchRequest>> asked,
                    std::span<Status> failures);
  bool in_forked_child() const;

  const std::string path_;
  const std::shared_ptr<SideThreads> threads_;
  Log* const log_;
  const pid_t process_;
  std::vector<SearchedSlice> slices_;       // each failure is written once, before the slice is handed over
  std::vector<std::atomic<bool>> on_host_;  // of each slice: the host answers for it
  ForkSafeMutex mutex_;                     // held while a slice is handed over
};

}  // namespace glove::gpu
