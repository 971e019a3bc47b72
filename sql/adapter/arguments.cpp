#include "sql/adapter/arguments.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "base/require.h"

namespace glove::sql {
namespace {

// A function's client data.
struct ClientData {
  const char* name;
  std::shared_ptr<Connection> connection;
  std::shared_ptr<void> state;
};

ClientData& client_data_of(sqlite3_context* context) {
  return *static_cast<ClientData*>(sqlite3_user_data(context));
}

void release_client_data(void* client_data) {
  delete static_cast<ClientData*>(client_data);
}

// The model that a constant names.
struct KeptModel {
  ModelPtr model;
  uint64_t own_changes;  // Connection::own_changes() when it was found
};

void release_model(void* kept) {
  delete static_cast<KeptModel*>(kept);
}

// Returns the model of the entry, or an error if its file has been damaged since it was opened.
Result<ModelPtr> healthy(Result<CatalogEntry> found, sqlite3* db) {
  GLOVE_RETURN_IF_ERROR(found);
  GLOVE_RETURN_IF_ERROR(check_health(*found.value().model, db));
  return std::move(found.value().model);
}

size_t skip(std::string_view text, size_t from, std::string_view characters) {
  return std::min(text.find_first_not_of(characters, from), text.size());
}

// Returns SQLITE_INTEGER or SQLITE_FLOAT for text that is a number in SQL, otherwise SQLITE_TEXT.
// sqlite3_value_numeric_type() would do it, but since 3.53 it crashes for a copy of sqlite3_value_dup().
int numeric_type_of(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  constexpr std::string_view kDigits = "0123456789";
  const auto sign = [&](size_t at) { return at < text.size() && (text[at] == '+' || text[at] == '-'); };
  size_t at = skip(text, 0, kBlanks);
  at += sign(at);
  size_t end = skip(text, at, kDigits);
  size_t digits = end - at;
  int type = SQLITE_INTEGER;
  if (end < text.size() && text[end] == '.') {
    type = SQLITE_FLOAT;
    at = end + 1;
    end = skip(text, at, kDigits);
    digits += end - at;
  }
  if (digits == 0) return SQLITE_TEXT;
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    type = SQLITE_FLOAT;
    at = end + 1 + sign(end + 1);
    end = skip(text, at, kDigits);
    if (end == at) return SQLITE_TEXT;
  }
  return skip(text, end, kBlanks) == text.size() ? type : SQLITE_TEXT;
}

}  // namespace

Connection& connection_of(sqlite3_context* context) {
  return *client_data_of(context).connection;
}

std::string_view function_name_of(sqlite3_context* context) {
  return client_data_of(context).name;
}

std::shared_ptr<void>& state_of(sqlite3_context* context) {
  return client_data_of(context).state;
}

Engine& engine_of(sqlite3_context* context) {
  return connection_of(context).engine();
}

KeptValue copy_of(sqlite3_value* value) {
  KeptValue copy(sqlite3_value_dup(value));
  if (copy == nullptr) throw std::bad_alloc();
  return copy;
}

std::string_view text_of(sqlite3_value* value) {
  GLOVE_REQUIRE(sqlite3_value_type(value) != SQLITE_NULL);
  // The order matters: sqlite3_value_bytes returns the length of the last conversion.
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  if (text == nullptr) throw std::bad_alloc();
  return {text, static_cast<size_t>(sqlite3_value_bytes(value))};
}

std::optional<double> number_of(sqlite3_value* value) {
  int type = sqlite3_value_type(value);
  if (type == SQLITE_TEXT) type = numeric_type_of(text_of(value));
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return std::nullopt;
  return sqlite3_value_double(value);
}

std::optional<int64_t> whole_number(sqlite3_value* value) {
  int type = sqlite3_value_type(value);
  if (type == SQLITE_TEXT) {
    type = numeric_type_of(text_of(value));
    if (type == SQLITE_INTEGER && std::fabs(sqlite3_value_double(value)) > 0x1p63) type = SQLITE_FLOAT;
  }
  if (type == SQLITE_INTEGER) return sqlite3_value_int64(value);
  const double number = type == SQLITE_FLOAT ? sqlite3_value_double(value) : HUGE_VAL;
  if (number == std::floor(number) && std::fabs(number) < 0x1p63) return static_cast<int64_t>(number);
  return std::nullopt;
}

std::string shown_value(sqlite3_value* value) {
  constexpr size_t kMostShownBytes = 60;
  if (is_null(value)) return "NULL";
  if (is_blob(value)) return "a BLOB";
  const std::string_view text = text_of(value);
  if (sqlite3_value_type(value) != SQLITE_TEXT) return std::string(text);
  return quoted_value(text, kMostShownBytes);
}

void return_json(sqlite3_context* context, std::string_view json) {
  constexpr unsigned kJsonSubtype = 'J';
  return_text(context, json);
  sqlite3_result_subtype(context, kJsonSubtype);
}

Error named_error(std::string_view object, const Error& error) {
  return {error.code, std::string(object) + ": " + error.message};
}

Error no_similarity(std::string_view object, std::string_view name, RowMetric metric,
                    std::string_view remedy) {
  return invalid_value(object, quoted_value(name), " is compared by '", metric_name(metric),
                       "', which has no similarity; ", remedy);
}

