// The composition root: the entry points of `.load glove`. Creates the engine of the process with the
// backends that were compiled in, and registers each SQL object with the connection. With GLOVE_STATIC
// defined, this is the entry point of the static library, which calls the SQLite that its program links.
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/file.h"
#include "base/file_calls.h"
#include "base/mutex.h"
#include "base/scope_exit.h"
#include "base/system_calls.h"
#include "cpu/cpu_backend.h"
#include "extension/sqlite_glove.h"
#include "search/engine.h"
#include "sql/adapter/arguments.h"
#include "sql/adapter/boundary.h"
#include "sql/register.h"
#include "text/neural/neural_encoder.h"
#include "text/static_encoder.h"
#ifdef GLOVE_STATIC
#include "extension/linked_sqlite.h"
#endif
#ifdef GLOVE_WITH_CUDA
#include "gpu/backend/cuda_backend.h"
#endif

SQLITE_EXTENSION_INIT1

namespace {

glove::Engine* process_engine = nullptr;

// Forwards engine warnings to SQLite's error log (SQLITE_CONFIG_LOG; the shell's .log).
void log_to_sqlite(const std::string& message) {
  sqlite3_log(SQLITE_WARNING, "glove: %s", message.c_str());
}

// Created once and never freed, because connections and threads may outlive static destruction. The backends
// are added in the order in which 'auto' tries them.
std::unique_ptr<glove::Engine> make_engine() {
  auto engine = std::make_unique<glove::Engine>();
  engine->log().set_sink(log_to_sqlite);
  engine->catalog().set_tokenizer_reader(glove::read_tokenizer);
  engine->catalog().set_folder_reader(
      [engine = engine.get()](const std::string& path, const glove::OpenOptions& options) {
        return glove::open_neural_model(engine->settings(), path, options, options.interrupted);
      });
  glove::CpuBackendOptions options;
  options.settings = &engine->settings();
  auto cpu = glove::make_cpu_backend(options);
#ifdef GLOVE_WITH_CUDA
  engine->backends().add(glove::make_cuda_backend(engine->settings(), engine->log(), cpu.get()));
#else
  engine->backends().set_omission("CUDA is not compiled in");
#endif
  engine->backends().add(std::move(cpu));
  return engine;
}

#ifndef GLOVE_STATIC
// The path of this library's file, found before the program changes its folder.
const std::string* image_path = nullptr;
#endif

// Performs the setup that a process needs once. The pointer table is set here rather than by every
// connection, so that threads that open connections at the same time do not race for it.
void set_up_process(const sqlite3_api_routines* api) {
  SQLITE_EXTENSION_INIT2(api);
  process_engine = make_engine().release();
#ifndef GLOVE_STATIC
  const std::string path = glove::system_calls::library_of(&process_engine);
  image_path = new std::string(glove::system_calls::resolved_path(path).value_or(path));
#endif
  glove::system_calls::keep_mapped(&process_engine);
}

int register_objects(sqlite3* db) {
  using namespace glove::sql;
  for (const SqlObject* const object :
       {&kGloveNn,       &kGloveModels,  &kGloveWords,  &kGloveStats,     &kGloveKmeans,  &kGloveClusters,
        &kGlovePca,      &kGloveMap,     &kCosSim,      &kDotProduct,     &kL2Distance,   &kGloveVec,
        &kGloveOov,      &kGloveLoad,    &kGloveUnload, &kGloveLoadTable, &kGloveDerive,  &kGloveF16,
        &kGloveBf16,     &kGloveI8,      &kGloveF32,    &kGloveProject,   &kGloveSave,    &kGloveAtax,
        &kGloveConvolve, &kGloveDensity, &kGloveSvg,    &kGloveConfig,    &kGloveVersion, &kGloveTextVec,
        &kGloveEncode,   &kGloveTokens,  &kGloveMean,   &kGloveExpand,    &kGloveIndex,   &kGloveIndexes,
        &kGloveRepair,   &kGloveAttach,  &kGloveKeys,   &kGloveRecall,    &kGloveMmr,     &kGlovePairs,
        &kGloveGroups})
    if (const int code = register_object(db, *process_engine, *object); code != SQLITE_OK) return code;
  return SQLITE_OK;
}

#ifndef GLOVE_STATIC
// Returns the entry point of a new copy. Systems do not load a file again under another name, so it is
// another file, which is removed at once but by Windows.
glove::Result<void*> load_copy() {
  const std::string folder = glove::system_calls::temporary_folder();
  std::string name;
  GLOVE_ASSIGN_OR_RETURN(const glove::File original, glove::File::open_for_reading(*image_path));
  GLOVE_ASSIGN_OR_RETURN(const int64_t bytes, original.size());
  GLOVE_ASSIGN_OR_RETURN(glove::File copy, glove::File::create_random(folder, 0700, folder, name));
  const glove::ScopeExit removing([&] { glove::system_calls::remove(name); });
  const glove::Status copied = copy.copy_from(original, 0, 0, bytes);
  copy = glove::File();
  GLOVE_RETURN_IF_ERROR(copied);
  return glove::system_calls::library_function(name, "sqlite3_glove_init");
}

// Loads the extension into a connection of another SQLite library than the first. An image of this library
// calls one, by one table of functions, so each further one of the process gets a copy of the image, with
// models, settings and threads of its own, until the process ends.
int load_copy_for(sqlite3* db, char** error_message, const sqlite3_api_routines* api) {
  static auto& mutex = *new glove::ForkSafeMutex;  // never freed: connections may outlive static destruction
  static auto& copies = *new std::map<const sqlite3_api_routines*, void*>;
  const glove::Lock lock(mutex);
  void*& entry = copies[api];
  if (entry == nullptr) {
    const glove::Result<void*> loaded = load_copy();
    if (!loaded.ok()) {
      *error_message = api->mprintf(
          "glove is already loaded into another SQLite library of this process, and this one needs a copy of "
          "it: %s; use one of them, or set TMPDIR to a folder whose files may be executed",
          loaded.error().message.c_str());
      return SQLITE_ERROR;
    }
    entry = loaded.value();
  }
  return reinterpret_cast<decltype(&sqlite3_glove_init)>(entry)(db, error_message, api);
}
#endif

}  // namespace

