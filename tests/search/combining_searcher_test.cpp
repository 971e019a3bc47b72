// Callers that search at the same time: who waits, who answers whom, and that nobody notices.
#include "search/combining_searcher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <set>
#include <thread>

#include "base/float_environment.h"
#include "tests/forked_child.h"
#include "tests/loader/random.h"
#include "tests/search/fake_backend.h"
#include "tests/search/random_model.h"
#include "tests/search/reference.h"

namespace glove {
namespace {

using namespace glove::testing;

// A plain searcher whose calls a test can hold, count and fail.
class GatedSearcher final : public PlainSearcher {
 public:
  using PlainSearcher::PlainSearcher;

  Status search(std::span<SearchRequest> requests) override {
    {
      std::unique_lock lock(mutex_);
      const size_t call = sizes_.size();
      sizes_.push_back(requests.size());
      changed_.notify_all();
      // Bounded, so that a failed test ends.
      changed_.wait_for(lock, std::chrono::seconds(20), [&] { return !held_.contains(call); });
    }
    if (requests.size() > 1 && throws_) throw std::bad_alloc();
    if (requests.size() > 1 && fails_) return {ErrorCode::kOutOfMemory, "no memory for a batch"};
    for (SearchRequest& request : requests) {
      if (request.terms.interrupted != nullptr && *request.terms.interrupted &&
          (*request.terms.interrupted)()) {
        request.status = interrupted_error();
        continue;
      }
      const InterruptCheck* const check = std::exchange(request.terms.interrupted, nullptr);
      GLOVE_RETURN_IF_ERROR(PlainSearcher::search({&request, 1}));
      request.terms.interrupted = check;
    }
    return {};
  }

  // Holds the call with this number, counted from 0, until let_go().
  void hold(size_t call) {
    const std::lock_guard lock(mutex_);
    held_.insert(call);
  }
  void let_go(size_t call) {
    const std::lock_guard lock(mutex_);
    held_.erase(call);
    changed_.notify_all();
  }
  void wait_for_calls(size_t calls) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(20), [&] { return sizes_.size() >= calls; }));
  }
  // The number of queries of each call so far.
  std::vector<size_t> sizes() {
    const std::lock_guard lock(mutex_);
    return sizes_;
  }
  void fail_batches() { fails_ = true; }
  void throw_in_batches() { throws_ = true; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<size_t> sizes_;
  std::set<size_t> held_;
  std::atomic<bool> fails_ = false;
  std::atomic<bool> throws_ = false;
};

// A thread that searches for one query, and what it got.
class Caller {
 public:
  Caller(Searcher& searcher, const Query& query, int64_t k, InterruptCheck interrupted = {})
      : interrupted_(std::move(interrupted)), request_{&query, k, {&interrupted_}, {}, {}, {}} {
    thread_ = std::thread([this, &searcher] {
      const ScopedFloatEnvironment float_environment;
      try {
        status_ = searcher.search({&request_, 1});
        if (status_.ok()) status_ = request_.status;
      } catch (const std::bad_alloc&) {
        status_ = Status(ErrorCode::kOutOfMemory, "thrown");
      }
    });
  }
  ~Caller() { join(); }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  void join() {
    if (thread_.joinable()) thread_.join();
  }
  const Status& status() {
    join();
    return status_;
  }
  // Returns how the answer differs from the relation, or "".
  std::string wrong(const Model& model) {
    if (!status().ok()) return status().error().message;
    const auto relation = reference_relation(model, *request_.query);
    return difference(request_.rows,
                      std::span(relation).first(std::min(relation.size(), size_t(request_.k))));
  }
  const ScanCost& cost() const { return request_.cost; }

 private:
  const InterruptCheck interrupted_;
  SearchRequest request_;
  Status status_;
  std::thread thread_;
};

class Combining : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 8; ++i)
      queries_.push_back(
          query_for_vector(*model_, bytes_of(random_vector(random_, model_->dims(), Rows::kGaussian)))
              .value()
              .value());
  }

  // Returns once this many callers wait for a lane.
  static void wait_for_line(const CombiningSearcher& searcher, size_t callers) {
    for (int i = 0; i < 20'000 && searcher.waiting() < callers; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(searcher.waiting(), callers);
  }

  std::mt19937_64 random_ = random_source();
  const ModelPtr model_ = random_model(random_, 300, 7, Rows::kGaussian);
  const std::shared_ptr<GatedSearcher> gate_ = std::make_shared<GatedSearcher>(model_);
  CombiningSearcher searcher_{gate_, {.lanes = 1, .most_together = 4, .most_rows = 50}};
  std::vector<Query> queries_;
};

