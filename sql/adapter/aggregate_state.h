// What an aggregate keeps between its steps.
#pragma once

#include <memory>
#include <new>
#include <utility>

#include "sql/adapter/boundary.h"

namespace glove::sql {

// The state of one aggregation, that is, of one group of rows. SQLite keeps a pointer to it, which is nullptr
// at first, and calls the last step even if the statement is aborted.
template <class State>
class AggregateState {
 public:
  // Returns the state, which the first call creates. Throws std::bad_alloc.
  static State& of(sqlite3_context* context) {
    State** const slot = slot_of(context, static_cast<int>(sizeof(State*)));
    if (slot == nullptr) throw std::bad_alloc();
    if (*slot == nullptr) *slot = new State;
    return **slot;
  }

  // Returns the state, or nullptr if there was no row.
  static State* find(sqlite3_context* context) {
    State** const slot = slot_of(context, 0);
    return slot == nullptr ? nullptr : *slot;
  }

  // Takes the state from SQLite at the last step; nullptr if there was no row.
  static std::unique_ptr<State> take(sqlite3_context* context) {
    State** const slot = slot_of(context, 0);
    return std::unique_ptr<State>(slot == nullptr ? nullptr : std::exchange(*slot, nullptr));
  }

 private:
  static State** slot_of(sqlite3_context* context, int bytes) {
    return static_cast<State**>(sqlite3_aggregate_context(context, bytes));
  }
};

}  // namespace glove::sql
