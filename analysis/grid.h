// A matrix of numbers in double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace glove {

struct Grid {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<double> values;  // [rows, columns]

  Grid() = default;
  Grid(int64_t row_count, int64_t column_count)
      : rows(row_count), columns(column_count), values(static_cast<size_t>(row_count * column_count)) {}

  double* row(int64_t index) { return values.data() + index * columns; }
  const double* row(int64_t index) const { return values.data() + index * columns; }
};

}  // namespace glove
