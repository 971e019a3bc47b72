// The patterns of Replace and Split: a literal string, or a regular expression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/tokenizers/json.h"
#include "text/tokenizers/work.h"

namespace glove::tokenizers {

struct Match {
  size_t begin, end;
};

// What Replace and Split look for. Immutable.
class Pattern {
 public:
  // A literal string. REQUIRES: it is not empty.
  explicit Pattern(std::string literal) : literal_(std::move(literal)) {}

  // Reads {"String": "..."} or {"Regex": "..."}. Of regular expressions, what tokenizers use: alternatives of
  // characters, classes ([...], [^...], \s, \S, \r, \n, \t, \p{L}, \p{N}) and (?!\S), with ?, *, + or {m,n}
  // behind a character or class, and (?:...) or (?i:...) around whole alternatives.
  [[gnu::cold]] static Result<Pattern> read(const JsonField& field);
  // A regular expression; nullopt if it is not supported.
  [[gnu::cold]] static std::optional<Pattern> expression(std::string_view text);

  // Finds the first match at or behind `from`; of alternatives, the first one that matches there. Returns
  // {text.size(), text.size()} if there is none.
  Match find(std::string_view text, size_t from, TextWork& work) const;

 private:
  friend class PatternParser;
  // A set of characters, and how often one of it may follow.
  struct Item {
    std::u32string characters;
    uint16_t flags = 0;  // of tokenizers/unicode.h: a character with one of these is in the set, too
    char only = 0;       // the set's only character, if it is one of ASCII and must follow
    bool is_negated = false;
    bool ignores_case = false;
    bool looks_ahead = false;  // (?!\S), which has no set
    size_t least = 1, most = 1;

    bool has(char32_t code) const;
  };
  using Alternative = std::vector<Item>;

  Pattern() = default;
  static bool matches(const Alternative& items, size_t item, std::string_view text, size_t& at,
                      TextWork& work);

  std::string literal_;  // if not empty, the pattern
  std::vector<Alternative> alternatives_;
};

}  // namespace glove::tokenizers
