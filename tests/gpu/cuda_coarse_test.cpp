// The scan of 4-bit codes finds the rows of the CPU backend, bit for bit, whatever the size of the model.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "gpu/backend/cuda_device.h"
#include "gpu/device/cuda_memory.h"
#include "gpu/layout/packed_rows.h"
#include "gpu/residency/device_masks.h"
#include "gpu/search/single_search.h"
#include "model/nibbles.h"
#include "search/candidates.h"
#include "tests/gpu/as_in_lists.h"
#include "tests/gpu/cuda_support.h"
#include "tests/search/reference.h"

namespace glove::testing {
namespace {

// The arrays of a model's first part in device memory, those of the 4-bit scan included. Larger models than
// those of these tests get them by themselves (gpu/residency/arena.h).
class CoarseModel {
 public:
  CoarseModel(const std::shared_ptr<gpu::SharedDevice>& device, const ModelPtr& model)
      : arena_(arena_of(device, model)) {
    arena_->upload_rest();
    arena_->wait();
    part_ = arena_->parts().front();
    if (part_.packed_rows != nullptr) return;
    const ModelPart& from = model->parts().front();
    fill(from);
    const int64_t padded = tile_count(from.rows) * kTileRows;
    EXPECT_TRUE(packed_.reserve(padded * gpu::packed_row_bytes(from.dims)).ok());
    EXPECT_TRUE(device->device().pack_rows(part_, packed_.data()).ok());
    part_.packed_rows = packed_.data();
  }

  const gpu::DevicePart& part() const { return part_; }
  void set_mask(const gpu::DeviceMask& mask) { part_.mask = mask; }

 private:
  // Copies the level of 4 bits, quantised here unless the model has it, padded as arena.cpp does.
  void fill(const ModelPart& from) {
    const int64_t padded = tile_count(from.rows) * kTileRows;
    std::vector<int8_t> codes(static_cast<size_t>(nibble_bytes(from.rows, from.dims)));
    std::vector<float> scales(static_cast<size_t>(padded));
    std::vector<float> residuals(static_cast<size_t>(padded), INFINITY);
    for (int64_t row = 0; row < from.rows; ++row)
      quantize_row_nibbles(from.vector(row), from.norm_squared(row), from.dims,
                           codes.data() + nibble_index(row, 0, from.dims), kTileRows * kNibbleWordBytes,
                           scales[static_cast<size_t>(row)], residuals[static_cast<size_t>(row)]);
    part_.coarse.codes = copy(codes_, codes);
    part_.coarse.scales = copy(scales_, scales);
    part_.coarse.residuals = copy(residuals_, residuals);
  }

  template <class T>
  static const T* copy(gpu::DeviceArray<T>& to, const std::vector<T>& from) {
    EXPECT_TRUE(to.reserve(static_cast<int64_t>(from.size())).ok());
    EXPECT_EQ(cudaMemcpy(to.data(), from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice),
              cudaSuccess);
    return to.data();
  }

  std::shared_ptr<gpu::Arena> arena_;
  gpu::DeviceArray<int8_t> codes_;
  gpu::DeviceArray<float> scales_, residuals_;
  gpu::DeviceArray<std::byte> packed_;
  gpu::DevicePart part_;
};

bool has_only_zeros(const Model& model) {
  for (int64_t i = 0; i < model.words(); ++i)
    if (model.norm_squared(i) > 0) return false;
  return true;
}

class CudaCoarse : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    device_ = open_device(0);
    ASSERT_TRUE(device_->available().ok());
    ASSERT_TRUE(search_.create().ok());
  }

  // Expects the rows of the CPU backend from the scan of 4 bits, in both directions.
  // `upper_bounds_in_shared_memory` false searches as in models with more rows than the bounds in a block's
  // shared memory.
  void expect_equal(const ModelPtr& model, const CoarseModel& coarse, const Query& query, int64_t k,
                    bool upper_bounds_in_shared_memory = true) {
    const auto wanted = rows_by("cpu", model, {query}, k)[0];
    const auto dims = static_cast<int64_t>(query.vector.size());
    gpu::DeviceShape shape;
    ASSERT_EQ(gpu::device_shape(0, &shape), cudaSuccess);
    if (!upper_bounds_in_shared_memory)
      shape.shared_limit = static_cast<int>(gpu::shared_query_bytes(dims)) + gpu::kBins * 4 + 5120;
    const int64_t top_rows =
        std::min<int64_t>(model->words(), k + static_cast<int64_t>(query.excluded.size()));
    gpu::SinglePlan plan = gpu::plan_single(coarse.part(), top_rows, 0);
    plan.bits = 4;
    for (const bool reversed : {false, true}) {
      SearchRequest found{&query, k, {}, {}, {}, {}};
      const Status status = search_.run(coarse.part(), shape, plan, top_rows, reversed, {}, found);
      ASSERT_TRUE(status.ok()) << status.error().message;
      candidates_ = found.cost.candidates;
      keep_best(query, k, found.rows);
      ASSERT_EQ(difference(found.rows, wanted), "")
          << "k " << k << ", " << model->words() << " x " << dims << ", GLOVE_TEST_SEED=" << test_seed();
    }
  }

  // The same for several queries and k of a model of which the scan rules rows out, which it then forgets.
  void expect_equal_and_fewer(const ModelPtr& model) {
    const CoarseModel coarse(device_, model);
    const std::vector<Query> queries = random_queries(random_, *model, Rows::kGaussian, 2);
    for (const int64_t k : {1, 10, 100, 1000, 5000})
      for (const Query& query : queries) {
        ASSERT_NO_FATAL_FAILURE(expect_equal(model, coarse, query, k));
        ASSERT_NO_FATAL_FAILURE(expect_equal(model, coarse, query, k, false));
      }
    EXPECT_LT(candidates_, 40000);
    forget(model);
  }

