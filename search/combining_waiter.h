// A query that waits for a search, or for the search of another thread (search/combining_searcher.h).
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "search/searcher.h"

namespace glove {

// A query in the line or in another thread's batch. Holds copies of what that thread reads, so that its
// caller can leave.
class CombiningWaiter {
 public:
  enum class Call {
    kNone,    // nothing happened, or the caller must look at its interrupt
    kLead,    // the caller has a lane
    kAlone,   // the caller must search by itself
    kAnswer,  // the request has its answer
  };

  explicit CombiningWaiter(const SearchRequest& request) : query_(*request.query), request_(request) {
    request_.query = &query_;
    interrupted_ = [this] { return gone() || stopped_.load(std::memory_order_relaxed); };
    request_.terms.interrupted = &interrupted_;
  }

  // For the caller: sleeps until it is called, or for as long as an interrupt may go unnoticed.
  Call sleep() {
    Lock lock(mutex_);
    const auto end = std::chrono::steady_clock::now() + kPollInterval;
    while (call_ == Call::kNone && called_.wait_until(mutex_, end)) {
    }
    return std::exchange(call_, Call::kNone);
  }

  // For the caller: runs the interrupt check. Meanwhile the caller is not called to lead, because the check
  // may take long.
  Status check(const InterruptCheck* interrupted) {
    if (interrupted == nullptr) return {};
    set_away(true);
    Status status = check_interrupt(*interrupted);
    set_away(false);
    return status;
  }

  // For the caller, when it no longer waits. Returns the call that it has not seen.
  Call leave() {
    const Lock lock(mutex_);
    gone_.store(true, std::memory_order_relaxed);
    return call_;
  }

  bool gone() const { return gone_.load(std::memory_order_relaxed); }

  // Stops the search for the waiter's copy, which its caller does not notice, or allows it again.
  void stop(bool stopped) { stopped_.store(stopped, std::memory_order_relaxed); }

  // Gives the caller a lane. Returns false if it does not wait at present.
  bool lead() {
    const Lock lock(mutex_);
    if (gone() || away_) return false;
    call_ = Call::kLead;
    called_.notify_one();
    return true;
  }

  // Ends the wait with an answer, without waking the caller up. Its caller wakes `others` up, who are
  // answered already. Returns false if the caller has left, so that it cannot.
  bool answer(SearchRequest&& answered, std::vector<std::shared_ptr<CombiningWaiter>>&& others) {
    const Lock lock(mutex_);
    if (gone()) return false;
    request_ = std::move(answered);
    others_ = std::move(others);
    call_ = Call::kAnswer;
    return true;
  }
  void wake_up() { called_.notify_one(); }

  // For the caller, after kAnswer.
  void wake_others() {
    for (const auto& other : others_) other->wake_up();
    others_.clear();
  }

  // Ends the wait without an answer. Notifies without the lock, so that the caller does not wake up only to
  // wait for it.
  void search_alone() {
    {
      const Lock lock(mutex_);
      call_ = Call::kAlone;
    }
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
  static constexpr std::chrono::milliseconds kPollInterval{5};

  void set_away(bool away) {
    const Lock lock(mutex_);
    away_ = away;
  }

  const Query query_;
  SearchRequest request_;
  InterruptCheck interrupted_;
  std::atomic<bool> gone_ = false;
  std::atomic<bool> stopped_ = false;
  Mutex mutex_;
  ConditionVariable called_;
  bool away_ GLOVE_GUARDED_BY(mutex_) = false;
  Call call_ GLOVE_GUARDED_BY(mutex_) = Call::kNone;
  std::vector<std::shared_ptr<CombiningWaiter>> others_;
};

}  // namespace glove
