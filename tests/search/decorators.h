// Searchers made of searchers, which prove that searchers compose without a change above them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "model/model_builder.h"
#include "search/backend.h"
#include "search/candidates.h"

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

}  // namespace glove::testing
