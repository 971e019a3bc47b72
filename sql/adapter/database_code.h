// The code of a database that refused a statement of the extension's own, so that the user's statement fails
// with the same code: an application repeats its transaction when it sees SQLITE_BUSY.
#pragma once

namespace glove::sql {

// Remembers the code for the callback of SQLite that runs on this thread; SQLITE_OK forgets it. Ignores
// SQLITE_CONSTRAINT, which would promise that nothing was written.
void remember_database_code(int code) noexcept;

// Returns the remembered code in place of SQLITE_ERROR, if there is one, and otherwise `code`.
int database_code_for(int code) noexcept;

// Runs body(), which returns an SQLite code, and returns database_code_for() it.
template <class Body>
int with_database_code(Body&& body) noexcept {
  remember_database_code(0);  // SQLITE_OK
  return database_code_for(body());
}

}  // namespace glove::sql
