#include "search/expression.h"

#include <cstddef>
#include <system_error>
#include <utility>

#include "base/float_from_chars.h"
#include "base/utf8.h"

namespace glove {
namespace {

enum class TokenKind { kWord, kNumber, kPlus, kMinus, kTimes, kOpen, kClose, kEnd };

struct Token {
  TokenKind kind;
  size_t position;   // in bytes, 0-based
  std::string text;  // without its quotes if it is a word, otherwise as written
  double number = 0;
};

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_bracket(char c) {
  return c == '(' || c == ')';
}
bool is_operator(const Token& token) {
  return token.kind == TokenKind::kPlus || token.kind == TokenKind::kMinus || token.kind == TokenKind::kTimes;
}

constexpr const char* kPostfixRule = "an expression that ends in an operator is read as postfix";

// "expression 'king man': <problem>".
Error parse_error(std::string_view text, const std::string& problem) {
  return {ErrorCode::kInvalidArgument, "expression " + quote_expression(text) + ": " + problem};
}

std::string describe(const Token& token) {
  if (token.kind == TokenKind::kEnd) return "the end";
  return quote_expression(token.text) + " at byte " + std::to_string(token.position + 1);
}

bool looks_like_number(std::string_view text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  size_t digits = 0, i = 0;
  const auto is_digit = [&](size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  for (; is_digit(i); ++i) ++digits;
  if (i < text.size() && text[i] == '.')
    for (++i; is_digit(i); ++i) ++digits;
  if (digits == 0) return false;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (!is_digit(i)) return false;
    while (is_digit(i)) ++i;
  }
  return i == text.size();
}

// Splits a text into tokens, one per call.
class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) {}

  Result<Token> next() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    if (at_ == text_.size()) return Token{TokenKind::kEnd, at_, ""};
    const size_t start = at_;
    if (is_bracket(text_[at_])) {
      ++at_;
      return Token{text_[start] == '(' ? TokenKind::kOpen : TokenKind::kClose, start,
                   std::string(1, text_[start])};
    }
    if (text_[at_] == '"') return quoted_word();
    while (at_ < text_.size() && !is_space(text_[at_]) && !is_bracket(text_[at_])) ++at_;
    return bare_token(start);
  }

 private:
  Result<Token> quoted_word() {
    const size_t start = at_++;
    std::string word;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c != '"') {
        word += c;
      } else if (at_ < text_.size() && text_[at_] == '"') {
        word += text_[at_++];
      } else if (at_ < text_.size() && !is_space(text_[at_]) && !is_bracket(text_[at_])) {
        return parse_error(text_, "the closing quote at byte " + std::to_string(at_) + " is followed by " +
                                      quote_expression(character_at(at_)) + "; write white space after it");
      } else {
        return Token{TokenKind::kWord, start, std::move(word)};
      }
    }
    return parse_error(
        text_, "the quote at byte " + std::to_string(start + 1) + " is never closed; add a closing quote");
  }

  // Returns the character that begins there, with all its bytes.
  std::string_view character_at(size_t start) const {
    size_t end = start + 1;
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0u) == 0x80u) ++end;
    return text_.substr(start, end - start);
  }

  Result<Token> bare_token(size_t start) {
    Token token{TokenKind::kWord, start, std::string(text_.substr(start, at_ - start))};
    if (token.text == "+") token.kind = TokenKind::kPlus;
    if (token.text == "-") token.kind = TokenKind::kMinus;
    if (token.text == "*") token.kind = TokenKind::kTimes;
    if (!looks_like_number(token.text)) return token;
    token.kind = TokenKind::kNumber;
    const size_t sign = token.text[0] == '+' ? 1 : 0;
    const char* end = token.text.data() + token.text.size();
    if (from_chars(token.text.data() + sign, end, token.number).ec != std::errc())
      return parse_error(text_, "the number " + describe(token) +
                                    " is outside the range of a double; write one that is nearer to 1");
    return token;
  }

  std::string_view text_;
  size_t at_ = 0;
};

