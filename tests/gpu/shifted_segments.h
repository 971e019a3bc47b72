// Segments whose codes are shifted, as a live index by inner product or Euclidean distance has them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "model/exact_dot.h"
#include "search/backend.h"
#include "tests/model/shifted_rows.h"
#include "tests/search/random_mask.h"

namespace glove::testing {

// Segments of these many rows, with the vectors beside them.
struct ShiftedSegments {
  ShiftedSegments(ShiftedKind kind, RowMetric by, std::vector<int64_t> counts, int64_t of_dims,
                  std::mt19937_64& random)
      : metric(by), dims(of_dims) {
    std::vector<float> all;
    for (const int64_t count : counts) {
      const std::vector<float> segment = some_rows(kind, count, dims, random);
      all.insert(all.end(), segment.begin(), segment.end());
    }
    Model::Source source;
    source.path = "a live index";
    source.coding = std::make_shared<const Coding>(Coding{metric, shift_of(all, dims)});
    std::vector<ModelPart> parts;
    int64_t first = 0;
    for (const int64_t count : counts) {
      coded->emplace_back(
          source.coding->shift,
          std::vector<float>(all.begin() + first * dims, all.begin() + (first + count) * dims), dims);
      parts.push_back(coded->back().part);
      parts.back().first_row = first;
      first += count;
    }
    rows = std::move(all);
    model = std::make_shared<const Model>(std::move(parts), Vocabulary(), std::move(source), coded);
  }

  double score(const Query& query, int64_t row) const {
    return exact_score(metric, query.vector.data(), 0, rows.data() + row * dims, 0, dims);
  }

  RowMetric metric;
  int64_t dims;
  std::shared_ptr<std::deque<Coded>> coded = std::make_shared<std::deque<Coded>>();
  std::vector<float> rows;
  ModelPtr model;
};

// Expects the k best rows among the candidates, with bounds that are not too low.
inline void expect_shifted(const ShiftedSegments& segments, const SearchRequest& request) {
  const Query& query = *request.query;
  const Coding& coding = *segments.model->source().coding;
  std::vector<Neighbor> wanted;
  for (int64_t row = 0; row < segments.model->words(); ++row)
    if (query.among == nullptr || query.among->admits(row))
      if (!std::ranges::binary_search(query.excluded, row))
        wanted.push_back({row, segments.score(query, row)});
  std::ranges::sort(wanted, ranks_before);
  std::set<int64_t> found;
  for (const Neighbor& row : request.rows) {
    EXPECT_TRUE(found.insert(row.id).second);
    EXPECT_GE(row.similarity,
              bound_of_score(segments.metric, coding.shift, query.vector, segments.score(query, row.id)));
  }
  for (size_t i = 0; i < std::min(wanted.size(), static_cast<size_t>(request.k)); ++i) {
    if (wanted[i].similarity < query.least) break;
    ASSERT_TRUE(found.contains(wanted[i].id))
        << "rank " << i + 1 << " of " << wanted.size() << ", " << metric_name(segments.metric);
  }
}

// Searches segments of every kind by a backend that returns candidates: alone, together, among some rows, and
// from a score on.
inline void expect_shifted_segments(Backend& backend, std::mt19937_64& random, int64_t rows, int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (const RowMetric metric : {RowMetric::kDot, RowMetric::kL2}) {
      const auto kind = static_cast<ShiftedKind>(round % kKinds);
      const auto dims = static_cast<int64_t>(1 + random() % 400);
      SCOPED_TRACE("kind " + std::to_string(kind) + ", " + std::to_string(dims) + " dimensions");
      const auto half = static_cast<int64_t>(1 + random() % static_cast<uint64_t>(rows));
      const ShiftedSegments segments(kind, metric, {half, 33, rows}, dims, random);
      const auto searcher = backend.open(segments.model, {});
      ASSERT_TRUE(searcher.ok()) << searcher.error().message;
      std::vector<Query> queries;
      for (int i = 0; i < 5; ++i) {
        Query query;
        query.vector = some_rows(kind, 1, dims, random);
        if (i == 1) query.vector.assign(segments.rows.begin(), segments.rows.begin() + dims);
        if (i == 2) query.vector.assign(static_cast<size_t>(dims), 0.0f);
        query.norm_squared = exact_dot(query.vector.data(), query.vector.data(), dims);
        if (round % 3 == 1) query.excluded = {0, 5};
        if (i == 3) query.least = segments.score(query, half / 2);
        queries.push_back(std::move(query));
      }
      const RowMaskPtr among = round % 2 == 1 ? random_mask(random, *segments.model) : nullptr;
      for (Query& query : queries) query.among = among;
      for (const int64_t k : {1, 10, 60}) {
        std::vector<SearchRequest> requests;
        for (const Query& query : queries) requests.push_back({&query, k, {}, {}, {}, {}});
        const Status status = searcher.value()->search(requests);
        ASSERT_TRUE(status.ok()) << status.error().message;
        for (const SearchRequest& request : requests)
          ASSERT_NO_FATAL_FAILURE(expect_shifted(segments, request));
        for (const Query& query : queries) {
          SearchRequest single{&query, k, {}, {}, {}, {}};
          ASSERT_TRUE(searcher.value()->search({&single, 1}).ok());
          ASSERT_NO_FATAL_FAILURE(expect_shifted(segments, single));
        }
      }
    }
}

}  // namespace glove::testing
