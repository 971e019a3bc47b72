// The batch kernels find the rows of the CPU backend, bit for bit, with and without packed rows.
#include <algorithm>
#include <memory>
#include <vector>

#include "gpu/device/cuda_memory.h"
#include "gpu/layout/packed_rows.h"
#include "gpu/residency/device_masks.h"
#include "gpu/search/batch_search.h"
#include "model/quantize.h"
#include "search/candidates.h"
#include "tests/gpu/cuda_support.h"
#include "tests/search/reference.h"

namespace glove::testing {
namespace {

class CudaBatch : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    device_ = open_device(0);
    ASSERT_TRUE(device_->available().ok());
    ASSERT_EQ(gpu::device_shape(0, &shape_), cudaSuccess);
    ASSERT_TRUE(search_.create().ok());
  }

  // Uploads a model, and packs its rows.
  void upload(const ModelPtr& model) {
    arena_ = arena_of(device_, model);
    ASSERT_NE(arena_, nullptr);
    arena_->upload_rest();
    arena_->wait();
    model_ = model;
    part_ = arena_->parts().front();
    if (part_.packed_rows != nullptr) return;
    const int64_t padded = tile_count(part_.rows) * kTileRows;
    ASSERT_TRUE(packed_.reserve(padded * gpu::packed_row_bytes(part_.dims)).ok());
    ASSERT_TRUE(device_->device().pack_rows(part_, packed_.data()).ok());
    part_.packed_rows = packed_.data();
  }

  // Expects the CPU backend's rows from both scans, except for queries whose lists overflow. Returns the
  // larger number of those.
  size_t expect_equal(const std::vector<Query>& queries, int64_t k) {
    const auto wanted = rows_by("cpu", model_, queries, k);
    size_t most = 0;
    for (const bool packed : {true, false}) {
      gpu::DevicePart part = part_;
      if (!packed) part.packed_rows = nullptr;
      most = std::max(most, compare(part, queries, k, wanted));
    }
    return most;
  }

  std::shared_ptr<gpu::SharedDevice> device_;
  gpu::DeviceShape shape_;
  gpu::BatchSearch search_;
  std::shared_ptr<gpu::Arena> arena_;
  gpu::DeviceArray<std::byte> packed_;
  gpu::DevicePart part_;
  ModelPtr model_;

 private:
  size_t compare(const gpu::DevicePart& part, const std::vector<Query>& queries, int64_t k,
                 const std::vector<std::vector<Neighbor>>& wanted) {
    int64_t top_rows = k;
    std::vector<SearchRequest> requests;
    for (const Query& query : queries) {
      requests.push_back({&query, k, {}, {}, {}, {}});
      top_rows = std::max(top_rows, k + static_cast<int64_t>(query.excluded.size()));
    }
    const gpu::BatchPlan plan = gpu::plan_batch(part.rows, part.dims, static_cast<int64_t>(queries.size()),
                                                top_rows, part.rows_to_scan());
    EXPECT_TRUE(plan.worthwhile || part.mask.words != nullptr);
    if (!plan.worthwhile) return 0;
    std::vector<size_t> again;
    const Status status = search_.run(part, shape_, plan, requests, top_rows, {}, again);
    EXPECT_TRUE(status.ok()) << status.error().message;
    for (size_t i = 0; i < queries.size(); ++i) {
      if (std::find(again.begin(), again.end(), i) != again.end()) continue;
      keep_best(queries[i], k, requests[i].rows);
      EXPECT_EQ(difference(requests[i].rows, wanted[i]), "")
          << "query " << i << " of " << queries.size() << ", k " << k << ", " << model_->words() << " x "
          << model_->dims() << (part.packed_rows != nullptr ? ", packed" : "")
          << ", GLOVE_TEST_SEED=" << test_seed();
      if (HasFailure()) break;
    }
    return again.size();
  }
};

TEST_F(CudaBatch, RowsOfEveryKindOfModel) {
  for (const Rows kind : kAllRows) {
    for (const int64_t dims : {1, 3, 8, 9, 24, 31, 100, 300, 312, 313}) {
      const auto words = static_cast<int64_t>(1200 + random_() % 3000);
      const ModelPtr model = random_model(random_, words, dims, kind);
      bool all_zero = true;
      for (int64_t i = 0; i < words; ++i) all_zero = all_zero && !(model->norm_squared(i) > 0);
      if (all_zero) continue;
      ASSERT_NO_FATAL_FAILURE(upload(model));
      for (const size_t count : {2u, 33u, 257u})
        expect_equal(random_queries(random_, *model, kind, count), count == 33 ? 7 : 1);
      forget(model);
      if (HasFailure()) return;
    }
  }
}

TEST_F(CudaBatch, RowsOfMediumModels) {
  for (const int64_t dims : {3, 50, 100, 200, 300}) {
    const ModelPtr model = large_model(random_(), static_cast<int64_t>(40000 + random_() % 20000), dims);
    ASSERT_NO_FATAL_FAILURE(upload(model));
    const std::vector<Query> queries = random_queries(random_, *model, Rows::kGaussian, 700);
    for (const int64_t k : {1, 10, 100}) {
      const size_t again = expect_equal(queries, k);
      if (dims > 3) {
        EXPECT_LT(again, queries.size() / 20) << "dims " << dims << ", k " << k;
      }
    }
    forget(model);
    if (HasFailure()) return;
  }
}

TEST_F(CudaBatch, RowsOfAMask) {
  for (const int64_t dims : {3, 100, 312, 400}) {
    const auto words = static_cast<int64_t>(20000 + random_() % 20000);
    const ModelPtr model = large_model(random_(), words, dims);
    ASSERT_NO_FATAL_FAILURE(upload(model));
    gpu::DeviceMasks masks(device_, {{0, 0, words}});
    std::vector<Query> queries = random_queries(random_, *model, Rows::kGaussian, 300);
    for (int i = 0; i < 12; ++i) {
      const RowMaskPtr among = random_mask(random_, *model);
      for (Query& query : queries) query.among = among;
      const auto mask = masks.mask_for(among, {}, 0, {});
      ASSERT_TRUE(mask.ok()) << mask.error().message;
      part_.mask = mask.value()->placed.front();
      if (part_.rows_to_scan() == 0) continue;
      for (const int64_t k : {1, 10, 100}) {
        expect_equal(queries, k);
        expect_equal({queries.begin(), queries.begin() + 3}, k);
      }
      if (HasFailure()) return;
    }
    part_.mask = {};
    forget(model);
  }
}

// Half of the rows are equal: the lists of queries near them overflow, and those of the others do not.
TEST_F(CudaBatch, RowsWithTies) {
  ModelBuilder builder("test");
  const std::vector<float> often = random_vector(random_, 12, Rows::kGaussian);
  for (uint64_t i = 0; i < 100000; ++i)
    ASSERT_TRUE(
        builder.add(word_name(i), i % 2 == 0 ? often : random_vector(random_, 12, Rows::kGaussian)).value());
  const ModelPtr model = builder.finish().value();
  ASSERT_NO_FATAL_FAILURE(upload(model));
  std::vector<Query> queries = {query_of(often)};
  for (int i = 0; i < 120; ++i) queries.push_back(query_of(random_vector(random_, 12, Rows::kGaussian)));
  queries.push_back(query_of(often, {0, 2, 4}));
  for (const int64_t k : {1, 10, 100}) {
    const size_t again = expect_equal(queries, k);
    EXPECT_GE(again, 2u);
    EXPECT_LT(again, queries.size());
  }
  forget(model);
}

}  // namespace
}  // namespace glove::testing
