// What a row costs on its way through SQL, beside the least that SQLite charges for one: a virtual table of
// this program that returns constants. Both statements read the same columns of as many rows. One JSON object
// on stdout, with medians and minima in microseconds. The first step includes the search; the others only
// rows.
//
//   sql_rows GLOVE.SO MODEL.SAFETENSORS BACKEND
#include <sqlite3.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kQueries = 1024;
constexpr int kRounds = 15;

sqlite3* db = nullptr;

void require(int code, const char* what) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  std::fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(db));
  std::exit(1);
}

// The table constants(rows): neighbor, similarity, rank and word of each row, without any work.
namespace constants {

enum Column { kNeighbor, kSimilarity, kRank, kWord, kRows };

struct Cursor : sqlite3_vtab_cursor {
  sqlite3_int64 row;
  sqlite3_int64 rows;
};

int connect(sqlite3* connection, void*, int, const char* const*, sqlite3_vtab** table, char**) {
  *table = new sqlite3_vtab{};
  return sqlite3_declare_vtab(
      connection, "CREATE TABLE x(neighbor TEXT, similarity REAL, rank INTEGER, word TEXT, rows HIDDEN)");
}
int disconnect(sqlite3_vtab* table) {
  delete table;
  return SQLITE_OK;
}
int best_index(sqlite3_vtab*, sqlite3_index_info* info) {
  for (int i = 0; i < info->nConstraint; ++i)
    if (info->aConstraint[i].iColumn == kRows && info->aConstraint[i].usable)
      info->aConstraintUsage[i] = {1, 1};
  return SQLITE_OK;
}
int open(sqlite3_vtab*, sqlite3_vtab_cursor** cursor) {
  *cursor = new Cursor{};
  return SQLITE_OK;
}
Cursor& of(sqlite3_vtab_cursor* cursor) {
  return *static_cast<Cursor*>(cursor);
}
int close(sqlite3_vtab_cursor* cursor) {
  delete &of(cursor);
  return SQLITE_OK;
}
int filter(sqlite3_vtab_cursor* cursor, int, const char*, int, sqlite3_value** values) {
  of(cursor).row = 0;
  of(cursor).rows = sqlite3_value_int64(values[0]);
  return SQLITE_OK;
}
int next(sqlite3_vtab_cursor* cursor) {
  ++of(cursor).row;
  return SQLITE_OK;
}
int eof(sqlite3_vtab_cursor* cursor) {
  return of(cursor).row == of(cursor).rows ? 1 : 0;
}
int column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int index) {
  if (index == kNeighbor) sqlite3_result_text(context, "neighbor", -1, SQLITE_STATIC);
  if (index == kSimilarity) sqlite3_result_double(context, 0.5);
  if (index == kRank) sqlite3_result_int64(context, of(cursor).row);
  if (index == kWord) sqlite3_result_text(context, "a word", -1, SQLITE_STATIC);
  return SQLITE_OK;
}

int add_module() {
  static sqlite3_module module = {};
  module.xConnect = connect;
  module.xDisconnect = disconnect;
  module.xBestIndex = best_index;
  module.xOpen = open;
  module.xClose = close;
  module.xFilter = filter;
  module.xNext = next;
  module.xEof = eof;
  module.xColumn = column;
  return sqlite3_create_module(db, "constants", &module, nullptr);
}

}  // namespace constants

sqlite3_stmt* prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  require(sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr), sql.c_str());
  return statement;
}

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Adds the columns of the current row to a sum, so that no read can be left out: `words` texts, the
// similarity and the rank.
void read_row(sqlite3_stmt* statement, int words) {
  static int64_t sink = 0;
  for (int i = 0; i < words; ++i) sink += sqlite3_column_text(statement, i)[0];
  sink += static_cast<int64_t>(sqlite3_column_double(statement, words) * 1e6);
  sink += sqlite3_column_int64(statement, words + 1);
}

