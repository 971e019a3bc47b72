// Shared by the tests on a real device. They skip, with the reason, if there is none.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gpu/residency/arena.h"
#include "model/exact_dot.h"
#include "search/backend.h"
#include "search/engine.h"
#include "search/nearest.h"
#include "tests/loader/random.h"
#include "tests/search/random_mask.h"
#include "tests/search/random_model.h"

namespace glove::testing {

// The engine of the program; its backends are "cuda" and "cpu".
Engine& engine();

// One of its backends.
Backend& backend_named(std::string_view name);

// The searchers of a model, kept until forget(): uploaded once.
ModelSearchers& searchers_of(const ModelPtr& model);
void forget(const ModelPtr& model);

// Returns the state of the model on the backend "cuda".
SearcherInfo info_of(const ModelPtr& model);

// Opens a device beside those of the engine; fails the test on an error.
std::shared_ptr<gpu::SharedDevice> open_device(int number);

// Makes an arena on it; fails the test on an error.
std::shared_ptr<gpu::Arena> arena_of(const std::shared_ptr<gpu::SharedDevice>& device, const ModelPtr& model,
                                     int64_t room = int64_t{1} << 40);

class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const Status status = backend_named("cuda").available(); !status.ok())
      GTEST_SKIP() << "no GPU to test on: " << status.error().message;
  }

  std::mt19937_64 random_ = random_source();
};

inline Query query_of(std::vector<float> vector, std::vector<int32_t> excluded = {}) {
  Query query;
  query.norm_squared = exact_dot(vector.data(), vector.data(), static_cast<int64_t>(vector.size()));
  query.vector = std::move(vector);
  query.excluded = std::move(excluded);
  return query;
}

// `count` queries: rows of the model that exclude themselves, and similar vectors that are near no row.
std::vector<Query> random_queries(std::mt19937_64& random, const Model& model, Rows kind, size_t count);

// The rows of these queries by one backend; fails the test on an error.
std::vector<std::vector<Neighbor>> rows_by(const std::string& backend, const ModelPtr& model,
                                           const std::vector<Query>& queries, int64_t k,
                                           SearchReport* report = nullptr);

// Expects the same rows from both backends, bit for bit.
void expect_equal_rows(const ModelPtr& model, const std::vector<Query>& queries, int64_t k);

// Returns a model of `words` x `dims` gaussian rows with a trivial vocabulary, made on all cores: for sizes
// at which ModelBuilder would take too long.
ModelPtr large_model(uint64_t seed, int64_t words, int64_t dims);

}  // namespace glove::testing
