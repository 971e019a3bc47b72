// The tables and triggers of a live index in the user's database.
//
//   NAME_config(key, value)              format version, dimensions
//   NAME_segment(id, uuid, rows, crc)    the segments
//   NAME_block(segment, number, data)    their bytes, in pieces (sql/index/segment_store.h)
//   NAME_dead(segment, bits)             their rows that were deleted or changed: bit r % 8 of byte r / 8
//   NAME_vector(id, vectors)             of an index of texts: their vectors (sql/index/vector_store.h)
//   NAME_key(id, k1, k2, ...)            the ids of rows whose key is no INTEGER PRIMARY KEY, by their keys
//                                        (sql/index/key_table.h)
//   NAME_log(id, again)                  the rows of the content that changed since the last sync, and how
//   many
//                                        times each was logged again; in an index of an older version no
//                                        times
//   and the triggers on the content that write the log (sql/index/index_triggers.h)
//
// All but the last two are shadow tables: a defensive connection cannot write to them. Those are ordinary
// tables, because triggers must be able to write them wherever the content can be written.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "sql/adapter/boundary.h"
#include "sql/adapter/connection.h"
#include "sql/index/index_definition.h"

namespace glove::sql {

// True if NAME_`suffix` is a shadow table.
bool is_shadow_suffix(std::string_view suffix);

// Finds out by what an index of texts compares rows whose definition has no metric: what its tables say, or
// before it has tables its model. An error if the tables cannot be read.
Status find_metric(Connection& connection, IndexDefinition& index);

// Checks that the content is a table that can be indexed, and has the columns. The error says what is wrong.
Status check_content(sqlite3* db, const IndexDefinition& index);

// An error if a trigger has the name of one that create_triggers() makes.
Status check_trigger_names(sqlite3* db, const IndexDefinition& index);

// Whether there is a table NAME_config, and it is what create_tables() makes.
Result<bool> has_config(sqlite3* db, const IndexDefinition& index);

// To be called before a statement on an index in temp reads or writes its database, because SQLite knows only
// that the statement writes to temp. Locks the database, for which SQLite does not wait once it was read; and
// makes SQLite undo in it, too, what the statement has written if it fails in a transaction, which takes a
// statement that could itself fail after some of its rows. Does not say that a
// table is missing, which what follows does.
Status lock_for_writing(sqlite3* db, const IndexDefinition& index);

// Checks the content, and that the tables and triggers are those that create_tables() and create_triggers()
// make, before it reads any of them. The error names 'rebuild'.
Status check_index(sqlite3* db, const IndexDefinition& index);

// True if the index has only the triggers that an older version made. REQUIRES: check_index() succeeded.
Result<bool> has_former_triggers(sqlite3* db, const IndexDefinition& index);
// True if every change of a row that is in the log leaves a trace there. REQUIRES: check_index() succeeded.
Result<bool> counts_changes(sqlite3* db, const IndexDefinition& index);
// What the log and glove_indexes say of such an index.
std::string former_triggers_remedy(const IndexDefinition& index);

// Returns the name of a trigger, on whatever table, whose text changes or deletes rows of the index, which
// always fails; empty if there is none.
Result<std::string> trigger_that_changes(sqlite3* db, const IndexDefinition& index);

// Makes the tables and the triggers. The statement for each table begins with `create`.
Status create_tables(sqlite3* db, const IndexDefinition& index, const std::string& create = "CREATE TABLE ");
// Makes those tables that do not exist, and the log one that counts. An error if another one is not what
// create_tables() makes.
Status create_missing_tables(sqlite3* db, const IndexDefinition& index);
Status create_triggers(sqlite3* db, const IndexDefinition& index);

// Removes those that exist.
Status drop_tables(sqlite3* db, const IndexDefinition& index);
Status drop_triggers(sqlite3* db, const IndexDefinition& index);

// Renames the tables, and makes the triggers again. `index` has the old name. Does nothing if check_index()
// fails, because nobody could see afterwards that triggers had been missing.
Status rename_index(sqlite3* db, const IndexDefinition& index, const std::string& new_name);

}  // namespace glove::sql
