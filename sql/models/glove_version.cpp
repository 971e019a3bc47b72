// glove_version(): returns the version, the commit that it was built from, and the compiled backends in the
// order in which 'auto' tries them, each with the reason if this machine cannot use it, and what is left out.
//
//   SELECT glove_version();    -- 0.1.0 (v0.1.0-3-g1a2b3c4); backends: cpu; CUDA is not compiled in
#include <string>

#include "glove_version.h"
#include "search/backends.h"
#include "sql/adapter/arguments.h"
#include "sql/register.h"

namespace glove::sql {
namespace {

Status glove_version(sqlite3_context* context, Arguments) {
  std::string text = GLOVE_VERSION " (" GLOVE_GIT_DESCRIBE "); backends: ";
  bool first = true;
  const Backends& backends = engine_of(context).backends();
  for (const auto& backend : backends.all()) {
    text += first ? "" : ", ";
    first = false;
    text += backend->name();
    const Status available = backend->available();
    if (!available.ok()) text += " (not available: " + available.error().message + ")";
  }
  if (first) text += "none";
  if (!backends.omission().empty()) text += "; " + std::string(backends.omission());
  return_text(context, text);
  return Status();
}

}  // namespace

// Neither DETERMINISTIC nor INNOCUOUS, because it describes the machine and queries its devices at first
// use. Not DIRECTONLY, because it changes nothing.
constexpr SqlObject kGloveVersion = scalar_function<glove_version>("glove_version", 0, 0, 0);

}  // namespace glove::sql
