// Reading the arguments of SQL functions and the inputs of tables.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/status.h"
#include "model/model.h"
#include "search/engine.h"
#include "sql/boundary.h"
#include "sql/connection.h"

namespace glove::sql {

// The connection and the engine that a function was registered with.
Connection& connection_of(sqlite3_context* context);
Engine& engine_of(sqlite3_context* context);

// The arguments of one call, in order.
using Arguments = std::span<sqlite3_value* const>;

inline bool is_null(sqlite3_value* value) {
  return sqlite3_value_type(value) == SQLITE_NULL;
}
inline bool is_blob(sqlite3_value* value) {
  return sqlite3_value_type(value) == SQLITE_BLOB;
}

// The bytes of a value as UTF-8 text; a number gives its text. They may hold NUL, and stay
// valid until the value is read in another way. Throws bad_alloc when SQLite cannot convert.
// REQUIRES: the value is not NULL.
std::string_view text_of(sqlite3_value* value);

// The bytes of a BLOB, valid as long as the value.
std::span<const std::byte> blob_of(sqlite3_value* value);

// argv[index] as text; nullopt when it is absent or NULL. A BLOB is an error that names the
// function and the parameter.
Result<std::optional<std::string_view>> optional_text(Arguments arguments, size_t index,
                                                      std::string_view function, std::string_view parameter);

// The same for an argument that must be there: NULL is an error too.
Result<std::string_view> required_text(Arguments arguments, size_t index, std::string_view function,
                                       std::string_view parameter);

// The name of a model in argv[index]; nullopt, which means the default model, when it is absent or NULL.
Result<std::optional<std::string_view>> model_name_argument(Arguments arguments, size_t index,
                                                            std::string_view function);

// The model that argv[index] names; the default model when it is absent or NULL. A model that a constant
// names stays the same for the whole statement, unless the connection itself changes the models. Where it has
// to be opened first, an interrupt of the connection stops that.
Result<ModelPtr> model_argument(sqlite3_context* context, Arguments arguments, size_t index,
                                std::string_view function);

// The same for a cursor.
Result<ModelPtr> model_argument(Connection::Pin& pin, Arguments arguments, size_t index,
                                std::string_view function);

// Makes the text the function's result, copied.
void return_text(sqlite3_context* context, std::string_view text);

// Makes a word of the vocabulary the result: an INTEGER if the model's keys are integers, else TEXT.
void return_word(sqlite3_context* context, const Vocabulary& vocabulary, int64_t id);

// Registers `callback` as the function `name` once for each number of arguments from `fewest`
// to `most`, with the connection as its client data. `flags` are SQLite's, without the text encoding. Returns
// an SQLite code.
int register_function(sqlite3* db, Engine& engine, const char* name, int fewest, int most, int flags,
                      void (*callback)(sqlite3_context*, int, sqlite3_value**));

}  // namespace glove::sql
