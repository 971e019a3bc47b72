#include "search/combining_searcher.h"

#include <algorithm>
#include <functional>
#include <new>
#include <thread>
#include <utility>

#include "base/scope_exit.h"
#include "base/system_calls.h"
#include "search/combining_waiter.h"

namespace glove {
namespace {

// A waiting caller that finds the holder of a lane inside its interrupt check this many times in a row
// searches alone.
constexpr int kMostPollsOfChecks = 2;
// The callers of a batch are expected again for this part of the time that it took.
constexpr int kReturnShare = 2;
// Size of a wake-up group: its first caller wakes the rest.
constexpr size_t kWokenTogether = 6;
constexpr std::chrono::milliseconds kMostReturnTime{5};

// Whether this thread is inside a search() below. An interrupt check may run the host's code, which may
// search again: such a search must not wait for a lane that its own thread holds.
thread_local bool inside = false;

}  // namespace

// The queries of others that a lane answers together with its own. Callers without an answer at the end of
// its scope search alone.
class CombiningSearcher::Batch {
 public:
  Batch(CombiningSearcher& searcher, std::vector<WaiterPtr> others) noexcept
      : searcher_(searcher), others_(std::move(others)) {}
  ~Batch() {
    for (const WaiterPtr& other : others_) other->search_alone();
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  bool empty() const { return others_.empty(); }

  // Ends the search soon: its own caller was interrupted. Called inside search().
  void stop() {
    stopped_ = true;
    for (const WaiterPtr& other : others_) other->stop(true);
  }

  // Searches, and hands out the answers. Returns false if that failed and every caller must search by itself.
  // If the search was stopped, the others return to the line.
  bool search(SearchRequest& own) {
    const Status status = search_together(own);
    if (stopped_) {
      own.status = interrupted_error();
      return searcher_.return_to_line(others_);
    }
    if (!status.ok()) return false;
    own = std::move(requests_.front());
    hand_answers_out();
    return true;
  }

 private:
  Status search_together(const SearchRequest& own) {
    try {
      requests_.reserve(1 + others_.size());
      requests_.push_back(own);
      for (const WaiterPtr& other : others_) requests_.push_back(other->request());
      for (size_t i = 0; i < others_.size(); ++i)
        if (i % kWokenTogether == 0)
          groups_.emplace_back();
        else
          groups_.back().push_back(others_[i]);
      return searcher_.search_timed(requests_);
    } catch (const std::bad_alloc&) {
      return {ErrorCode::kOutOfMemory, "not enough memory for a batch"};
    }
  }

  // Waking a thread up takes some microseconds, so the first of each group wakes the rest of it up.
  void hand_answers_out() noexcept {
    for (size_t group = 0; group < groups_.size(); ++group) {
      const size_t first = group * kWokenTogether;
      const size_t end = std::min(others_.size(), first + kWokenTogether);
      for (size_t i = first + 1; i < end; ++i) others_[i]->answer(std::move(requests_[i + 1]), {});
      if (others_[first]->answer(std::move(requests_[first + 1]), std::move(groups_[group])))
        others_[first]->wake_up();
      else
        for (size_t i = first + 1; i < end; ++i) others_[i]->wake_up();
    }
    others_.clear();
  }

  CombiningSearcher& searcher_;
  std::vector<WaiterPtr> others_;
  std::vector<std::vector<WaiterPtr>> groups_;  // of the others, each without its first
  std::vector<SearchRequest> requests_;
  bool stopped_ = false;
};

CombiningSearcher::CombiningSearcher(std::shared_ptr<Searcher> inner, const CombiningOptions& options)
    : inner_(std::move(inner)), options_(options), process_(system_calls::process_number()) {}

CombiningSearcher::~CombiningSearcher() = default;

Status CombiningSearcher::search(std::span<SearchRequest> requests) {
  if (inside || requests.size() != 1) return inner_->search(requests);
  SearchRequest& request = requests.front();
  const int64_t excluded = static_cast<int64_t>(request.query->excluded.size());
  // An approximate search is as short as a wait.
  if (request.query->among != nullptr || request.terms.recall < 1 ||
      request.k > options_.most_rows - excluded)
    return inner_->search(requests);
  inside = true;
  ++callers_;
  const ScopeExit leaving([this] {
    --callers_;
    inside = false;
  });
  if (take_free_lane()) return search_in_lane(request);
  const WaiterPtr waiter = wait_in_line(request);
  return waiter == nullptr ? search_in_lane(request) : search_when_called(waiter, request);
}

bool CombiningSearcher::take_free_lane() {
  const Lock lock(mutex_);
  forget_parent();
  if (!has_lane_for(line_.size() + 1, callers_)) return false;
  ++taken_lanes_;
  return true;
}

// Whether a search for this many queries may begin while there are this many callers. Beside another search
// it must be worth its time: a full batch, or there are so few callers that each has a lane.
bool CombiningSearcher::has_lane_for(size_t queries, int callers) const {
  if (taken_lanes_ == 0) return true;
  if (taken_lanes_ >= options_.lanes) return false;
  return queries >= options_.most_together || callers <= options_.lanes;
}

// Joins the line and returns the waiter. Returns null, with a lane, if one has become free.
CombiningSearcher::WaiterPtr CombiningSearcher::wait_in_line(const SearchRequest& request) {
  auto waiter = std::make_shared<CombiningWaiter>(request);
  const Lock lock(mutex_);
  if (!has_lane_for(line_.size() + 1, callers_)) {
    line_.push_back(waiter);
    return waiter;
  }
  ++taken_lanes_;
  return nullptr;
}

Status CombiningSearcher::search_when_called(const WaiterPtr& waiter, SearchRequest& request) {
  bool is_waiting = true;
  const auto leave = [&] {
    if (!std::exchange(is_waiting, false)) return;
    const CombiningWaiter::Call unseen = waiter->leave();
    if (unseen == CombiningWaiter::Call::kLead) pass_lane_on();
    if (unseen == CombiningWaiter::Call::kAnswer) waiter->wake_others();
  };
  const ScopeExit leaving(leave);
  int polls_of_checks = 0;
  for (;;) {
    const CombiningWaiter::Call call = waiter->sleep();
    if (call == CombiningWaiter::Call::kAnswer) {
      waiter->wake_others();
      waiter->take_answer(request);
      return {};
    }
    if (call == CombiningWaiter::Call::kAlone) return inner_->search({&request, 1});
    if (call == CombiningWaiter::Call::kLead) return search_in_lane(request);
    GLOVE_RETURN_IF_ERROR(waiter->check(request.terms.interrupted));
    if (step_out_of_line(waiter)) return search_in_lane(request);
    // The check of a lane's holder may run the host's code, and that may wait for this thread.
    polls_of_checks = holders_in_checks_ > 0 ? polls_of_checks + 1 : 0;
    if (polls_of_checks == kMostPollsOfChecks) {
      leave();
      return inner_->search({&request, 1});
    }
  }
}

// If a lane became free while the waiter looked at its interrupt, takes it and returns true.
bool CombiningSearcher::step_out_of_line(const WaiterPtr& waiter) {
  const Lock lock(mutex_);
  if (!has_lane_for(line_.size(), callers_)) return false;
  const auto place = std::find(line_.begin(), line_.end(), waiter);
  if (place == line_.end()) return false;
  line_.erase(place);
  ++taken_lanes_;
  return true;
}

// REQUIRES: this thread has taken a lane.
Status CombiningSearcher::search_in_lane(SearchRequest& request) {
  // Freed last, so that the others are answered before the lane is passed on: a caller that asks again at
  // once can then join the next batch, which takes hardly longer for it.
  const ScopeExit lane([this] { pass_lane_on(); });
  let_callers_return();
  {
    Batch batch(*this, take_waiting());
    const InterruptCheck* const own = request.terms.interrupted;
    const auto check = [&] {
      ++holders_in_checks_;
      const ScopeExit leaving([this] { --holders_in_checks_; });
      const bool stops = (*own)();
      if (stops) batch.stop();
      return stops;
    };
    const InterruptCheck checked = std::ref(check);
    if (own != nullptr && *own) request.terms.interrupted = &checked;
    const ScopeExit restoring([&] { request.terms.interrupted = own; });
    if (batch.empty()) return search_timed({&request, 1});
    if (batch.search(request)) return {};
  }
  return inner_->search({&request, 1});
}

// REQUIRES: this thread has taken a lane.
void CombiningSearcher::let_callers_return() {
  for (;; std::this_thread::yield()) {
    const Lock lock(mutex_);
    if (taken_lanes_ > 1) return;  // the other search takes longer than anybody's return
    if (1 + line_.size() >= std::min(last_search_.callers, options_.most_together)) return;
    if (std::chrono::steady_clock::now() >= last_search_.callers_expected_until) return;
  }
}

std::vector<CombiningSearcher::WaiterPtr> CombiningSearcher::take_waiting() {
  std::vector<WaiterPtr> taken;
  const Lock lock(mutex_);
  // Nothing below may throw, since a waiter that was taken must be answered.
  taken.reserve(std::min(line_.size(), options_.most_together - 1));
  while (!line_.empty() && taken.size() < taken.capacity()) {
    if (!line_.front()->gone()) taken.push_back(std::move(line_.front()));
    line_.pop_front();
  }
  return taken;
}

// Puts those that have not left back at the front of the line and empties the list. Returns true.
bool CombiningSearcher::return_to_line(std::vector<WaiterPtr>& waiters) {
  const Lock lock(mutex_);
  for (; !waiters.empty(); waiters.pop_back()) {
    waiters.back()->stop(false);
    line_.push_front(waiters.back());
  }
  return true;
}

// Searches, and notes who may return for the next search, and until when that one waits for them. From here
// on callers are answered, so that some of them may have returned before all have been.
Status CombiningSearcher::search_timed(std::span<SearchRequest> requests) {
  const auto start = std::chrono::steady_clock::now();
  Status status = inner_->search(requests);
  const auto end = std::chrono::steady_clock::now();
  const auto wait =
      std::min<std::chrono::steady_clock::duration>((end - start) / kReturnShare, kMostReturnTime);
  const Lock lock(mutex_);
  last_search_ = {requests.size() + line_.size(), end + wait};
  return status;
}

// Gives a lane back, or to the first in line that can take it. Those that have left lose their places.
void CombiningSearcher::pass_lane_on() {
  const Lock lock(mutex_);
  std::erase_if(line_, [](const WaiterPtr& waiter) { return waiter->gone(); });
  --taken_lanes_;
  if (!has_lane_for(line_.size(), callers_ - 1)) return;  // this thread's caller is leaving
  const auto next = std::ranges::find_if(line_, [](const WaiterPtr& waiter) { return waiter->lead(); });
  if (next == line_.end()) return;
  ++taken_lanes_;
  line_.erase(next);
}

// In a forked child the threads that hold lanes and wait are those of the parent. What they share is never
// freed, since their locks may be held.
void CombiningSearcher::forget_parent() {
  if (process_ == system_calls::process_number()) return;
  process_ = system_calls::process_number();
  taken_lanes_ = 0;
  callers_ = 1;
  last_search_ = {};
  static_cast<void>(new std::deque<WaiterPtr>(std::exchange(line_, {})));
}

}  // namespace glove
