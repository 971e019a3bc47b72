// Searchers made of searchers, which prove that searchers compose without a change above them.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "model/model_builder.h"
#include "search/backend.h"
#include "search/merge.h"

namespace glove::testing {

// Searches the parts of a model one by one and merges their answers.
class SplitSearcher final : public Searcher {
 public:
  struct Part {
    int64_t first_row;
    int64_t rows;
    std::shared_ptr<Searcher> searcher;
  };
  explicit SplitSearcher(std::vector<Part> parts) : parts_(std::move(parts)) {}

  Status search(std::span<SearchRequest> requests) override {
    std::vector<std::vector<std::vector<Neighbor>>> answers(requests.size());
    for (const Part& part : parts_) {
      std::vector<Query> queries;
      for (const SearchRequest& request : requests) queries.push_back(query_of_part(part, *request.query));
      std::vector<SearchRequest> asked(requests.begin(), requests.end());
      for (size_t i = 0; i < asked.size(); ++i) asked[i].query = &queries[i];
      GLOVE_RETURN_IF_ERROR(part.searcher->search(asked));
      for (size_t i = 0; i < asked.size(); ++i) {
        for (Neighbor& row : asked[i].rows) row.id += static_cast<int32_t>(part.first_row);
        answers[i].push_back(std::move(asked[i].rows));
        requests[i].status = asked[i].status;
        requests[i].cost = asked[i].cost;
      }
    }
    for (size_t i = 0; i < requests.size(); ++i) {
      const std::vector<std::span<const Neighbor>> ranked(answers[i].begin(), answers[i].end());
      requests[i].rows = merge_ranked(ranked, requests[i].k);
    }
    return {};
  }

  Status score_all(const Query& query, std::span<double> dots, const InterruptCheck& interrupted,
                   ScanCost& cost) override {
    for (const Part& part : parts_)
      GLOVE_RETURN_IF_ERROR(part.searcher->score_all(
          query, dots.subspan(static_cast<size_t>(part.first_row), static_cast<size_t>(part.rows)),
          interrupted, cost));
    return {};
  }

  SearcherInfo info() const override { return parts_.front().searcher->info(); }

 private:
  static Query query_of_part(const Part& part, const Query& query) {
    Query shifted = query;
    shifted.excluded.clear();
    for (const int32_t id : query.excluded)
      if (id >= part.first_row && id < part.first_row + part.rows)
        shifted.excluded.push_back(id - static_cast<int32_t>(part.first_row));
    return shifted;
  }

  const std::vector<Part> parts_;
};

// A backend whose searchers split each model into `parts` searchers of another backend.
class SplittingBackend final : public Backend {
 public:
  SplittingBackend(std::unique_ptr<Backend> inner, int64_t parts) : inner_(std::move(inner)), parts_(parts) {}

  std::string_view name() const override { return "split"; }
  Status available() override { return inner_->available(); }
  SearcherInfo info() const override { return inner_->info(); }

  Result<std::shared_ptr<Searcher>> open(const ModelPtr& model, const InterruptCheck& interrupted) override {
    const int64_t step = (model->words() + parts_ - 1) / parts_;
    std::vector<SplitSearcher::Part> parts;
    for (int64_t first = 0; first < model->words(); first += step) {
      const int64_t rows = std::min(step, model->words() - first);
      GLOVE_ASSIGN_OR_RETURN(auto searcher, inner_->open(rows_of(*model, first, rows), interrupted));
      parts.push_back({first, rows, std::move(searcher)});
    }
    return std::shared_ptr<Searcher>(std::make_shared<SplitSearcher>(std::move(parts)));
  }

 private:
  static ModelPtr rows_of(const Model& model, int64_t first, int64_t rows) {
    ModelBuilder builder("part");
    for (int64_t row = first; row < first + rows; ++row)
      EXPECT_TRUE(builder
                      .add(std::string("w").append(std::to_string(row)),
                           {model.vector(row), static_cast<size_t>(model.dims())})
                      .value());
    return builder.finish(1).value();
  }

  const std::unique_ptr<Backend> inner_;
  const int64_t parts_;
};

// Combines requests that arrive while a search runs into one batch, which one of the callers then searches.
class CombiningSearcher final : public Searcher {
 public:
  explicit CombiningSearcher(std::shared_ptr<Searcher> inner) : inner_(std::move(inner)) {}

  Status search(std::span<SearchRequest> requests) override {
    Call call{requests, false, {}};
    std::unique_lock lock(mutex_);
    waiting_.push_back(&call);
    ++calls_;
    arrived_.notify_all();
    while (!call.done) {
      if (!searching_) {
        search_for_all(lock);
      } else {
        finished_.wait(lock);
      }
    }
    return call.status;
  }

  Status score_all(const Query& query, std::span<double> dots, const InterruptCheck& interrupted,
                   ScanCost& cost) override {
    return inner_->score_all(query, dots, interrupted, cost);
  }

  SearcherInfo info() const override { return inner_->info(); }

  // Holds the next batch back until this many calls have come.
  void wait_for_calls(int calls) {
    const std::lock_guard lock(mutex_);
    awaited_ = calls;
  }
  int batches() const {
    const std::lock_guard lock(mutex_);
    return batches_;
  }

 private:
  struct Call {
    std::span<SearchRequest> requests;
    bool done;
    Status status;
  };

  void search_for_all(std::unique_lock<std::mutex>& lock) {
    searching_ = true;
    arrived_.wait(lock, [this] { return calls_ >= awaited_; });
    const std::vector<Call*> calls = std::exchange(waiting_, {});
    lock.unlock();
    std::vector<SearchRequest> batch;
    for (const Call* const call : calls)
      batch.insert(batch.end(), call->requests.begin(), call->requests.end());
    const Status status = inner_->search(batch);
    auto answered = batch.begin();
    for (Call* const call : calls)
      for (SearchRequest& request : call->requests) request = std::move(*answered++);
    lock.lock();
    for (Call* const call : calls) {
      call->status = status;
      call->done = true;
    }
    ++batches_;
    searching_ = false;
    finished_.notify_all();
  }

  const std::shared_ptr<Searcher> inner_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable arrived_;
  std::condition_variable finished_;
  std::vector<Call*> waiting_;
  bool searching_ = false;
  int calls_ = 0;
  int awaited_ = 0;
  int batches_ = 0;
};

// A backend whose searchers combine callers.
class CombiningBackend final : public Backend {
 public:
  explicit CombiningBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

  std::string_view name() const override { return "combined"; }
  Status available() override { return inner_->available(); }
  SearcherInfo info() const override { return inner_->info(); }
  Result<std::shared_ptr<Searcher>> open(const ModelPtr& model, const InterruptCheck& interrupted) override {
    GLOVE_ASSIGN_OR_RETURN(auto searcher, inner_->open(model, interrupted));
    last_ = std::make_shared<CombiningSearcher>(std::move(searcher));
    return std::shared_ptr<Searcher>(last_);
  }
  CombiningSearcher& last() { return *last_; }

 private:
  const std::unique_ptr<Backend> inner_;
  std::shared_ptr<CombiningSearcher> last_;
};

}  // namespace glove::testing
