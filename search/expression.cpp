#include "search/expression.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <system_error>
#include <utility>

#include "base/concat.h"
#include "base/float_from_chars.h"

namespace glove {
namespace {

enum class TokenKind { kWord, kNumber, kPlus, kMinus, kTimes, kOpen, kClose, kEnd };

struct Token {
  TokenKind kind;
  size_t position;        // in bytes, 0-based
  std::string_view text;  // as written
  double value = 0;       // of a number
};
using Tokens = std::deque<Token>;  // which, unlike a vector, never copies millions of them at once

// Returns the word that a token of this kind stands for.
std::string word_of(const Token& token) {
  std::string word(token.text);
  if (!word.starts_with('"')) return word;
  word = word.substr(1, word.size() - 2);
  size_t kept = 0;
  for (size_t i = 0; i < word.size(); ++i) {
    word[kept++] = word[i];
    if (word[i] == '"') ++i;  // the second of two quotes
  }
  word.resize(kept);
  return word;
}

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_bracket(char c) {
  return c == '(' || c == ')';
}
bool is_operator(const Token& token) {
  return token.kind == TokenKind::kPlus || token.kind == TokenKind::kMinus || token.kind == TokenKind::kTimes;
}

constexpr const char* kPostfixRule = "an expression that ends in an operator is read as postfix";

// "expression 'king man': <problem>".
template <class... Pieces>
Error parse_error(std::string_view text, const Pieces&... problem) {
  return invalid_argument("expression ", quote_expression(text), ": ", problem...);
}

std::string describe(const Token& token) {
  if (token.kind == TokenKind::kEnd) return "the end";
  const std::string shown = token.kind == TokenKind::kWord ? word_of(token) : std::string(token.text);
  return quote_expression(shown) + " at byte " + std::to_string(token.position + 1);
}

// Reads a number such as 2, -.5 or 1e3. Returns false if the text is another one. `in_range`: whether a
// double holds the number.
bool read_number(std::string_view text, double& value, bool& in_range) {
  constexpr size_t kMostBytes = 10'000;  // anything longer is a word
  if (text.size() > kMostBytes || !(is_digit(text.back()) || text.back() == '.')) return false;  // inf, nan
  if (text.starts_with("+-")) return false;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [rest, error] = from_chars(text.data(), text.data() + text.size(), value);
  in_range = error == std::errc();
  return error != std::errc::invalid_argument && rest == text.data() + text.size();
}

// Splits a text into tokens, one per call.
class ExpressionTokenizer {
 public:
  ExpressionTokenizer(std::string_view text, InterruptPoll& poll) : text_(text), poll_(poll) {}

  Result<Token> next() {
    GLOVE_RETURN_IF_ERROR(poll_.check());
    while (more() && is_space(text_[at_])) ++at_;
    const size_t start = at_;
    if (more() && is_bracket(text_[at_])) {
      ++at_;
      return token(text_[start] == '(' ? TokenKind::kOpen : TokenKind::kClose, start);
    }
    if (more() && text_[at_] == '"') return quoted_word();
    while (more() && !is_space(text_[at_]) && !is_bracket(text_[at_])) ++at_;
    if (poll_.stopped()) return interrupted_error();
    return start == text_.size() ? token(TokenKind::kEnd, start) : bare_token(start);
  }

 private:
  // False at the end of the text. A token may be as long as the text, so this polls, and then the text ends
  // early.
  bool more() {
    constexpr size_t kBytesPerPoll = 4096;
    return at_ < text_.size() && (at_ % kBytesPerPoll != 0 || !poll_.stop());
  }

  Token token(TokenKind kind, size_t start) const { return {kind, start, text_.substr(start, at_ - start)}; }

  Result<Token> quoted_word() {
    const size_t start = at_++;
    while (more()) {
      if (text_[at_++] != '"') continue;
      if (at_ == text_.size() || is_space(text_[at_]) || is_bracket(text_[at_]))
        return token(TokenKind::kWord, start);
      if (text_[at_] != '"')
        return parse_error(text_, "the closing quote at byte " + std::to_string(at_) + " is followed by " +
                                      quote_expression(character_at(at_)) + "; write white space after it");
      ++at_;
    }
    if (poll_.stopped()) return interrupted_error();
    return parse_error(text_, "the quote at byte ", start + 1, " is never closed; add a closing quote");
  }

  // Returns the character that begins there, with all its bytes.
  std::string_view character_at(size_t start) const {
    size_t end = start + 1;
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0u) == 0x80u) ++end;
    return text_.substr(start, end - start);
  }

