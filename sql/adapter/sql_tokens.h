// Reads the text of SQL statements as far as the extension must understand it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace glove::sql {

// Returns the end of the token that begins at `begin`: a comment, a quoted name, a string, a word, a
// parameter such as :name or $name(suffix), a byte order mark, or else one character. REQUIRES: begin <
// sql.size().
size_t end_of_token(std::string_view sql, size_t begin);

// True if the token is a comment or white space, which includes a byte order mark.
bool is_blank(std::string_view token);

// Takes the quotes off a name or a string, if there are any.
std::string unquoted(std::string_view token);

// Puts the text between two of these quotation marks, and doubles those in it.
std::string quoted(std::string_view text, char quote);
// The same as a text in SQL, and as a name.
inline std::string quoted_text(std::string_view text) {
  return quoted(text, '\'');
}
inline std::string quoted_name(std::string_view name) {
  return quoted(name, '"');
}

// Returns the module of a CREATE VIRTUAL TABLE statement, as sqlite_schema has it, in lower case; empty for
// any other statement.
std::string module_of(std::string_view sql);

// True unless the statement of sqlite_schema makes a view, a trigger or an index.
bool defines_table(std::string_view sql);

// Returns the first of the functions that the statement calls: the name, in quotes or not, followed by a
// parenthesis, unless a list of columns begins there, as in INSERT INTO name(column). Empty if there is none.
std::string_view called_function(std::string_view sql, std::span<const std::string_view> functions);

// True if the statement begins with EXPLAIN, so that it describes what it would do and calls nothing.
bool is_explained(std::string_view sql);

// True if the statement has the word, in any case and without quotes.
bool has_word(std::string_view sql, const char* word);

// True if the statement names the table as the target of a DELETE or an UPDATE. The name of a schema, if the
// statement has one, must be that of the table.
bool changes_rows_of(std::string_view sql, const std::string& schema, const std::string& table);

}  // namespace glove::sql
