// Where a schema of a connection has its content.
#pragma once

#include <string>

#include "sql/adapter/boundary.h"

namespace glove::sql {

// Returns what tells the content of a schema from that of every other one that the process has open at the
// same time. It names the file, so the connections to one file have it in common, whatever its path. It names
// the connection for a database in memory, a temporary one, one whose path has led to another file since it
// was opened, and where the VFS cannot tell.
std::string database_place(sqlite3* db, const std::string& schema);

}  // namespace glove::sql
