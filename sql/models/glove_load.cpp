// glove_load(path [, name [, options]]): opens a model file or another embedding file, whose format is
// detected by its content, and returns the name of the model: `name`, or that of the file without directories
// and extensions.
//
//   SELECT glove_load('glove.6B.100d.safetensors');                    -- glove
//   SELECT glove_load('/data/vectors.txt.gz', 'main');                 -- main, now the default model
//   SELECT glove_load('glove.safetensors', NULL, '{"verify":true}');   -- checks every checksum
//
// glove_unload(name): unloads a model and returns its name. Queries that use the model continue.
//
//   SELECT glove_unload('main');                                       -- main
//
// Models belong to the process and are shared by all connections and threads. If loading fails, the models
// remain unchanged.
#include <string>
#include <string_view>

#include "base/concat.h"
#include "sql/adapter/direct_call.h"
#include "sql/adapter/interrupt.h"
#include "sql/models/load_options.h"
#include "sql/register.h"

namespace glove::sql {
namespace {

Status glove_load(sqlite3_context* context, Arguments arguments) {
  GLOVE_ASSIGN_OR_RETURN(const std::string_view path, required_text(arguments, 0, "glove_load", "path"));
  GLOVE_ASSIGN_OR_RETURN(const auto name, optional_text(arguments, 1, "glove_load", "name"));
  GLOVE_ASSIGN_OR_RETURN(const auto json, optional_text(arguments, 2, "glove_load", "options"));
  if (path.empty() || path.find('\0') != std::string_view::npos)
    return Status(ErrorCode::kInvalidArgument,
                  "glove_load: the path must not be empty or contain a NUL byte");
  if (name && name->empty())
    return Status(ErrorCode::kInvalidArgument,
                  "glove_load: the name must not be empty; omit it or pass NULL to use the file's name");
  GLOVE_ASSIGN_OR_RETURN(OpenOptions options, parse_load_options(json, LoadSource::kFile, "glove_load"));
  WorkWatch watch(connection_of(context), "glove_load: " + quoted_value(path));
  options.interrupted = watch.interrupted();
  options.progress = [report = watch.progress()](int64_t done, int64_t total) {
    report("byte", done, total);
  };
  GLOVE_ASSIGN_OR_RETURN(
      const std::string loaded,
      connection_of(context).load(std::string(path), std::string(name.value_or("")), options));
  return_text(context, loaded);
  return Status();
}

Status glove_unload(sqlite3_context* context, Arguments arguments) {
  GLOVE_ASSIGN_OR_RETURN(const std::string_view name, required_text(arguments, 0, "glove_unload", "name"));
  GLOVE_RETURN_IF_ERROR(connection_of(context).unload(name));
  return_text(context, name);
  return Status();
}

}  // namespace

// Direct-only, because glove_load opens any file that the process may read, and both change what every
// connection of the process sees, so no view, trigger or default of a database file may call them.
constexpr SqlObject kGloveLoad = direct_function<glove_load>("glove_load", 1, 3);
constexpr SqlObject kGloveUnload = direct_function<glove_unload>("glove_unload", 1, 1);

}  // namespace glove::sql
