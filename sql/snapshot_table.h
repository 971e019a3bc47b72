// Small read-only tables whose rows are computed when a scan begins: glove_models, glove_stats.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"

struct sqlite3;

namespace glove {
class Engine;
}

namespace glove::sql {

using SnapshotValue = std::variant<std::nullptr_t, int64_t, double, std::string>;
using SnapshotRow = std::vector<SnapshotValue>;  // one value a column, in declared order

// What makes a table: static storage, it must outlive every connection.
struct SnapshotTable {
  const char* name;
  const char* declaration;  // the CREATE TABLE statement
  Result<std::vector<SnapshotRow>> (*rows)(
      Engine& engine);  // called at the start of each scan, from its thread
};

// Registers an eponymous table that holds rows(). rowid counts from 1. Gives an SQLite code.
int register_snapshot_table(sqlite3* db, Engine& engine, const SnapshotTable& table);

}  // namespace glove::sql
