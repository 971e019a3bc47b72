#include "tests/cpu/test_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <ostream>

#include "base/float_environment.h"
#include "lists/plane_arrays.h"
#include "lists/planes.h"
#include "model/exact_dot.h"
#include "model/model_builder.h"
#include "tests/loader/random.h"
#include "tests/tested_targets.h"

namespace glove::test {

std::string seed_text() {
  return "GLOVE_TEST_SEED=" + std::to_string(glove::testing::test_seed());
}

std::mt19937_64 make_random(uint64_t stream) {
  return std::mt19937_64(glove::testing::test_seed() * 0x9E3779B97F4A7C15u + stream);
}

Matrix gaussian(int64_t rows, int64_t dims, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  Matrix matrix{rows, dims, std::vector<float>(static_cast<size_t>(rows * dims))};
  for (float& value : matrix.values) value = normal(random);
  return matrix;
}

Matrix clustered(int64_t rows, int64_t dims, std::mt19937_64& random) {
  const Matrix centres = gaussian(40, dims, random);
  Matrix matrix = gaussian(rows, dims, random);
  for (int64_t i = 0; i < rows; ++i) {
    const float* centre = centres.row(static_cast<int64_t>(random() % 40));
    const float spread = 0.05f + static_cast<float>(random() % 100) / 50.0f;
    for (int64_t j = 0; j < dims; ++j) matrix.row(i)[j] = centre[j] + spread * matrix.row(i)[j];
  }
  return matrix;
}

ModelPtr make_model(const Matrix& matrix) {
  ModelBuilder builder("test model");
  for (int64_t i = 0; i < matrix.rows; ++i) {
    const auto added = builder.add(std::string("w").append(std::to_string(i)),
                                   {matrix.row(i), static_cast<size_t>(matrix.dims)});
    if (!added.ok()) ADD_FAILURE() << added.error().message;
  }
  auto model = builder.finish(1);
  if (!model.ok()) ADD_FAILURE() << model.error().message;
  return model.value();
}

namespace {

ModelPtr with_level(const ModelPtr& model, int bits, std::vector<int8_t> codes, std::vector<float> scales,
                    std::vector<float> residuals) {
  struct Owner {
    ModelPtr base;
    std::vector<int8_t> codes;
    std::vector<float> scales, residuals;
  };
  auto owner =
      std::make_shared<Owner>(Owner{model, std::move(codes), std::move(scales), std::move(residuals)});
  ModelPart part = model->parts().front();
  const CodeLevel fine = part.level(8);
  part.levels = {{bits, owner->codes, owner->scales, owner->residuals}};
  if (bits != 8) part.levels.push_back(fine);
  Model::Source source;
  source.path = model->path();
  return std::make_shared<Model>(std::vector{part}, model->vocabulary(), source, owner);
}

}  // namespace

ModelPtr with_codes(const ModelPtr& model, std::vector<int8_t> codes, std::vector<float> scales,
                    std::vector<float> residuals) {
  return with_level(model, 8, std::move(codes), std::move(scales), std::move(residuals));
}

ModelPtr with_coarse_codes(const ModelPtr& model, std::vector<int8_t> codes, std::vector<float> scales,
                           std::vector<float> residuals) {
  return with_level(model, 4, std::move(codes), std::move(scales), std::move(residuals));
}

ModelPtr with_planes(const ModelPtr& model, int64_t lists, std::mt19937_64& random) {
  struct Owner {
    ModelPtr model;
    std::deque<std::pair<PlaneArrays, PlaneLevel>> planes;
  };
  const int64_t dims = model->dims();
  if (dims > kMaxPlaneDims) return model;
  auto owner = std::make_shared<Owner>();
  owner->model = model;
  std::vector<ModelPart> parts(model->parts().begin(), model->parts().end());
  const ScopedFloatEnvironment environment;
  for (ModelPart& part : parts) {
    std::vector<float> centroids;
    for (int64_t tries = 0; tries < 4 * lists && std::ssize(centroids) < lists * dims; ++tries) {
      const float* const row = part.vector(static_cast<int64_t>(random() % static_cast<uint64_t>(part.rows)));
      const double norm = std::sqrt(exact_dot(row, row, dims));
      if (!(norm > 0)) continue;
      for (int64_t j = 0; j < dims; ++j) centroids.push_back(static_cast<float>(row[j] / norm));
    }
    if (centroids.empty()) return model;
    const auto count = std::ssize(centroids) / dims;
    std::vector<int32_t> list_of(static_cast<size_t>(part.rows));
    for (int64_t row = 0; row < part.rows; ++row) {
      double best = -std::numeric_limits<double>::infinity();
      for (int tries = 0; tries < 4; ++tries) {
        const auto list = static_cast<int64_t>(random() % static_cast<uint64_t>(count));
        const double dot = exact_dot(part.vector(row), centroids.data() + list * dims, dims);
        if (dot <= best) continue;
        best = dot;
        list_of[static_cast<size_t>(row)] = static_cast<int32_t>(list);
      }
    }
    Result<PlaneArrays> made = make_planes(part.vectors, part.norms_squared, centroids, list_of, dims, 1);
    auto& [arrays, level] = owner->planes.emplace_back(std::move(made).value(), PlaneLevel());
    level = arrays.level();
    part.planes = &level;
  }
  return std::make_shared<const Model>(std::move(parts), model->vocabulary(), model->source(), owner);
}

Query make_query(const float* vector, int64_t dims, std::vector<int32_t> excluded) {
  Query query;
  query.vector.assign(vector, vector + dims);
  query.norm_squared = reference_dot(vector, vector, dims);
  query.excluded = std::move(excluded);
  return query;
}

Query row_query(const Matrix& matrix, int64_t row) {
  return make_query(matrix.row(row), matrix.dims, {static_cast<int32_t>(row)});
}

std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.id << " (" << std::hexfloat << row.similarity << std::defaultfloat << ")";
}

