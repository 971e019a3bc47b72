// Reads vectors that users write: those in rows of their tables, and those that they pass as text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/status.h"
#include "sql/adapter/boundary.h"

namespace glove::sql {

// "INTEGER", "REAL", "TEXT", "BLOB" or "NULL" for a type of SQLite.
const char* type_name_of(int type);

// "1 component", "2 components" and so on.
std::string component_count(size_t components);

// Reads a BLOB of little-endian float32 or a JSON array of numbers. Does not check that the numbers are
// finite. The message of an error is only its end, such as "has a vector of type REAL"; the caller puts the
// row before it. Another error is an interrupt, whose message stands alone.
Status read_row_vector(sqlite3_value* value, std::vector<float>& vector,
                       const InterruptCheck& interrupted = {});

// The same for JSON text.
Status read_json_vector(std::string_view text, std::vector<float>& vector,
                        const InterruptCheck& interrupted = {});

// True if the first character of the text that is not white space begins a JSON array.
bool begins_like_array(std::string_view text);

// Reads text that is a JSON array of numbers, and returns false for all other text, such as a word. A number
// that float32 cannot hold becomes infinite; nothing is read behind one that double cannot hold. The error is
// an interrupt.
Result<bool> read_vector_text(std::string_view text, std::vector<float>& vector,
                              const InterruptCheck& interrupted);

}  // namespace glove::sql
