// Reads the vectors that rows of the user's tables contain.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sql/boundary.h"

namespace glove::sql {

// "INTEGER", "REAL", "TEXT", "BLOB" or "NULL" for a type of SQLite.
const char* type_name_of(int type);

// "1 component", "2 components" and so on.
std::string component_count(size_t components);

// Reads a BLOB of little-endian float32 or a JSON array of numbers. Does not check that the numbers are
// finite. The message of an error is only its end, such as "has a vector of type REAL"; the caller puts the
// row before it.
Status read_row_vector(sqlite3_value* value, std::vector<float>& vector);

// The same for JSON text.
Status read_json_vector(std::string_view text, std::vector<float>& vector);

}  // namespace glove::sql
