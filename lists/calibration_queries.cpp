#include "lists/calibration_queries.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "model/exact_dot.h"

namespace glove {
namespace {

int64_t draw_below(SplitMix64& random, int64_t bound) {
  return static_cast<int64_t>(random.next() >> 1) % bound;
}

// Draws a row: of half of the queries any, of the others mostly early ones, because many models have
// their words in the order of their frequency.
int32_t draw_row(std::span<const int32_t> rows, bool early, SplitMix64& random) {
  const int64_t count = std::ssize(rows);
  const int64_t bound =
      early ? count >> draw_below(random, std::bit_width(static_cast<uint64_t>(count))) : count;
  return rows[static_cast<size_t>(draw_below(random, bound))];
}

// About normal, with a deviation of 1.
double draw_normal(SplitMix64& random) {
  constexpr int64_t kStep = int64_t{1} << 30;
  double sum = -6;
  for (int i = 0; i < 12; ++i)
    sum += static_cast<double>(draw_below(random, kStep)) / static_cast<double>(kStep);
  return sum;
}

enum Kind {
  kOmittedRow,
  kRow,
  kSum,
  kDifference,
  kOtherDifference,
  kNoise,
  kText,
  kTextWithoutCommon,
  kKinds
};

// Adds a row's direction, so many times as long.
void add_direction(const RowDirections& all, int32_t row, double factor, std::span<double> sum) {
  std::vector<float> vector(sum.size());
  all.read(row, vector.data());
  factor /= std::sqrt(exact_dot(vector.data(), vector.data(), all.dims));
  for (size_t j = 0; j < sum.size(); ++j) sum[j] += factor * vector[j];
}

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void make_orthogonal(std::span<double> vector, std::span<const std::vector<double>> directions) {
  for (const std::vector<double>& direction : directions) {
    const double square = dot(direction, direction);
    if (!(square > 0)) continue;
    const double factor = dot(vector, direction) / square;
    for (size_t i = 0; i < vector.size(); ++i) vector[i] -= factor * direction[i];
  }
}

}  // namespace

std::vector<std::vector<double>> common_directions(const RowDirections& all) {
  constexpr int64_t kDirections = 10;
  constexpr int kSampled = 1024, kRounds = 4;
  const auto dims = static_cast<size_t>(all.dims);
  std::vector<std::vector<double>> directions;
  for (int round = 0; round < kRounds; ++round) {
    SplitMix64 random(0);
    const auto before = std::exchange(directions, {});
    directions.assign(static_cast<size_t>(std::min(kDirections, all.dims / 2)), std::vector<double>(dims));
    for (int i = 0; i < kSampled; ++i) {
      std::vector<double> row(dims);
      add_direction(all, draw_row(all.rows, true, random), 1, row);
      for (size_t j = 0; j < directions.size(); ++j) {
        const double factor = before.empty() ? draw_normal(random) : dot(row, before[j]);
        for (size_t l = 0; l < dims; ++l) directions[j][l] += factor * row[l];
      }
    }
    for (size_t j = 0; j < directions.size(); ++j) {
      make_orthogonal(directions[j], std::span(directions).first(j));
      const double length = std::sqrt(dot(directions[j], directions[j]));
      for (double& value : directions[j]) value /= std::max(length, 1e-300);
    }
  }
  return directions;
}

DrawnQuery draw_query(const RowDirections& all, std::span<const std::vector<double>> common, int64_t number) {
  SplitMix64 random(static_cast<uint64_t>(number));
  const int64_t kind = number % kKinds;
  const bool is_text = kind >= kText;
  const bool is_difference = kind == kDifference || kind == kOtherDifference;
  const int64_t terms = is_text                         ? 6 + draw_below(random, 19)
                        : kind == kSum || is_difference ? 2 + draw_below(random, 4)
                                                        : 1;
  std::vector<double> sum(static_cast<size_t>(all.dims));
  std::vector<int32_t> omitted;
  for (int64_t i = 0; i < terms; ++i) {
    const int32_t row = draw_row(all.rows, number / kKinds % 2 == 0, random);
    double factor = is_text ? static_cast<double>(1 + draw_below(random, 1024)) : 1;
    if (is_difference && (i == 1 || (i > 1 && draw_below(random, 2) == 0))) factor = -1;
    add_direction(all, row, factor, sum);
    if (kind == kOmittedRow) omitted.push_back(row);
  }
  if (kind == kTextWithoutCommon) make_orthogonal(sum, common);
  if (kind == kNoise) {
    constexpr double kLengths[] = {0.5, 1, 2, 64};
    const double length = kLengths[draw_below(random, 4)] / std::sqrt(static_cast<double>(all.dims));
    for (double& value : sum) value += length * draw_normal(random);
  }
  const RecallGroup group = is_text ? kManyRows : terms > 1 ? kSeveralRows : kOneRow;
  return {std::vector<float>(sum.begin(), sum.end()), std::move(omitted), group};
}

}  // namespace glove
