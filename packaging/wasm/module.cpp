// Calls the extension's entry point for each connection that the module opens.
#include <sqlite3.h>

#include "extension/sqlite_glove.h"

namespace {

const int kRegistered = sqlite3_auto_extension(reinterpret_cast<void (*)()>(sqlite3_glove_init));

}  // namespace
