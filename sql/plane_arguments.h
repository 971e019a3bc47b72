// What the aggregates over points in the plane share: coordinates, and the rows that they collect.
#pragma once

#include <memory>
#include <string_view>

#include "base/status.h"
#include "sql/boundary.h"

namespace glove::sql {

// Reads a coordinate. Returns false if the value is NULL. Anything but a finite number is an error that names
// the function, the parameter and the value.
Result<bool> read_coordinate(sqlite3_value* value, std::string_view function, const char* name,
                             double& coordinate);

// What an aggregate has collected in the current group: SQLite keeps a pointer for each, nullptr at first,
// and calls the last step even if a statement is aborted.
template <class Rows>
class AggregateRows {
 public:
  // The group's rows, which the first call creates.
  static Result<Rows*> of(sqlite3_context* context) {
    Rows** const slot = slot_of(context, static_cast<int>(sizeof(Rows*)));
    if (slot == nullptr) return Error{ErrorCode::kOutOfMemory, "out of memory"};
    if (*slot == nullptr) *slot = new Rows;
    return *slot;
  }

  // Takes the rows from SQLite at the last step; nullptr if there were none.
  static std::unique_ptr<Rows> take(sqlite3_context* context) {
    Rows** const slot = slot_of(context, 0);
    if (slot == nullptr) return nullptr;
    std::unique_ptr<Rows> rows(*slot);
    *slot = nullptr;
    return rows;
  }

 private:
  static Rows** slot_of(sqlite3_context* context, int bytes) {
    return static_cast<Rows**>(sqlite3_aggregate_context(context, bytes));
  }
};

}  // namespace glove::sql