  Result<Token> bare_token(size_t start) const {
    Token bare = token(TokenKind::kWord, start);
    if (bare.text == "+") bare.kind = TokenKind::kPlus;
    if (bare.text == "-") bare.kind = TokenKind::kMinus;
    if (bare.text == "*") bare.kind = TokenKind::kTimes;
    bool in_range = true;
    if (!read_number(bare.text, bare.value, in_range)) return bare;
    bare.kind = TokenKind::kNumber;
    if (!in_range)
      return parse_error(text_, "the number " + describe(bare) +
                                    " is outside the range of a double; write one that is nearer to 1");
    return bare;
  }

  std::string_view text_;
  InterruptPoll& poll_;
  size_t at_ = 0;
};

Result<Tokens> tokenize(std::string_view text, InterruptPoll& poll) {
  ExpressionTokenizer tokenizer(text, poll);
  Tokens tokens;
  do {
    GLOVE_ASSIGN_OR_RETURN(const Token token, tokenizer.next());
    tokens.push_back(token);
  } while (tokens.back().kind != TokenKind::kEnd);
  return tokens;
}

// Parses the infix form without recursion, so that deeply nested brackets cannot overflow the stack.
class InfixParser {
 public:
  InfixParser(std::string_view text, Tokens tokens, InterruptPoll& poll)
      : text_(text), tokens_(std::move(tokens)), poll_(poll) {}

  Result<std::vector<Term>> parse() {
    terms_.reserve(tokens_.size() / 2);  // a word is followed by something, at least by the end
    for (;;) {
      GLOVE_RETURN_IF_ERROR(poll_.check());
      GLOVE_RETURN_IF_ERROR(operand());
      if (!in_operand_ && at_ == tokens_.size()) return std::move(terms_);
    }
  }

 private:
  // An open bracket, with the factor that applies to its terms.
  struct Bracket {
    double weight;
    size_t position;
  };

  const Token& take() { return tokens_[at_++]; }
  double outer_weight() const { return brackets_.empty() ? 1.0 : brackets_.back().weight; }

  // Parses [sign] [number '*'], then a word or an opening bracket.
  Status operand() {
    double weight = 1;
    if (may_have_sign_ && is_sign(tokens_[at_])) weight = take().kind == TokenKind::kMinus ? -1 : 1;
    may_have_sign_ = false;
    if (tokens_[at_].kind == TokenKind::kNumber) {
      const Token& number = take();
      if (tokens_[at_].kind != TokenKind::kTimes)
        return parse_error(text_, "the number ", describe(number), " is not followed by '*'; write ",
                           number.text, " * and a word to use it as a weight, or \"", number.text,
                           "\" to use it as a word");
      weight *= number.value;
      take();
    }
    const Token& token = take();
    if (token.kind == TokenKind::kOpen) {
      brackets_.push_back({outer_weight() * weight, token.position});
      in_operand_ = may_have_sign_ = true;
      return {};
    }
    if (token.kind != TokenKind::kWord)
      return parse_error(text_, "expected a word, a quoted word or '(', but found " + describe(token));
    terms_.push_back({outer_weight() * weight, word_of(token)});
    in_operand_ = false;
    return after_operand();
  }

  // Parses closing brackets, then an operator or the end.
  Status after_operand() {
    for (;;) {
      GLOVE_RETURN_IF_ERROR(poll_.check());
      const Token& token = take();
      if (is_sign(token)) {
        --at_;
        may_have_sign_ = in_operand_ = true;
        return {};
      }
      if (token.kind == TokenKind::kEnd) {
        if (brackets_.empty()) return {};
        return parse_error(text_, "the bracket at byte " + std::to_string(brackets_.back().position + 1) +
                                      " is never closed; add ')'");
      }
      if (token.kind != TokenKind::kClose)
        return parse_error(text_, "expected '+', '-', ')' or the end, but found " + describe(token) +
                                      "; put white space around operators, and quote a word that contains "
                                      "spaces: \"new york\"");
      if (brackets_.empty())
        return parse_error(text_, describe(token) + " closes no bracket; remove it, or write '(' before it");
      brackets_.pop_back();
    }
  }

  static bool is_sign(const Token& token) {
    return token.kind == TokenKind::kPlus || token.kind == TokenKind::kMinus;
  }

  std::string_view text_;
  Tokens tokens_;
  InterruptPoll& poll_;
  size_t at_ = 0;
  bool may_have_sign_ = true;
  bool in_operand_ = true;
  std::vector<Bracket> brackets_;
  std::vector<Term> terms_;
};

