// The triggers of a live index on its content, in plain SQL: they write the keys of the rows that a statement
// changes into the log.
//
//   NAME_insert_before, NAME_update_before   before the change, because a changed row stays, and no further
//                                            trigger runs, where a trigger of the application's ends in
//                                            RAISE(FAIL), RAISE(IGNORE) or a conflict with OR FAIL
//   NAME_insert, NAME_update, NAME_delete    after it, because a trigger of the application's may have run a
//                                            command before it
//
// A key is in the log once, with the number of times that it was logged again. Where a statement logs a row
// before and after its change, that number need not grow twice.
//
//   NAME_insert_check, NAME_update_check     before it, with check='yes': RAISE(ABORT) if the new vector is
//   none
//                                            of the index, as far as plain SQL can see. They read the
//                                            dimensions from NAME_config.
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
constexpr std::array<const char*, 7> kTriggers = {
    "_insert", "_update", "_delete", "_insert_before", "_update_before", "_insert_check", "_update_check"};
constexpr size_t kFirstCheck = 5;  // of the triggers of an index with check='yes' alone
inline bool has_trigger(const IndexDefinition& index, size_t trigger) {
  return index.check || trigger < kFirstCheck;
}

// The triggers that versions of the extension have made.
enum class TriggerForm {
  kCounting,
  kUncounting,  // of an older version, or of a log that has no place for the number
  kFormer,      // of a still older one: only the first three, which miss the changes for which there are the
                // others
};
constexpr size_t kFormerTriggers = 3;

// What the triggers must know of the content.
struct ContentTraits {
  bool generated = false;      // an indexed column is a generated one
  bool autoincrement = false;  // its key is AUTOINCREMENT
  bool json = true;            // SQLite's JSON functions can check a vector
};

// What ends the texts of triggers that count.
constexpr const char* kCounts = " ON CONFLICT(id) DO UPDATE SET again = again + 1; ";

// Returns the text of a trigger of kTriggers from its name on, as SQLite keeps it. REQUIRES: a former one is
// one of the first kFormerTriggers; has_trigger().
std::string trigger_text(const IndexDefinition& index, size_t trigger, const ContentTraits& content,
                         TriggerForm form);

}  // namespace glove::sql
