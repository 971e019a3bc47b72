#include "text/tokenizers/pattern.h"

#include <charconv>

#include "base/utf8.h"
#include "text/tokenizers/unicode.h"

namespace glove::tokenizers {
namespace {

constexpr size_t kMostPatternBytes =
    65'536;  // so that comparing a text with it at one place takes microseconds

}  // namespace

Result<Pattern> Pattern::read(const JsonField& field) {
  if (field.has("Regex")) {
    GLOVE_ASSIGN_OR_RETURN(const std::string expression, field.string("Regex"));
    return read_expression(field, expression);
  }
  Pattern pattern;
  GLOVE_ASSIGN_OR_RETURN(pattern.literal_, field.string("String"));
  if (pattern.literal_.empty()) return field.unsupported("is an empty string, which is not supported");
  if (pattern.literal_.size() > kMostPatternBytes)
    return field.unsupported("is a string of " + std::to_string(pattern.literal_.size()) +
                             " bytes, which is not supported: at most " + std::to_string(kMostPatternBytes) +
                             " are");
  return pattern;
}

// CHARACTER, \CHARACTER or \s, then nothing, + or {n,}
Result<Pattern> Pattern::read_expression(const JsonField& field, std::string_view expression) {
  const Error unsupported = field.unsupported(
      "is the regular expression " + quoted_value(expression) +
      ", which is not supported: a string, or one character or \\s with '+' or '{2,}' behind it is");
  constexpr std::string_view kSpecial = "\\^$.|?*+()[]{}";
  Pattern pattern;
  if (expression.empty()) return unsupported;
  const bool is_escaped = expression[0] == '\\';
  if (is_escaped) expression.remove_prefix(1);
  if (expression.empty()) return unsupported;
  const size_t length = length_of(expression[0]);
  const std::string_view atom = expression.substr(0, length), behind = expression.substr(length);
  if (is_escaped ? atom != "s" && atom != "/" && kSpecial.find(atom) == std::string_view::npos
                 : kSpecial.find(atom) != std::string_view::npos)
    return unsupported;
  pattern.is_space_ = is_escaped && atom == "s";
  if (!pattern.is_space_) pattern.literal_ = atom;
  if (behind.empty()) return pattern;
  pattern.more_ = true;
  if (behind == "+") return pattern;
  const auto end = behind.data() + behind.size();
  if (behind[0] != '{') return unsupported;
  const auto [rest, failure] = std::from_chars(behind.data() + 1, end, pattern.least_);
  if (failure != std::errc() || std::string_view(rest, static_cast<size_t>(end - rest)) != ",}" ||
      pattern.least_ == 0)
    return unsupported;
  return pattern;
}

bool Pattern::repeats(std::string_view text, size_t at) const {
  if (at >= text.size()) return false;
  if (!is_space_) return text.substr(at).starts_with(literal_);
  return has(next_code(text, at), kSpace);
}

Match Pattern::find(std::string_view text, size_t from, TextWork& work) const {
  const auto length = [&](size_t at) { return is_space_ ? length_of(text[at]) : literal_.size(); };
  const char first = is_space_ ? '\0' : literal_[0];
  for (size_t begin = from; begin < text.size() && !work.stop();) {
    if (!is_space_ && text[begin] != first) {
      ++begin;
      continue;
    }
    size_t count = 0, end = begin;
    while (repeats(text, end) && (count < least_ || more_) && !work.stop()) {
      end += length(end);
      ++count;
    }
    if (count >= least_) return {begin, end};
    begin = count > 0 ? end : begin + length_of(text[begin]);
  }
  return {text.size(), text.size()};
}

}  // namespace glove::tokenizers
