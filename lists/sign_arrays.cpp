#include "lists/sign_arrays.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/cores.h"
#include "base/thread_pool.h"
#include "lists/planes.h"
#include "lists/sign_plane.h"
#include "model/exact_dot.h"

namespace glove {
namespace {

// Rows that are rotated together.
constexpr int64_t kTilesRotatedTogether = 64;
constexpr int64_t kTilesPerThread = 4;

// Positions from `first` on and their rotated unit vectors.
struct Piece {
  int64_t first;
  int64_t count;
  std::vector<float> units;
  std::vector<float> rotated;
};

class SignMaker {
 public:
  SignMaker(std::span<const float> vectors, std::span<const double> norms_squared, int64_t dims,
            PlaneArrays& planes, std::vector<float> rotated_centroids)
      : vectors_(vectors),
        norms_squared_(norms_squared),
        dims_(dims),
        planes_(planes),
        rotated_centroids_(std::move(rotated_centroids)) {
    for (int64_t list = 0; list + 1 < std::ssize(planes.offsets); ++list)
      centroid_norms_.push_back(exact_dot(centroid(list), centroid(list), dims));
  }

  void copy_units(Piece& piece) const {
    for (int64_t i = 0; i < piece.count; ++i) {
      const float* const x = vector(piece.first + i);
      const double norm_squared = norms_squared_[row(piece.first + i)];
      const double inverse = norm_squared > 0 ? 1 / std::sqrt(norm_squared) : 0;
      std::transform(x, x + dims_, piece.units.data() + i * dims_,
                     [inverse](float value) { return static_cast<float>(value * inverse); });
    }
  }

  // Encodes the positions [first, last) of a piece, counted from its beginning.
  void encode(const Piece& piece, int64_t first, int64_t last) const {
    const auto codes = std::make_unique<bool[]>(static_cast<size_t>(dims_));
    const auto& offsets = planes_.offsets;
    for (int64_t i = first; i < last; ++i) {
      const int64_t position = piece.first + i;
      const auto list = std::upper_bound(offsets.begin(), offsets.end(), position) - offsets.begin() - 1;
      const SignRow signs = {.x = vector(position),
                             .rotated = piece.rotated.data() + i * dims_,
                             .norm_squared = norms_squared_[row(position)],
                             .centroid = centroid(list),
                             .rotated_centroid = rotated_centroids_.data() + list * dims_,
                             .centroid_norm_squared = centroid_norms_[static_cast<size_t>(list)]};
      store(position, encode_signs(signs, dims_, dims_, codes.get()), codes.get());
    }
  }

 private:
  size_t row(int64_t position) const {
    return static_cast<size_t>(planes_.rows[static_cast<size_t>(position)]);
  }
  const float* vector(int64_t position) const {
    return vectors_.data() + static_cast<int64_t>(row(position)) * dims_;
  }
  const float* centroid(int64_t list) const { return planes_.centroids.data() + list * dims_; }

  void store(int64_t position, const PlaneBound& bound, const bool* codes) const {
    for (int64_t j = 0; j < dims_; ++j) {
      const SignPlace place = sign_place(position, j, dims_);
      uint8_t& byte = planes_.signs[static_cast<size_t>(place.byte)];
      byte = static_cast<uint8_t>(byte | (codes[j] ? 1 : 0) << place.shift);
    }
    store_bound(bound, position, planes_.sign_bounds.data());
  }

  std::span<const float> vectors_;
  std::span<const double> norms_squared_;
  const int64_t dims_;
  PlaneArrays& planes_;
  const std::vector<float> rotated_centroids_;
  std::vector<double> centroid_norms_;
};

}  // namespace

Status add_signs(std::span<const float> vectors, std::span<const double> norms_squared, int64_t dims,
                 PlaneArrays& planes, std::vector<float> rotation, const RotateRows& rotate, int threads,
                 const InterruptCheck& interrupted) {
  const auto rows = std::ssize(planes.rows);
  planes.rotation = std::move(rotation);
  planes.signs.assign(static_cast<size_t>(sign_bytes(rows, dims)), 0);
  planes.sign_bounds.assign(static_cast<size_t>(tile_count(rows) * kPlaneBounds * kTileRows), 0);
  std::vector<float> rotated_centroids(planes.centroids.size());
  GLOVE_RETURN_IF_ERROR(rotate(planes.centroids, std::ssize(planes.centroids) / dims, rotated_centroids));
  const SignMaker maker(vectors, norms_squared, dims, planes, std::move(rotated_centroids));
  constexpr int64_t kPieceRows = kTilesRotatedTogether * kTileRows;
  Piece piece;
  for (piece.first = 0; piece.first < rows; piece.first += kPieceRows) {
    piece.count = std::min(kPieceRows, rows - piece.first);
    const auto values = static_cast<size_t>(piece.count * dims);
    piece.units.resize(values);
    piece.rotated.resize(values);
    maker.copy_units(piece);
    GLOVE_RETURN_IF_ERROR(rotate(piece.units, piece.count, piece.rotated));
    const auto encode = [&](int, int64_t first, int64_t last) { maker.encode(piece, first, last); };
    GLOVE_RETURN_IF_ERROR(ThreadPool::for_pieces(thread_count(threads), piece.count,
                                                 kTilesPerThread * kTileRows, interrupted, encode));
  }
  return {};
}

}  // namespace glove
