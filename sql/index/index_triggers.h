// The triggers of a live index on its content, in plain SQL: they write the keys of the rows that a statement
// changes into the log.
//
//   NAME_insert_before, NAME_update_before   before the change, because a changed row stays, and no further
//                                            trigger runs, where a trigger of the application's ends in
//                                            RAISE(FAIL), RAISE(IGNORE) or a conflict with OR FAIL
//   NAME_insert, NAME_update, NAME_delete    after it, because a trigger of the application's may have run a
//                                            command before it
//
// No trigger runs before a DELETE: a row that the content no longer has does no harm in a segment. A key that
// is logged although its row does not change does none either.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "sql/index/index_definition.h"

namespace glove::sql {

// What follows the name of the index in the names of its triggers.
constexpr std::array<const char*, 5> kTriggers = {"_insert", "_update", "_delete", "_insert_before",
                                                  "_update_before"};
// An index that an older version made has only the first ones. It works, but misses the changes for which
// there are the others.
constexpr size_t kFormerTriggers = 3;

// What the triggers must know of the content.
struct ContentTraits {
  bool generated = false;      // an indexed column is a generated one
  bool autoincrement = false;  // its key is AUTOINCREMENT
};

// Returns the text of a trigger of kTriggers from its name on, as SQLite keeps it. `former`: that of the
// older version. REQUIRES: then trigger < kFormerTriggers.
std::string trigger_text(const IndexDefinition& index, size_t trigger, const ContentTraits& content,
                         bool former = false);

}  // namespace glove::sql
