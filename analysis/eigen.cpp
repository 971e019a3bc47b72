#include "analysis/eigen.h"

// The solver's sums must not depend on the width of the instruction set, nor, below, on the sizes of caches.
#define EIGEN_DONT_VECTORIZE
#define EIGEN_NO_DEBUG
#define EIGEN_MPL2_ONLY
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace glove {

Result<EigenSystem> symmetric_eigen(std::span<const double> matrix, int64_t size) {
  // Eigen cuts products into blocks by the sizes of the caches: those of any machine here.
  static const bool same_blocks = [] {
    Eigen::setCpuCacheSizes(32 << 10, 256 << 10, 2 << 20);
    return true;
  }();
  static_cast<void>(same_blocks);
  const Eigen::Map<const Eigen::MatrixXd> input(matrix.data(), size, size);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(input);
  if (solver.info() != Eigen::Success)
    return {ErrorCode::kInvalidArgument, "the eigenvalues of a matrix of " + std::to_string(size) + " x " +
                                             std::to_string(size) + " numbers did not converge"};
  EigenSystem result;
  result.values.resize(static_cast<size_t>(size));
  result.vectors.resize(static_cast<size_t>(size * size));
  for (int64_t c = 0; c < size; ++c) {
    const auto column = solver.eigenvectors().col(size - 1 - c);  // the solver's values rise
    result.values[static_cast<size_t>(c)] = solver.eigenvalues()(size - 1 - c);
    double* const vector = result.vectors.data() + c * size;
    for (int64_t j = 0; j < size; ++j) vector[j] = column(j);
    const double* const largest = std::max_element(
        vector, vector + size, [](double a, double b) { return std::fabs(a) < std::fabs(b); });
    if (*largest < 0)
      for (int64_t j = 0; j < size; ++j) vector[j] = -vector[j];
  }
  return result;
}

}  // namespace glove
