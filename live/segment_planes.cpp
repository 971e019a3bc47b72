#include "live/segment_planes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/crc32.h"
#include "base/require.h"
#include "lists/half.h"
#include "lists/planes.h"
#include "model/exact_dot.h"

namespace glove::live {
namespace {

constexpr int64_t kPlaneBlockBytes = int64_t{32} << 10;
constexpr int64_t kHeaderBytes = 2 * sizeof(int64_t);
constexpr int64_t kFormerSeedBytes = sizeof(uint64_t);

template <class T>
std::span<const T> view(std::span<const char> bytes, int64_t begin, int64_t end) {
  const auto place = static_cast<size_t>(begin);
  return {reinterpret_cast<const T*>(bytes.data() + place), (static_cast<size_t>(end) - place) / sizeof(T)};
}

// Whether these can be the numbers of a row that is not zero.
bool usable(const PlaneBound& bound) {
  return (bound.centroid & 0x7FFF) < kHalfInfinity && bound.code < kHalfInfinity &&
         bound.distance <= kHalfInfinity && bound.distance != 0;  // the sign is the highest bit
}

}  // namespace

Lists::Lists(HugePageBuffer<char> bytes, int64_t count, int64_t dims)
    : bytes_(std::move(bytes)),
      dims_(dims),
      checksum_(crc32_continue(0, bytes_)),
      loaded_(std::ssize(bytes_)) {
  std::memcpy(&most_k_, bytes_.data() + sizeof(int64_t), sizeof(most_k_));
  centroids_ =
      view<float>(bytes_, kHeaderBytes, kHeaderBytes + count * dims * static_cast<int64_t>(sizeof(float)));
}

int64_t Lists::most_bytes(int64_t dims) {
  return kHeaderBytes + kMostLists * dims * static_cast<int64_t>(sizeof(float)) + kFormerSeedBytes;
}

Result<ListsPtr> Lists::parse(HugePageBuffer<char> bytes, int64_t dims, const std::string& name) {
  int64_t count = 0;
  const auto size = static_cast<int64_t>(bytes.size());
  if (size >= kHeaderBytes) std::memcpy(&count, bytes.data(), sizeof(count));
  const bool possible = dims >= 1 && dims <= kMaxPlaneDims && count >= 1 && count <= kMostLists;
  const int64_t end = possible ? kHeaderBytes + count * dims * static_cast<int64_t>(sizeof(float)) : 0;
  if (!possible || (size != end && size != end + kFormerSeedBytes))
    return Error{ErrorCode::kCorrupt, name + " have " + std::to_string(size) + " bytes, which cannot be " +
                                          std::to_string(count) + " lists of " + std::to_string(dims) +
                                          " dimensions"};
  const ListsPtr lists(new Lists(std::move(bytes), count, dims));
  for (int64_t i = 0; i < count; ++i) {
    const float* const centroid = lists->centroids().data() + i * dims;
    const double norm_squared = exact_dot(centroid, centroid, dims);
    if (!(norm_squared > 0) || !std::isfinite(norm_squared))
      return Error{ErrorCode::kCorrupt, name + " have a centroid that is zero or not finite"};
  }
  return lists;
}

ListsPtr Lists::make(std::span<const float> centroids, int64_t dims, int64_t most_k) {
  GLOVE_REQUIRE(dims >= 1 && !centroids.empty() && std::ssize(centroids) % dims == 0);
  const int64_t count = std::ssize(centroids) / dims;
  const int64_t header[] = {count, most_k};
  HugePageBuffer<char> bytes(kHeaderBytes + centroids.size_bytes());
  std::memcpy(bytes.data(), header, kHeaderBytes);
  std::memcpy(bytes.data() + kHeaderBytes, centroids.data(), centroids.size_bytes());
  return ListsPtr(new Lists(std::move(bytes), count, dims));
}

PlaneArrayPlaces::PlaneArrayPlaces(int64_t rows, int64_t dims)
    : lists(tile_count(rows) * kPlaneBounds * kTileRows * static_cast<int64_t>(sizeof(uint16_t))),
      plane1(lists + rows * static_cast<int64_t>(sizeof(uint16_t))),
      plane2(plane1 + plane1_bytes(rows, dims)),
      end(plane2 + rows * plane2_row_bytes(dims)) {}

int64_t plane_block_tiles(int64_t dims) {
  return std::max<int64_t>(1, kPlaneBlockBytes / plane1_bytes(kTileRows, dims));
}

int64_t plane_block_bytes(int64_t dims) {
  return plane1_bytes(plane_block_tiles(dims) * kTileRows, dims);
}

SegmentPlanes::SegmentPlanes(std::span<const char> bytes, int64_t rows, const ListsPtr& lists)
    : lists_(lists) {
  GLOVE_REQUIRE(reinterpret_cast<uintptr_t>(bytes.data()) % 2 == 0);
  const PlaneArrayPlaces at(rows, lists->dims());
  list_of_ = view<uint16_t>(bytes, at.lists, at.plane1);
  const auto is_missing = [&](uint16_t list) { return list >= lists->count(); };
  if (std::any_of(list_of_.begin(), list_of_.end(), is_missing)) {
    fault_ = "has a row in a list that does not exist";
    return;
  }
  order_ = ListOrder(list_of_, lists->count());
  level_ = {
      lists->centroids(), order_.offsets, order_.rows, {}, view<uint16_t>(bytes, at.bounds1, at.lists), {},
      lists->most_k()};
  if (static_cast<int64_t>(bytes.size()) > at.plane1) {
    level_.plane1 = view<uint8_t>(bytes, at.plane1, at.plane2);
    level_.plane2 = view<uint8_t>(bytes, at.plane2, at.end);
  }
  fault_ = fault_of_bounds();
}

std::string SegmentPlanes::fault_of_bounds() const {
  for (size_t position = 0; position < order_.rows.size(); ++position) {
    const uint16_t* const first =
        level_.bounds1.data() + position / kTileRows * kPlaneBounds * kTileRows + position % kTileRows;
    const int64_t row2 = static_cast<int64_t>(position) * plane2_row_bytes(lists_->dims());
    if (!usable({first[0], first[kTileRows], first[2 * kTileRows]}) ||
        (has_planes() && !usable(plane2_bound(level_.plane2.data() + row2, lists_->dims()))))
      return "has numbers of its planes that no row has";
  }
  return {};
}

int64_t SegmentPlanes::bytes() const {
  return static_cast<int64_t>(order_.offsets.size() * sizeof(int64_t) + order_.rows.size() * sizeof(int32_t));
}

}  // namespace glove::live
