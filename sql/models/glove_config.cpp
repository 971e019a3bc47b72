// glove_config(key [, value]): returns a setting of the process, or sets it and returns its new value.
//
//   SELECT glove_config('threads');        -- 0: as many as the process has cores
//   SELECT glove_config('threads', 4);     -- 4
//   SELECT glove_config('backend', 'cpu'); -- cpu
//
// search/settings.h defines the keys. An unknown key or invalid value is an error that lists the valid ones.
#include <string>
#include <string_view>

#include "sql/adapter/direct_call.h"
#include "sql/register.h"

namespace glove::sql {
namespace {

// Who may not load an extension may not have the code of a library run either.
Status check_may_load(sqlite3* db) {
  int may = 0;
  if (sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, -1, &may) == SQLITE_OK && may != 0)
    return {};
  return invalid_value("glove_config",
                       "the connection may not load extensions, and so not name a library; allow "
                       "that (Python: enable_load_extension(True)), or set $GLOVE_ONNXRUNTIME before");
}

Status glove_config(sqlite3_context* context, Arguments arguments) {
  GLOVE_ASSIGN_OR_RETURN(const std::string_view key, required_text(arguments, 0, "glove_config", "key"));
  if (arguments.size() > 1) {
    GLOVE_ASSIGN_OR_RETURN(const std::string_view value,
                           required_text(arguments, 1, "glove_config", "value"));
    if (key == Settings::kOnnxRuntime)
      GLOVE_RETURN_IF_ERROR(check_may_load(sqlite3_context_db_handle(context)));
    GLOVE_RETURN_IF_ERROR(engine_of(context).settings().set(key, value));
  }
  GLOVE_ASSIGN_OR_RETURN(const std::string value, engine_of(context).settings().get(key));
  return_text(context, value);
  return Status();
}

}  // namespace

// Direct-only, because it changes the process, so no view, trigger or default of a database file may call
// it.
constexpr SqlObject kGloveConfig = direct_function<glove_config>("glove_config", 1, 2);

}  // namespace glove::sql
