#include "text/vocabulary_words.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/tokenizers/work.h"

namespace glove {
namespace {

constexpr uint16_t kChanges = tokenizers::kDecomposesCompatibly | tokenizers::kComposes;

bool is_ascii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

bool is_white(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Whether a normalization form may change this well-formed text.
bool may_change(std::string_view text) {
  for (size_t at = 0; at < text.size();)
    if (is_ascii(text[at]))
      ++at;
    else if (tokenizers::has(tokenizers::next_code(text, at), kChanges))
      return true;
  return false;
}

// Whether a word may end so: not with the punctuation of a sentence, unless it is an abbreviation.
bool may_end(std::string_view word) {
  constexpr std::string_view kEnds = ".,;:!?'\")]}";
  return kEnds.find(word.back()) == std::string_view::npos ||
         (word.back() == '.' && word.find('.') + 1 < word.size());
}

}  // namespace

// A word whose case was kept is also tried in lower case, as everywhere in SQL.
std::optional<int32_t> VocabularyWords::find(std::string_view word, uint32_t hash) const {
  const std::optional<int32_t> id = index_.find(vocabulary_, word, hash);
  return id || options_.lower_case ? id : vocabulary_.find(word);
}

// Whether what follows the word may belong to a longer one.
bool VocabularyWords::may_be_longer(const TextToken& token, uint32_t hash) const {
  const size_t end = token.offset + token.length;
  if (end >= source_.size()) return false;
  if (!options_.lower_case && std::any_of(token.text.begin(), token.text.end(), is_upper)) return true;
  const char next = is_white(source_[end]) ? '_' : source_[end];
  if (is_ascii(next)) return index_.may_continue(hash, static_cast<unsigned char>(next));
  const size_t length = utf8_character_length(source_.substr(end, 4));
  return index_.may_continue(hash, WordIndex::kNotAscii) || may_change(source_.substr(end, length));
}

// Whether a character of punctuation, which nothing but white space or other punctuation precedes, may begin
// a word with this one.
bool VocabularyWords::has_lead(const TextToken& token) const {
  const size_t before = token.offset - end_;
  if (token.offset <= end_ || (before == 1 && end_ > 0)) return false;
  const std::string_view lead = source_.substr(token.offset - 1, 1);
  return !is_white(lead[0]) && is_ascii(lead[0]) &&
         index_.may_continue(WordSet::hash(lead), WordIndex::kLead);
}

// Returns text_ as it is looked up. Valid until the next call.
std::string_view VocabularyWords::spelled(Spelling spelling) {
  if (spelling == Spelling::kAsWritten) return text_;
  spelled_.clear();
  if (spelling == Spelling::kLower) {
    for (const char c : text_) spelled_ += is_upper(c) ? static_cast<char>(c + ('a' - 'A')) : c;
    return spelled_;
  }
  const InterruptCheck never;  // the text is short
  InterruptPoll poll(never);
  tokenizers::TextWork work(poll, text_.size());
  tokenizers::append_normalized(text_, static_cast<tokenizers::Form>(spelling), marks_, spelled_, work);
  return spelled_;
}

// Keeps text_ if it is a longer word than the best one. Returns false if no word begins so.
bool VocabularyWords::take(size_t end, Spelling spelling) {
  if (text_.size() > TextTokenizer::kMostBytes) return false;
  const std::string_view text = spelled(spelling);
  const int32_t id = vocabulary_.sorted_id(vocabulary_.lower_bound(text));
  const std::string_view word = vocabulary_.word(id);
  if (!word.starts_with(text)) return false;
  if (word.size() == text.size() && end > best_end_ && may_end(text)) {
    best_ = id;
    best_end_ = end;
  }
  return true;
}

// Finds the longest word from `begin` on, which is the place of the token or of what leads it.
void VocabularyWords::match(const TextToken& token, size_t begin, Spelling spelling, InterruptPoll* poll) {
  TextTokenizer ahead = tokenizer_;
  size_t end = token.offset + token.length;
  text_.assign(source_.substr(begin, token.offset - begin)).append(token.text);
  const bool known = best_end_ == end && begin == token.offset && spelling == Spelling::kAsWritten;
  bool more = known || take(end, spelling);
  while (more) {
    TextToken next;
    more = ahead.next(next, poll);
    const std::string_view gap = source_.substr(end, (more ? next.offset : source_.size()) - end);
    const auto last = std::string_view(text_).substr(text_.find_last_of("-_") + 1);
    if (gap == "-" && !WordIndex::is_symbol(last) && !WordIndex::is_symbol(next.text)) return;
    for (size_t at = 0; at < gap.size();) {
      const bool white = is_white(gap[at]);
      const size_t length = utf8_character_length(gap.substr(at, 4));
      if (length == 0 || (white && gap.size() > 1)) return;
      text_ += white ? std::string_view("_") : gap.substr(at, length);
      at += length;
      end += length;
      if (!white && !take(end, spelling)) return;
    }
    if (!more) return;
    text_ += next.text;
    end = next.offset + next.length;
    more = take(end, spelling);
  }
}

void VocabularyWords::find_longer(const TextToken& token, size_t begin, InterruptPoll* poll) {
  match(token, begin, Spelling::kAsWritten, poll);
  for (const Spelling other : {Spelling::kNfc, Spelling::kNfkc, Spelling::kNfd, Spelling::kLower}) {
    const bool may = other == Spelling::kLower ? !options_.lower_case : may_change(text_);
    if (may && spelled(other) != text_) match(token, begin, other, poll);
  }
}

bool VocabularyWords::next(EncodedToken& word, InterruptPoll* poll) {
  TextToken token;
  if (!tokenizer_.next(token, poll)) return false;
  const uint32_t hash = WordSet::hash(token.text);
  word = {token.text, find(token.text, hash), 0};
  if (!options_.longest_match) return true;
  const size_t end = token.offset + token.length;
  best_.reset();
  best_end_ = end - 1;
  if (has_lead(token)) find_longer(token, token.offset - 1, poll);
  if (word.id && !best_) best_end_ = end;
  if (!best_ && (may_be_longer(token, hash) || (!word.id && may_change(token.text))))
    find_longer(token, token.offset, poll);
  end_ = best_ ? best_end_ : end;
  if (best_) word = {vocabulary_.word(*best_), best_, 0};
  if (end_ != end) tokenizer_.seek(end_);
  return true;
}

}  // namespace glove
