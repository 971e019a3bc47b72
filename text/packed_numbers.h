// Tables of numbers that the library holds in few bytes, and unpacks when it first needs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace glove {

// Returns the rows of a table of `columns` columns, one after another. Each number is stored as its
// difference from the one above it (from 0 in the first row), modulo 2^32 and with the sign in the lowest
// bit, seven bits per byte from the lowest on. The highest bit of a byte says that another one follows.
inline std::vector<uint32_t> unpack_numbers(std::span<const uint8_t> bytes, size_t columns) {
  std::vector<uint32_t> numbers;
  uint32_t value = 0;
  int shift = 0;
  for (const uint8_t byte : bytes) {
    value |= (byte & 0x7fu) << shift;
    shift += 7;
    if (byte >= 0x80) continue;
    const uint32_t above = numbers.size() < columns ? 0 : numbers[numbers.size() - columns];
    numbers.push_back(above + (value >> 1 ^ (0u - (value & 1))));
    value = 0;
    shift = 0;
  }
  return numbers;
}

// Returns what `row` makes of each row of the table.
template <class Row>
std::vector<Row> unpack_rows(std::span<const uint8_t> bytes, size_t columns,
                             Row (*row)(const uint32_t* numbers)) {
  std::vector<Row> rows;
  const std::vector<uint32_t> numbers = unpack_numbers(bytes, columns);
  for (size_t i = 0; i < numbers.size(); i += columns) rows.push_back(row(&numbers[i]));
  return rows;
}

}  // namespace glove