Result<std::vector<Token>> tokenize(std::string_view text) {
  Tokenizer tokenizer(text);
  std::vector<Token> tokens;
  do {
    GLOVE_ASSIGN_OR_RETURN(Token token, tokenizer.next());
    tokens.push_back(std::move(token));
  } while (tokens.back().kind != TokenKind::kEnd);
  return tokens;
}

// Parses the infix form without recursion, so that deeply nested brackets cannot overflow the stack.
class InfixParser {
 public:
  InfixParser(std::string_view text, std::vector<Token> tokens) : text_(text), tokens_(std::move(tokens)) {}

  Result<std::vector<Term>> parse() {
    for (;;) {
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
        return parse_error(text_, "the number " + describe(number) + " is not followed by '*'; write " +
                                      number.text + " * and a word to use it as a weight, or \"" +
                                      number.text + "\" to use it as a word");
      weight *= number.number;
      take();
    }
    Token& token = tokens_[at_++];
    if (token.kind == TokenKind::kOpen) {
      brackets_.push_back({outer_weight() * weight, token.position});
      in_operand_ = may_have_sign_ = true;
      return {};
    }
    if (token.kind != TokenKind::kWord)
      return parse_error(text_, "expected a word, a quoted word or '(', but found " + describe(token));
    terms_.push_back({outer_weight() * weight, std::move(token.text)});
    in_operand_ = false;
    return after_operand();
  }

  // Parses closing brackets, then an operator or the end.
  Status after_operand() {
    for (;;) {
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
  std::vector<Token> tokens_;
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
  PostfixParser(std::string_view text, std::vector<Token> tokens) : text_(text), tokens_(std::move(tokens)) {}

  Result<std::vector<Term>> parse() {
    for (Token& token : tokens_) {
      if (token.kind == TokenKind::kEnd) break;
      if (token.kind == TokenKind::kOpen || token.kind == TokenKind::kClose)
        return parse_error(text_, describe(token) + " is not allowed here, because " + kPostfixRule +
                                      "; remove the brackets, or the operator at the end");
      if (is_operator(token)) {
        GLOVE_RETURN_IF_ERROR(apply(token));
      } else {
        operands_.push_back({token.kind == TokenKind::kNumber, token.number, nodes_.size(), &token});
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
    Token* word;  // nullptr for an operator
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
                                    (left.is_number ? left : right).token->text + "\"");
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
  std::vector<Term> terms() {
    for (size_t i = nodes_.size(); i-- > 0;)
      if (nodes_[i].parent != kNoParent)
        nodes_[i].weight = nodes_[nodes_[i].parent].weight * nodes_[i].weight;
    std::vector<Term> result;
    for (const Node& node : nodes_)
      if (node.word) result.push_back({node.weight, std::move(node.word->text)});
    return result;
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  std::vector<Node> nodes_;
  std::vector<Operand> operands_;
};

}  // namespace

Result<std::vector<Term>> parse_expression(std::string_view text) {
  GLOVE_ASSIGN_OR_RETURN(std::vector<Token> tokens, tokenize(text));
  if (tokens.size() == 1)
    return parse_error(text, "it is empty; write words joined by '+' and '-': king - man + woman");
  if (is_operator(tokens[tokens.size() - 2])) return PostfixParser(text, std::move(tokens)).parse();
  return InfixParser(text, std::move(tokens)).parse();
}

std::string quote_expression(std::string_view text) {
  constexpr size_t kShown = 200;
  const std::string_view shown = utf8_prefix(text, kShown);
  return "'" + std::string(shown) + (shown.size() < text.size() ? "...'" : "'");
}

bool starts_with_operator(std::string_view text) {
  const Result<Token> first = Tokenizer(text).next();
  return first.ok() && (first.value().kind == TokenKind::kPlus || first.value().kind == TokenKind::kMinus);
}

}  // namespace glove
