#include "text/tokenizers/pattern.h"

#include <charconv>
#include <limits>

#include "base/concat.h"
#include "text/tokenizers/unicode.h"

namespace glove::tokenizers {
namespace {

constexpr size_t kMostPatternBytes =
    65'536;  // so that comparing a text with it at one place takes microseconds
constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

}  // namespace

// Reads a regular expression. Each function returns false at what is not supported.
class PatternParser {
 public:
  using Item = Pattern::Item;

  explicit PatternParser(std::string_view text, bool ignores_case = false)
      : text_(text), ignores_case_(ignores_case) {}

  bool read(std::vector<Pattern::Alternative>& alternatives) {
    while (true) {
      if (!read_alternative(alternatives)) return false;
      if (text_.empty()) return true;
      text_.remove_prefix(1);  // '|'
    }
  }

 private:
  bool take(std::string_view begin) {
    if (!text_.starts_with(begin)) return false;
    text_.remove_prefix(begin.size());
    return true;
  }

  bool read_alternative(std::vector<Pattern::Alternative>& alternatives) {
    const bool ignores_case = text_.starts_with("(?i:");
    if (ignores_case || text_.starts_with("(?:")) {
      const size_t begin = ignores_case ? 4 : 3, end = text_.find(')');
      if (end == std::string_view::npos || (end + 1 < text_.size() && text_[end + 1] != '|')) return false;
      if (!PatternParser(text_.substr(begin, end - begin), ignores_case).read(alternatives)) return false;
      text_.remove_prefix(end + 1);
      return true;
    }
    Pattern::Alternative items;
    size_t least = 0;
    for (; !text_.empty() && text_[0] != '|'; least += items.back().least)
      if (!read_item(items.emplace_back())) return false;
    alternatives.push_back(std::move(items));
    return least > 0;  // no match is empty
  }

  bool read_item(Item& item) {
    item.ignores_case = ignores_case_;
    if (take("(?!\\S)")) {
      item.looks_ahead = true;
      item.least = 0;
      return true;
    }
    if (!take("[")) {
      if (!read_character(item) || !read_count(item)) return false;
      if (item.flags == 0 && item.least > 0 && item.characters[0] < 0x80 && !ignores_case_)
        item.only = static_cast<char>(item.characters[0]);
      return true;
    }
    item.is_negated = take("^");
    while (!text_.starts_with(']'))
      if (text_.empty() || text_[0] == '-' || text_[0] == '[' || !read_character(item)) return false;
    return take("]") && read_count(item);
  }

  // Adds a character or a class of some to the set.
  bool read_character(Item& item) {
    constexpr std::string_view kSpecial = "^$.|?*+()[]{}";
    constexpr std::pair<std::string_view, char32_t> kEscapes[] = {
        {"\\r", '\r'}, {"\\n", '\n'}, {"\\t", '\t'}};
    constexpr std::pair<std::string_view, uint16_t> kClasses[] = {
        {"\\s", kSpace}, {"\\S", kSpace}, {"\\p{L}", kLetter}, {"\\p{N}", kNumber}};
    for (const auto& [name, flag] : kClasses)
      if (take(name)) {
        item.flags |= flag;
        item.is_negated = item.is_negated || name == "\\S";
        return true;
      }
    for (const auto& [name, code] : kEscapes)
      if (take(name)) {
        item.characters += code;
        return true;
      }
    const bool is_escaped = take("\\");
    if (text_.empty()) return false;
    const bool is_special = kSpecial.find(text_[0]) != std::string_view::npos || text_[0] == '\\';
    if (is_escaped ? !is_special && text_[0] != '/' && text_[0] != '-' : is_special) return false;
    size_t length = 0;
    item.characters += next_code(text_, length);
    text_.remove_prefix(length);
    return true;
  }

  bool read_count(Item& item) {
    if (take("?")) item.least = 0;
    if (take("*")) item.least = 0, item.most = kNoLimit;
    if (take("+")) item.most = kNoLimit;
    if (!take("{")) return text_.empty() || std::string_view("?*+{").find(text_[0]) == std::string_view::npos;
    const auto number = [this](size_t& value) {
      const auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      return code == std::errc();
    };
    if (!number(item.least)) return false;
    item.most = item.least;
    if (take(",") && !number(item.most)) item.most = kNoLimit;
    return take("}") && item.least <= item.most;
  }

  std::string_view text_;
  bool ignores_case_;
};

bool Pattern::Item::has(char32_t code) const {
  // Of the characters that only differ in case from an ASCII letter, texts have the long s.
  if (ignores_case) code = code == 0x17f ? U's' : code >= 'A' && code <= 'Z' ? code + 32 : code;
  const bool is_in = characters.find(code) != std::u32string::npos || tokenizers::has(code, flags);
  return is_in != is_negated;
}

std::optional<Pattern> Pattern::expression(std::string_view text) {
  Pattern pattern;
  return PatternParser(text).read(pattern.alternatives_) ? std::optional(std::move(pattern)) : std::nullopt;
}

Result<Pattern> Pattern::read(const JsonField& field) {
  const bool is_expression = field.has("Regex");
  GLOVE_ASSIGN_OR_RETURN(std::string text, field.string(is_expression ? "Regex" : "String"));
  if (text.empty()) return field.unsupported("is an empty string, which is not supported");
  if (text.size() > kMostPatternBytes)
    return field.unsupported("is a string of " + std::to_string(text.size()) +
                             " bytes, which is not supported: at most " + std::to_string(kMostPatternBytes) +
                             " are");
  if (!is_expression) return Pattern(std::move(text));
  if (auto pattern = expression(text)) return std::move(*pattern);
  return field.unsupported("is the regular expression " + quoted_value(text) +
                           ", which is not supported: docs/text.md lists what is");
}

// Moves `at` behind the match of the items from `item` on. Takes as many characters as it can of each item,
// and fewer if the rest does not match then.
bool Pattern::matches(const Alternative& items, size_t item, std::string_view text, size_t& at,
                      TextWork& work) {
  if (item == items.size()) return true;
  const Item& next = items[item];
  size_t end = at, count = 0;
  const auto takes = [&](size_t from, size_t& behind) {
    behind = from;
    return from < text.size() && next.has(next_code(text, behind));
  };
  if (next.looks_ahead)
    return (at == text.size() || tokenizers::has(next_code(text, end), kSpace)) &&
           matches(items, item + 1, text, at, work);
  for (size_t behind = 0; count < next.most && takes(end, behind) && !work.stop(); ++count) end = behind;
  for (; count >= next.least && !work.stop(); end = previous(text, end), --count) {
    size_t rest = end;
    if (matches(items, item + 1, text, rest, work)) {
      at = rest;
      return true;
    }
    if (count == 0) break;
  }
  return false;
}

Match Pattern::find(std::string_view text, size_t from, TextWork& work) const {
  if (!literal_.empty()) {
    const size_t found = text.find(literal_, from);
    return found == std::string_view::npos ? Match{text.size(), text.size()}
                                           : Match{found, found + literal_.size()};
  }
  for (size_t begin = from; begin < text.size() && !work.stop(); begin += length_of(text[begin]))
    for (const Alternative& alternative : alternatives_) {
      if (alternative.front().only != 0 && alternative.front().only != text[begin]) continue;
      size_t end = begin;
      if (matches(alternative, 0, text, end, work) && !work.stopped()) return {begin, end};
    }
  return {text.size(), text.size()};
}

}  // namespace glove::tokenizers
