// The patterns of Replace and Split: a literal string, or one of a few regular expressions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

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

  // Reads {"String": "..."} or {"Regex": "..."}. Of regular expressions, a single character or \s with +,
  // {n,} or nothing behind it is supported.
  [[gnu::cold]] static Result<Pattern> read(const JsonField& field);

  // Finds the first match at or behind `from`. Returns {text.size(), text.size()} if there is none.
  Match find(std::string_view text, size_t from, TextWork& work) const;

 private:
  Pattern() = default;
  [[gnu::cold]] static Result<Pattern> read_expression(const JsonField& field, std::string_view expression);
  bool repeats(std::string_view text, size_t at) const;

  std::string literal_;    // if not empty, what one repetition is
  bool is_space_ = false;  // one repetition is any white space
  size_t least_ = 1;       // repetitions
  bool more_ = false;      // whether there may be more of them
};

}  // namespace glove::tokenizers
