// The entry point of sqlite-glove, for C and C++ programs that link libglove.a (the CMake target
// glove::static) together with SQLite. Programs that load glove.so need no header.
#pragma once

#include <sqlite3.h>

#ifdef __cplusplus
extern "C" {
#endif

// Registers the tables and functions of sqlite-glove with the connection `db`. Returns an SQLite code; if it
// is not SQLITE_OK, `*error_message` may point to a message that the caller must release with sqlite3_free().
// Register it once, before other threads open connections, to have it called for each new connection:
//
//   sqlite3_auto_extension((void (*)(void))sqlite3_glove_init);
//
// To call it for one connection only, pass a null pointer as `api`, which the static library ignores.
int sqlite3_glove_init(sqlite3* db, char** error_message, const struct sqlite3_api_routines* api);

#ifdef __cplusplus
}
#endif
