// The table NAME_key(id, k1, k2, ...) of an index whose key is no INTEGER PRIMARY KEY: the id by which the
// index knows the row with this key, in its segments and its log. Ids grow by the order of first insertion.
// The triggers enter keys; 'merge' and 'rebuild' remove those that the content no longer has, except for the
// largest id, so that none is ever used again. Keys are compared by their bytes and types, whatever the
// content's collation. A row with a NULL in its key has no entry.
//
// The functions below also serve an index whose key is one, where a row's id is its key.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "sql/index/own_work.h"

namespace glove::sql {

// Returns what the table has between the parentheses of its CREATE TABLE, with them.
std::string key_table_columns(const IndexDefinition& index);

// For statements that read rows of the content as `d`: the id of a row, the FROM clause, and the condition
// that an entry `k` is that of the row `d`.
std::string row_id(const IndexDefinition& index);
std::string row_source(const IndexDefinition& index);
std::string is_entry_of_row(const IndexDefinition& index);

// The condition that a row, such as "new", has the key of the entry `k`, whose index is used for it.
std::string has_entry(const IndexDefinition& index, const std::string& row);
// A statement of a trigger that enters the key of the row, unless it is there or has a NULL.
std::string enter_statement(const IndexDefinition& index, const std::string& row);

// REQUIRES, for every call: the index has the table. Belongs to the table object of one connection, which
// outlives it, like `index`.
class KeyTable : IndexPart {
 public:
  using IndexPart::IndexPart;

  // Enters the keys of the content that are missing, and removes those that it no longer has.
  Status add_missing();
  Status remove_gone();
  // Returns a key of the content that is missing, as text(); empty if none is.
  Result<std::string> missing_key();
  // How many rows of the content have a NULL in their key.
  Result<int64_t> null_keys();

  // Returns all ids, by ascending keys.
  Result<std::vector<int64_t>> in_order();
  // As RowKeys (sql/nn/glove_nn_plan.h).
  Result<std::optional<std::vector<int64_t>>> find(std::span<sqlite3_value* const> key);
  Result<std::vector<int64_t>> find_set(sqlite3_value* among, const InterruptCheck& interrupted);
  Status return_part(sqlite3_context* context, int64_t id, int part);
  // Makes the key, or a JSON array of its columns, the result; NULL if it is gone.
  Status return_key(sqlite3_context* context, int64_t id);

  // Returns the key of a row for messages, as in "'a', 7".
  Result<std::string> text(int64_t id);

 private:
  template <class Use>
  Status use_parts(int64_t id, const Use& use);
  std::string find_statement() const;
  std::string missing_rows() const;
  std::string table() const { return index_.object("_key"); }

  OwnStatement find_, parts_;
};

}  // namespace glove::sql
