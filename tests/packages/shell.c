// A small SQLite shell, for systems that have none here: shell [-bail] DATABASE <SQL
//
// A line ".load FILE" at the beginning loads an extension. The rows are printed with | between their columns, real numbers with 15
// digits. The first error ends it, with or without -bail.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite3.h"

static char *read_all(FILE *file) {
  size_t size = 0, room = 1 << 16;
  char *text = malloc(room);
  for (size_t got; text && (got = fread(text + size, 1, room - size - 1, file)) > 0;) {
    size += got;
    if (size + 1 == room) text = realloc(text, room *= 2);
  }
  if (text) text[size] = '\0';
  return text;
}

static void print_row(sqlite3_stmt *statement) {
  for (int i = 0; i < sqlite3_column_count(statement); ++i) {
    if (i > 0) putchar('|');
    if (sqlite3_column_type(statement, i) == SQLITE_FLOAT)
      printf("%.15g", sqlite3_column_double(statement, i));
    else if (sqlite3_column_type(statement, i) != SQLITE_NULL)
      fputs((const char *)sqlite3_column_text(statement, i), stdout);
  }
  putchar('\n');
}

static int run(sqlite3 *db, const char *sql) {
  while (*sql) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, &sql) != SQLITE_OK) return 1;
    if (!statement) continue;  // a comment or white space
    while (sqlite3_step(statement) == SQLITE_ROW) print_row(statement);
    if (sqlite3_finalize(statement) != SQLITE_OK) return 1;
  }
  return 0;
}

// Loads the file that a first line names, with or without quotes, and returns the text after that line; NULL after an error.
static const char *load(sqlite3 *db, char *text) {
  if (strncmp(text, ".load ", 6) != 0) return text;
  char *path = text + 6;
  char *end = path + strcspn(path, "\n");
  const char *rest = *end ? end + 1 : end;
  *end = '\0';
  if (*path == '\'' && end > path + 1) {
    ++path;
    end[-1] = '\0';
  }
  char *message = NULL;
  sqlite3_enable_load_extension(db, 1);
  if (sqlite3_load_extension(db, path, NULL, &message) == SQLITE_OK) return rest;
  fprintf(stderr, "%s: %s\n", path, message ? message : "cannot be loaded");
  return NULL;
}

int main(int argc, char **argv) {
  sqlite3 *db = NULL;
  char *text = read_all(stdin);
  if (argc < 2 || !text || sqlite3_open(argv[argc - 1], &db) != SQLITE_OK) {
    fprintf(stderr, "usage: shell [-bail] DATABASE <SQL\n");
    return 2;
  }
  const char *sql = load(db, text);
  if (!sql) return 1;
  if (run(db, sql) != 0) {
    fprintf(stderr, "%s\n", sqlite3_errmsg(db));
    return 1;
  }
  sqlite3_close(db);
  free(text);
  return 0;
}
