#include "lists/plane_arrays.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/float_environment.h"
#include "base/require.h"
#include "base/thread_pool.h"
#include "lists/half.h"
#include "lists/planes.h"
#include "model/exact_dot.h"

namespace glove {
namespace {

// Tiles that a thread encodes at once.
constexpr int64_t kTilesPerPiece = 64;

}  // namespace

PlaneWriter::PlaneWriter(std::span<const float> centroids, int64_t dims, uint8_t* plane1, uint16_t* bounds1,
                         uint8_t* plane2)
    : centroids_(centroids), dims_(dims), plane1_(plane1), bounds1_(bounds1), plane2_(plane2) {
  for (size_t at = 0; at < centroids.size(); at += static_cast<size_t>(dims))
    norms_squared_.push_back(exact_dot(&centroids[at], &centroids[at], dims));
}

void PlaneWriter::write(int64_t position, int64_t list, const float* x, double norm_squared,
                        double sine) const {
  std::vector<uint8_t> bytes(static_cast<size_t>(plane_row_bytes(dims_)));
  uint8_t* const plane2 = plane2_ + position * plane2_row_bytes(dims_);
  PlaneBound bound{0, 0, kHalfInfinity};
  if (sine < 1) {
    bound = encode_planes(x, norm_squared, centroids_.data() + list * dims_,
                          norms_squared_[static_cast<size_t>(list)], dims_, bytes.data(), plane2, sine);
  } else {
    std::fill_n(plane2, plane2_row_bytes(dims_), uint8_t{0});
    std::memcpy(plane2 + plane2_bound_offset(dims_), &bound, sizeof(bound));
  }
  for (int64_t byte = 0; byte < plane_row_bytes(dims_); ++byte)
    plane1_[plane1_index(position, byte, dims_)] = bytes[static_cast<size_t>(byte)];
  store_bound(bound, position, bounds1_);
}

Result<PlaneArrays> make_planes(std::span<const float> vectors, std::span<const double> norms_squared,
                                std::vector<float> centroids, std::span<const int32_t> lists, int64_t dims,
                                int threads, const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  GLOVE_REQUIRE(dims <= kMaxPlaneDims && lists.size() == norms_squared.size());
  GLOVE_REQUIRE(vectors.size() == lists.size() * static_cast<size_t>(dims));
  PlaneArrays planes;
  planes.centroids = std::move(centroids);
  const auto count = static_cast<int64_t>(planes.centroids.size()) / dims;
  const auto rows = static_cast<int64_t>(lists.size());
  ListOrder order(lists, count);
  planes.offsets = std::move(order.offsets);
  planes.rows = std::move(order.rows);
  planes.plane1.resize(static_cast<size_t>(plane1_bytes(rows, dims)));
  planes.bounds1.resize(static_cast<size_t>(tile_count(rows) * kPlaneBounds * kTileRows));
  planes.plane2.resize(static_cast<size_t>(rows * plane2_row_bytes(dims)));
  const PlaneWriter writer(planes.centroids, dims, planes.plane1.data(), planes.bounds1.data(),
                           planes.plane2.data());
  const auto write = [&](int, int64_t first, int64_t last) {
    for (int64_t position = first; position < last; ++position) {
      const auto row = static_cast<size_t>(planes.rows[static_cast<size_t>(position)]);
      writer.write(position, lists[row], vectors.data() + static_cast<int64_t>(row) * dims,
                   norms_squared[row]);
    }
  };
  GLOVE_RETURN_IF_ERROR(
      ThreadPool::for_pieces(thread_count(threads), rows, kTilesPerPiece * kTileRows, interrupted, write));
  return planes;
}

ModelPtr with_planes(const ModelPtr& model, PlaneArrays planes) {
  GLOVE_REQUIRE(model->parts().size() == 1 && std::ssize(planes.rows) == model->parts().front().rows);
  struct Owner {
    ModelPtr model;
    PlaneArrays arrays;
    PlaneLevel level;
  };
  const auto owner = std::make_shared<Owner>(Owner{model, std::move(planes), {}});
  owner->level = owner->arrays.level();
  ModelPart part = model->parts().front();
  part.planes = &owner->level;
  return std::make_shared<const Model>(std::vector{part}, model->vocabulary(), model->source(), owner);
}

}  // namespace glove
