// glove_save(name, path [, options]): writes a loaded model as a model file, and returns the path.
//
//   SELECT glove_derive('clean', '{"whiten":true}');
//   SELECT glove_save('clean', 'clean.safetensors');   -- clean.safetensors
//
// option     value        meaning
// overwrite  true, false  replaces a file that is not a model file (default: false)
//
// Integer keys stay integers, and the derivation, the frequencies of words and the common components of the
// model's file go with it, so glove_project and glove_text_vec work as before after it is loaded again. The
// file appears, or replaces another, in one step at the end.
#include <string>
#include <string_view>

#include "loader/save_model.h"
#include "sql/adapter/direct_call.h"
#include "sql/register.h"
#include "sql/values/json_options.h"

namespace glove::sql {
namespace {

struct SaveOptions {
  bool overwrite = false;
};

constexpr JsonOption<SaveOptions> kSaveOptions[] = {{"overwrite", &SaveOptions::overwrite}};

Status glove_save(sqlite3_context* context, Arguments arguments) {
  constexpr std::string_view kFunction = "glove_save";
  GLOVE_ASSIGN_OR_RETURN(const std::string_view name, required_text(arguments, 0, kFunction, "name"));
  GLOVE_ASSIGN_OR_RETURN(const std::string_view path, required_text(arguments, 1, kFunction, "path"));
  GLOVE_ASSIGN_OR_RETURN(const auto json, optional_text(arguments, 2, kFunction, "options"));
  GLOVE_ASSIGN_OR_RETURN(const SaveOptions options,
                         parse_options<SaveOptions>(json, kFunction, "{\"overwrite\":true}", kSaveOptions));
  if (path.empty() || path.find('\0') != std::string_view::npos)
    return invalid_argument("glove_save: the path must not be empty or contain a NUL byte");
  GLOVE_ASSIGN_OR_RETURN(const CatalogEntry entry, connection_of(context).find(name));
  GLOVE_ASSIGN_OR_RETURN(const int threads, engine_of(context).settings().threads());
  InterruptPoller poller(sqlite3_context_db_handle(context));
  GLOVE_RETURN_IF_ERROR(save_model(*entry.model, std::string(path), threads, poller,
                                   options.overwrite ? Replaces::kAnyFile : Replaces::kModelFile));
  return_text(context, path);
  return {};
}

}  // namespace

// Direct-only, because it writes a file, so no view, trigger or default of a database file may call it.
constexpr SqlObject kGloveSave = direct_function<glove_save>("glove_save", 2, 3);

}  // namespace glove::sql
