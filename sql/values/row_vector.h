// Vectors that users write, in rows of their tables, as text and as arguments of functions, and vectors as
// results.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "loader/formats/elements.h"
#include "sql/adapter/boundary.h"

namespace glove::sql {

// "INTEGER", "REAL", "TEXT", "BLOB" or "NULL" for a type of SQLite.
const char* type_name_of(int type);

// "1 component", "2 components" and so on.
std::string component_count(size_t components);

// The same of a vector of this type: "1 component", or "8 bits".
std::string length_text(ElementType type, size_t components);

// The list of names for messages, without "bits".
constexpr const char* kVectorTypes = "'float32', 'float16', 'bfloat16' or 'int8'";

// An error if a BLOB that was read as components of this type has the signs of float32 (blob_type.h). `what`
// begins the message, before "BLOB of".
Status check_type(std::span<const float> vector, ElementType type, std::string_view what);

// Returns what to do about a vector of a wrong length that seems to be of another type: float64 in place of
// float32, bytes in place of bits, float32 in place of others; for the end of a message. Otherwise empty.
std::string remedy_of_type(ElementType type, int64_t components, int64_t dims);

// Reads a query of `dims` components, or of any number if that is 0: a BLOB of this type or, unless that is
// bits, of float32, as its length says.
Result<std::vector<float>> read_query_blob(std::span<const std::byte> bytes, ElementType type, int64_t dims);

// Reads a BLOB of little-endian numbers of this type or, unless that is bits, a JSON array of numbers. Does
// not check that the numbers are finite. The message of an error is only its end, such as "has a vector of
// type REAL"; the caller puts the row before it. Another error is an interrupt, whose message stands alone.
Status read_row_vector(sqlite3_value* value, std::vector<float>& vector,
                       const InterruptCheck& interrupted = {}, ElementType type = ElementType::kFloat32);

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
