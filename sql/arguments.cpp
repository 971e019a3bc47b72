#include "sql/arguments.h"

#include <new>
#include <string>

#include "sql/interrupt.h"
#include "sql/model_pin.h"

namespace glove::sql {

Engine& engine_of(sqlite3_context* context) {
  return *static_cast<Engine*>(sqlite3_user_data(context));
}

std::string_view text_of(sqlite3_value* value) {
  // The order matters: sqlite3_value_bytes tells the length of the last conversion.
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  if (text == nullptr) throw std::bad_alloc();
  return {text, static_cast<size_t>(sqlite3_value_bytes(value))};
}

std::span<const std::byte> blob_of(sqlite3_value* value) {
  const auto* bytes = static_cast<const std::byte*>(sqlite3_value_blob(value));
  const auto size = static_cast<size_t>(sqlite3_value_bytes(value));
  if (bytes == nullptr && size > 0) throw std::bad_alloc();
  return {bytes, size};
}

Result<std::optional<std::string_view>> optional_text(Arguments arguments, size_t index,
                                                      std::string_view function, std::string_view parameter) {
  if (index >= arguments.size() || is_null(arguments[index])) return std::optional<std::string_view>();
  if (is_blob(arguments[index]))
    return Error{ErrorCode::kInvalidArgument, std::string(function) + ": the " + std::string(parameter) +
                                                  " is a BLOB where text belongs; CAST it AS TEXT"};
  return std::optional<std::string_view>(text_of(arguments[index]));
}

Result<std::string_view> required_text(Arguments arguments, size_t index, std::string_view function,
                                       std::string_view parameter) {
  GLOVE_ASSIGN_OR_RETURN(const std::optional<std::string_view> text,
                         optional_text(arguments, index, function, parameter));
  if (!text)
    return Error{ErrorCode::kInvalidArgument,
                 std::string(function) + ": the " + std::string(parameter) + " is NULL where text belongs"};
  return *text;
}

Result<ModelPtr> model_argument(Engine& engine, sqlite3* db, Arguments arguments, size_t index,
                                std::string_view function) {
  GLOVE_ASSIGN_OR_RETURN(const std::optional<std::string_view> name,
                         optional_text(arguments, index, function, "model"));
  InterruptPoller poller(db);
  const InterruptCheck interrupted = [&poller] { return poller.interrupted(); };
  const ModelViewPtr view = ModelPin::current_view(db);
  if (view == nullptr) return engine.catalog().find(name, interrupted);
  GLOVE_ASSIGN_OR_RETURN(CatalogEntry entry, view->find_entry(name, interrupted));
  GLOVE_RETURN_IF_ERROR(entry.model->health());
  return std::move(entry.model);
}

Result<ModelPtr> model_of_call(sqlite3_context* context, Arguments arguments, size_t index,
                               std::string_view function) {
  const auto argument = static_cast<int>(index);
  const bool may_be_constant = index < arguments.size();
  if (may_be_constant)
    if (const auto* kept = static_cast<const ModelPtr*>(sqlite3_get_auxdata(context, argument))) {
      GLOVE_RETURN_IF_ERROR((*kept)->health());
      return *kept;
    }
  GLOVE_ASSIGN_OR_RETURN(
      ModelPtr model,
      model_argument(engine_of(context), sqlite3_context_db_handle(context), arguments, index, function));
  if (may_be_constant)
    sqlite3_set_auxdata(context, argument, new ModelPtr(model),
                        [](void* kept) { delete static_cast<ModelPtr*>(kept); });
  return model;
}

// SQLite copies a text with its NUL only if it is told no length. Where it has to add the NUL itself, when
// somebody reads the column, it allocates memory for each row, unless it was built with lookaside memory.
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

int register_function(sqlite3* db, Engine& engine, const char* name, int fewest, int most, int flags,
                      void (*callback)(sqlite3_context*, int, sqlite3_value**)) {
  for (int count = fewest; count <= most; ++count) {
    const int code = sqlite3_create_function_v2(db, name, count, SQLITE_UTF8 | flags, &engine, callback,
                                                nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return code;
  }
  return SQLITE_OK;
}

}  // namespace glove::sql
