// The statements that tests/sql/statement_check.h runs, made of a string of choices.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace glove::testing {

// One byte for each choice; zeros at the end, which choose what comes first.
class Choices {
 public:
  explicit Choices(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool are_left() const { return at_ < bytes_.size(); }
  int below(int count) { return at_ < bytes_.size() ? bytes_[at_++] % count : 0; }
  bool one_in(int count) { return below(count) == count - 1; }
  template <size_t kCount>
  const char* of(const std::array<const char*, kCount>& texts) {
    return texts[static_cast<size_t>(below(kCount))];
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

// Components of every vector.
constexpr int kDims = 3;

// What a search ranks. The scans of the first two are of one index, because a statement may ask it twice.
struct Ranked {
  const char* table;          // of the extension
  const char* scan;           // the plain table with the ranking of a scan
  const char* rows;           // (id, vec), in the order in which equal similarities rank
  const char* inputs;         // beside the query
  const char* query;          // the column that it is an input of
  const char* key;            // of its rows
  const char* key_elsewhere;  // the column of other tables that has it
};

// All of them; kOfModel is the place of the model's, and kOfTexts that of the texts'.
constexpr std::array<Ranked, 4> kRanked = {{
    {"doc_vec", "scan1", "SELECT id, vec FROM doc", "1", "query", "id", "id"},
    {"doc_vec", "scan2", "SELECT id, vec FROM doc", "1", "query", "id", "id"},
    {"glove_nn", "scan3", "SELECT id, vec FROM snapshot", "%s.model = 'statements'", "expr", "neighbor",
     "word"},
    {"note_vec", "scan4",
     "SELECT id, glove_text_vec(body, 'statements', '{\"components\":0}') AS vec FROM note", "1", "query",
     "id", "id"},
}};
constexpr size_t kOfModel = 2, kOfTexts = 3;

// A ranking as a statement reads it, from the extension's table or from a plain one.
struct Ranking {
  std::string table;          // what stands in FROM, without a name
  std::string condition;      // the inputs, with %s for the name of the table
  std::string key;            // of its rows
  std::string key_elsewhere;  // the column of other tables that has it
};

// Replaces every `from` in the text.
void replace_all(std::string& text, const std::string& from, const std::string& to);

// The statement that ranks by a scan the rows that meet `admissible`, a condition on id: id, similarity,
// rank.
std::string scan_of(size_t which, const std::string& query, const std::string& admissible);

// Makes the parts of statements, each of the next choices. Texts in braces are places to be filled in.
class Grammar {
 public:
  explicit Grammar(std::span<const uint8_t> choices) : choices_(choices) {}
  Choices& choices() { return choices_; }

  std::string number(int below) { return std::to_string(choices_.below(below)); }
  // A few words of the model, or others; sometimes none, or NULL.
  std::string text(bool may_be_null);
  // A vector of few small integers, so that many are equal or parallel; sometimes zero, or NULL for a row.
  std::string vector(bool may_be_null);
  // Fills in a random {id}, {n}, {m}, {vector} and {text}.
  std::string filled(std::string text);
  // A change of the tables, a command, a part of a transaction, or DDL. One that begins with SELECT must
  // fail.
  std::string change();
  // A trigger that changes rows with an index and then searches it, keeps a row as it is, or writes others.
  // What it finds is in the table seen, and what it must find in the table wanted.
  std::string trigger();
  // A set of admissible keys of an index, and the condition on id that says the same.
  std::pair<std::string, std::string> among();
  // A statement with {x} and {y} for rankings called x and y, and {wx} and {wy} for their inputs. Its rows
  // are in a total order if it has a LIMIT.
  std::string statement(bool& is_ordered);
  // Mostly one of three, whose answers and ranks the extension may have kept.
  std::string query();

 private:
  std::string condition();
  std::string conditions();

  Choices choices_;
};

}  // namespace glove::testing
