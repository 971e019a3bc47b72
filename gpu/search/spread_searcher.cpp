#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/mutex.h"
#include "base/thread_pool.h"
#include "gpu/residency/shared_device.h"
#include "gpu/search/searchers.h"
#include "gpu/search/spread_plan.h"
#include "search/backend.h"
#include "search/candidates.h"

namespace glove::gpu {
namespace {

constexpr int64_t kThreadsPerCore = 2;  // most of them wait for a device

// Returns the first error that is not an interrupt, or else an interrupt, if there is one.
Status first_error(std::span<const Status> statuses) {
  Status found;
  for (const Status& status : statuses) {
    if (status.ok()) continue;
    if (found.ok() || found.error().code == ErrorCode::kInterrupted) found = status;
  }
  return found;
}

double time_of(const ScanCost& cost) {
  return cost.scan_us + cost.select_us + cost.rescore_us;
}

// Adds the cost of slices that were searched at the same time: the sum of what was read, and the times of the
// slowest.
void add_side_by_side(std::span<const ScanCost> costs, ScanCost& to) {
  ScanCost all;
  for (const ScanCost& cost : costs) all.add(cost);
  const auto slowest = std::ranges::max_element(
      costs, [](const ScanCost& a, const ScanCost& b) { return time_of(a) < time_of(b); });
  all.scan_us = slowest->scan_us;
  all.select_us = slowest->select_us;
  all.rescore_us = slowest->rescore_us;
  to.add(all);
}

// Searches all slices side by side, one on the calling thread, and merges their answers; a large batch in
// several pieces at once.
class SpreadSearcher final : public Searcher {
 public:
  SpreadSearcher(std::string path, std::vector<SearchedSlice> slices, std::shared_ptr<SideThreads> threads,
                 Log* log)
      : path_(std::move(path)),
        threads_(std::move(threads)),
        log_(log),
        process_(getpid()),
        slices_(std::move(slices)),
        on_host_(slices_.size()) {
    for (size_t i = 0; i < slices_.size(); ++i) {
      on_host_[i] = slices_[i].on_device == nullptr;
      if (on_host_[i]) log_hand_over(slices_[i]);
    }
  }

  Status search(std::span<SearchRequest> requests) override {
    if (in_forked_child()) return forked_child_error();
    const SharedInterrupt shared(requests);
    const size_t slices = slices_.size();
    const size_t pieces = pieces_of(requests);
    const auto begin_of = [&](size_t piece) { return requests.size() * piece / pieces; };
    std::vector<std::vector<SearchRequest>> asked(pieces * slices);  // of each piece and slice
    std::vector<Status> statuses(asked.size());
    std::vector<std::atomic<size_t>> answered(pieces);  // slices
    std::vector<Status> failures(requests.size());  // the interrupt check sets those of `requests` meanwhile
    const auto search_piece = [&](size_t i, const InterruptCheck& interrupted) {
      const size_t piece = i / slices;
      const auto own = requests.subspan(begin_of(piece), begin_of(piece + 1) - begin_of(piece));
      statuses[i] = ask(i % slices, [&](Searcher& searcher) {
        asked[i].clear();
        asked[i].reserve(own.size());
        for (const SearchRequest& request : own)
          asked[i].push_back({request.query, request.k, {&interrupted}, {}, {}, {}});
        return searcher.search(asked[i]);
      });
      if (answered[piece].fetch_add(1) + 1 < slices) return;
      const auto of_piece = std::span(statuses).subspan(piece * slices, slices);
      if (std::ranges::all_of(of_piece, &Status::ok))
        merge(own, std::span(asked).subspan(piece * slices, slices),
              std::span(failures).subspan(begin_of(piece), own.size()));
    };
    const bool finished = threads_->run(asked.size(), search_piece, shared.check());
    GLOVE_RETURN_IF_ERROR(first_error(statuses));
    if (!finished) return interrupted_error();
    for (size_t i = 0; i < requests.size(); ++i)
      if (requests[i].status.ok()) requests[i].status = std::move(failures[i]);
    return {};
  }

  Status score_all(const Query& query, std::span<double> dots, const InterruptCheck& interrupted,
                   ScanCost& cost) override {
    if (in_forked_child()) return forked_child_error();
    std::vector<ScanCost> costs(slices_.size());
    std::vector<Status> statuses(slices_.size());
    const auto score_slice = [&](size_t i, const InterruptCheck& own_check) {
      const auto own_dots =
          dots.subspan(static_cast<size_t>(slices_[i].first_row), static_cast<size_t>(slices_[i].rows));
      statuses[i] = ask(
          i, [&](Searcher& searcher) { return searcher.score_all(query, own_dots, own_check, costs[i]); });
    };
    const bool finished = threads_->run(slices_.size(), score_slice, interrupted);
    GLOVE_RETURN_IF_ERROR(first_error(statuses));
    if (!finished) return interrupted_error();
    add_side_by_side(costs, cost);
    return {};
  }

