// Vector expressions: 'king - man + woman', '2 * (paris - france) + "new york"', and the
// postfix form 'king man - woman +'.
//
//   expr  := ['+'|'-'] term (('+'|'-') term)*
//   term  := [number '*'] atom
//   atom  := word | "quoted word" | '(' expr ')'
//
// An operator must be surrounded by white space or adjacent to a bracket, so well-known and c++ are words. A
// word that contains spaces, or that looks like an operator or a number, must be quoted ("" inside quotes is
// one quote). An expression that ends in an operator is read as postfix.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace glove {

// One word of the expression, with the product of all signs and weights that apply to it.
struct Term {
  double weight;
  std::string word;
};

// Returns the terms in text order; a word that occurs twice is listed twice. An error names the expression,
// the offending token and its position (1-based, in bytes), and says what may stand there. Another error is
// an interrupt.
Result<std::vector<Term>> parse_expression(std::string_view text, const InterruptCheck& interrupted = {});

// Returns the text as messages show it: in quotes, and only its beginning if it is long.
std::string quote_expression(std::string_view text);

// True if the first token of the text is '+' or '-' (so that it may follow a `word`).
bool starts_with_operator(std::string_view text);

}  // namespace glove
