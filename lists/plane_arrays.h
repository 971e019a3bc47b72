// How the arrays of a PlaneLevel are computed.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/status.h"
#include "model/model.h"
#include "model/model_part.h"

namespace glove {

// The order of rows by list, ascending within each, and where each of `count` lists begins in it. REQUIRES:
// every number in `list_of` is from 0 to count - 1.
struct ListOrder {
  ListOrder() = default;
  template <class Number>
  ListOrder(std::span<const Number> list_of, int64_t count)
      : offsets(static_cast<size_t>(count) + 1), rows(list_of.size()) {
    for (const Number list : list_of) ++offsets[static_cast<size_t>(list) + 1];
    for (size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
    std::vector<int64_t> next(offsets.begin(), offsets.end() - 1);
    for (size_t row = 0; row < list_of.size(); ++row)
      rows[static_cast<size_t>(next[static_cast<size_t>(list_of[row])]++)] = static_cast<int32_t>(row);
  }

  std::vector<int64_t> offsets;  // [count + 1]
  std::vector<int32_t> rows;     // the row at each position
};

// Encodes rows, each at its position, in arrays laid out as those of PlaneLevel. What it refers to must
// outlive it. Any threads may use it for different tiles.
class PlaneWriter {
 public:
  // centroids: [lists, dims], none of them zero.
  PlaneWriter(std::span<const float> centroids, int64_t dims, uint8_t* plane1, uint16_t* bounds1,
              uint8_t* plane2);

  // Encodes a vector of a list (encode_planes()); with a sine of 1 or more, as a row without bounds.
  // REQUIRES: as for encode_planes().
  void write(int64_t position, int64_t list, const float* x, double norm_squared, double sine = 0) const;

 private:
  const std::span<const float> centroids_;
  const int64_t dims_;
  std::vector<double> norms_squared_;  // of the centroids
  uint8_t* const plane1_;
  uint16_t* const bounds1_;
  uint8_t* const plane2_;
};

// The arrays of a PlaneLevel, computed on the heap.
struct PlaneArrays {
  std::vector<float> centroids;
  std::vector<int64_t> offsets;
  std::vector<int32_t> rows;
  std::vector<uint8_t> plane1;
  std::vector<uint16_t> bounds1;
  std::vector<uint8_t> plane2;
  int64_t most_k = std::numeric_limits<int64_t>::max();

  // Views of the arrays, which they must outlive.
  PlaneLevel level() const { return {centroids, offsets, rows, plane1, bounds1, plane2, most_k}; }
};

// Orders rows by list, ascending within each, and encodes them on up to `threads` threads (0 = the cores that
// this process may use). vectors: [rows, dims]; norms_squared: D(x, x) of each; centroids: [lists, dims],
// none of them zero; lists: the list of each row. The only error is kInterrupted. REQUIRES: the float
// environment; dims <= kMaxPlaneDims, and at most 2^31 rows.
Result<PlaneArrays> make_planes(std::span<const float> vectors, std::span<const double> norms_squared,
                                std::vector<float> centroids, std::span<const int32_t> lists, int64_t dims,
                                int threads, const InterruptCheck& interrupted = {});

// Returns the same model with its rows in these lists. REQUIRES: it has one part, of as many rows.
ModelPtr with_planes(const ModelPtr& model, PlaneArrays planes);

}  // namespace glove
