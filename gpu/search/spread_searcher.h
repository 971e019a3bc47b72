// A model that is spread over several devices, as a Searcher.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fork_safe_mutex.h"
#include "base/log.h"
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
};

// Searches all slices side by side, one on the calling thread, and merges their answers. A slice whose device
// fails is answered by the host from then on; the log says so once, and info() as long as the searcher lives.
// If the last device that is left fails, so does the search.
class SpreadSearcher final : public Searcher {
 public:
  // `path` is the model's, for messages. `log` may be null, and must otherwise outlive the searcher.
  // REQUIRES: the slices are contiguous from row 0 on, and at least one has its device.
  SpreadSearcher(std::string path, std::vector<SearchedSlice> slices, std::shared_ptr<SideThreads> threads,
                 Log* log);
  ~SpreadSearcher() override;

  Status search(std::span<SearchRequest> requests) override;
  Status score_all(const Query& query, std::span<double> dots, const InterruptCheck& interrupted,
                   ScanCost& cost) override;
  SearcherInfo info() const override;

 private:
  struct Slice;

  // Calls question(searcher) with the device's searcher and, if the device fails, with the host's.
  template <class Question>
  Status ask(Slice& slice, const Question& question);
  bool hand_over(Slice& slice, const std::string& reason);
  void log_hand_over(const SearchedSlice& slice, const std::string& reason) const;
  Status answer(Slice& slice, std::span<const SearchRequest> requests, const InterruptCheck& interrupted,
                std::vector<SearchRequest>& asked);
  void merge(std::span<SearchRequest> requests, std::span<const std::vector<SearchRequest>> asked);
  bool in_forked_child() const;

  const std::string path_;
  const std::shared_ptr<SideThreads> threads_;
  Log* const log_;
  const pid_t process_;
  std::vector<std::unique_ptr<Slice>> slices_;
  ForkSafeMutex mutex_;  // held while a slice is handed over
};

}  // namespace glove::gpu
