// The code of a database that refused a statement of the extension's own, so that the user's statement fails
// with the same code: an application repeats its transaction when it sees SQLITE_BUSY.
#pragma once

namespace glove::sql {

// Remembers the code for the callback of SQLite that runs on this thread. Not SQLITE_CONSTRAINT, which would
// promise that nothing was written.
void remember_database_code(int code);

// Runs body(), which returns an SQLite code. Returns the remembered code in place of SQLITE_ERROR, if one was
// remembered meanwhile.
template <class Body>
int with_database_code(Body&& body) noexcept;

namespace detail {
void forget_database_code() noexcept;
int database_code_for(int code) noexcept;
}  // namespace detail

template <class Body>
int with_database_code(Body&& body) noexcept {
  detail::forget_database_code();
  return detail::database_code_for(body());
}

}  // namespace glove::sql
