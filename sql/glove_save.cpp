// glove_save(name, path): writes a loaded model as a model file, and returns the path.
//
//   SELECT glove_derive('clean', '{"whiten":true}');
//   SELECT glove_save('clean', 'clean.safetensors');   -- clean.safetensors
//
// Integer keys stay integers, and the derivation, the frequencies of words and the common components of the
// model's file go with it, so glove_project and glove_text_vec work as before after it is loaded again. The
// file appears, or replaces another, in one step at the end.
#include <string>
#include <string_view>

#include "loader/save_model.h"
#include "sql/arguments.h"
#include "sql/boundary.h"
#include "sql/interrupt.h"
#include "sql/register.h"
#include "sql/scalar_function.h"

namespace glove::sql {
namespace {

Status glove_save(sqlite3_context* context, Arguments arguments) {
  constexpr std::string_view kFunction = "glove_save";
  GLOVE_ASSIGN_OR_RETURN(const std::string_view name, required_text(arguments, 0, kFunction, "name"));
  GLOVE_ASSIGN_OR_RETURN(const std::string_view path, required_text(arguments, 1, kFunction, "path"));
  if (path.empty() || path.find('\0') != std::string_view::npos)
    return {ErrorCode::kInvalidArgument, "glove_save: the path must not be empty or contain a NUL byte"};
  GLOVE_ASSIGN_OR_RETURN(const CatalogEntry entry, connection_of(context).find(name));
  GLOVE_ASSIGN_OR_RETURN(const int threads, engine_of(context).settings().threads());
  InterruptPoller poller(sqlite3_context_db_handle(context));
  GLOVE_RETURN_IF_ERROR(
      save_model(*entry.model, std::string(path), threads, [&poller] { return poller.interrupted(); }));
  return_text(context, path);
  return {};
}

}  // namespace

int register_glove_save(sqlite3* db, Engine& engine) {
  // DIRECTONLY, because it writes a file, so no view, trigger or default of a database file may call it.
  return register_scalar_function<glove_save>(db, engine, "glove_save", 2, 2, SQLITE_DIRECTONLY);
}

}  // namespace glove::sql
