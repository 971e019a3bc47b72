// An SQLite that another process uses: server DATABASE [EXTENSION]. tests/live/served.py is the other side.
//
// A request is a line: the SQL in hexadecimal, and then its parameters, each with a letter before its value: n (NULL), i and d
// (numbers in decimal), t and b (text and BLOB in hexadecimal). The answer has a line "r" with the values of each row, and
// then "ok", or "e" and the message in hexadecimal. On Windows, page_error(BYTES) raises the exception by which the system reports
// a page that it cannot read, in the first file of at least so many bytes that is mapped.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite3.h"

#ifdef _WIN32
#include <windows.h>

static void page_error(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count;
  MEMORY_BASIC_INFORMATION info;
  for (char *at = NULL; VirtualQuery(at, &info, sizeof info) != 0; at = (char *)info.BaseAddress + info.RegionSize) {
    if (info.Type != MEM_MAPPED || (sqlite3_int64)info.RegionSize < sqlite3_value_int64(values[0])) continue;
    char *page = (char *)info.BaseAddress + info.RegionSize / 2;
    ULONG_PTR arguments[3] = {0, (ULONG_PTR)page, 0xC0000185};  // a read; STATUS_IO_DEVICE_ERROR
    RaiseException(EXCEPTION_IN_PAGE_ERROR, 0, 3, arguments);
    sqlite3_result_int(context, *page);
    return;
  }
  sqlite3_result_error(context, "no file is mapped", -1);
}
#endif

static char *read_line(void) {
  size_t size = 0, room = 1 << 16;
  char *text = malloc(room);
  for (int c; (c = getchar()) != EOF && c != '\n';) {
    if (size + 2 > room) text = realloc(text, room *= 2);
    text[size++] = (char)c;
  }
  text[size] = '\0';
  if (size > 0 || !feof(stdin)) return text;
  free(text);
  return NULL;
}

static int digit(char c) {
  return c <= '9' ? c - '0' : c - 'a' + 10;
}

// Returns the bytes in memory of malloc(), with a NUL after them.
static char *from_hex(const char *text, int *bytes) {
  *bytes = (int)strlen(text) / 2;
  char *out = malloc((size_t)*bytes + 1);
  for (int i = 0; i < *bytes; ++i) out[i] = (char)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  out[*bytes] = '\0';
  return out;
}

static void print_hex(char kind, const void *bytes, int count) {
  putchar(kind);
  for (int i = 0; i < count; ++i) printf("%02x", ((const unsigned char *)bytes)[i]);
}

static void bind_value(sqlite3_stmt *statement, int number, const char *value) {
  int bytes = 0;
  if (*value == 'i') {
    sqlite3_bind_int64(statement, number, strtoll(value + 1, NULL, 10));
  } else if (*value == 'd') {
    sqlite3_bind_double(statement, number, strtod(value + 1, NULL));
  } else if (*value == 't') {
    char *text = from_hex(value + 1, &bytes);
    sqlite3_bind_text(statement, number, text, bytes, free);
  } else if (*value == 'b') {
    char *blob = from_hex(value + 1, &bytes);
    sqlite3_bind_blob(statement, number, blob, bytes, free);
  }
}

static void print_row(sqlite3_stmt *statement) {
  putchar('r');
  for (int i = 0; i < sqlite3_column_count(statement); ++i) {
    const int type = sqlite3_column_type(statement, i);
    double real = 0;
    putchar(' ');
    if (type == SQLITE_INTEGER) printf("i%s", (const char *)sqlite3_column_text(statement, i));
    if (type == SQLITE_NULL) putchar('n');
    if (type == SQLITE_FLOAT) {
      real = sqlite3_column_double(statement, i);
      print_hex('d', &real, sizeof real);
    }
    if (type == SQLITE_TEXT) print_hex('t', sqlite3_column_text(statement, i), sqlite3_column_bytes(statement, i));
    if (type == SQLITE_BLOB) print_hex('b', sqlite3_column_blob(statement, i), sqlite3_column_bytes(statement, i));
  }
  putchar('\n');
}

static int answer(sqlite3 *db, char *line) {
  int bytes = 0;
  line[strcspn(line, "\r")] = '\0';
  char *sql = from_hex(strtok(line, " "), &bytes);
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
  for (int number = 1; code == SQLITE_OK; ++number) {
    const char *value = strtok(NULL, " ");
    if (!value) break;
    bind_value(statement, number, value);
  }
  if (code == SQLITE_OK && statement)
    while (sqlite3_step(statement) == SQLITE_ROW) print_row(statement);
  if (statement) code = sqlite3_finalize(statement);
  free(sql);
  return code;
}

int main(int argc, char **argv) {
  sqlite3 *db = NULL;
  char *message = NULL;
  if (argc < 2 || sqlite3_open(argv[1], &db) != SQLITE_OK) {
    fprintf(stderr, "usage: server DATABASE [EXTENSION]\n");
    return 2;
  }
  sqlite3_enable_load_extension(db, 1);
  if (argc > 2 && sqlite3_load_extension(db, argv[2], NULL, &message) != SQLITE_OK) {
    fprintf(stderr, "%s: %s\n", argv[2], message ? message : "cannot be loaded");
    return 1;
  }
#ifdef _WIN32
  sqlite3_create_function(db, "page_error", 1, SQLITE_UTF8, NULL, page_error, NULL, NULL);
#endif
  for (char *line; (line = read_line()) != NULL; free(line)) {
    if (answer(db, line) == SQLITE_OK) {
      printf("ok");
    } else {
      print_hex('e', sqlite3_errmsg(db), (int)strlen(sqlite3_errmsg(db)));
    }
    putchar('\n');
    fflush(stdout);
  }
  return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}
