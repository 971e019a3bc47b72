// glove registered with sqlite3_auto_extension; the library stays loaded when every connection is closed.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#define SQLITE_CORE 1  // only the table of functions
#include <sqlite3ext.h>
#undef SQLITE_CORE

#include "tests/functions/connection.h"

namespace glove::testing {
namespace {

using EntryPoint = void (*)();

int registered_behind_glove(sqlite3* db, char**, const void*) {
  const auto answer = [](sqlite3_context* context, int, sqlite3_value**) { sqlite3_result_int(context, 42); };
  return sqlite3_create_function(db, "registered_behind_glove", 0, SQLITE_UTF8, nullptr, answer, nullptr,
                                 nullptr);
}

void* open_library() {
  const char* other = std::getenv("GLOVE_TEST_EXTENSION");
  return ::dlopen(other == nullptr ? GLOVE_EXTENSION : other, RTLD_NOW);
}

TEST(AutoExtension, GloveLetsTheExtensionsBehindItRegister) {
  void* const library = open_library();
  ASSERT_NE(library, nullptr) << ::dlerror();
  const auto glove = reinterpret_cast<EntryPoint>(::dlsym(library, "sqlite3_glove_init"));
  ASSERT_NE(glove, nullptr);
  ASSERT_EQ(sqlite3_auto_extension(glove), SQLITE_OK);
  ASSERT_EQ(sqlite3_auto_extension(reinterpret_cast<EntryPoint>(registered_behind_glove)), SQLITE_OK);
  for (int i = 0; i < 2; ++i) {
    Connection connection(":memory:", false);
    EXPECT_EQ(connection.value("SELECT registered_behind_glove()"), "42");
    EXPECT_EQ(connection.value("SELECT glove_version() IS NOT NULL"), "1");
    EXPECT_EQ(connection.value("SELECT count(*) FROM glove_models"), "0");
  }
  sqlite3_reset_auto_extension();
  ::dlclose(library);
}

// An SQLite of another version, as far as the extension can tell.
template <int version>
int glove_of_version(sqlite3* db, char** error, const sqlite3_api_routines* functions) {
  static sqlite3_api_routines older{};
  std::memcpy(&older, functions, offsetof(sqlite3_api_routines, keyword_count));
  older.libversion_number = [] { return version; };
  static void* const library = open_library();
  const auto glove = reinterpret_cast<int (*)(sqlite3*, char**, const sqlite3_api_routines*)>(
      ::dlsym(library, "sqlite3_glove_init"));
  return glove(db, error, &older);
}

TEST(AutoExtension, AnSqliteBefore324HasModelsButNoIndex) {
  ASSERT_EQ(sqlite3_auto_extension(reinterpret_cast<EntryPoint>(glove_of_version<3023001>)), SQLITE_OK);
  {
    TemporaryFolder folder;
    Connection connection(":memory:", false);
    connection.rows("SELECT glove_load(" + sql_text(folder.write("old.txt", "a 1 2\nb 3 4\n")) + ", 'old')");
    EXPECT_EQ(connection.value("SELECT neighbor FROM glove_nn('a', NULL, 1, 'old')"), "b");
    connection.rows("CREATE TABLE doc(id INTEGER PRIMARY KEY, e TEXT)");
    const std::string told = connection.error(
        "CREATE VIRTUAL TABLE v USING glove_index(content='doc', rowid='id', vector='e', dims=2)");
    EXPECT_NE(told.find("v: an index needs SQLite 3.24 or newer"), std::string::npos) << told;
    unload_all(connection);
  }
  sqlite3_reset_auto_extension();
}

TEST(AutoExtension, TheLibraryOutlivesTheConnectionThatLoadedIt) {
  TemporaryFolder folder;
  {
    Connection connection;
    connection.rows("SELECT glove_load(" + sql_text(folder.write("stays.txt", "a 1 2\nb 3 4\n")) +
                    ", 'stays')");
  }
  Connection connection;
  EXPECT_EQ(connection.value("SELECT words FROM glove_models WHERE name = 'stays'"), "2");
  unload_all(connection);
}

}  // namespace
}  // namespace glove::testing