double reference_dot(const float* a, const float* b, int64_t dims) {
  double p[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  for (int64_t j = 0; j < dims; ++j) p[j % 8] += static_cast<double>(a[j]) * static_cast<double>(b[j]);
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

std::vector<Row> reference_rows(const Matrix& matrix, const Query& query, int64_t k) {
  std::vector<Row> rows;
  for (int64_t i = 0; i < matrix.rows; ++i) {
    const auto id = static_cast<int32_t>(i);
    const double norm_squared = reference_dot(matrix.row(i), matrix.row(i), matrix.dims);
    if (norm_squared == 0 || std::count(query.excluded.begin(), query.excluded.end(), id) > 0) continue;
    const double dot = reference_dot(query.vector.data(), matrix.row(i), matrix.dims);
    const double cosine = dot / std::sqrt(query.norm_squared * norm_squared);
    rows.push_back({id, std::clamp(cosine, -1.0, 1.0)});
  }
  const auto better = [](const Row& a, const Row& b) {
    return a.similarity > b.similarity || (a.similarity == b.similarity && a.id < b.id);
  };
  const auto kept = std::min(static_cast<size_t>(k), rows.size());
  std::partial_sort(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(kept), rows.end(), better);
  rows.resize(kept);
  return rows;
}

std::vector<std::vector<Row>> backend_rows(Backend& backend, const ModelPtr& model,
                                           std::span<const Query> queries, int64_t k) {
  const ScopedFloatEnvironment environment;
  std::vector<SearchRequest> requests;
  const Status status = search(backend, model, queries, k, {}, requests);
  if (!status.ok()) {
    ADD_FAILURE() << status.error().message;
    return std::vector<std::vector<Row>>(queries.size());
  }
  std::vector<std::vector<Row>> results;
  for (const SearchRequest& request : requests) {
    EXPECT_TRUE(request.status.ok());
    std::vector<Row>& rows = results.emplace_back();
    for (const Neighbor& row : request.rows) rows.push_back({row.id, row.similarity});
  }
  return results;
}

Status search(Backend& backend, const ModelPtr& model, std::span<const Query> queries, int64_t k,
              const InterruptCheck& interrupted, std::vector<SearchRequest>& requests) {
  GLOVE_ASSIGN_OR_RETURN(const std::shared_ptr<Searcher> searcher, backend.open(model, interrupted));
  for (const Query& query : queries) requests.push_back({&query, k, {&interrupted}, {}, {}, {}});
  return searcher->search(requests);
}

std::vector<Variant> all_variants(const std::vector<int>& threads) {
  std::vector<Variant> variants;
  for (const FirstLevel level : {FirstLevel::kCodes8, FirstLevel::kCoarsest})
    for (const std::string_view target : tested_targets())
      for (const int count : threads)
        variants.push_back(
            {std::string(target) + ", " + std::to_string(count) + " threads, " +
                 (level == FirstLevel::kCodes8 ? "8 bits first" : "coarsest first"),
             make_cpu_backend({.target = std::string(target), .threads = count, .first_level = level})});
  return variants;
}

}  // namespace glove::test
