// Eigenvalues and eigenvectors of a symmetric matrix.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace glove {

struct EigenSystem {
  std::vector<double> values;   // [size], falling
  std::vector<double> vectors;  // [size, size]: row c is the unit eigenvector of values[c]; its component of
                                // the largest magnitude, the first of equal ones, is positive
};

// matrix: [size, size], symmetric, finite. On one thread, and not interruptible: about a second for 1,024.
// The same bits on every machine.
Result<EigenSystem> symmetric_eigen(std::span<const double> matrix, int64_t size);

}  // namespace glove
