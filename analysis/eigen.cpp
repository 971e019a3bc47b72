#include "analysis/eigen.h"

// No sum may depend on the width of the instruction set, so Eigen must not use it.
#define EIGEN_DONT_VECTORIZE
#define EIGEN_NO_DEBUG
#define EIGEN_MPL2_ONLY
#include <Eigen/Core>
#include <Eigen/Householder>
#include <Eigen/Jacobi>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/concat.h"

namespace glove {
namespace {

constexpr int kLanes = 8;               // rows of the vectors' matrix that are computed together
constexpr size_t kSweepsAtOnce = 32;    // that are applied to rows while these are in the cache
constexpr int64_t kStepsPerValue = 30;  // more mean that the iteration does not converge
constexpr double kNegligible = 1e-150;  // of values whose largest is 1: the square is still a normal number

// A = Q T Q^T for a tridiagonal T, by Householder's method (Golub and Van Loan, Matrix Computations, 8.3.1).
struct Tridiagonal {
  Eigen::MatrixXd reflectors;  // below the diagonal of column i: the i-th, without its factor
  Eigen::VectorXd factors;     // [size - 1]
  Eigen::VectorXd diagonal;    // of T
  Eigen::VectorXd beside;      // [size - 1], next to the diagonal
};

Result<Tridiagonal> tridiagonalize(Eigen::MatrixXd a, InterruptPoll& poll) {
  const Eigen::Index size = a.rows();
  Tridiagonal result;
  result.factors.setZero(size - 1);
  result.beside.setZero(size - 1);
  for (Eigen::Index i = 0; i + 1 < size; ++i) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    const Eigen::Index rest = size - i - 1;
    auto reflector = a.col(i).tail(rest);
    double factor = 0;
    reflector.makeHouseholderInPlace(factor, result.beside(i));
    reflector(0) = 1;
    result.factors(i) = factor;
    auto below = a.bottomRightCorner(rest, rest).selfadjointView<Eigen::Lower>();
    Eigen::VectorXd product = below * (factor * reflector);
    product -= 0.5 * factor * product.dot(reflector) * reflector;
    below.rankUpdate(reflector, product, -1);
  }
  result.diagonal = a.diagonal();
  result.reflectors = std::move(a);
  return result;
}

// The rotations of one step of the QR algorithm: of columns first + i and first + i + 1.
struct Sweep {
  Eigen::Index first = 0;
  std::vector<double> cosines, sines;
};

// The matrix of the vectors, which begins as Q. Groups of kLanes rows lie together, column by column, so that
// a rotation reads and writes adjacent numbers, and no row depends on another.
class VectorRows {
 public:
  explicit VectorRows(Eigen::Index size)
      : size_(size), values_(static_cast<size_t>((size + kLanes - 1) / kLanes * size * kLanes)) {
    for (Eigen::Index row = 0; row < size; ++row) at(row, row) = 1;
  }

  double& at(Eigen::Index row, Eigen::Index column) {
    return values_[static_cast<size_t>((row / kLanes * size_ + column) * kLanes + row % kLanes)];
  }

  // Multiplies by the reflectors from the right.
  Status reflect(const Tridiagonal& from, InterruptPoll& poll) {
    for (double* group = values_.data(); group < values_.data() + values_.size(); group += size_ * kLanes)
      for (Eigen::Index i = 0; i + 1 < size_; ++i) {
        GLOVE_RETURN_IF_ERROR(poll.check());
        reflect_group(&from.reflectors(i + 1, i), from.factors(i), size_ - i - 1, group + (i + 1) * kLanes);
      }
    return {};
  }

  Status rotate(const std::vector<Sweep>& sweeps, InterruptPoll& poll) {
    for (double* group = values_.data(); group < values_.data() + values_.size(); group += size_ * kLanes)
      for (const Sweep& sweep : sweeps) {
        GLOVE_RETURN_IF_ERROR(poll.check());
        rotate_group(sweep, group + sweep.first * kLanes);
      }
    return {};
  }

 private:
  static void reflect_group(const double* reflector, double factor, Eigen::Index count, double* group) {
    double dots[kLanes] = {};
    for (Eigen::Index j = 0; j < count; ++j)
      for (int lane = 0; lane < kLanes; ++lane) dots[lane] += reflector[j] * group[j * kLanes + lane];
    for (double& dot : dots) dot *= factor;
    for (Eigen::Index j = 0; j < count; ++j)
      for (int lane = 0; lane < kLanes; ++lane) group[j * kLanes + lane] -= reflector[j] * dots[lane];
  }

  static void rotate_group(const Sweep& sweep, double* group) {
    double carried[kLanes];
    std::copy_n(group, kLanes, carried);
    for (size_t i = 0; i < sweep.cosines.size(); ++i, group += kLanes)
      for (int lane = 0; lane < kLanes; ++lane) {
        const double left = carried[lane], right = group[kLanes + lane];
        group[lane] = sweep.cosines[i] * left - sweep.sines[i] * right;
        carried[lane] = sweep.sines[i] * left + sweep.cosines[i] * right;
      }
    std::copy_n(carried, kLanes, group);
  }