TEST_F(Combining, ACallerWaitsForNobodyWhileALaneIsFree) {
  GLOVE_TRACE_SEED();
  for (const Query& query : queries_) EXPECT_EQ(Caller(searcher_, query, 3).wrong(*model_), "");
  EXPECT_EQ(gate_->sizes(), std::vector<size_t>(queries_.size(), 1));
}

TEST_F(Combining, ThoseWhoWaitAreAnsweredTogether) {
  GLOVE_TRACE_SEED();
  gate_->hold(0);
  Caller first(searcher_, queries_[0], 10);
  gate_->wait_for_calls(1);
  Caller second(searcher_, queries_[1], 1);
  Caller third(searcher_, queries_[2], 20);
  Caller fourth(searcher_, queries_[3], 50);
  wait_for_line(searcher_, 3);
  gate_->let_go(0);
  for (Caller* const caller : {&first, &second, &third, &fourth}) {
    EXPECT_EQ(caller->wrong(*model_), "");
    EXPECT_EQ(caller->cost().rows_scanned, model_->words());
  }
  EXPECT_EQ(gate_->sizes(), (std::vector<size_t>{1, 3}));
}

TEST_F(Combining, ABatchHasAtMostSoManyQueries) {
  GLOVE_TRACE_SEED();
  gate_->hold(0);
  std::vector<std::unique_ptr<Caller>> callers;
  for (size_t i = 0; i < 7; ++i) {
    callers.push_back(std::make_unique<Caller>(searcher_, queries_[i], 5));
    if (i == 0) gate_->wait_for_calls(1);
  }
  wait_for_line(searcher_, 6);
  gate_->let_go(0);
  for (const auto& caller : callers) EXPECT_EQ(caller->wrong(*model_), "");
  EXPECT_EQ(gate_->sizes(), (std::vector<size_t>{1, 4, 2}));
}

TEST_F(Combining, ASecondLaneIsForFewCallersOrAFullBatch) {
  GLOVE_TRACE_SEED();
  CombiningSearcher searcher(gate_, {.lanes = 2, .most_together = 3, .most_rows = 50});
  gate_->hold(0);
  gate_->hold(1);
  std::vector<std::unique_ptr<Caller>> callers;
  const auto call = [&] {
    callers.push_back(std::make_unique<Caller>(searcher, queries_[callers.size()], 5));
  };
  for (size_t i = 0; i < 4; ++i) {
    call();
    if (i < 2) gate_->wait_for_calls(i + 1);  // each has a lane
  }
  wait_for_line(searcher, 2);
  gate_->let_go(1);
  EXPECT_EQ(callers[1]->wrong(*model_), "");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // those in the line have looked for a lane
  EXPECT_EQ(gate_->sizes(), (std::vector<size_t>{1, 1}));
  call();
  gate_->wait_for_calls(3);
  for (size_t i = 2; i < 5; ++i) EXPECT_EQ(callers[i]->wrong(*model_), "");
  gate_->let_go(0);
  EXPECT_EQ(callers[0]->wrong(*model_), "");
  EXPECT_EQ(gate_->sizes(), (std::vector<size_t>{1, 1, 3}));
}

TEST_F(Combining, LargeAnswersAndBatchesDoNotWait) {
  GLOVE_TRACE_SEED();
  gate_->hold(0);
  Caller held(searcher_, queries_[0], 10);
  gate_->wait_for_calls(1);
  EXPECT_EQ(Caller(searcher_, queries_[1], 51).wrong(*model_), "");
  Query excluding = queries_[2];
  for (int32_t id = 0; id < 45; ++id) excluding.excluded.push_back(id);
  EXPECT_EQ(Caller(searcher_, excluding, 6).wrong(*model_), "");
  std::vector<SearchRequest> batch(2, {&queries_[3], 5, {}, {}, {}, {}});
  const ScopedFloatEnvironment float_environment;
  EXPECT_TRUE(searcher_.search(batch).ok());
  gate_->let_go(0);
  EXPECT_EQ(held.wrong(*model_), "");
}

