// The composition root: what `.load glove` runs. It adds the backends that were compiled in to the
// registry, once a process, and registers each SQL object with the connection.
#include <initializer_list>
#include <mutex>
#include <string>

#include "cpu/cpu_backend.h"
#include "base/log.h"
#include "sql/boundary.h"
#include "sql/register.h"
#ifdef GLOVE_WITH_CUDA
#include "gpu/cuda_backend.h"
#endif

SQLITE_EXTENSION_INIT1

namespace {

// What a connection gets; each gives an SQLite code. A new object is a new row.
using RegisterObject = int (*)(sqlite3*);
constexpr std::initializer_list<RegisterObject> kObjects = {
    glove::sql::register_glove_nn,         glove::sql::register_glove_models,
    glove::sql::register_glove_words,      glove::sql::register_glove_stats,
    glove::sql::register_cos_sim,          glove::sql::register_glove_vec,
    glove::sql::register_glove_oov,        glove::sql::register_glove_load,
    glove::sql::register_glove_load_table, glove::sql::register_glove_config,
    glove::sql::register_glove_version,
};

// What nobody asked about goes where SQLite's own warnings go (SQLITE_CONFIG_LOG; the shell's .log).
void log_to_sqlite(const std::string& message) {
  sqlite3_log(SQLITE_WARNING, "glove: %s", message.c_str());
}

// Everything that a process does once, the backends in the order in which 'auto' tries them. The pointer
// table is set here and not by every connection, so threads that open connections at the same time do not
// race for it.
void set_up_process(const sqlite3_api_routines* api) {
  SQLITE_EXTENSION_INIT2(api);
  glove::set_log_sink(log_to_sqlite);
#ifdef GLOVE_WITH_CUDA
  glove::register_backend(glove::make_cuda_backend());
#endif
  glove::register_backend(glove::make_cpu_backend());
}

int register_objects(sqlite3* db) {
  for (RegisterObject register_object : kObjects)
    if (const int code = register_object(db); code != SQLITE_OK) return code;
  return SQLITE_OK;
}

}  // namespace

// The symbol that SQLite derives from the file's name. Models and backends belong to the process and outlive
// every connection; the linker marks the library so that dlclose() never unmaps it. SQLITE_OK is therefore
// enough, and SQLITE_OK_LOAD_PERMANENTLY would be wrong: sqlite3_auto_extension() takes it for a failure, and
// does not call the extensions registered after this one.
extern "C" __attribute__((visibility("default"))) int sqlite3_glove_init(sqlite3* db, char** error_message,
                                                                         const sqlite3_api_routines* api) {
  static std::once_flag once;
  try {
    std::call_once(once, set_up_process, api);
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  } catch (...) {
    return SQLITE_ERROR;
  }
  if (api != sqlite3_api) {
    *error_message = api->mprintf("glove is already loaded into another SQLite library of this process");
    return SQLITE_ERROR;
  }
  if (const int code = register_objects(db); code != SQLITE_OK) {
    *error_message =
        sqlite3_mprintf("glove could not register its tables and functions: %s", sqlite3_errmsg(db));
    return code;
  }
  return SQLITE_OK;
}