Error named_argument_error(std::string_view object, const Error& error) {
  return error.code == ErrorCode::kInvalidArgument ? named_error(object, error) : error;
}

std::span<const std::byte> blob_of(sqlite3_value* value) {
  const auto* bytes = static_cast<const std::byte*>(sqlite3_value_blob(value));
  const auto size = static_cast<size_t>(sqlite3_value_bytes(value));
  if (bytes == nullptr && size > 0) throw std::bad_alloc();
  return {bytes, size};
}

std::string_view text_or_blob(sqlite3_value* value) {
  if (!is_blob(value)) return text_of(value);
  const auto bytes = blob_of(value);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<std::optional<std::string_view>> optional_text(sqlite3_value* value, std::string_view function,
                                                      std::string_view parameter) {
  if (value == nullptr || is_null(value)) return std::optional<std::string_view>();
  if (is_blob(value))
    return invalid_argument(function, ": the ", parameter,
                            " must be text, not a BLOB; use CAST(... AS TEXT)");
  return std::optional<std::string_view>(text_of(value));
}

Result<std::optional<std::string_view>> optional_text(Arguments arguments, size_t index,
                                                      std::string_view function, std::string_view parameter) {
  return optional_text(index < arguments.size() ? arguments[index] : nullptr, function, parameter);
}

Result<std::string_view> required_text(Arguments arguments, size_t index, std::string_view function,
                                       std::string_view parameter) {
  GLOVE_ASSIGN_OR_RETURN(const auto text, optional_text(arguments, index, function, parameter));
  if (!text) return invalid_argument(function, ": the ", parameter, " must be text, not NULL");
  return *text;
}

Result<ModelPtr> model_argument(sqlite3_context* context, Arguments arguments, size_t index,
                                std::string_view function, Connection::For use) {
  GLOVE_ASSIGN_OR_RETURN(const auto name, optional_text(arguments, index, function, "model"));
  Connection& connection = connection_of(context);
  if (!name) return healthy(connection.find(name, use), connection.db());
  const int argument = static_cast<int>(index);
  const auto* kept = static_cast<const KeptModel*>(sqlite3_get_auxdata(context, argument));
  if (kept != nullptr && kept->own_changes == connection.own_changes()) {
    ModelPtr model = kept->model;
    GLOVE_RETURN_IF_ERROR(check_health(*model, connection.db()));
    return model;
  }
  GLOVE_ASSIGN_OR_RETURN(ModelPtr model, healthy(connection.find(name, use), connection.db()));
  sqlite3_set_auxdata(context, argument, new KeptModel{model, connection.own_changes()}, release_model);
  return model;
}

Result<ModelPtr> model_input(Connection::Pin& pin, sqlite3_value* name, std::string_view table,
                             Connection::For use) {
  GLOVE_ASSIGN_OR_RETURN(const auto text, optional_text(name, table, "model"));
  return healthy(pin.find(text, use), pin.connection().db());
}

Status check_health(const Model& model, sqlite3* db) {
  InterruptPoller poller(db);
  return model.health(poller);
}

// SQLite copies the terminating NUL of a text only if no length is passed. Otherwise it adds the NUL when the
// column is read, which allocates memory for each row unless SQLite was built with lookaside memory.
void return_text(sqlite3_context* context, std::string_view text) {
  constexpr size_t kMostTerminated = 128;  // words are short; longer text is not worth a copy of ours
  if (text.size() < kMostTerminated && text.find('\0') == std::string_view::npos) {
    char terminated[kMostTerminated];
    terminated[text.copy(terminated, text.size())] = '\0';
    sqlite3_result_text(context, terminated, -1, SQLITE_TRANSIENT);
    return;
  }
  sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

void return_word(sqlite3_context* context, const Vocabulary& vocabulary, int64_t id) {
  const std::string_view word = vocabulary.word(id);
  if (vocabulary.key_type() == KeyType::kInteger) {
    if (const auto key = integer_key(word)) return sqlite3_result_int64(context, *key);
  }
  return_text(context, word);
}

int register_object(sqlite3* db, Engine& engine, const SqlObject& object) {
  const auto& [name, table, fewest, most, flags, scalar, step, finish, value, inverse] = object;
  if (table != nullptr) return sqlite3_create_module_v2(db, name, table, &engine, nullptr);
  const bool is_window = value != nullptr && sqlite_has(kSqliteWindowFunctions);
  const int encoding = SQLITE_UTF8 | flags;
  try {
    int code = SQLITE_OK;
    // SQLite releases the client data when the function is replaced, when the connection closes, or if the
    // call fails.
    for (int count = fewest; count <= most && code == SQLITE_OK; ++count) {
      auto* const data = new ClientData{name, Connection::of(db, engine), nullptr};
      code = is_window ? sqlite3_create_window_function(db, name, count, encoding, data, step, finish, value,
                                                        inverse, release_client_data)
                       : sqlite3_create_function_v2(db, name, count, encoding, data, scalar, step, finish,
                                                    release_client_data);
    }
    return code;
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  }
}

}  // namespace glove::sql
