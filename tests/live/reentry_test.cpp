// Uses an index from each statement that the index runs itself, as a trigger, or a function of the
// application in a generated column, may do.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/functions/connection.h"
#include "tests/share.h"

namespace glove::testing {
namespace {

using namespace std::string_literals;

// Vectors of float32.
const std::string k123 = "x'0000803f0000004000004040'";
const std::string k321 = "x'00004040000000400000803f'";
const std::string k111 = "x'0000803f0000803f0000803f'";
const std::string k322 = "x'000040400000004000000040'";

constexpr const char* kCreateIndex =
    "CREATE VIRTUAL TABLE v USING glove_index(content='doc', rowid='id', vector='e')";
const std::string kQuery = "SELECT id, rank FROM v WHERE query = " + k322;

std::string command(const std::string& name) {
  return "INSERT INTO v(v) VALUES ('" + name + "')";
}

// Runs another statement where a given statement begins or returns a row.
class Intruder {
 public:
  // `place`: the number of the event, from 0, at which `sql` runs.
  Intruder(Connection& connection, int place, std::string sql)
      : connection_(connection), place_(place), sql_(std::move(sql)) {
    sqlite3_trace_v2(connection.handle(), SQLITE_TRACE_STMT | SQLITE_TRACE_ROW, on_event, this);
  }
  ~Intruder() { sqlite3_trace_v2(connection_.handle(), 0, nullptr, nullptr); }
  Intruder(const Intruder&) = delete;
  Intruder& operator=(const Intruder&) = delete;

  int events() const { return events_; }
  const std::string& interrupted() const { return interrupted_; }  // the statement
  const std::string& message() const { return message_; }          // empty: `sql` succeeded

 private:
  static int on_event(unsigned, void* self, void* statement, void*) {
    static_cast<Intruder*>(self)->event(static_cast<sqlite3_stmt*>(statement));
    return 0;
  }

  void event(sqlite3_stmt* statement) {
    if (busy_ || sqlite3_sql(statement) == nullptr) return;  // none: SQLite reads the schema
    if (events_++ != place_) return;
    busy_ = true;
    interrupted_ = sqlite3_sql(statement);
    Rows rows;
    if (connection_.run(sql_, rows) != SQLITE_OK) message_ = sqlite3_errmsg(connection_.handle());
    busy_ = false;
  }

  Connection& connection_;
  const int place_;
  const std::string sql_;
  std::string interrupted_, message_;
  int events_ = 0;
  bool busy_ = false;
};

struct Use {
  std::string sql;
  bool without_index = false;  // there is none before

  friend void PrintTo(const Use& use, std::ostream* out) { *out << use.sql; }
};

const std::vector<Use> kUses = {{kQuery},
                                {kQuery + " AND k = 2"},
                                {kQuery + " AND id IN (1, 5)"},
                                {command("sync")},
                                {command("merge")},
                                {command("rebuild")},
                                {command("integrity-check")},
                                {"SELECT * FROM glove_indexes"},
                                {"ALTER TABLE v RENAME TO moved"},
                                {"DROP TABLE v"},
                                {kCreateIndex, true}};

// The index has a segment with a dead row, and rows in its log.
std::unique_ptr<Connection> open(const Use& use) {
  auto connection = std::make_unique<Connection>();
  connection->rows("CREATE TABLE doc(id INTEGER PRIMARY KEY, e); INSERT INTO doc VALUES (1, " + k123 +
                   "), (2, " + k321 + "), (3, " + k111 + "), (4, " + k123 + "), (5, " + k321 +
                   "), (6, NULL)");
  if (use.without_index) return connection;
  connection->rows(kCreateIndex);
  connection->rows("DELETE FROM doc WHERE id = 2; " + command("sync") + "; UPDATE doc SET e = " + k111 +
                   " WHERE id = 5; INSERT INTO doc VALUES (9, " + k322 + ")");
  return connection;
}

// True if the statement is one that the index runs while it is at work. The others are the user's, the one
// that passes a command to the index, and the list of glove_indexes.
bool is_own(const std::string& sql, const Use& use) {
  return sql != use.sql && !sql.starts_with("INSERT INTO \"main\".\"v\"(") && sql != "PRAGMA database_list" &&
         sql.find("WHERE sql LIKE 'CREATE VIRTUAL TABLE %'") == std::string::npos;
}

// The index, if there still is one, equals a full scan of its table.
void expect_sound(Connection& connection) {
  for (const Row& row :
       connection.rows("SELECT name FROM sqlite_master WHERE sql LIKE '%USING glove_index%'")) {
    const std::string& name = row[0];
    connection.rows("INSERT INTO " + name + "(" + name + ") VALUES ('integrity-check')");
    for (const std::string& query : {k322, k123})
      EXPECT_EQ(connection.rows("SELECT id, similarity FROM " + name + " WHERE query = " + query +
                                " ORDER BY rank"),
                connection.rows("SELECT id, cos_sim(e, " + query +
                                ") AS s FROM doc WHERE e NOT NULL ORDER BY s DESC, id"));
  }
}

class Reentry : public ::testing::TestWithParam<Use> {
 protected:
  // Runs `intrusion` at each event (in the short form at every fifth), and passes what happened to `check`.
  void at_every_event(const std::string& intrusion, const std::function<void(const Intruder&)>& check) {
    for (int place = 0;; place += static_cast<int>(test::kShortStep)) {
      const auto connection = open(GetParam());
      SCOPED_TRACE(GetParam().sql + "\nand at event " + std::to_string(place) + ": " + intrusion);
      {
        Intruder intruder(*connection, place, intrusion);
        Rows rows;
        connection->run(GetParam().sql, rows);  // may fail
        if (intruder.events() <= place) {
          EXPECT_GE(place, 4) << "the extension's own statements were not seen";
          return;
        }
        check(intruder);
      }
      expect_sound(*connection);
      if (HasFailure()) return;
    }
  }
};

TEST_P(Reentry, AQueryOrCommandIsAnError) {
  for (const std::string& intrusion : {kQuery, command("sync"), command("rebuild")}) {
    int refused = 0;
    at_every_event(intrusion, [&](const Intruder& intruder) {
      if (!is_own(intruder.interrupted(), GetParam())) return;
      ++refused;
      EXPECT_NE(intruder.message(), "") << "allowed in " << intruder.interrupted();
    });
    EXPECT_GT(refused, test::kShortStep == 1 ? 2 : 0);
  }
}

TEST_P(Reentry, DroppingOrRenamingTheIndexIsAnError) {
  for (const std::string& intrusion : {"DROP TABLE v"s, "ALTER TABLE v RENAME TO other"s})
    at_every_event(intrusion, [&](const Intruder& intruder) {
      if (!is_own(intruder.interrupted(), GetParam())) return;
      EXPECT_NE(intruder.message(), "") << "allowed in " << intruder.interrupted();
    });
}

TEST_P(Reentry, GloveIndexesSaysSo) {
  at_every_event("SELECT * FROM glove_indexes", [&](const Intruder& intruder) {
    EXPECT_EQ(intruder.message(), "") << "in " << intruder.interrupted();
  });
}

INSTANTIATE_TEST_SUITE_P(Uses, Reentry, ::testing::ValuesIn(kUses));

}  // namespace
}  // namespace glove::testing