TEST_F(Combining, AnInterruptEndsAWaitAndNothingElse) {
  GLOVE_TRACE_SEED();
  std::atomic<bool> stop = false;
  gate_->hold(0);
  Caller first(searcher_, queries_[0], 10);
  gate_->wait_for_calls(1);
  Caller second(searcher_, queries_[1], 10, [&] { return stop.load(); });
  Caller third(searcher_, queries_[2], 10);
  wait_for_line(searcher_, 2);
  stop = true;
  EXPECT_EQ(second.status().error().code, ErrorCode::kInterrupted);  // while the first is still held
  gate_->let_go(0);
  EXPECT_EQ(first.wrong(*model_), "");
  EXPECT_EQ(third.wrong(*model_), "");
  EXPECT_EQ(gate_->sizes(), (std::vector<size_t>{1, 1}));
}

TEST_F(Combining, AnInterruptedCallerLeavesTheBatchOfAnother) {
  GLOVE_TRACE_SEED();
  std::atomic<bool> stop = false;
  gate_->hold(0);
  gate_->hold(1);
  Caller first(searcher_, queries_[0], 10);
  gate_->wait_for_calls(1);
  Caller second(searcher_, queries_[1], 10);
  wait_for_line(searcher_, 1);
  Caller third(searcher_, queries_[2], 10, [&] { return stop.load(); });
  wait_for_line(searcher_, 2);
  gate_->let_go(0);
  gate_->wait_for_calls(2);
  stop = true;
  EXPECT_EQ(third.status().error().code, ErrorCode::kInterrupted);  // while the batch is still held
  gate_->let_go(1);
  EXPECT_EQ(first.wrong(*model_), "");
  EXPECT_EQ(second.wrong(*model_), "");
}

TEST_F(Combining, IfABatchFailsItsCallersSearchAlone) {
  GLOVE_TRACE_SEED();
  gate_->fail_batches();
  gate_->hold(0);
  Caller first(searcher_, queries_[0], 10);
  gate_->wait_for_calls(1);
  Caller second(searcher_, queries_[1], 10);
  Caller third(searcher_, queries_[2], 10);
  wait_for_line(searcher_, 2);
  gate_->let_go(0);
  for (Caller* const caller : {&first, &second, &third}) EXPECT_EQ(caller->wrong(*model_), "");
  EXPECT_EQ(gate_->sizes().size(), 4U);
}

TEST_F(Combining, IfABatchRunsOutOfMemoryItsCallersSearchAlone) {
  GLOVE_TRACE_SEED();
  gate_->throw_in_batches();
  gate_->hold(0);
  Caller first(searcher_, queries_[0], 10);
  gate_->wait_for_calls(1);
  Caller second(searcher_, queries_[1], 10);
  Caller third(searcher_, queries_[2], 10);
  wait_for_line(searcher_, 2);
  gate_->let_go(0);
  for (Caller* const caller : {&first, &second, &third}) EXPECT_EQ(caller->wrong(*model_), "");
  EXPECT_EQ(Caller(searcher_, queries_[3], 10).wrong(*model_), "");  // the lane is free again
}

// The gate asks every request of a batch for its interrupt, the leader's first.
TEST_F(Combining, AfterAnInterruptedLeaderTheOthersWaitAgain) {
  GLOVE_TRACE_SEED();
  std::atomic<bool> stop = false;
  gate_->hold(0);
  gate_->hold(1);
  Caller first(searcher_, queries_[0], 10);
  gate_->wait_for_calls(1);
  Caller leader(searcher_, queries_[1], 10, [&] { return stop.load(); });
  wait_for_line(searcher_, 1);
  Caller third(searcher_, queries_[2], 10);
  Caller fourth(searcher_, queries_[3], 10);
  wait_for_line(searcher_, 3);
  gate_->let_go(0);
  gate_->wait_for_calls(2);
  stop = true;
  gate_->let_go(1);
  EXPECT_EQ(leader.status().error().code, ErrorCode::kInterrupted);
  for (Caller* const caller : {&first, &third, &fourth}) EXPECT_EQ(caller->wrong(*model_), "");
  EXPECT_EQ(gate_->sizes(), (std::vector<size_t>{1, 3, 2}));
}

