#include "sql/adapter/sql_tokens.h"

#include <algorithm>
#include <array>

#include "base/require.h"
#include "sql/adapter/boundary.h"

namespace glove::sql {
namespace {

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool begins_variable(char c) {
  return c == ':' || c == '@' || c == '#' || c == '$';
}

// The end of a parameter, whose name may have :: in it and end in a suffix in parentheses, as in Tcl.
size_t end_of_variable(std::string_view sql, size_t begin) {
  constexpr std::string_view kEndsSuffix(" \t\n\v\f\r)\0", 8);
  size_t end = begin + 1;
  for (bool named = false; end < sql.size(); ++end) {
    if (is_word_character(sql[end])) {
      named = true;
    } else if (sql[end] == '(' && named) {
      end = std::min(sql.find_first_of(kEndsSuffix, end), sql.size());
      return end < sql.size() && sql[end] == ')' ? end + 1 : end;
    } else if (sql.substr(end, 2) == "::") {
      ++end;
    } else {
      break;
    }
  }
  return end;
}

// Where a token begins, SQLite reads a byte order mark as white space.
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sqlite3_strnicmp(a.data(), b.data(), static_cast<int>(a.size())) == 0;
}

// The tokens of a statement without comments and white space, one after the other; empty at the end.
class Tokens {
 public:
  explicit Tokens(std::string_view sql) : sql_(sql) { advance(); }

  std::string_view current() const { return current_; }
  bool is(std::string_view text) const { return equal(current_, text); }
  std::string_view take() {
    const std::string_view taken = current_;
    advance();
    return taken;
  }

 private:
  void advance() {
    do {
      const size_t begin = next_;
      next_ = begin < sql_.size() ? end_of_token(sql_, begin) : begin;
      current_ = sql_.substr(begin, next_ - begin);
    } while (!current_.empty() && is_blank(current_));
  }

  std::string_view sql_;
  size_t next_ = 0;
  std::string_view current_;
};

}  // namespace

size_t end_of_token(std::string_view sql, size_t begin) {
  GLOVE_REQUIRE(begin < sql.size());
  const auto after = [&sql](std::string_view end, size_t from) {
    const size_t found = sql.find(end, from);
    return found == std::string_view::npos ? sql.size() : found + end.size();
  };
  const std::string_view rest = sql.substr(begin);
  if (rest.starts_with("--")) return after("\n", begin);
  if (rest.starts_with("/*")) return after("*/", begin + 2);
  if (rest.starts_with(kByteOrderMark)) return begin + kByteOrderMark.size();
  if (rest.starts_with('[')) return after("]", begin);
  size_t end = begin + 1;
  if (std::string_view("'\"`").find(rest.front()) != std::string_view::npos) {
    const std::string_view quote = rest.substr(0, 1);
    end = after(quote, end);
    while (end < sql.size() && sql[end] == quote.front()) end = after(quote, end + 1);  // doubled
  } else if (begins_variable(rest.front())) {
    end = end_of_variable(sql, begin);
  } else if (is_word_character(rest.front())) {
    while (end < sql.size() && is_word_character(sql[end])) ++end;
  }
  return end;
}

bool is_blank(std::string_view token) {
  return token.find_first_not_of(" \t\r\n\f") == std::string_view::npos || token.starts_with("--") ||
         token.starts_with("/*") || token == kByteOrderMark;
}

std::string unquoted(std::string_view token) {
  const char open = token.empty() ? '\0' : token.front();
  const char close = open == '[' ? ']' : open;
  if (std::string_view("'\"`[").find(open) == std::string_view::npos || token.size() < 2 ||
      token.back() != close)
    return std::string(token);
  std::string value;
  for (size_t i = 1; i + 1 < token.size(); ++i) {
    value += token[i];
    if (token[i] == close && token[i + 1] == close) ++i;
  }
  return value;
}

std::string quoted(std::string_view text, char quote) {
  std::string quoted(1, quote);
  for (const char c : text) quoted.append(c == quote ? 2 : 1, c);
  return quoted += quote;
}

std::string module_of(std::string_view sql) {
  Tokens tokens(sql);
  for (const char* const word : {"CREATE", "VIRTUAL", "TABLE"}) {
    if (!tokens.is(word)) return {};
    tokens.take();
  }
  tokens.take();  // the name of the table
  if (!tokens.is("USING")) return {};
  tokens.take();
  std::string module = unquoted(tokens.take());
  for (char& c : module)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return module;
}

// A hostile file may say in sqlite_schema that a table is a view, so only the text counts.
bool defines_table(std::string_view sql) {
  Tokens tokens(sql);
  tokens.take();  // CREATE
  while (tokens.is("TEMP") || tokens.is("TEMPORARY") || tokens.is("UNIQUE")) tokens.take();
  return !tokens.is("VIEW") && !tokens.is("TRIGGER") && !tokens.is("INDEX");
}

std::string_view called_function(std::string_view sql, std::span<const std::string_view> functions) {
  // What stands before a name that a list of columns follows. No expression ends in one of these.
  constexpr std::array<std::string_view, 8> kBeforeColumns = {".",    "INTO",       "TABLE", "EXISTS",
                                                              "VIEW", "REFERENCES", "WITH",  "RECURSIVE"};
  std::string_view before, name;  // the two tokens before the current one
  for (Tokens tokens(sql); !tokens.current().empty();) {
    if (tokens.is("(") && !name.starts_with('\'') &&
        std::ranges::none_of(kBeforeColumns, [&](std::string_view word) { return equal(word, before); })) {
      const std::string called = unquoted(name);
      for (const std::string_view function : functions)
        if (equal(called, function)) return function;
    }
    before = name;
    name = tokens.take();
  }
  return {};
}

bool is_explained(std::string_view sql) {
  Tokens tokens(sql);
  while (tokens.is(";")) tokens.take();
  return tokens.is("EXPLAIN");
}

bool has_word(std::string_view sql, const char* word) {
  for (Tokens tokens(sql); !tokens.current().empty(); tokens.take())
    if (tokens.is(word)) return true;
  return false;
}

// DELETE FROM [schema.]table, UPDATE [OR conflict] [schema.]table. Neither verb can be a name without quotes.
bool changes_rows_of(std::string_view sql, const std::string& schema, const std::string& table) {
  Tokens tokens(sql);
  while (!tokens.current().empty()) {
    const bool deletes = tokens.is("DELETE");
    const bool updates = tokens.is("UPDATE");
    tokens.take();
    if (!deletes && !updates) continue;
    if (deletes && tokens.is("FROM")) tokens.take();
    if (updates && tokens.is("OR")) {
      tokens.take();
      tokens.take();
    }
    std::string name = unquoted(tokens.take());
    if (tokens.is(".")) {
      if (!equal(name, schema)) continue;
      tokens.take();
      name = unquoted(tokens.take());
    }
    if (equal(name, table)) return true;
  }
  return false;
}

}  // namespace glove::sql
