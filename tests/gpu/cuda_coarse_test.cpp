// The scans of 4-bit codes and of planes find the rows of the CPU backend, bit for bit, whatever the size of
// the model.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "gpu/backend/cuda_device.h"
#include "gpu/device/cuda_memory.h"
#include "gpu/layout/packed_rows.h"
#include "gpu/layout/plane_tiles.h"
#include "gpu/residency/device_masks.h"
#include "gpu/search/single_search.h"
#include "model/nibbles.h"
#include "search/candidates.h"
#include "tests/gpu/cuda_support.h"
#include "tests/gpu/in_lists.h"
#include "tests/search/reference.h"

namespace glove::testing {
namespace {

constexpr int64_t kMostK = std::numeric_limits<int64_t>::max();

// The arrays of a model's first part in device memory, those of the 4-bit scan and of planes included. Larger
// models than those of these tests get them by themselves (gpu/residency/arena.h).
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
    if (from.planes != nullptr) fill_planes(*from.planes);
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
    part_.coarse.bits = 4;
    part_.coarse.codes = copy(codes_, codes);
    part_.coarse.scales = copy(scales_, scales);
    part_.coarse.residuals = copy(residuals_, residuals);
  }

  void fill_planes(const PlaneLevel& planes) {
    const gpu::RowsInLists all = gpu::rows_in_lists(planes, 0, part_.rows);
    const gpu::ListedTiles listed = gpu::tiles_of_lists(all.offsets);
    std::vector<float> centroids;
    for (const int64_t list : listed.lists) {
      const auto centroid = planes.centroids.begin() + list * part_.dims;
      centroids.insert(centroids.end(), centroid, centroid + part_.dims);
    }
    part_.planes.centroids = copy(centroids_, centroids);
    part_.planes.tiles = copy(tiles_, listed.tiles);
    part_.planes.rows = copy(rows_, all.rows);
    part_.planes.plane1 = copy(plane1_, gpu::plane_tiles(planes, all.positions, part_.dims));
    part_.planes.lists = static_cast<int32_t>(listed.lists.size());
    part_.planes.most_k =
        static_cast<int32_t>(std::min<int64_t>(planes.most_k, std::numeric_limits<int32_t>::max()));
    if (!planes.has_signs()) return;
    part_.planes.signs = {copy(rotation_, {planes.rotation.begin(), planes.rotation.end()}),
                          copy(signs_, gpu::sign_tiles(planes, all.positions, part_.dims)), part_.dims};
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
  gpu::DeviceArray<float> centroids_, rotation_;
  gpu::DeviceArray<gpu::TileLists> tiles_;
  gpu::DeviceArray<int32_t> rows_;
  gpu::DeviceArray<uint32_t> plane1_, signs_;
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

  // Expects the rows of the CPU backend from the scan of signs, of planes, or of 4 bits, in both directions.
  // `upper_bounds_in_shared_memory` false searches as in models with more rows than the bounds in a block's
  // shared memory.
  void expect_equal(const ModelPtr& model, const CoarseModel& coarse, const Query& query, int64_t k,
                    bool upper_bounds_in_shared_memory = true) {
    const auto wanted = rows_by("cpu", model, {query}, k)[0];
    const auto dims = static_cast<int64_t>(query.vector.size());
    gpu::ScanShape shape;
    ASSERT_EQ(gpu::single_scan_shape(0, dims, &shape), cudaSuccess);
    ASSERT_EQ(gpu::prepare_coarse_scan(shape), cudaSuccess);
    ASSERT_EQ(gpu::prepare_plane_scan(shape), cudaSuccess);
    ASSERT_EQ(gpu::prepare_sign_scan(shape), cudaSuccess);
    const bool has_planes = coarse.part().planes.plane1 != nullptr;
    const bool has_signs = coarse.part().planes.signs.bits > 0;
    const auto scan = has_signs    ? gpu::SingleSearch::Scan::kSigns
                      : has_planes ? gpu::SingleSearch::Scan::kPlanes
                                   : gpu::SingleSearch::Scan::kCoarse;
    if (!upper_bounds_in_shared_memory) shape.shared_limit = shape.query_bytes + gpu::kBins * 4 + 4096;
    const int64_t top_rows =
        std::min<int64_t>(model->words(), k + static_cast<int64_t>(query.excluded.size()));
    for (const bool reversed : {false, true}) {
      SearchRequest found{&query, k, nullptr, {}, {}, {}};
      found.certainty = reversed ? 1 : 1 - 1e-9;  // with 1, signs are a proof
      const Status status = search_.run(coarse.part(), shape, scan, top_rows, reversed, {}, found);
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

TEST_F(CudaCoarse, RowsInListsOfEveryKindOfModel) {
  for (const Rows kind : kAllRows) {
    for (const int64_t dims : {1, 3, 8, 9, 16, 31, 60, 100, 300, 768, 2048}) {
      const auto words = static_cast<int64_t>(1 + random_() % (dims > 1000 ? 300 : 3000));
      const ModelPtr plain = random_model(random_, words, dims, kind);
      if (has_only_zeros(*plain)) continue;
      const ModelPtr model = in_lists(plain, 1 + static_cast<int64_t>(random_() % 300), random_, kMostK);
      {
        const CoarseModel coarse(device_, model);
        const Query query = random_queries(random_, *model, kind, 1)[0];
        for (const int64_t k : {int64_t{1}, int64_t{10}, words / 17 + 1, words})
          ASSERT_NO_FATAL_FAILURE(expect_equal(model, coarse, query, k)) << "kind " << static_cast<int>(kind);
      }
      forget(model);
    }
  }
}

TEST_F(CudaCoarse, RowsInListsOfMediumModels) {
  for (const int64_t dims : {3, 16, 100, 300, 768, 2048}) {
    const ModelPtr plain = large_model(random_(), static_cast<int64_t>(40000 + random_() % 20000), dims);
    const ModelPtr model = in_lists(plain, 200, random_, kMostK);
    ASSERT_NO_FATAL_FAILURE(expect_equal_and_fewer(model)) << dims;
  }
}

TEST_F(CudaCoarse, RowsInListsWithSigns) {
  for (const Rows kind : kAllRows) {
    for (const int64_t dims : {256, 257, 300, 768}) {
      const auto words = static_cast<int64_t>(1 + random_() % 2000);
      const ModelPtr plain = random_model(random_, words, dims, kind);
      if (has_only_zeros(*plain)) continue;
      const ModelPtr model =
          in_lists(plain, 1 + static_cast<int64_t>(random_() % 100), random_, kMostK, true);
      {
        const CoarseModel coarse(device_, model);
        const Query query = random_queries(random_, *model, kind, 1)[0];
        for (const int64_t k : {int64_t{1}, int64_t{10}, words / 17 + 1, words})
          ASSERT_NO_FATAL_FAILURE(expect_equal(model, coarse, query, k)) << "kind " << static_cast<int>(kind);
      }
      forget(model);
    }
  }
}

TEST_F(CudaCoarse, RowsInListsWithSignsOfMediumModels) {
  for (const int64_t dims : {300, 1024}) {
    const ModelPtr plain = large_model(random_(), static_cast<int64_t>(40000 + random_() % 20000), dims);
    ASSERT_NO_FATAL_FAILURE(expect_equal_and_fewer(in_lists(plain, 200, random_, kMostK, true))) << dims;
  }
}

// A rotation that changes lengths rules nothing out.
TEST_F(CudaCoarse, RowsInListsWithADamagedRotation) {
  const ModelPtr whole = in_lists(large_model(random_(), 20000, 300), 100, random_, kMostK, true);
  const PlaneLevel& planes = *whole->parts().front().planes;
  for (const float factor : {0.0f, 0.9f, 1.1f, std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> rotation(planes.rotation.begin(), planes.rotation.end());
    for (float& each : rotation) each *= factor;
    PlaneLevel level = planes;
    level.rotation = rotation;
    ModelPart part = whole->parts().front();
    part.planes = &level;
    const auto model =
        std::make_shared<Model>(std::vector{part}, whole->vocabulary(), Model::Source(), whole);
    const CoarseModel coarse(device_, model);
    const Query query = random_queries(random_, *model, Rows::kGaussian, 1)[0];
    ASSERT_NO_FATAL_FAILURE(expect_equal(model, coarse, query, 10)) << factor;
    forget(model);
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
      gpu::DeviceMasks masks(device_, {{0, 0, words}}, tile_count(words));
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
  const ModelPtr plain = builder.finish().value();
  const Query other = query_of(random_vector(random_, 12, Rows::kGaussian));
  for (const ModelPtr& model : {plain, in_lists(plain, 1000, random_, kMostK)}) {
    const CoarseModel coarse(device_, model);
    for (const int64_t k : {1, 10, 100, 1000, 5000}) {
      ASSERT_NO_FATAL_FAILURE(expect_equal(model, coarse, query_of(often), k));
      EXPECT_GE(candidates_, 600000);
      ASSERT_NO_FATAL_FAILURE(expect_equal(model, coarse, query_of(often, {0, 2, 4}), k));
      ASSERT_NO_FATAL_FAILURE(expect_equal(model, coarse, other, k));
    }
    forget(model);
  }
}

// Large enough that the device chooses the 4-bit scan by itself, for k up to a quarter of the tiles.
TEST_F(CudaCoarse, RowsOfALargeModelThroughTheDevice) {
  const ModelPtr model = large_model(random_(), 250000, 600);
  const CoarseModel coarse(device_, model);
  ASSERT_TRUE(gpu::coarse_worthwhile(250000, 600, 1000, device_->device().info().coarse_from));
  const std::vector<Query> queries = random_queries(random_, *model, Rows::kGaussian, 2);
  for (const int64_t k : {1, 10, 100, 1000, 1900, 2100, 5000})
    for (const Query& query : queries) {
      const auto wanted = rows_by("cpu", model, {query}, k)[0];
      const int64_t top_rows = k + static_cast<int64_t>(query.excluded.size());
      SearchRequest found{&query, k, nullptr, {}, {}, {}};
      const Status status = device_->device().propose(coarse.part(), {&found, 1}, top_rows, {});
      ASSERT_TRUE(status.ok()) << status.error().message;
      EXPECT_EQ(found.cost.bytes_scanned < code_bytes(250000, 600), k < 1953);
      keep_best(query, k, found.rows);
      ASSERT_EQ(difference(found.rows, wanted), "") << "k " << k << ", GLOVE_TEST_SEED=" << test_seed();
    }
  forget(model);
}

// With lists, and few enough rows wanted, it scans planes; a mask is answered by 4 bits.
TEST_F(CudaCoarse, RowsOfALargeModelInListsThroughTheDevice) {
  constexpr int64_t kWords = 250000, kDims = 600, kMostPlanesK = 500;
  const ModelPtr model = in_lists(large_model(random_(), kWords, kDims), 500, random_, kMostPlanesK);
  CoarseModel coarse(device_, model);
  ASSERT_NE(coarse.part().planes.plane1, nullptr);
  Query query = random_queries(random_, *model, Rows::kGaussian, 1)[0];
  query.excluded.clear();
  gpu::DeviceMasks masks(device_, {{0, 0, kWords}}, tile_count(kWords));
  for (const int64_t k : {1, 10, 100, 500, 501, 1900})
    for (const bool masked : {false, true}) {
      query.among = masked ? random_mask(random_, *model) : nullptr;
      const auto mask = query.among != nullptr ? masks.mask_for(query.among, {}, 0, {}).value() : nullptr;
      coarse.set_mask(mask != nullptr ? mask->placed.front() : gpu::DeviceMask());
      if (coarse.part().rows_to_scan() == 0) continue;
      const auto wanted = rows_by("cpu", model, {query}, k)[0];
      SearchRequest found{&query, k, nullptr, {}, {}, {}};
      const Status status = device_->device().propose(coarse.part(), {&found, 1}, k, {});
      ASSERT_TRUE(status.ok()) << status.error().message;
      if (!masked) {
        EXPECT_EQ(found.cost.bytes_scanned < nibble_bytes(kWords, kDims), k <= kMostPlanesK) << k;
      }
      keep_best(query, k, found.rows);
      ASSERT_EQ(difference(found.rows, wanted), "") << "k " << k << ", GLOVE_TEST_SEED=" << test_seed();
    }
  forget(model);
}

}  // namespace
}  // namespace glove::testing