  const Eigen::Index size_;
  std::vector<double> values_;
};

// One implicit step with Wilkinson's shift (Golub and Van Loan, 8.3.2) on the block [first, last].
Sweep qr_step(Eigen::Index first, Eigen::Index last, Eigen::VectorXd& diagonal, Eigen::VectorXd& beside) {
  const double half = (diagonal(last - 1) - diagonal(last)) / 2;
  const double side = beside(last - 1);
  const double root = std::sqrt(half * half + side * side);
  const double shift = diagonal(last) - side * side / (half + (half > 0 ? root : -root));
  Sweep sweep{first, {}, {}};
  double x = diagonal(first) - shift;
  double z = beside(first);
  for (Eigen::Index k = first; k < last && z != 0; ++k) {
    Eigen::JacobiRotation<double> rotation;
    rotation.makeGivens(x, z);
    const double c = rotation.c(), s = rotation.s();
    const double a = diagonal(k), b = beside(k), d = diagonal(k + 1);
    diagonal(k) = c * (c * a - s * b) - s * (c * b - s * d);
    diagonal(k + 1) = s * (s * a + c * b) + c * (s * b + c * d);
    beside(k) = c * (s * a + c * b) - s * (s * b + c * d);
    if (k > first) beside(k - 1) = c * beside(k - 1) - s * z;
    x = beside(k);
    if (k + 1 < last) {
      z = -s * beside(k + 1);
      beside(k + 1) *= c;
    }
    sweep.cosines.push_back(c);
    sweep.sines.push_back(s);
  }
  return sweep;
}

// Makes T diagonal, and rotates the vectors with it. Returns false if that does not converge.
Result<bool> diagonalize(Eigen::VectorXd& diagonal, Eigen::VectorXd& beside, VectorRows& vectors,
                         InterruptPoll& poll) {
  std::vector<Sweep> sweeps;
  Eigen::Index last = diagonal.size() - 1;
  for (int64_t steps = 0; last > 0; ++steps) {
    if (steps > kStepsPerValue * diagonal.size()) return false;
    Eigen::Index first = last;
    while (first > 0) {
      const double neighbors = std::fabs(diagonal(first - 1)) + std::fabs(diagonal(first));
      const double size = std::fabs(beside(first - 1));
      if (size <= std::numeric_limits<double>::epsilon() * neighbors || size < kNegligible) break;
      --first;
    }
    if (first > 0) beside(first - 1) = 0;
    if (first == last) {
      --last;
      continue;
    }
    sweeps.push_back(qr_step(first, last, diagonal, beside));
    if (sweeps.size() < kSweepsAtOnce) continue;
    GLOVE_RETURN_IF_ERROR(vectors.rotate(sweeps, poll));
    sweeps.clear();
  }
  GLOVE_RETURN_IF_ERROR(vectors.rotate(sweeps, poll));
  return true;
}

// The values times `scale`, falling, with their vectors.
EigenSystem sorted(const Eigen::VectorXd& values, VectorRows& vectors, double scale) {
  const int64_t size = values.size();
  std::vector<Eigen::Index> order(static_cast<size_t>(size));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Eigen::Index>(i);
  std::ranges::stable_sort(order, [&](Eigen::Index a, Eigen::Index b) { return values(a) > values(b); });
  EigenSystem result;
  for (const Eigen::Index column : order) {
    result.values.push_back(values(column) * scale);
    const size_t begin = result.vectors.size();
    for (int64_t j = 0; j < size; ++j) result.vectors.push_back(vectors.at(j, column));
    const auto vector = result.vectors.begin() + static_cast<std::ptrdiff_t>(begin);
    const double largest = *std::max_element(vector, result.vectors.end(),
                                             [](double a, double b) { return std::fabs(a) < std::fabs(b); });
    if (largest < 0) std::transform(vector, result.vectors.end(), vector, [](double v) { return -v; });
  }
  return result;
}

}  // namespace

Result<EigenSystem> symmetric_eigen(std::span<const double> matrix, int64_t size,
                                    const InterruptCheck& interrupted) {
  if (size == 0) return EigenSystem();
  InterruptPoll poll(interrupted);
  const Eigen::Map<const Eigen::MatrixXd> input(matrix.data(), size, size);
  double scale = input.cwiseAbs().maxCoeff();
  if (scale == 0) scale = 1;
  GLOVE_ASSIGN_OR_RETURN(Tridiagonal reduced, tridiagonalize(input / scale, poll));
  VectorRows vectors(size);
  GLOVE_RETURN_IF_ERROR(vectors.reflect(reduced, poll));
  GLOVE_ASSIGN_OR_RETURN(const bool converged, diagonalize(reduced.diagonal, reduced.beside, vectors, poll));
  if (!converged)
    return invalid_argument("the eigenvalues of a matrix of ", size, " x ", size,
                            " numbers did not converge");
  return sorted(reduced.diagonal, vectors, scale);
}

}  // namespace glove
