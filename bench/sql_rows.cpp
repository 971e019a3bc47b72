// What a row costs on its way through SQL, beside the least that SQLite charges for one: a virtual table of
// this program that returns constants. Both statements read the same columns of as many rows. One JSON object
// on stdout, with medians and minima in microseconds. The first step includes the search; the others only
// rows.
//
//   sql_rows GLOVE.SO MODEL.SAFETENSORS BACKEND
#include <bit>

#include "bench/sql.h"
#include "bench/timing.h"

namespace {

using namespace glove::bench;

constexpr size_t kQueries = 1024;
constexpr int kRounds = 15;

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

int add_module(sqlite3* db) {
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

// Adds the columns of the current row to a sum, so that no read can be left out: `words` texts, the
// similarity and the rank.
void read_row(Statement& statement, int words) {
  static int64_t sink = 0;
  for (int i = 0; i < words; ++i) sink += statement.text(i)[0];
  sink += static_cast<int64_t>(statement.number(words) * 1e6) + statement.integer(words + 1);
}

// Returns a number that is equal for statements with the same rows: FNV-1a of the texts, the similarities'
// bits and the ranks, in order.
uint64_t checksum_of(Statement& statement, int words) {
  uint64_t sum = 0xcbf29ce484222325;
  const auto add = [&sum](uint64_t value) { sum = (sum ^ value) * 0x100000001b3; };
  while (statement.step()) {
    for (int i = 0; i < words; ++i)
      for (const char* text = statement.text(i); *text != 0; ++text) add(static_cast<unsigned char>(*text));
    add(std::bit_cast<uint64_t>(statement.number(words)));
    add(static_cast<uint64_t>(statement.integer(words + 1)));
  }
  return sum;
}

void time_rows(const Connection& db, const char* name, const std::string& sql, int words) {
  Statement statement(db.get(), sql);
  std::vector<double> first_step, other_steps;
  int64_t rows = 0;
  for (int i = 0; i < kRounds; ++i) {
    const auto start = Clock::now();
    bool more = statement.step();
    const auto first = Clock::now();
    for (rows = 0; more; ++rows) {
      read_row(statement, words);
      more = statement.step();
    }
    other_steps.push_back(us_since(first));
    first_step.push_back(us_since(start) - other_steps.back());
  }
  const uint64_t checksum = checksum_of(statement, words);
  std::printf(",\n  \"%s\": {\"rows\": %ld, \"first_step_us\": %.5g, \"other_steps_us\": %.5g", name,
              static_cast<long>(rows), spread_of(first_step).median, spread_of(other_steps).median);
  std::printf(", \"first_step_least_us\": %.5g, \"other_steps_least_us\": %.5g, \"checksum\": \"%016lx\"}",
              *std::ranges::min_element(first_step), *std::ranges::min_element(other_steps),
              static_cast<unsigned long>(checksum));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const Connection db(argv[1]);
  require(db.get(), constants::add_module(db.get()), "module");
  db.text("SELECT glove_load('" + std::string(argv[2]) + "', 'main')");
  db.execute("CREATE TABLE tags(tag TEXT)");
  Statement insert(db.get(), "INSERT INTO tags VALUES (?)");
  for (const std::string& word : db.random_words("main", kQueries, 7)) {
    insert.bind(1, word);
    insert.step();
  }
  const std::string where = std::string(" AND backend = '") + argv[3] + "'";
  std::printf("{\n  \"sqlite\": \"%s\"", sqlite3_libversion());
  time_rows(db, "batch",
            "SELECT word, neighbor, similarity, rank FROM glove_nn WHERE word IN (SELECT tag FROM tags) AND "
            "k = 10" +
                where,
            2);
  for (const char* const stage : {"resolve_us", "scan_us", "select_us", "rescore_us", "total_us"})
    std::printf(",\n  \"batch_%s\": %.5g", stage,
                db.number(std::string("SELECT ") + stage + " FROM glove_stats LIMIT 1"));
  time_rows(db, "constants_batch", "SELECT word, neighbor, similarity, rank FROM constants(10240)", 2);
  time_rows(db, "k1000",
            "SELECT neighbor, similarity, rank FROM glove_nn WHERE word = (SELECT tag FROM tags LIMIT 1) AND "
            "k = 1000" +
                where,
            1);
  time_rows(db, "constants_k1000", "SELECT neighbor, similarity, rank FROM constants(1000)", 1);
  std::printf("\n}\n");
  return 0;
}