  std::shared_ptr<gpu::SharedDevice> device_;
  gpu::SingleSearch search_;
  int64_t candidates_ = 0;  // of the last search
};

TEST_F(CudaCoarse, RowsOfEveryKindOfModel) {
  for (const Rows kind : kAllRows) {
    for (const int64_t dims : {1, 3, 8, 9, 16, 31, 100, 300, 2048}) {
      const auto words = static_cast<int64_t>(1 + random_() % (dims > 1000 ? 300 : 3000));
      const ModelPtr model = random_model(random_, words, dims, kind);
      if (has_only_zeros(*model)) continue;
      {
        const CoarseModel coarse(device_, model);
        const Query query = random_queries(random_, *model, kind, 1)[0];
        for (const int64_t k : {int64_t{1}, int64_t{10}, words / 17 + 1, words})
          ASSERT_NO_FATAL_FAILURE(expect_equal(model, coarse, query, k));
      }
      forget(model);
    }
  }
}

TEST_F(CudaCoarse, RowsOfMediumModels) {
  for (const int64_t dims : {3, 16, 100, 300, 2048}) {
    const ModelPtr model = large_model(random_(), static_cast<int64_t>(40000 + random_() % 20000), dims);
    ASSERT_NO_FATAL_FAILURE(expect_equal_and_fewer(model)) << dims;
  }
}

TEST_F(CudaCoarse, RowsOfAMask) {
  for (const Rows kind : {Rows::kGaussian, Rows::kDuplicates, Rows::kMixed}) {
    for (const int64_t dims : {1, 8, 31, 300}) {
      const auto words = static_cast<int64_t>(1 + random_() % 30000);
      const ModelPtr model = random_model(random_, words, dims, kind);
      CoarseModel coarse(device_, model);
      gpu::DeviceMasks masks(device_, {{0, 0, words}});
      Query query = random_queries(random_, *model, Rows::kGaussian, 1)[0];
      for (int i = 0; i < 8; ++i) {
        query.among = random_mask(random_, *model);
        const auto mask = masks.mask_for(query.among, {}, 0, {});
        ASSERT_TRUE(mask.ok()) << mask.error().message;
        coarse.set_mask(mask.value()->placed.front());
        if (coarse.part().rows_to_scan() == 0) continue;
        for (const int64_t k : {int64_t{1}, int64_t{10}, words / 17 + 1}) {
          ASSERT_NO_FATAL_FAILURE(expect_equal(model, coarse, query, k));
          ASSERT_NO_FATAL_FAILURE(expect_equal(model, coarse, query, k, false));
        }
      }
      forget(model);
    }
  }
}

// Half of the rows are equal, more than a block looks up at a time and more than the answer has room for.
TEST_F(CudaCoarse, RowsWithTies) {
  ModelBuilder builder("test");
  const std::vector<float> often = random_vector(random_, 12, Rows::kGaussian);
  for (uint64_t i = 0; i < 1200000; ++i)
    ASSERT_TRUE(
        builder.add(word_name(i), i % 2 == 0 ? often : random_vector(random_, 12, Rows::kGaussian)).value());
  const ModelPtr model = builder.finish().value();
  const Query other = query_of(random_vector(random_, 12, Rows::kGaussian));
  const CoarseModel coarse(device_, model);
  for (const int64_t k : {1, 10, 100, 1000, 5000}) {
    ASSERT_NO_FATAL_FAILURE(expect_equal(model, coarse, query_of(often), k));
    EXPECT_GE(candidates_, 600000);
    ASSERT_NO_FATAL_FAILURE(expect_equal(model, coarse, query_of(often, {0, 2, 4}), k));
    ASSERT_NO_FATAL_FAILURE(expect_equal(model, coarse, other, k));
  }
  forget(model);
}

// Large enough that the device chooses the 4-bit scan by itself, for k up to a quarter of the tiles, also
// where planes replace the 4-bit codes in the file.
TEST_F(CudaCoarse, RowsOfALargeModelThroughTheDevice) {
  const ModelPtr model = as_in_lists(large_model(random_(), 250000, 600));
  const CoarseModel coarse(device_, model);
  ASSERT_TRUE(gpu::coarse_worthwhile(250000, 600, 1000, device_->device().info().coarse_from));
  const std::vector<Query> queries = random_queries(random_, *model, Rows::kGaussian, 2);
  for (const int64_t k : {1, 10, 100, 1000, 1900, 2100, 5000})
    for (const Query& query : queries) {
      const auto wanted = rows_by("cpu", model, {query}, k)[0];
      const int64_t top_rows = k + static_cast<int64_t>(query.excluded.size());
      SearchRequest found{&query, k, {}, {}, {}, {}};
      const Status status = device_->device().propose(coarse.part(), {&found, 1}, top_rows, {});
      ASSERT_TRUE(status.ok()) << status.error().message;
      EXPECT_EQ(found.cost.bytes_scanned < code_bytes(250000, 600), k < 1953);
      keep_best(query, k, found.rows);
      ASSERT_EQ(difference(found.rows, wanted), "") << "k " << k << ", GLOVE_TEST_SEED=" << test_seed();
    }
  forget(model);
}

}  // namespace
}  // namespace glove::testing
