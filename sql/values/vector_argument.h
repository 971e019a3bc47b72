// Vectors as arguments of SQL functions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/status.h"
#include "sql/adapter/boundary.h"

namespace glove::sql {

// Reads a vector into `vector`, whose memory is reused: a BLOB of little-endian float32, or text that is a
// JSON array of numbers. Returns false for any other value, which may be a word. It is an error if the length
// of a BLOB is not a multiple of 4 or a component is not finite; `function` begins these messages, which call
// the argument `name`. Another error is an interrupt. REQUIRES: the value is not NULL.
Result<bool> read_vector(sqlite3_value* value, std::string_view function, std::string_view name,
                         std::vector<float>& vector, const InterruptCheck& interrupted);

// Returns the components of the argument that messages call "the vector". It is also an error if the value is
// not a vector. An interrupt of the connection ends it. REQUIRES: the value is not NULL.
Result<std::vector<float>> vector_argument(sqlite3_context* context, sqlite3_value* value,
                                           std::string_view function);

// Makes the vector the result of the function, as a BLOB of float32. A component that float32 cannot hold is
// an error.
Status return_vector(sqlite3_context* context, std::span<const float> vector, std::string_view function);
Status return_vector(sqlite3_context* context, std::span<const double> vector, std::string_view function);

}  // namespace glove::sql