// SQLite derives this symbol from the file's name. Models and backends belong to the process and outlive
// every connection, and dlclose() never unmaps the library (system_calls.h). SQLITE_OK is therefore
// sufficient, and SQLITE_OK_LOAD_PERMANENTLY would be wrong: sqlite3_auto_extension() treats it as
// a failure and does not call the extensions registered after this one.
extern "C" __attribute__((visibility("default"))) int sqlite3_glove_init(sqlite3* db, char** error_message,
                                                                         const sqlite3_api_routines* api) {
#ifdef GLOVE_STATIC
  api = glove::linked_sqlite();
#endif
  static std::once_flag once;
  try {
    std::call_once(once, set_up_process, api);
#ifndef GLOVE_STATIC
    if (api != sqlite3_api) return load_copy_for(db, error_message, api);
#endif
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  } catch (...) {
    return SQLITE_ERROR;
  }
  if (const int code = register_objects(db); code != SQLITE_OK) {
    *error_message =
        sqlite3_mprintf("glove could not register its tables and functions: %s", sqlite3_errmsg(db));
    return code;
  }
  return SQLITE_OK;
}

#ifndef GLOVE_STATIC
// The name that SQLite derives from mod_glove.so, which is what Debian's package calls the library.
extern "C" __attribute__((visibility("default"))) int sqlite3_modglove_init(sqlite3* db, char** error_message,
                                                                            const sqlite3_api_routines* api) {
  return sqlite3_glove_init(db, error_message, api);
}
#endif
