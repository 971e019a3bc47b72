// Backends for tests of search/: one that answers plainly, one that ranks, and one whose behaviour a test
// scripts.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <utility>

#include "model/exact_dot.h"
#include "search/backend.h"
#include "search/candidates.h"

namespace glove::testing {

inline bool is_in_mask(const Query& query, int64_t row) {
  return query.among == nullptr || query.among->admits(row);
}

// Computes the similarity of every row, and keeps the best.
class PlainSearcher : public Searcher {
 public:
  explicit PlainSearcher(ModelPtr model) : model_(std::move(model)) {}

  Status search(std::span<SearchRequest> requests) override {
    for (SearchRequest& request : requests) {
      if (request.terms.interrupted != nullptr)
        GLOVE_RETURN_IF_ERROR(check_interrupt(*request.terms.interrupted));
      request.rows.clear();
      for (int64_t id = model_->words() - 1; id >= 0; --id)
        if (is_in_mask(*request.query, id)) request.rows.push_back({id, kNoScore});
      rescore(*model_, *request.query, request.rows);
      keep_best(*request.query, request.k, request.rows);
      request.cost.rows_scanned += model_->words();
      request.cost.candidates += model_->words();
    }
    return {};
  }

  Status score_all(const Query& query, std::span<double> dots, const InterruptCheck& interrupted,
                   ScanCost& cost) override {
    for (int64_t i = 0; i < model_->words(); ++i) {
      GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
      dots[static_cast<size_t>(i)] = exact_dot(query.vector.data(), model_->vector(i), model_->dims());
    }
    cost.rows_scanned += model_->words();
    return {};
  }

  SearcherInfo info() const override { return {"mapped", "test", 0}; }

 private:
  const ModelPtr model_;
};

class PlainBackend : public Backend {
 public:
  std::string_view name() const override { return "plain"; }
  Status available() override { return {}; }
  Result<std::shared_ptr<Searcher>> open(const ModelPtr& model, const InterruptCheck&) override {
    return std::shared_ptr<Searcher>(std::make_shared<PlainSearcher>(model));
  }
  SearcherInfo info() const override { return {"mapped", "test", 0}; }
};

// Sorts every row, for every other request in order and backwards for the rest, as a device that ranks may.
class RankingSearcher final : public PlainSearcher {
 public:
  explicit RankingSearcher(const ModelPtr& model) : PlainSearcher(model), model_(model) {}

  Status search(std::span<SearchRequest> requests) override {
    bool backwards = false;
    for (SearchRequest& request : requests) {
      request.rows.clear();
      for (int64_t id = 0; id < model_->words(); ++id)
        if (is_in_mask(*request.query, id)) request.rows.push_back({id, kNoScore});
      rescore(*model_, *request.query, request.rows);
      std::erase_if(request.rows, [](const Neighbor& row) { return std::isnan(row.similarity); });
      std::sort(request.rows.begin(), request.rows.end(), ranks_before);
      const size_t most = static_cast<size_t>(request.k) + request.query->excluded.size();
      request.rows.resize(std::min(request.rows.size(), most));
      if (backwards) std::reverse(request.rows.begin(), request.rows.end());
      backwards = !backwards;
      request.cost.candidates += static_cast<int64_t>(request.rows.size());
      keep_best(*request.query, request.k, request.rows);
    }
    return {};
  }

 private:
  const ModelPtr model_;
};

class RankingBackend final : public PlainBackend {
 public:
  std::string_view name() const override { return "ranking"; }
  Result<std::shared_ptr<Searcher>> open(const ModelPtr& model, const InterruptCheck&) override {
    return std::shared_ptr<Searcher>(std::make_shared<RankingSearcher>(model));
  }
};

// What the backend "scripted" answers. By default it is not available.
struct Script {
  std::mutex mutex;
  Status available = Status(ErrorCode::kUnavailable, "it was switched off");
  Status open;
  Status search;
  int opened = 0;  // attempts
  int searched = 0;
  int closed = 0;  // searchers that are gone
};

class ScriptedSearcher final : public PlainSearcher {
 public:
  ScriptedSearcher(ModelPtr model, Script& script) : PlainSearcher(std::move(model)), script_(script) {}
  ~ScriptedSearcher() override {
    const std::lock_guard lock(script_.mutex);
    ++script_.closed;
  }

  Status search(std::span<SearchRequest> requests) override {
    GLOVE_RETURN_IF_ERROR(count_search());
    return PlainSearcher::search(requests);
  }

  Status score_all(const Query& query, std::span<double> dots, const InterruptCheck& interrupted,
                   ScanCost& cost) override {
    GLOVE_RETURN_IF_ERROR(count_search());
    return PlainSearcher::score_all(query, dots, interrupted, cost);
  }

 private:
  Status count_search() {
    const std::lock_guard lock(script_.mutex);
    ++script_.searched;
    return script_.search;
  }

  Script& script_;
};

class ScriptedBackend final : public Backend {
 public:
  explicit ScriptedBackend(Script& script) : script_(script) {}

  std::string_view name() const override { return "scripted"; }

  Status available() override {
    const std::lock_guard lock(script_.mutex);
    return script_.available;
  }

  Result<std::shared_ptr<Searcher>> open(const ModelPtr& model, const InterruptCheck& interrupted) override {
    GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    const std::lock_guard lock(script_.mutex);
    ++script_.opened;
    GLOVE_RETURN_IF_ERROR(script_.open);
    return std::shared_ptr<Searcher>(std::make_shared<ScriptedSearcher>(model, script_));
  }

  SearcherInfo info() const override { return {"not loaded", "test", 0}; }

 private:
  Script& script_;
};

}  // namespace glove::testing
