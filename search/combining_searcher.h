// Searches for single queries that arrive while others run are answered together.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "search/searcher.h"

namespace glove {

class CombiningWaiter;

struct CombiningOptions {
  int lanes = 2;              // searches that may run at the same time: one uses the host while another scans
  size_t most_together = 64;  // queries that one of them answers
  int64_t most_rows = 128;    // a query that needs more rows (k and excluded ones) is searched by itself
};

// Answers each call with one query at once while there are no more callers than lanes. Otherwise the query
// waits until the search before has ended, or until enough wait for a full batch beside it; one of the
// waiting threads then searches for all that wait, as one batch of the inner searcher. There are no further
// threads: this is group commit (DeWitt et al., SIGMOD 1984) as a combining lock (Hendler, Incze, Shavit and
// Tzafrir, Flat Combining, SPAA 2010). Calls with several queries are passed on, and run beside the lanes.
//
// A batch costs hardly more for each further query, and most callers ask again as soon as they are answered.
// So the thread that leads after a batch lets its callers return first: it waits until there are as many as
// before, but at most for half of the time that the search before took, from its end, and 5 ms.
//
// Every caller keeps its own k, interrupt, status and cost. A caller that is interrupted while it waits, or
// while another thread searches for it, returns at once. If the thread that searches for a batch is
// interrupted, the batch ends, and the others wait again. If a batch fails, each of its callers searches by
// itself, so that no error of a batch reaches them. An interrupt check may run the host's code, which may
// wait for the host's other threads: a caller that finds a holder of a lane inside its check twice in a row
// stops waiting and searches by itself. In a forked child no query waits.
class CombiningSearcher final : public Searcher {
 public:
  explicit CombiningSearcher(std::shared_ptr<Searcher> inner, const CombiningOptions& options = {});
  ~CombiningSearcher() override;

  Status search(std::span<SearchRequest> requests) override;
  Status score_all(const Query& query, std::span<double> dots, const InterruptCheck& interrupted,
                   ScanCost& cost) override {
    return inner_->score_all(query, dots, interrupted, cost);
  }
  SearcherInfo info() const override { return inner_->info(); }

  // Returns the number of callers in the line.
  size_t waiting() const {
    const Lock lock(mutex_);
    return line_.size();
  }

 private:
  class Batch;
  using WaiterPtr = std::shared_ptr<CombiningWaiter>;

  // What the end of a search says about the next one.
  struct LastSearch {
    size_t callers = 0;  // those that it answered, and those that waited for the next one
    std::chrono::steady_clock::time_point callers_expected_until{};
  };

  bool take_free_lane();
  bool has_lane_for(size_t queries, int callers) const GLOVE_REQUIRES(mutex_);
  void let_callers_return();
  WaiterPtr wait_in_line(const SearchRequest& request);
  Status search_when_called(const WaiterPtr& waiter, SearchRequest& request);
  Status search_in_lane(SearchRequest& request);
  std::vector<WaiterPtr> take_waiting();
  bool return_to_line(std::vector<WaiterPtr>& waiters);
  Status search_timed(std::span<SearchRequest> requests);
  void pass_lane_on();
  bool step_out_of_line(const WaiterPtr& waiter);
  void forget_parent() GLOVE_REQUIRES(mutex_);

  const std::shared_ptr<Searcher> inner_;
  const CombiningOptions options_;
  std::atomic<int> holders_in_checks_ = 0;
  std::atomic<int> callers_ = 0;  // inside search() with a query that may wait
  mutable ForkSafeMutex mutex_;
  int taken_lanes_ GLOVE_GUARDED_BY(mutex_) = 0;
  LastSearch last_search_ GLOVE_GUARDED_BY(mutex_);
  std::deque<WaiterPtr> line_ GLOVE_GUARDED_BY(mutex_);  // longest wait first
  int64_t process_ GLOVE_GUARDED_BY(mutex_);
};

}  // namespace glove
