// neighbors MODEL WORD: prints the three nearest words of WORD. No extension is loaded:
// sqlite3_auto_extension() registers glove, which is part of the program, with every connection.
#include <sqlite_glove.h>
#include <stdio.h>

static int fail(sqlite3* db) {
  fprintf(stderr, "neighbors: %s\n", sqlite3_errmsg(db));
  return 1;
}

int main(int argc, char** argv) {
  sqlite3* db = NULL;
  sqlite3_stmt* statement = NULL;
  if (argc != 3) {
    fprintf(stderr, "usage: neighbors MODEL WORD\n");
    return 2;
  }
  sqlite3_auto_extension((void (*)(void))sqlite3_glove_init);
  if (sqlite3_open(":memory:", &db) != SQLITE_OK) return fail(db);
  if (sqlite3_prepare_v2(db, "SELECT glove_load(?)", -1, &statement, NULL) != SQLITE_OK) return fail(db);
  sqlite3_bind_text(statement, 1, argv[1], -1, SQLITE_STATIC);
  if (sqlite3_step(statement) != SQLITE_ROW) return fail(db);
  sqlite3_finalize(statement);

  if (sqlite3_prepare_v2(db, "SELECT neighbor, similarity FROM glove_nn(?, NULL, 3)", -1, &statement, NULL) !=
      SQLITE_OK)
    return fail(db);
  sqlite3_bind_text(statement, 1, argv[2], -1, SQLITE_STATIC);
  while (sqlite3_step(statement) == SQLITE_ROW)
    printf("%s|%.15g\n", sqlite3_column_text(statement, 0), sqlite3_column_double(statement, 1));
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return 0;
}
