// The CUDA backend returns the CPU backend's rows, bit for bit, for every model, query and k.
#include <atomic>
#include <cstdio>
#include <set>
#include <thread>

#include "base/float_environment.h"
#include "gpu/backend/cuda_device.h"
#include "gpu/search/single_search.h"
#include "loader/open.h"
#include "model/quantize.h"
#include "tests/gpu/cuda_support.h"
#include "tests/gpu/shifted_segments.h"
#include "tests/search/reference.h"

namespace glove::testing {
namespace {

using CudaRows = CudaTest;

TEST_F(CudaRows, OfEveryKindOfModel) {
  for (const Rows kind : kAllRows) {
    for (const int64_t dims : {1, 3, 4, 31, 32, 50, 100, 300}) {
      const auto words = static_cast<int64_t>(1 + random_() % 700);
      const ModelPtr model = random_model(random_, words, dims, kind);
      bool all_zero = true;
      for (int64_t i = 0; i < words; ++i) all_zero = all_zero && !(model->norm_squared(i) > 0);
      if (all_zero) continue;
      const std::vector<Query> queries = random_queries(random_, *model, kind, 6);
      for (const int64_t k : {int64_t{1}, int64_t{7}, words / 17 + 1, words}) {
        expect_equal_rows(model, {queries[0]}, k);
        expect_equal_rows(model, queries, k);
      }
      forget(model);
    }
  }
}

TEST_F(CudaRows, OfMediumModelsOneByOneAndInBatches) {
  for (const int64_t dims : {25, 100, 300, 768, 1500}) {
    const auto words = static_cast<int64_t>(30000 + random_() % 20000);
    const ModelPtr model = large_model(random_(), words, dims);
    const std::vector<Query> queries = random_queries(random_, *model, Rows::kGaussian, 70);
    for (const int64_t k : {1, 10, 100, 1000, 5000}) {
      expect_equal_rows(model, {queries[0]}, k);
      expect_equal_rows(model, {queries.begin(), queries.begin() + 3}, k);
      if (k <= 100) expect_equal_rows(model, queries, k);
    }
    forget(model);
  }
}

TEST_F(CudaRows, WithTiesAtTheEnd) {
  // Every row a copy of one of three: thousands of equal similarities, decided by id.
  ModelBuilder builder("test");
  const std::vector<float> rows[] = {random_vector(random_, 60, Rows::kGaussian),
                                     random_vector(random_, 60, Rows::kGaussian),
                                     random_vector(random_, 60, Rows::kGaussian)};
  for (int64_t i = 0; i < 20000; ++i)
    ASSERT_TRUE(builder.add(word_name(static_cast<uint64_t>(i)), rows[random_() % 3]).value());
  const ModelPtr model = builder.finish().value();
  for (const int64_t k : {1, 10, 500, 1200}) {
    expect_equal_rows(model, {query_of(rows[0])}, k);
    expect_equal_rows(model, {query_of(rows[0], {0, 1, 2}), query_of(rows[1]), query_of(rows[2], {5})}, k);
  }
}

// The device ranks candidates by comparing pairs, and leaves ranking to the host if that would take long: for
// many equal rows, or a large k. These equal rows are also more than a block refines at a time.
TEST_F(CudaRows, WithMoreEqualRowsThanTheDeviceRanks) {
  ModelBuilder builder("test");
  const std::vector<float> often = random_vector(random_, 4, Rows::kGaussian);
  for (uint64_t i = 0; i < 1500000; ++i)
    ASSERT_TRUE(
        builder.add(word_name(i), i % 2 == 0 ? often : random_vector(random_, 4, Rows::kGaussian)).value());
  const ModelPtr model = builder.finish().value();
  for (const int64_t k : {10, 100, 1000}) {
    for (int i = 0; i < 2; ++i) expect_equal_rows(model, {query_of(often)}, k);
    expect_equal_rows(model,
                      {query_of(often, {0, 2, 4}), query_of(random_vector(random_, 4, Rows::kGaussian))}, k);
  }
  std::this_thread::sleep_for(
      std::chrono::milliseconds(500));  // ten times what the upload of the vectors takes
  SearchReport report;
  for (const int64_t k : {10, 100, 1000}) expect_equal_rows(model, {query_of(often)}, k);
  rows_by("cuda", model, {query_of(often)}, 100, &report);
  EXPECT_GE(report.cost.candidates, 750000);  // the equal rows, all of which are candidates
  forget(model);
}

// Searches as in models with more rows than the bounds in a block's shared memory.
TEST_F(CudaRows, WithBoundsInDeviceMemory) {
  const auto device = open_device(0);
  const ModelPtr model = large_model(random_(), 50000, 60);
  const auto arena = arena_of(device, model);
  ASSERT_NE(arena, nullptr);
  gpu::DeviceShape shape;
  ASSERT_EQ(gpu::device_shape(0, &shape), cudaSuccess);
  shape.shared_limit = static_cast<int>(gpu::shared_query_bytes(60)) + gpu::kBins * 4 + 1024;
  ASSERT_GT(gpu::row_upper_bytes(60, tile_count(50000), shape), 0);
  gpu::SingleSearch search;
  ASSERT_TRUE(search.create().ok());
  const std::vector<float> vector = random_vector(random_, 60, Rows::kGaussian);
  for (const bool vectors_there : {false, true}) {
    if (vectors_there) {
      arena->upload_rest();
      arena->wait();
    }
    for (const int64_t k : {1, 10, 100, 1000, 5000}) {
      const auto wanted = rows_by("cpu", model, {query_of(vector)}, k)[0];
      for (const bool reversed : {false, true}) {
        const Query query = query_of(vector);
        SearchRequest found{&query, k, {}, {}, {}, {}};
        const gpu::DevicePart& part = arena->parts().front();
        const gpu::SinglePlan plan = gpu::plan_single(part, k, part.rows * part.dims * 2);
        const Status status = search.run(part, shape, plan, k, reversed, {}, found);
        ASSERT_TRUE(status.ok()) << status.error().message;
        std::set<int32_t> ids;
        for (const Neighbor& row : found.rows) ids.insert(row.id);
        EXPECT_EQ(ids.size(), found.rows.size());
        for (const Neighbor& row : wanted)
          ASSERT_TRUE(ids.contains(row.id)) << "k " << k << ", GLOVE_TEST_SEED=" << test_seed();
        EXPECT_LT(ids.size(), static_cast<size_t>(8 * k + 100));  // and not simply every row
      }
    }
  }
}

TEST_F(CudaRows, OfMoreThanTheDeviceRanks) {
  const ModelPtr model = large_model(random_(), 400000, 24);
  const std::vector<Query> queries = random_queries(random_, *model, Rows::kGaussian, 3);
  for (const int64_t k : {16383, 16384, 16385, 24000})
    for (const Query& query : queries) expect_equal_rows(model, {query}, k);
  forget(model);
}

TEST_F(CudaRows, WithManyExcludedWords) {
  const ModelPtr model = large_model(random_(), 20000, 50);
  Query query = query_of(random_vector(random_, 50, Rows::kGaussian));
  const auto best = rows_by("cpu", model, {query}, 300);
  for (const Neighbor& row : best[0])
    if (random_() % 2 == 0) query.excluded.push_back(row.id);
  std::sort(query.excluded.begin(), query.excluded.end());
  expect_equal_rows(model, {query}, 10);
  expect_equal_rows(model, {query, query_of(random_vector(random_, 50, Rows::kGaussian))}, 10);
}

TEST_F(CudaRows, AmongTheRowsOfAMask) {
  for (const Rows kind : {Rows::kGaussian, Rows::kMixed, Rows::kDuplicates}) {
    for (const int64_t dims : {1, 3, 31, 100, 300, 1500}) {
      const ModelPtr model = random_model(random_, static_cast<int64_t>(1 + random_() % 3000), dims, kind);
      std::vector<Query> queries = random_queries(random_, *model, Rows::kGaussian, 5);
      for (int i = 0; i < 12; ++i) {
        const RowMaskPtr among = random_mask(random_, *model);
        for (Query& query : queries) query.among = among;
        for (const int64_t k : {1, 7, 70}) {
          ASSERT_NO_FATAL_FAILURE(expect_equal_rows(model, {queries[0]}, k));
          ASSERT_NO_FATAL_FAILURE(expect_equal_rows(model, queries, k));
        }
      }
      forget(model);
    }
  }
}

// Large enough for several rounds of a warp, for batches on warpgroups, and for packed rows.
TEST_F(CudaRows, AmongTheRowsOfAMaskOfMediumModels) {
  for (const int64_t dims : {3, 100, 600}) {
    const ModelPtr model =
        large_model(random_(), dims == 3 ? 4000000 : 250000 + static_cast<int64_t>(random_() % 1000), dims);
    std::vector<Query> queries = random_queries(random_, *model, Rows::kGaussian, 300);
    expect_equal_rows(model, {queries[0]}, 10);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // until the vectors are there
    for (int i = 0; i < 8; ++i) {
      const RowMaskPtr among = random_mask(random_, *model);
      for (Query& query : queries) query.among = among;
      for (const int64_t k : {1, 10, 100, 1000}) {
        ASSERT_NO_FATAL_FAILURE(expect_equal_rows(model, {queries[0]}, k));
        ASSERT_NO_FATAL_FAILURE(expect_equal_rows(model, {queries[1]}, k));
        if (k > 100) continue;
        ASSERT_NO_FATAL_FAILURE(expect_equal_rows(model, queries, k));
      }
    }
    forget(model);
  }
}

TEST_F(CudaRows, OfSegmentsByOtherMetrics) {
  const ScopedFloatEnvironment environment;
  expect_shifted_segments(backend_named("cuda"), random_, 9000, 28);
}

TEST_F(CudaRows, OfModelsByOtherMetrics) {
  const ScopedFloatEnvironment environment;
  for (const RowMetric metric : {RowMetric::kDot, RowMetric::kL2})
    for (const Rows kind : kAllRows)
      for (const int64_t dims : {1, 31, 300}) {
        const auto rows = static_cast<int64_t>(1 + random_() % 9000);
        const ModelPtr model = random_model(random_, rows, dims, kind, metric);
        std::vector<Query> queries = random_queries(random_, *model, kind, 40);
        for (const bool masked : {false, true}) {
          const RowMaskPtr among = masked ? random_mask(random_, *model) : nullptr;
          for (Query& query : queries) query.among = among;
          for (const int64_t k : {1, 10, 100}) {
            ASSERT_NO_FATAL_FAILURE(expect_equal_rows(model, {queries[0]}, k));
            ASSERT_NO_FATAL_FAILURE(expect_equal_rows(model, queries, k));
          }
        }
        EXPECT_EQ(info_of(model).state, "resident");
        forget(model);
      }
}

TEST_F(CudaRows, FromManyThreadsAtOnce) {
  const ModelPtr model = large_model(random_(), 100000, 100);
  const std::vector<Query> queries = random_queries(random_, *model, Rows::kGaussian, 64);
  const auto wanted = rows_by("cpu", model, queries, 10);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (size_t round = 0; round < 40; ++round) {
        const size_t i = (static_cast<size_t>(t) * 17 + round) % queries.size();
        if (round % 10 == 0) {
          const auto all = rows_by("cuda", model, queries, 10);
          for (size_t j = 0; j < queries.size(); ++j) wrong += difference(all[j], wanted[j]).empty() ? 0 : 1;
        } else {
          wrong += difference(rows_by("cuda", model, {queries[i]}, 10)[0], wanted[i]).empty() ? 0 : 1;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0) << "GLOVE_TEST_SEED=" << test_seed();
}

// Once the vectors are uploaded, dots come from the device; before that, the host computes them.
TEST_F(CudaRows, ReportsWhatItDid) {
  const ModelPtr model = large_model(random_(), 50000, 100);
  SearchReport report;
  rows_by("cuda", model, {query_of(random_vector(random_, 100, Rows::kGaussian))}, 10, &report);
  EXPECT_EQ(report.backend, "cuda");
  EXPECT_GE(report.cost.candidates, 10);
  EXPECT_EQ(report.cost.rows_scanned, 50000);
  EXPECT_GE(report.cost.bytes_scanned, 50000 * 108);
  EXPECT_EQ(info_of(model).state, "resident");
  forget(model);
  EXPECT_EQ(info_of(model).state, "not loaded");
}

// Two thousand queries one by one and two thousand in batches, of a model file that the caller chooses.
TEST_F(CudaRows, OfAModelFile) {
  const char* path = std::getenv("GLOVE_TEST_MODEL");
  if (path == nullptr) GTEST_SKIP() << "set GLOVE_TEST_MODEL to a model file";
  auto opened = open_model(path);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const ModelPtr model = std::move(opened).value();
  const std::vector<Query> queries = random_queries(random_, *model, Rows::kGaussian, 2000);
  for (const int64_t k : {1, 10, 100, 1000, 5000}) {
    const auto wanted = rows_by("cpu", model, queries, k);
    const auto batched = rows_by("cuda", model, queries, k);
    for (size_t i = 0; i < queries.size(); ++i) {
      ASSERT_EQ(difference(batched[i], wanted[i]), "") << "query " << i << ", k " << k << ", batched";
      ASSERT_EQ(difference(rows_by("cuda", model, {queries[i]}, k)[0], wanted[i]), "")
          << "query " << i << ", k " << k << ", GLOVE_TEST_SEED=" << test_seed();
    }
    std::printf("%ld words, k %ld: 2000 single and 2000 batched answers equal\n",
                static_cast<long>(model->words()), static_cast<long>(k));
  }
}

// Many times more tiles than a launch has warps, and more codes than the cache holds.
TEST_F(CudaRows, OfALargeModel) {
  if (std::getenv("GLOVE_TEST_LARGE") == nullptr) GTEST_SKIP() << "set GLOVE_TEST_LARGE=1";
  const ModelPtr model = large_model(random_(), 2196016, 300);
  const std::vector<Query> queries = random_queries(random_, *model, Rows::kGaussian, 40);
  for (const int64_t k : {1, 10, 100, 1000, 5000}) {
    for (size_t i = 0; i < 4; ++i) expect_equal_rows(model, {queries[i]}, k);
    expect_equal_rows(model, queries, k);
  }
}

// The bounds of its rows are kept in device memory.
TEST_F(CudaRows, OfAModelWithMoreRowsThanSharedMemoryHolds) {
  if (std::getenv("GLOVE_TEST_LARGE") == nullptr) GTEST_SKIP() << "set GLOVE_TEST_LARGE=1";
  const ModelPtr model = large_model(random_(), 40000000, 3);
  const std::vector<Query> queries = random_queries(random_, *model, Rows::kGaussian, 3);
  for (const int64_t k : {1, 10, 1000, 20000})
    for (const Query& query : queries) expect_equal_rows(model, {query}, k);
}

}  // namespace
}  // namespace glove::testing