// The check of the lane's holder waits for a mutex that a waiting caller's host holds.
TEST_F(Combining, AnInterruptCheckMayWaitForAnotherCaller) {
  GLOVE_TRACE_SEED();
  std::mutex host;
  std::atomic<bool> in_check = false;
  std::unique_lock held(host);
  Caller holder(searcher_, queries_[0], 10, [&] {
    in_check = true;
    const std::lock_guard lock(host);
    return false;
  });
  for (int i = 0; i < 20'000 && !in_check; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_TRUE(in_check);
  EXPECT_EQ(Caller(searcher_, queries_[1], 10).wrong(*model_), "");
  held.unlock();
  EXPECT_EQ(holder.wrong(*model_), "");
}

TEST_F(Combining, AnInterruptCheckMaySearch) {
  GLOVE_TRACE_SEED();
  std::atomic<int> right = 0;
  const InterruptCheck searches = [&] {
    SearchRequest request{&queries_[4], 5, {}, {}, {}, {}};
    const auto relation = reference_relation(*model_, queries_[4]);
    right += searcher_.search({&request, 1}).ok() &&
             difference(request.rows, std::span(relation).first(5)).empty();
    return false;
  };
  EXPECT_EQ(Caller(searcher_, queries_[0], 10, searches).wrong(*model_), "");
  const size_t calls = gate_->sizes().size();
  gate_->hold(calls);
  Caller first(searcher_, queries_[1], 10);
  gate_->wait_for_calls(calls + 1);
  Caller second(searcher_, queries_[2], 10, searches);
  gate_->wait_for_calls(calls + 2);  // it searches while it waits
  gate_->let_go(calls);
  EXPECT_EQ(first.wrong(*model_), "");
  EXPECT_EQ(second.wrong(*model_), "");
  EXPECT_GE(right, 2);
}

// A forked child has none of the parent's threads, so it takes a lane that one of them holds.
TEST_F(Combining, AForkedChildDoesNotWaitForAThreadThatItDoesNotHave) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not support threads after a fork";
#endif
  gate_->hold(0);
  Caller held(searcher_, queries_[0], 10);
  gate_->wait_for_calls(1);
  Caller waiting(searcher_, queries_[1], 10);
  wait_for_line(searcher_, 1);
  EXPECT_TRUE(holds_in_forked_child([this] {
    const ScopedFloatEnvironment float_environment;
    SearchRequest request{&queries_[2], 10, {}, {}, {}, {}};
    return searcher_.search({&request, 1}).ok() && request.rows.size() == 10;
  }));
  gate_->let_go(0);
  EXPECT_EQ(held.wrong(*model_), "");
  EXPECT_EQ(waiting.wrong(*model_), "");
}

// Many threads with all of it at once: other k, interrupts, batches that fail, and callers that come and go.
TEST_F(Combining, ManyThreadsGetTheirOwnAnswers) {
  GLOVE_TRACE_SEED();
  for (const int lanes : {1, 2, 3}) {
    CombiningSearcher searcher(gate_, {.lanes = lanes, .most_together = 5, .most_rows = 50});
    std::vector<std::vector<Neighbor>> relations;
    for (const Query& query : queries_) relations.push_back(reference_relation(*model_, query));
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (uint64_t thread = 0; thread < 16; ++thread)
      threads.emplace_back([&, seed = random_()] {
        const ScopedFloatEnvironment float_environment;
        std::mt19937_64 random(seed);
        for (int run = 0; run < 60; ++run) {
          const size_t query = random() % queries_.size();
          const bool stops = random() % 8 == 0;
          uint64_t polls = random() % 3;
          const InterruptCheck interrupted = [&] { return stops && polls-- == 0; };
          SearchRequest request{&queries_[query], int64_t(1 + random() % 60), {&interrupted}, {}, {}, {}};
          const Status searched = searcher.search({&request, 1});
          const Status status = searched.ok() ? request.status : searched;
          if (status.ok())
            wrong += !difference(request.rows, std::span(relations[query]).first(size_t(request.k))).empty();
          else
            wrong += !stops || status.error().code != ErrorCode::kInterrupted;
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0) << lanes << " lanes";
    EXPECT_EQ(searcher.waiting(), 0U);
  }
}

}  // namespace
}  // namespace glove
