#include "gpu/search/spread_searcher.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/cores.h"
#include "base/thread_pool.h"
#include "gpu/residency/shared_device.h"
#include "search/device_failure.h"
#include "search/merge.h"

namespace glove::gpu {
namespace {

constexpr size_t kMergedAtOnce = 32;  // requests: about 10 us
constexpr int kMergedPerThread = 4;   // chunks; merging them takes about as long as waking a thread

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
  const auto slowest = std::max_element(costs.begin(), costs.end(), [](const ScanCost& a, const ScanCost& b) {
    return time_of(a) < time_of(b);
  });
  all.scan_us = slowest->scan_us;
  all.select_us = slowest->select_us;
  all.rescore_us = slowest->rescore_us;
  to.add(all);
}

}  // namespace

struct SpreadSearcher::Slice {
  explicit Slice(SearchedSlice searched) : of(std::move(searched)), handed_over(of.on_device == nullptr) {}

  SearchedSlice of;  // `failure` is written once, before handed_over is set
  std::atomic<bool> handed_over;
};

SpreadSearcher::SpreadSearcher(std::string path, std::vector<SearchedSlice> slices,
                               std::shared_ptr<SideThreads> threads, Log* log)
    : path_(std::move(path)), threads_(std::move(threads)), log_(log), process_(getpid()) {
  for (SearchedSlice& slice : slices) {
    if (slice.on_device == nullptr) log_hand_over(slice, slice.failure);
    slices_.push_back(std::make_unique<Slice>(std::move(slice)));
  }
}

SpreadSearcher::~SpreadSearcher() = default;

bool SpreadSearcher::in_forked_child() const {
  return process_ != getpid();
}

template <class Question>
Status SpreadSearcher::ask(Slice& slice, const Question& question) {
  if (!slice.handed_over.load(std::memory_order_acquire)) {
    Status status = question(*slice.of.on_device);
    if (status.ok() || !is_device_failure(status.error()) || !hand_over(slice, status.error().message))
      return status;
  }
  return question(*slice.of.on_host);
}

// Leaves the slice to the host. Returns false if there is none, or if no other device is left.
bool SpreadSearcher::hand_over(Slice& slice, const std::string& reason) {
  {
    const Lock lock(mutex_);
    if (slice.handed_over) return true;
    const auto on_devices =
        std::count_if(slices_.begin(), slices_.end(), [](const auto& other) { return !other->handed_over; });
    if (on_devices == 1 || slice.of.on_host == nullptr) return false;
    slice.of.failure = reason;
    slice.handed_over.store(true, std::memory_order_release);
  }
  log_hand_over(slice.of, reason);
  return true;
}

void SpreadSearcher::log_hand_over(const SearchedSlice& slice, const std::string& reason) const {
  if (log_ == nullptr) return;
  log_->write(slice.device + " cannot search rows " + std::to_string(slice.first_row) + " to " +
              std::to_string(slice.first_row + slice.rows - 1) + " of the model " + path_ +
              ", and the CPU does so from now on: " + reason);
}

// Searches one slice.
//   asked  what the slice is asked, with its answers
Status SpreadSearcher::answer(Slice& slice, std::span<const SearchRequest> requests,
                              const InterruptCheck& interrupted, std::vector<SearchRequest>& asked) {
  return ask(slice, [&](Searcher& searcher) {
    asked.clear();
    asked.reserve(requests.size());
    for (const SearchRequest& request : requests)
      asked.push_back({request.query, request.k, &interrupted, {}, {}, {}});
    return searcher.search(asked);
  });
}

Status SpreadSearcher::search(std::span<SearchRequest> requests) {
  if (in_forked_child()) return forked_child_error();
  const SharedInterrupt shared(requests);
  std::vector<std::vector<SearchRequest>> asked(slices_.size());
  std::vector<Status> statuses(slices_.size());
  const bool finished = threads_->run(
      slices_.size(),
      [&](size_t i, const InterruptCheck& interrupted) {
        statuses[i] = answer(*slices_[i], requests, interrupted, asked[i]);
      },
      shared.check());
  GLOVE_RETURN_IF_ERROR(first_error(statuses));
  if (!finished) return interrupted_error();
  merge(requests, asked);
  return {};
}

void SpreadSearcher::merge(std::span<SearchRequest> requests,
                           std::span<const std::vector<SearchRequest>> asked) {
  const auto merge_some = [&](int, int64_t chunk) {
    std::vector<std::span<const Neighbor>> answers(asked.size());
    std::vector<ScanCost> costs(asked.size());
    const size_t first = static_cast<size_t>(chunk) * kMergedAtOnce;
    for (size_t i = first; i < std::min(requests.size(), first + kMergedAtOnce); ++i) {
      SearchRequest& request = requests[i];
      for (size_t slice = 0; slice < asked.size(); ++slice) {
        const SearchRequest& part = asked[slice][i];
        if (request.status.ok()) request.status = part.status;
        answers[slice] = part.rows;
        costs[slice] = part.cost;
      }
      add_side_by_side(costs, request.cost);
      request.rows = merge_ranked(answers, request.k);
    }
  };
  const size_t chunks = (requests.size() + kMergedAtOnce - 1) / kMergedAtOnce;
  ThreadPool::instance().run(std::min(usable_cores(), static_cast<int>(chunks) / kMergedPerThread),
                             static_cast<int64_t>(chunks), merge_some);
}

Status SpreadSearcher::score_all(const Query& query, std::span<double> dots,
                                 const InterruptCheck& interrupted, ScanCost& cost) {
  if (in_forked_child()) return forked_child_error();
  std::vector<ScanCost> costs(slices_.size());
  std::vector<Status> statuses(slices_.size());
  const auto score_slice = [&](size_t i, const InterruptCheck& own_check) {
    Slice& slice = *slices_[i];
    const auto own_dots =
        dots.subspan(static_cast<size_t>(slice.of.first_row), static_cast<size_t>(slice.of.rows));
    statuses[i] = ask(
        slice, [&](Searcher& searcher) { return searcher.score_all(query, own_dots, own_check, costs[i]); });
  };
  const bool finished = threads_->run(slices_.size(), score_slice, interrupted);
  GLOVE_RETURN_IF_ERROR(first_error(statuses));
  if (!finished) return interrupted_error();
  add_side_by_side(costs, cost);
  return {};
}

SearcherInfo SpreadSearcher::info() const {
  SearcherInfo info;
  info.state = in_forked_child() ? "not loaded" : "resident";
  if (in_forked_child()) return info;
  std::vector<std::pair<std::string, int>> devices;  // the names, each with its number of slices
  std::string on_host;
  for (const auto& slice : slices_) {
    if (slice->handed_over.load(std::memory_order_acquire)) {
      on_host += "; rows " + std::to_string(slice->of.first_row) + " to " +
                 std::to_string(slice->of.first_row + slice->of.rows - 1) + " are on the CPU because " +
                 slice->of.device + " failed: " + slice->of.failure;
      continue;
    }
    const SearcherInfo own = slice->of.on_device->info();
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

}  // namespace glove::gpu
