// What the source of an SQL function includes: registers the function, reads its arguments (and the inputs of
// tables), and returns values and errors.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/concat.h"
#include "model/model.h"
#include "search/engine.h"
#include "sql/adapter/boundary.h"
#include "sql/adapter/connection.h"
#include "sql/adapter/interrupt.h"

namespace glove::sql {

// The connection and the engine that a function was registered with.
Connection& connection_of(sqlite3_context* context);
Engine& engine_of(sqlite3_context* context);

// The name that a function was registered with.
std::string_view function_name_of(sqlite3_context* context);

// What a function keeps between its calls on this connection, with one value for each number of arguments.
// Null before the first call. Lives as long as the function is registered.
std::shared_ptr<void>& state_of(sqlite3_context* context);

// The arguments of one call, in order.
using Arguments = std::span<sqlite3_value* const>;

// A copy of a value.
struct FreeValue {
  void operator()(sqlite3_value* value) const { sqlite3_value_free(value); }
};
using KeptValue = std::unique_ptr<sqlite3_value, FreeValue>;

// Copies the value. Throws std::bad_alloc if SQLite is out of memory.
KeptValue copy_of(sqlite3_value* value);

// True if the value is SQL NULL.
inline bool is_null(sqlite3_value* value) {
  return sqlite3_value_type(value) == SQLITE_NULL;
}
// True if the value is a BLOB.
inline bool is_blob(sqlite3_value* value) {
  return sqlite3_value_type(value) == SQLITE_BLOB;
}

// Returns the value as UTF-8 text, converting numbers. The text may contain NUL, and is valid until the
// value is read as another type. Throws std::bad_alloc if SQLite cannot convert the value.
// REQUIRES: the value is not NULL.
std::string_view text_of(sqlite3_value* value);

// Returns the number that a value is, as are 3, 3.5 and '3.5'; nullopt if it is none.
std::optional<double> number_of(sqlite3_value* value);

// Returns the int64_t that a value equals, as do 3, 3.0 and '3'; nullopt if there is none.
std::optional<int64_t> whole_number(sqlite3_value* value);

// Returns a value as error messages show it: text is quoted and cut after 60 bytes.
std::string shown_value(sqlite3_value* value);

// Returns the bytes of a BLOB, which are valid as long as the value. Throws std::bad_alloc if SQLite is out
// of memory.
std::span<const std::byte> blob_of(sqlite3_value* value);

// Returns the bytes of a BLOB, or of another value as text.
std::string_view text_or_blob(sqlite3_value* value);

// Returns the value as text, or nullopt if it is NULL or absent (nullptr). A BLOB is an error that names the
// function or table, and the parameter.
Result<std::optional<std::string_view>> optional_text(sqlite3_value* value, std::string_view function,
                                                      std::string_view parameter);

// The same for arguments[index], which may be absent.
Result<std::optional<std::string_view>> optional_text(Arguments arguments, size_t index,
                                                      std::string_view function, std::string_view parameter);

// The same for a required argument: NULL is also an error.
Result<std::string_view> required_text(Arguments arguments, size_t index, std::string_view function,
                                       std::string_view parameter);

// Returns the model that arguments[index] names, or the default model if it is absent or NULL. A model that
// is named by a constant stays the same for the whole statement, unless the connection itself changes the
// models. If the model has to be opened first, an interrupt of the connection stops that.
Result<ModelPtr> model_argument(sqlite3_context* context, Arguments arguments, size_t index,
                                std::string_view function, Connection::For use = Connection::For::kRows);

// Returns the model that an input of a table names, or the default model if `name` is NULL or absent
// (nullptr).
Result<ModelPtr> model_input(Connection::Pin& pin, sqlite3_value* name, std::string_view table,
                             Connection::For use = Connection::For::kRows);

// As Model::health(); an interrupt of the connection stops it.
Status check_health(const Model& model, sqlite3* db);

// Makes a copy of the text the result of the function.
void return_text(sqlite3_context* context, std::string_view text);

// Makes JSON text the result of the function, marked so that SQLite's JSON functions do not quote it. The
// function needs the flag SQLITE_RESULT_SUBTYPE.
void return_json(sqlite3_context* context, std::string_view json);

// Makes a word of the vocabulary the result: an INTEGER if the keys of the model are integers, otherwise
// TEXT.
void return_word(sqlite3_context* context, const Vocabulary& vocabulary, int64_t id);

// Returns an error about an argument or input. `object`, the name of a function or table, begins the message,
// and the pieces follow, as concat() joins them.
template <class... Pieces>
Error invalid_value(std::string_view object, const Pieces&... pieces) {
  return invalid_argument(object, ": ", pieces...);
}

// Returns the error with the name of the function or table before its message.
Error named_error(std::string_view object, const Error& error);
// The same if the error is about an argument or input; otherwise returns the error itself.
Error named_argument_error(std::string_view object, const Error& error);

// The error of an object that was asked for similarities of a model or an index of this name whose metric is
// a distance. `remedy` says what to do.
Error no_similarity(std::string_view object, std::string_view name, RowMetric metric,
                    std::string_view remedy);

// An SQL object of the extension (sql/register.h). The name is a literal.
struct SqlObject {
  const char* name;
  const sqlite3_module* table = nullptr;  // null: a function, for each number of arguments
  int fewest = 0;                         // from this one
  int most = 0;                           // to this one
  int flags = 0;                          // of SQLite, without the text encoding
  void (*scalar)(sqlite3_context*, int, sqlite3_value**) = nullptr;  // null: an aggregate
  void (*step)(sqlite3_context*, int, sqlite3_value**) = nullptr;
  void (*finish)(sqlite3_context*) = nullptr;
  void (*value)(sqlite3_context*) = nullptr;  // null: no window function
  void (*inverse)(sqlite3_context*, int, sqlite3_value**) = nullptr;
};

// Adds the object to a connection, which the engine must outlive. Returns an SQLite code. SQLite before 3.25
// has no window functions; there an aggregate is never one.
int register_object(sqlite3* db, Engine& engine, const SqlObject& object);

// The callback of SQLite that runs kBody inside guard().
template <Status (*kBody)(sqlite3_context*, Arguments)>
void scalar_callback(sqlite3_context* context, int argc, sqlite3_value** argv) noexcept {
  guard(context, [&] { return kBody(context, Arguments(argv, static_cast<size_t>(argc))); });
}

// The function whose results kBody sets, which are NULL by default, or returns an error.
template <Status (*kBody)(sqlite3_context*, Arguments)>
constexpr SqlObject scalar_function(const char* name, int fewest, int most, int flags) {
  return {name, nullptr, fewest, most, flags, scalar_callback<kBody>};
}

}  // namespace glove::sql