  SearcherInfo info() const override {
    SearcherInfo info;
    info.state = in_forked_child() ? "not loaded" : "resident";
    if (in_forked_child()) return info;
    std::vector<std::pair<std::string, int>> devices;  // the names, each with its number of slices
    std::string on_host;
    for (size_t i = 0; i < slices_.size(); ++i) {
      const SearchedSlice& slice = slices_[i];
      if (on_host_[i].load(std::memory_order_acquire)) {
        on_host += "; rows " + slice.range() + " are on the CPU because " + slice.device +
                   " failed: " + slice.failure;
        continue;
      }
      const SearcherInfo own = slice.on_device->info();
      if (own.state != "resident") info.state = own.state;
      info.device_bytes += own.device_bytes;
      const auto found = std::find_if(devices.begin(), devices.end(),
                                      [&own](const auto& entry) { return entry.first == own.device; });
      if (found != devices.end())
        ++found->second;
      else
        devices.emplace_back(own.device, 1);
    }
    info.state += on_host;
    for (const auto& [name, count] : devices)
      info.device += (info.device.empty() ? "" : " + ") +
                     (count > 1 ? std::to_string(count) + " x " : std::string()) + name;
    if (!on_host.empty()) info.device += " + CPU";
    return info;
  }

 private:
  // Calls question(searcher) with the searcher of slice i on its device and, if the device fails, on the
  // host.
  template <class Question>
  Status ask(size_t i, const Question& question) {
    if (!on_host_[i].load(std::memory_order_acquire)) {
      Status status = question(*slices_[i].on_device);
      if (status.ok() || !is_device_failure(status.error()) || !hand_over(i, status.error().message))
        return status;
    }
    return question(*slices_[i].on_host);
  }

  // Returns in how many pieces to search a batch at once, each by threads of its own.
  size_t pieces_of(std::span<const SearchRequest> requests) const {
    int64_t rows = 0;
    for (const SearchedSlice& slice : slices_) rows = std::max(rows, slice.rows);
    int64_t top_rows = 0;
    for (const SearchRequest& request : requests)
      top_rows = std::max(top_rows, request.k + std::ssize(request.query->excluded));
    const int64_t threads = kThreadsPerCore * usable_cores() / std::ssize(slices_);
    const std::vector<float>& vector = requests.front().query->vector;
    return static_cast<size_t>(
        batch_pieces(rows, std::ssize(vector), std::ssize(requests), std::min(rows, top_rows), threads));
  }

  // Leaves the slice to the host. Returns false if there is none, or if no other device is left.
  bool hand_over(size_t i, const std::string& reason) {
    {
      const Lock lock(mutex_);
      if (on_host_[i]) return true;
      if (std::count(on_host_.begin(), on_host_.end(), false) == 1 || slices_[i].on_host == nullptr)
        return false;
      slices_[i].failure = reason;
      on_host_[i].store(true, std::memory_order_release);
    }
    log_hand_over(slices_[i]);
    return true;
  }

  void log_hand_over(const SearchedSlice& slice) const {
    if (log_ == nullptr) return;
    log_->write(slice.device + " cannot search rows " + slice.range() + " of the model " + path_ +
                ", and the CPU does so from now on: " + slice.failure);
  }

  // Merges the answers of the slices, asked[slices], and frees them. Puts their first failures in `failures`,
  // [requests], because another thread may be using the requests' own statuses.
  static void merge(std::span<SearchRequest> requests, std::span<std::vector<SearchRequest>> asked,
                    std::span<Status> failures) {
    std::vector<std::span<const Neighbor>> answers(asked.size());
    std::vector<ScanCost> costs(asked.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      SearchRequest& request = requests[i];
      for (size_t slice = 0; slice < asked.size(); ++slice) {
        const SearchRequest& part = asked[slice][i];
        if (failures[i].ok()) failures[i] = part.status;
        answers[slice] = part.rows;
        costs[slice] = part.cost;
      }
      add_side_by_side(costs, request.cost);
      request.rows = merge_ranked(answers, request.k);
    }
    for (std::vector<SearchRequest>& answered : asked) answered = {};
  }

  bool in_forked_child() const { return process_ != getpid(); }

  const std::string path_;
  const std::shared_ptr<SideThreads> threads_;
  Log* const log_;
  const pid_t process_;
  std::vector<SearchedSlice> slices_;       // each failure is written once, before the slice is handed over
  std::vector<std::atomic<bool>> on_host_;  // of each slice: the host answers for it
  ForkSafeMutex mutex_;                     // held while a slice is handed over
};

}  // namespace

std::shared_ptr<Searcher> make_spread_searcher(std::string path, std::vector<SearchedSlice> slices,
                                               std::shared_ptr<SideThreads> threads, Log* log) {
  return std::make_shared<SpreadSearcher>(std::move(path), std::move(slices), std::move(threads), log);
}

}  // namespace glove::gpu
