// Vectors as arguments of SQL functions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sql/boundary.h"

namespace glove::sql {

// Reads the components of a BLOB of little-endian float32 into `vector`, whose memory is reused. It is an
// error if the length is not a multiple of 4 or a component is not finite. `function` begins the messages,
// which call the argument `name`. REQUIRES: the value is a BLOB.
Status read_vector_blob(sqlite3_value* value, std::string_view function, std::string_view name,
                        std::vector<float>& vector);

// Returns the components of the argument that messages call "the vector". It is also an error if the value is
// not a BLOB. REQUIRES: the value is not NULL.
Result<std::vector<float>> vector_argument(sqlite3_value* value, std::string_view function);

// Makes the vector the result of the function, as a BLOB of float32. A component that float32 cannot hold is
// an error.
Status return_vector(sqlite3_context* context, std::span<const float> vector, std::string_view function);
Status return_vector(sqlite3_context* context, std::span<const double> vector, std::string_view function);

}  // namespace glove::sql
