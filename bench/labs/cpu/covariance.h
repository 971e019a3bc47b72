// The covariance of the columns of a double matrix, step by step.
#pragma once

#include <cstdint>

namespace glove::labs {

// a [rows, columns]; covariance [columns, columns]: sums of products of centred values, divided by rows - 1
struct Covariance {
  const double* a;
  int64_t rows;
  int64_t columns;
  double* covariance;
};

// The lab's: means, centring in place of a copy, then a sum per pair of columns, which reads them across the
// rows; one triangle.
void lab_covariance(const Covariance& task);

// A sum per pair of columns of the transposed copy, which reads them in their order.
void transposed_covariance(const Covariance& task);

// Tiles of 8 by 24 sums in registers. Centres while it packs blocks of kDepth rows, each panel of columns
// contiguous, so that a tile reads two short arrays. A thread computes whole tiles: the sum of each kDepth
// rows in order, and these sums in order.
void tiled_covariance(const Covariance& task, int threads);

}  // namespace glove::labs
