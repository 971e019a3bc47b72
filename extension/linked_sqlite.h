// The SQLite that a program links, for the static library: the sources call SQLite through one table of
// functions, which a host passes to a loadable extension and which the static library fills by itself.
#pragma once

#include "sqlite3ext.h"

namespace glove {

// The functions of the linked SQLite that this project calls; all others are null, and so are those that an
// older SQLite lacks (sql/adapter/boundary.h). Lives as long as the process.
const sqlite3_api_routines* linked_sqlite();

}  // namespace glove