// Returns a number that is equal for statements with the same rows: FNV-1a of the texts, the similarities'
// bits and the ranks, in order.
uint64_t checksum_of(sqlite3_stmt* statement, int words) {
  uint64_t sum = 0xcbf29ce484222325;
  const auto add = [&sum](uint64_t value) { sum = (sum ^ value) * 0x100000001b3; };
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    for (int i = 0; i < words; ++i)
      for (const unsigned char* text = sqlite3_column_text(statement, i); *text != 0; ++text) add(*text);
    add(std::bit_cast<uint64_t>(sqlite3_column_double(statement, words)));
    add(static_cast<uint64_t>(sqlite3_column_int64(statement, words + 1)));
  }
  require(code, "step");
  return sum;
}

void time_rows(const char* name, const std::string& sql, int words) {
  sqlite3_stmt* statement = prepare(sql);
  std::vector<double> first_step, other_steps;
  int64_t rows = 0;
  for (int i = 0; i < kRounds; ++i) {
    const auto start = Clock::now();
    int code = sqlite3_step(statement);
    const auto first = Clock::now();
    for (rows = 0; code == SQLITE_ROW; ++rows) {
      read_row(statement, words);
      code = sqlite3_step(statement);
    }
    const auto end = Clock::now();
    require(code, name);
    sqlite3_reset(statement);
    first_step.push_back(std::chrono::duration<double, std::micro>(first - start).count());
    other_steps.push_back(std::chrono::duration<double, std::micro>(end - first).count());
  }
  const uint64_t checksum = checksum_of(statement, words);
  sqlite3_finalize(statement);
  std::printf(",\n  \"%s\": {\"rows\": %ld, \"first_step_us\": %.5g, \"other_steps_us\": %.5g", name,
              static_cast<long>(rows), median(first_step), median(other_steps));
  std::printf(", \"first_step_least_us\": %.5g, \"other_steps_least_us\": %.5g, \"checksum\": \"%016lx\"}",
              first_step.front(), other_steps.front(), static_cast<unsigned long>(checksum));
}

double number(const std::string& sql) {
  sqlite3_stmt* statement = prepare(sql);
  require(sqlite3_step(statement), sql.c_str());
  const double value = sqlite3_column_double(statement, 0);
  sqlite3_finalize(statement);
  return value;
}

void make_tags() {
  const auto words = static_cast<uint64_t>(number("SELECT words FROM glove_models"));
  require(sqlite3_exec(db, "CREATE TABLE tags(tag TEXT)", nullptr, nullptr, nullptr), "tags");
  sqlite3_stmt* insert = prepare("INSERT INTO tags SELECT word FROM glove_words WHERE id = ?1");
  std::mt19937_64 random(7);
  for (int64_t i = 0; i < kQueries; ++i) {
    sqlite3_bind_int64(insert, 1, static_cast<int64_t>(random() % words));
    require(sqlite3_step(insert), "insert");
    sqlite3_reset(insert);
  }
  sqlite3_finalize(insert);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  require(sqlite3_open(":memory:", &db), "open");
  sqlite3_enable_load_extension(db, 1);
  require(sqlite3_load_extension(db, argv[1], nullptr, nullptr), "loading the extension");
  require(constants::add_module(), "module");
  number("SELECT length(glove_load('" + std::string(argv[2]) + "'))");
  make_tags();
  const std::string where = std::string(" AND backend = '") + argv[3] + "'";
  std::printf("{\n  \"sqlite\": \"%s\"", sqlite3_libversion());
  time_rows("batch",
            "SELECT word, neighbor, similarity, rank FROM glove_nn WHERE word IN (SELECT tag FROM tags) AND "
            "k = 10" +
                where,
            2);
  for (const char* const stage : {"resolve_us", "scan_us", "select_us", "rescore_us", "total_us"})
    std::printf(",\n  \"batch_%s\": %.5g", stage,
                number(std::string("SELECT ") + stage + " FROM glove_stats LIMIT 1"));
  time_rows("constants_batch", "SELECT word, neighbor, similarity, rank FROM constants(10240)", 2);
  time_rows("k1000",
            "SELECT neighbor, similarity, rank FROM glove_nn WHERE word = (SELECT tag FROM tags LIMIT 1) AND "
            "k = 1000" +
                where,
            1);
  time_rows("constants_k1000", "SELECT neighbor, similarity, rank FROM constants(1000)", 1);
  std::printf("\n}\n");
  return 0;
}
