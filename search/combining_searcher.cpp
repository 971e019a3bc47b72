#include "search/combining_searcher.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <vector>

namespace glove {
namespace {

constexpr std::chrono::milliseconds kPollInterval{5};
// A waiting caller that finds the holder of a lane inside its interrupt check so many times in a row searches
// alone.
constexpr int kMostPollsOfChecks = 2;

// Whether this thread is inside a search() below. An interrupt check may run the host's code, which may
// search again: such a search must not wait for a lane that its own thread holds.
thread_local bool inside = false;

class InsideScope {
 public:
  InsideScope() { inside = true; }
  ~InsideScope() { inside = false; }
  InsideScope(const InsideScope&) = delete;
  InsideScope& operator=(const InsideScope&) = delete;
};

}  // namespace

// A query in the line or in another thread's batch. Holds copies of what that thread reads, so that its
// caller can leave.
class CombiningSearcher::Waiter {
 public:
  enum class Call {
    kNone,    // nothing happened, or the caller must look at its interrupt
    kLead,    // the caller has a lane
    kAlone,   // the caller must search by itself
    kAnswer,  // the request has its answer
  };

  explicit Waiter(const SearchRequest& request) : query_(*request.query), request_(request) {
    request_.query = &query_;
    interrupted_ = [this] { return gone() || stopped_.load(std::memory_order_relaxed); };
    request_.interrupted = &interrupted_;
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // For the caller: sleeps until it is called, or for as long as an interrupt may go unnoticed.
  Call sleep() {
    std::unique_lock lock(mutex_);
    called_.wait_for(lock, kPollInterval, [this] { return call_ != Call::kNone; });
    return std::exchange(call_, Call::kNone);
  }

  // For the caller: runs the interrupt check. Meanwhile the caller is not called to lead, because the check
  // may take long.
  Status check(const InterruptCheck* interrupted) {
    if (interrupted == nullptr) return {};
    set_away(true);
    const Status status = check_interrupt(*interrupted);
    set_away(false);
    return status;
  }

  // For the caller, when it no longer waits. Returns the call that it has not seen.
  Call leave() {
    const std::lock_guard lock(mutex_);
    gone_.store(true, std::memory_order_relaxed);
    return call_;
  }

  bool gone() const { return gone_.load(std::memory_order_relaxed); }

  // Stops the search for the waiter's copy, which its caller does not notice, or allows it again.
  void stop(bool stopped) { stopped_.store(stopped, std::memory_order_relaxed); }

  // Gives the caller a lane. Returns false if it does not wait at present.
  bool lead() {
    const std::lock_guard lock(mutex_);
    if (gone() || away_) return false;
    call_ = Call::kLead;
    called_.notify_one();
    return true;
  }

  // Ends the wait with an answer, or without one.
  void answer(SearchRequest&& answered) {
    const std::lock_guard lock(mutex_);
    request_ = std::move(answered);
    call_ = Call::kAnswer;
    called_.notify_one();
  }
  void search_alone() {
    const std::lock_guard lock(mutex_);
    call_ = Call::kAlone;
    called_.notify_one();
  }

  // The copy that another thread searches for.
  const SearchRequest& request() const { return request_; }

  // For the caller, after kAnswer.
  void take_answer(SearchRequest& request) {
    request.cost = request_.cost;
    request.status = request_.status;
    request.rows = std::move(request_.rows);
  }

 private:
  void set_away(bool away) {
    const std::lock_guard lock(mutex_);
    away_ = away;
  }

  const Query query_;
  SearchRequest request_;
  InterruptCheck interrupted_;
  std::atomic<bool> gone_ = false;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::condition_variable called_;
  // Guarded by mutex_.
  bool away_ = false;
  Call call_ = Call::kNone;
};

// A lane of the thread that created it. Passes it on at the end of its scope.
class CombiningSearcher::Lane {
 public:
  explicit Lane(CombiningSearcher& searcher) : searcher_(searcher) {}
  ~Lane() { searcher_.pass_lane_on(); }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

 private:
  CombiningSearcher& searcher_;
};

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
    for (size_t i = 0; i < others_.size(); ++i) others_[i]->answer(std::move(requests_[i + 1]));
    others_.clear();
    return true;
  }

 private:
  Status search_together(const SearchRequest& own) {
    try {
      requests_.reserve(1 + others_.size());
      requests_.push_back(own);
      for (const WaiterPtr& other : others_) requests_.push_back(other->request());
      return searcher_.inner_->search(requests_);
    } catch (const std::bad_alloc&) {
      return {ErrorCode::kOutOfMemory, "not enough memory for a batch"};
    }
  }

  CombiningSearcher& searcher_;
  std::vector<WaiterPtr> others_;
  std::vector<SearchRequest> requests_;
  bool stopped_ = false;
};

// The interrupt check of a lane's holder while it searches, for a batch or for itself. The request has its
// own check again at the end of the scope.
class CombiningSearcher::HolderCheck {
 public:
  HolderCheck(CombiningSearcher& searcher, Batch& batch, SearchRequest& request)
      : searcher_(searcher), batch_(batch), request_(request), own_(request.interrupted) {
    if (own_ == nullptr || !*own_) return;
    check_ = [this] { return check(); };
    request.interrupted = &check_;
  }
  ~HolderCheck() { request_.interrupted = own_; }
  HolderCheck(const HolderCheck&) = delete;
  HolderCheck& operator=(const HolderCheck&) = delete;

