// Aggregates as classes:
//
//   class State {                                               // of one group of rows
//    public:
//     Status step(sqlite3_context* context, Arguments row);     // a row enters
//     Status inverse(sqlite3_context* context, Arguments row);  // only of window functions: a row leaves
//     Status result(sqlite3_context* context);                  // sets the result, which is NULL by default
//   };
#pragma once

#include <new>
#include <utility>

#include "sql/adapter/arguments.h"

namespace glove::sql {

// The callbacks of SQLite for such a class. SQLite keeps a pointer to the state, which is nullptr at first,
// and calls the last step even if the statement is aborted.
template <class State>
class Aggregate {
 public:
  // Returns the aggregate, for numbers of arguments as in SqlObject.
  static constexpr SqlObject object(const char* name, int fewest, int most, int flags) {
    SqlObject made{name, nullptr, fewest, most, flags, nullptr, change<&State::step>, finish};
    if constexpr (requires { &State::inverse; }) {
      made.value = value;
      made.inverse = change<&State::inverse>;
    }
    return made;
  }

 private:
  template <Status (State::*kChange)(sqlite3_context*, Arguments)>
  static void change(sqlite3_context* context, int argc, sqlite3_value** argv) {
    guard(context, [&] {
      State** const slot = slot_of(context, static_cast<int>(sizeof(State*)));
      if (slot == nullptr) throw std::bad_alloc();
      if (*slot == nullptr) *slot = new State;
      return ((*slot)->*kChange)(context, {argv, static_cast<size_t>(argc)});
    });
  }

  static void value(sqlite3_context* context) {
    guard(context, [&] {
      State** const slot = slot_of(context, 0);
      return slot == nullptr || *slot == nullptr ? Status() : (*slot)->result(context);
    });
  }

  static void finish(sqlite3_context* context) {
    value(context);
    if (State** const slot = slot_of(context, 0); slot != nullptr) delete std::exchange(*slot, nullptr);
  }

  // null: there was no row.
  static State** slot_of(sqlite3_context* context, int bytes) {
    return static_cast<State**>(sqlite3_aggregate_context(context, bytes));
  }
};

}  // namespace glove::sql
