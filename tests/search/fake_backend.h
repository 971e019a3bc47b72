// Backends for tests of the engine: one that answers plainly, one that ranks, and one that does what it is
// told.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>

#include "model/exact_dot.h"
#include "search/backend.h"

namespace glove::testing {

// Proposes every row, without similarities, and scores with exact_dot.
class PlainBackend : public Backend {
 public:
  std::string_view name() const override { return "plain"; }
  Status available() override { return {}; }
  Status prepare(const ModelPtr&, const InterruptCheck&) override { return {}; }

  Result<std::vector<Candidates>> propose(const ModelPtr& model, std::span<const Query> queries, int64_t,
                                          const InterruptCheck& interrupted, ScanCost& cost) override {
    if (interrupted && interrupted()) return Error{ErrorCode::kInterrupted, "interrupted"};
    Candidates all;
    all.ids.resize(static_cast<size_t>(model->words()));
    std::iota(all.ids.rbegin(), all.ids.rend(), 0);
    cost.rows_scanned += model->words();
    cost.candidates += model->words() * static_cast<int64_t>(queries.size());
    return std::vector<Candidates>(queries.size(), all);
  }

  Status score_all(const ModelPtr& model, const Query& query, std::span<double> dots,
                   const InterruptCheck& interrupted, ScanCost& cost) override {
    for (int64_t i = 0; i < model->words(); ++i) {
      if (interrupted && interrupted()) return Status(ErrorCode::kInterrupted, "interrupted");
      dots[static_cast<size_t>(i)] = exact_dot(query.vector.data(), model->vector(i), model->dims());
    }
    cost.rows_scanned += model->words();
    return {};
  }

  Residency residency(const Model&) const override { return {"mapped", "test", 0}; }
  void release(const Model&) override {}
};

// Proposes the best rows with their similarities, in order for every other query and backwards for the rest,
// as a device that ranks may.
class RankingBackend final : public PlainBackend {
 public:
  std::string_view name() const override { return "ranking"; }

  Result<std::vector<Candidates>> propose(const ModelPtr& model, std::span<const Query> queries, int64_t k,
                                          const InterruptCheck&, ScanCost& cost) override {
    std::vector<Candidates> answers;
    for (const Query& query : queries) {
      std::vector<Neighbor> rows;
      for (int32_t id = 0; id < model->words(); ++id) rows.push_back({id, similarity(*model, query, id)});
      std::sort(rows.begin(), rows.end(), ranks_before);
      rows.resize(std::min(rows.size(), static_cast<size_t>(k) + query.excluded.size()));
      if (answers.size() % 2 == 1) std::reverse(rows.begin(), rows.end());
      Candidates& answer = answers.emplace_back();
      for (const Neighbor& row : rows) {
        answer.ids.push_back(row.id);
        answer.similarities.push_back(row.similarity);
      }
      cost.candidates += static_cast<int64_t>(rows.size());
    }
    return answers;
  }

 private:
  static double similarity(const Model& model, const Query& query, int32_t id) {
    if (!(model.norm_squared(id) > 0)) return kNoSimilarity;
    const double dot = exact_dot(query.vector.data(), model.vector(id), model.dims());
    const double cosine = cosine_from_dots(dot, query.norm_squared, model.norm_squared(id));
    return std::isnan(cosine) ? kNoSimilarity : cosine;
  }
};

// What the backend "scripted" answers. By default it is not available.
struct Script {
  std::mutex mutex;
  Status available = Status(ErrorCode::kUnavailable, "it was switched off");
  Status prepare;
  Status search;
  int prepared = 0;
  int searched = 0;
  int released = 0;
};

class ScriptedBackend final : public PlainBackend {
 public:
  explicit ScriptedBackend(Script& script) : script_(script) {}

  std::string_view name() const override { return "scripted"; }

  Status available() override {
    const std::lock_guard lock(script_.mutex);
    return script_.available;
  }

  Status prepare(const ModelPtr&, const InterruptCheck&) override {
    const std::lock_guard lock(script_.mutex);
    ++script_.prepared;
    return script_.prepare;
  }

  Result<std::vector<Candidates>> propose(const ModelPtr& model, std::span<const Query> queries, int64_t k,
                                          const InterruptCheck& interrupted, ScanCost& cost) override {
    GLOVE_RETURN_IF_ERROR(count_search());
    return PlainBackend::propose(model, queries, k, interrupted, cost);
  }

  Status score_all(const ModelPtr& model, const Query& query, std::span<double> dots,
                   const InterruptCheck& interrupted, ScanCost& cost) override {
    GLOVE_RETURN_IF_ERROR(count_search());
    return PlainBackend::score_all(model, query, dots, interrupted, cost);
  }

  void release(const Model&) override {
    const std::lock_guard lock(script_.mutex);
    ++script_.released;
  }

 private:
  Status count_search() {
    const std::lock_guard lock(script_.mutex);
    ++script_.searched;
    return script_.search;
  }

  Script& script_;
};

}  // namespace glove::testing