// Parses the postfix form. Every operator creates a node above its operands. Weights are then multiplied from
// the outermost node inwards, in the same order as in the infix parser.
class PostfixParser {
 public:
  PostfixParser(std::string_view text, Tokens tokens, InterruptPoll& poll)
      : text_(text), tokens_(std::move(tokens)), poll_(poll) {}

  Result<std::vector<Term>> parse() {
    for (const Token& token : tokens_) {
      GLOVE_RETURN_IF_ERROR(poll_.check());
      if (token.kind == TokenKind::kEnd) break;
      if (token.kind == TokenKind::kOpen || token.kind == TokenKind::kClose)
        return parse_error(text_, describe(token) + " is not allowed here, because " + kPostfixRule +
                                      "; remove the brackets, or the operator at the end");
      if (is_operator(token)) {
        GLOVE_RETURN_IF_ERROR(apply(token));
      } else {
        operands_.push_back({token.kind == TokenKind::kNumber, token.value, nodes_.size(), &token});
        if (token.kind == TokenKind::kWord) nodes_.push_back({&token, kNoParent, 1});
      }
    }
    if (operands_.size() != 1)
      return parse_error(text_, "an operator is missing after " + describe(*operands_.back().token) + "; " +
                                    kPostfixRule + ", such as king man - woman +");
    return terms();
  }

 private:
  static constexpr size_t kNoParent = static_cast<size_t>(-1);
  struct Node {
    const Token* word;  // nullptr for an operator
    size_t parent;
    double weight;  // relative to the parent
  };
  struct Operand {
    bool is_number;
    double number;
    size_t node;
    const Token* token;  // its last token, for messages
  };

  Status apply(const Token& token) {
    if (operands_.size() < 2)
      return parse_error(text_, "the operator " + describe(token) + " needs two operands before it; " +
                                    kPostfixRule + ", such as king man - woman +");
    const Operand right = operands_.back();
    operands_.pop_back();
    const Operand left = operands_.back();
    operands_.pop_back();
    const bool times = token.kind == TokenKind::kTimes;
    if (times && left.is_number == right.is_number)
      return parse_error(text_, "the operator " + describe(token) +
                                    " needs one number and one word before it, such as 2 king *");
    if (!times && (left.is_number || right.is_number))
      return parse_error(text_, "the operator " + describe(token) +
                                    " needs two words before it; quote a word that looks like a number: \"" +
                                    std::string((left.is_number ? left : right).token->text) + "\"");
    const size_t node = nodes_.size();
    if (!left.is_number) nodes_[left.node].parent = node;
    if (!right.is_number) nodes_[right.node].parent = node;
    if (times)
      nodes_[left.is_number ? right.node : left.node].weight = (left.is_number ? left : right).number;
    if (token.kind == TokenKind::kMinus) nodes_[right.node].weight = -1;
    nodes_.push_back({nullptr, kNoParent, 1});
    operands_.push_back({false, 0, node, &token});
    return {};
  }

  // A node's parent always follows it.
  Result<std::vector<Term>> terms() {
    for (size_t i = nodes_.size(); i-- > 0;)
      if (nodes_[i].parent != kNoParent)
        nodes_[i].weight = nodes_[nodes_[i].parent].weight * nodes_[i].weight;
    std::vector<Term> result;
    result.reserve(nodes_.size() / 2 + 1);  // an operator joins two operands
    for (const Node& node : nodes_) {
      GLOVE_RETURN_IF_ERROR(poll_.check());
      if (node.word) result.push_back({node.weight, word_of(*node.word)});
    }
    return result;
  }

  std::string_view text_;
  Tokens tokens_;
  InterruptPoll& poll_;
  std::vector<Node> nodes_;
  std::vector<Operand> operands_;
};

}  // namespace

Result<std::vector<Term>> parse_expression(std::string_view text, const InterruptCheck& interrupted) {
  InterruptPoll poll(interrupted);
  GLOVE_ASSIGN_OR_RETURN(Tokens tokens, tokenize(text, poll));
  if (tokens.size() == 1)
    return parse_error(text, "it is empty; write words joined by '+' and '-': king - man + woman");
  if (is_operator(tokens[tokens.size() - 2])) return PostfixParser(text, std::move(tokens), poll).parse();
  return InfixParser(text, std::move(tokens), poll).parse();
}

std::string quote_expression(std::string_view text) {
  return quoted_value(text);
}

bool starts_with_operator(std::string_view text) {
  const auto first = std::find_if_not(text.begin(), text.end(), is_space);
  if (first == text.end() || (*first != '+' && *first != '-')) return false;
  return first + 1 == text.end() || is_space(first[1]) || is_bracket(first[1]);
}

}  // namespace glove
