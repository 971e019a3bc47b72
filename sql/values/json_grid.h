// Matrices as JSON: an array of rows, each an array of numbers.
#pragma once

#include <string_view>

#include "analysis/grid.h"
#include "base/status.h"
#include "sql/adapter/boundary.h"

namespace glove::sql {

// Parses a matrix, which may be empty: []. Rows of different lengths, elements that are not finite numbers,
// and an interrupt are errors. `object` begins the messages, which call the matrix `name`.
Result<Grid> parse_grid(std::string_view json, std::string_view object, std::string_view name,
                        const InterruptCheck& interrupted);

// Makes the matrix the result of the function. A number that is not finite is an error, and so is an
// interrupt.
Status return_grid(sqlite3_context* context, const Grid& grid, std::string_view object,
                   const InterruptCheck& interrupted);

}  // namespace glove::sql
