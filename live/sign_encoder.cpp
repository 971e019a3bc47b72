#include "live/sign_encoder.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "base/cores.h"
#include "base/thread_pool.h"
#include "lists/half.h"
#include "lists/planes.h"
#include "lists/sign_plane.h"
#include "model/exact_dot.h"
#include "model/row_map.h"

namespace glove::live {
namespace {

// Rows that are rotated together.
constexpr int64_t kRotatedTogether = 64 * kTileRows;
constexpr int64_t kRowsPerThread = 4 * kTileRows;

// What the rows at consecutive positions are encoded with.
struct RotatedRows {
  int64_t first;
  int64_t count;
  std::vector<float> codes, units, rotated;
  std::vector<double> norms_squared;
};

class SignEncoder {
 public:
  SignEncoder(Analysis& analysis, const Segment& segment, const Lists& lists, const ListOrder& order,
              char* out)
      : analysis_(analysis),
        segment_(segment),
        lists_(lists),
        order_(order),
        bits_(live_sign_bits(segment.dims())) {
    const PlaneArrayPlaces places(segment.rows(), segment.dims(), PlaneKind::kSigned);
    bounds_ = reinterpret_cast<uint16_t*>(out + places.sign_bounds);
    signs_ = reinterpret_cast<uint8_t*>(out + places.signs);
    map_.dims_in = segment.dims();
    map_.dims_out = bits_;
    map_.matrix.assign(lists.rotation().begin(), lists.rotation().end());
  }

  Status run(const InterruptCheck& interrupted) {
    rotated_centroids_.resize(static_cast<size_t>(lists_.count() * bits_));
    GLOVE_RETURN_IF_ERROR(rotate(lists_.centroids().data(), lists_.count(), rotated_centroids_, interrupted));
    RotatedRows piece;
    for (piece.first = 0; piece.first < segment_.rows(); piece.first += kRotatedTogether) {
      piece.count = std::min(kRotatedTogether, segment_.rows() - piece.first);
      const auto values = static_cast<size_t>(piece.count * segment_.dims());
      piece.codes.resize(values);
      piece.units.resize(values);
      piece.norms_squared.resize(static_cast<size_t>(piece.count));
      piece.rotated.resize(static_cast<size_t>(piece.count * bits_));
      const auto read_some = [&](int, int64_t first, int64_t last) { read(piece, first, last); };
      GLOVE_RETURN_IF_ERROR(
          ThreadPool::for_pieces(thread_count(0), piece.count, kRowsPerThread, interrupted, read_some));
      GLOVE_RETURN_IF_ERROR(rotate(piece.units.data(), piece.count, piece.rotated, interrupted));
      const auto encode_some = [&](int, int64_t first, int64_t last) { encode(piece, first, last); };
      GLOVE_RETURN_IF_ERROR(
          ThreadPool::for_pieces(thread_count(0), piece.count, kRowsPerThread, interrupted, encode_some));
    }
    return {};
  }

 private:
  int64_t row(int64_t position) const { return order_.rows[static_cast<size_t>(position)]; }

  Status rotate(const float* rows, int64_t count, std::span<float> rotated,
                const InterruptCheck& interrupted) {
    Points points;
    points.rows = count;
    points.dims = segment_.dims();
    points.vectors = rows;
    return analysis_.map_rows(points, map_, rotated, interrupted);
  }

  void read(RotatedRows& piece, int64_t first, int64_t last) const {
    const int64_t dims = segment_.dims();
    for (int64_t i = first; i < last; ++i) {
      float* const codes = piece.codes.data() + i * dims;
      read_codes(segment_, row(piece.first + i), codes);
      const double norm_squared = exact_dot(codes, codes, dims);
      const double inverse = norm_squared > 0 ? 1 / std::sqrt(norm_squared) : 0;
      std::transform(codes, codes + dims, piece.units.data() + i * dims,
                     [inverse](float code) { return static_cast<float>(code * inverse); });
      piece.norms_squared[static_cast<size_t>(i)] = norm_squared;
    }
  }

  void encode(const RotatedRows& piece, int64_t first, int64_t last) const {
    const int64_t dims = segment_.dims();
    const auto codes = std::make_unique<bool[]>(static_cast<size_t>(bits_));
    for (int64_t i = first; i < last; ++i) {
      const int64_t position = piece.first + i;
      const double norm_squared = piece.norms_squared[static_cast<size_t>(i)];
      const double sine = sine_of_codes(segment_, row(position), norm_squared);
      PlaneBound bound{0, 0, kHalfInfinity};
      std::fill_n(codes.get(), bits_, false);
      if (norm_squared > 0 && sine < 1) {
        const auto list = std::upper_bound(order_.offsets.begin(), order_.offsets.end(), position) -
                          order_.offsets.begin() - 1;
        const float* const centroid = lists_.centroids().data() + list * dims;
        const SignRow signs = {.x = piece.codes.data() + i * dims,
                               .rotated = piece.rotated.data() + i * bits_,
                               .norm_squared = norm_squared,
                               .centroid = centroid,
                               .rotated_centroid = rotated_centroids_.data() + list * bits_,
                               .centroid_norm_squared = exact_dot(centroid, centroid, dims)};
        bound = encode_signs(signs, dims, bits_, codes.get(), sine);
      }
      store(position, bound, codes.get());
    }
  }

  void store(int64_t position, const PlaneBound& bound, const bool* codes) const {
    for (int64_t j = 0; j < bits_; ++j) {
      const SignPlace place = sign_place(position, j, bits_);
      signs_[place.byte] = static_cast<uint8_t>(signs_[place.byte] | (codes[j] ? 1 : 0) << place.shift);
    }
    store_bound(bound, position, bounds_);
  }

  Analysis& analysis_;
  const Segment& segment_;
  const Lists& lists_;
  const ListOrder& order_;
  const int64_t bits_;
  uint16_t* bounds_;
  uint8_t* signs_;
  RowMap map_;
  std::vector<float> rotated_centroids_;
};

}  // namespace

void read_codes(const Segment& segment, int64_t row, float* vector) {
  const int8_t* const codes = segment.level().codes.data();
  for (int64_t i = 0; i < segment.dims(); ++i)
    vector[i] = static_cast<float>(codes[code_index(row, i, segment.dims())]);
}

double sine_of_codes(const Segment& segment, int64_t row, double norm_squared) {
  const auto place = static_cast<size_t>(row);
  const double length = static_cast<double>(segment.level().scales[place]) * std::sqrt(norm_squared);
  // The row's unit vector is within the residual of the codes', whose length this is.
  return static_cast<double>(segment.level().residuals[place]) / length * (1 + 0x1p-30);
}

Status encode_segment_signs(Analysis& analysis, const Segment& segment, const Lists& lists,
                            const ListOrder& order, char* out, const InterruptCheck& interrupted) {
  return SignEncoder(analysis, segment, lists, order, out).run(interrupted);
}

}  // namespace glove::live