 private:
  // Counts the holders that are inside their checks.
  struct Visit {
    explicit Visit(std::atomic<int>& visits) : count(visits) { ++count; }
    ~Visit() { --count; }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    std::atomic<int>& count;
  };

  bool check() {
    const Visit visit(searcher_.holders_in_checks_);
    if (!(*own_)()) return false;
    batch_.stop();
    return true;
  }

  CombiningSearcher& searcher_;
  Batch& batch_;
  SearchRequest& request_;
  const InterruptCheck* const own_;
  InterruptCheck check_;
};

// The caller's place in the line, which it leaves at the end of its scope.
class CombiningSearcher::Place {
 public:
  Place(CombiningSearcher& searcher, WaiterPtr waiter) : searcher_(searcher), waiter_(std::move(waiter)) {}
  ~Place() { leave(); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  void leave() {
    if (std::exchange(left_, true)) return;
    if (waiter_->leave() == Waiter::Call::kLead) searcher_.pass_lane_on();
  }

 private:
  CombiningSearcher& searcher_;
  const WaiterPtr waiter_;
  bool left_ = false;
};

CombiningSearcher::CombiningSearcher(std::shared_ptr<Searcher> inner, const CombiningOptions& options)
    : inner_(std::move(inner)), options_(options), process_(getpid()) {}

CombiningSearcher::~CombiningSearcher() = default;

Status CombiningSearcher::search(std::span<SearchRequest> requests) {
  if (inside || requests.size() != 1) return inner_->search(requests);
  SearchRequest& request = requests.front();
  const int64_t excluded = static_cast<int64_t>(request.query->excluded.size());
  if (request.k > options_.most_rows - excluded) return inner_->search(requests);
  const InsideScope scope;
  if (take_free_lane()) return search_in_lane(request);
  const WaiterPtr waiter = wait_in_line(request);
  return waiter == nullptr ? search_in_lane(request) : search_when_called(waiter, request);
}

bool CombiningSearcher::take_free_lane() {
  const std::lock_guard lock(mutex_);
  forget_parent();
  if (taken_lanes_ == options_.lanes) return false;
  ++taken_lanes_;
  return true;
}

// Joins the line and returns the waiter. Returns null, with a lane, if one has become free.
CombiningSearcher::WaiterPtr CombiningSearcher::wait_in_line(const SearchRequest& request) {
  auto waiter = std::make_shared<Waiter>(request);
  const std::lock_guard lock(mutex_);
  if (taken_lanes_ == options_.lanes) {
    line_.push_back(waiter);
    return waiter;
  }
  ++taken_lanes_;
  return nullptr;
}

Status CombiningSearcher::search_when_called(const WaiterPtr& waiter, SearchRequest& request) {
  Place place(*this, waiter);
  int polls_of_checks = 0;
  for (;;) {
    switch (waiter->sleep()) {
      case Waiter::Call::kAnswer:
        waiter->take_answer(request);
        return {};
      case Waiter::Call::kAlone:
        return inner_->search({&request, 1});
      case Waiter::Call::kLead:
        return search_in_lane(request);
      case Waiter::Call::kNone:
        break;
    }
    GLOVE_RETURN_IF_ERROR(waiter->check(request.interrupted));
    if (step_out_of_line(waiter)) return search_in_lane(request);
    // The check of a lane's holder may run the host's code, and that may wait for this thread.
    polls_of_checks = holders_in_checks_ > 0 ? polls_of_checks + 1 : 0;
    if (polls_of_checks == kMostPollsOfChecks) {
      place.leave();
      return inner_->search({&request, 1});
    }
  }
}

// If a lane became free while the waiter looked at its interrupt, takes it and returns true.
bool CombiningSearcher::step_out_of_line(const WaiterPtr& waiter) {
  const std::lock_guard lock(mutex_);
  if (taken_lanes_ == options_.lanes) return false;
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
  const Lane lane(*this);
  {
    Batch batch(*this, take_waiting());
    const HolderCheck check(*this, batch, request);
    if (batch.empty()) return inner_->search({&request, 1});
    if (batch.search(request)) return {};
  }
  return inner_->search({&request, 1});
}

std::vector<CombiningSearcher::WaiterPtr> CombiningSearcher::take_waiting() {
  std::vector<WaiterPtr> taken;
  const std::lock_guard lock(mutex_);
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
  const std::lock_guard lock(mutex_);
  for (; !waiters.empty(); waiters.pop_back()) {
    waiters.back()->stop(false);
    line_.push_front(waiters.back());
  }
  return true;
}

// Gives a lane to the first in line that can take it. Those that have left lose their places.
void CombiningSearcher::pass_lane_on() {
  const std::lock_guard lock(mutex_);
  std::erase_if(line_, [](const WaiterPtr& waiter) { return waiter->gone(); });
  const auto next =
      std::find_if(line_.begin(), line_.end(), [](const WaiterPtr& waiter) { return waiter->lead(); });
  if (next == line_.end())
    --taken_lanes_;
  else
    line_.erase(next);
}

// In a forked child the threads that hold lanes and wait are those of the parent. What they share is never
// freed, since their locks may be held.
void CombiningSearcher::forget_parent() {
  if (process_ == getpid()) return;
  process_ = getpid();
  taken_lanes_ = 0;
  static_cast<void>(new std::deque<WaiterPtr>(std::exchange(line_, {})));
}

}  // namespace glove
