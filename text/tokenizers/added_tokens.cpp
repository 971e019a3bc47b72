#include "text/tokenizers/added_tokens.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/concat.h"

namespace glove::tokenizers {

Result<AddedTokens> AddedTokens::read(const JsonField& field, const TokenVocabulary& model,
                                      const Normalizers* normalizers) {
  std::vector<Token> tokens;
  GLOVE_RETURN_IF_ERROR(field.each([&](const JsonField& element) -> Status {
    GLOVE_ASSIGN_OR_RETURN(Token token, read_token(element));
    if (!token.content.empty()) tokens.push_back(std::move(token));
    return {};
  }));
  AddedTokens added;
  added.assign_ids(std::move(tokens), model, field.poll());
  GLOVE_ASSIGN_OR_RETURN(added.source_, added.finder(field, false, normalizers));
  GLOVE_ASSIGN_OR_RETURN(added.normalized_, added.finder(field, true, normalizers));
  return added;
}

Result<AddedTokens::Token> AddedTokens::read_token(const JsonField& field) {
  Token token;
  GLOVE_ASSIGN_OR_RETURN(token.content, field.string("content"));
  GLOVE_ASSIGN_OR_RETURN(token.single_word, field.boolean("single_word"));
  GLOVE_ASSIGN_OR_RETURN(token.strips_left, field.boolean("lstrip"));
  GLOVE_ASSIGN_OR_RETURN(token.strips_right, field.boolean("rstrip"));
  GLOVE_ASSIGN_OR_RETURN(token.is_normalized, field.boolean("normalized"));
  GLOVE_ASSIGN_OR_RETURN(token.is_special, field.boolean("special"));
  GLOVE_RETURN_IF_ERROR(field.id("id"));
  return token;
}

// Follows the reference where a file has the same content several times: a special token counts once, and the
// options of the last one hold for all.
void AddedTokens::assign_ids(std::vector<Token> tokens, const TokenVocabulary& model, InterruptPoll& poll) {
  std::map<std::string, uint32_t, std::less<>> ids;
  std::set<std::string, std::less<>> special;
  std::vector<Token> others;
  auto next = static_cast<uint32_t>(model.count());
  for (Token& token : tokens) {
    const auto known = model.find(token.content);
    const auto [place, is_new] = ids.try_emplace(token.content, known ? *known : next);
    if (is_new && !known) ++next;
    token.id = place->second;
    if (token.is_special && special.insert(token.content).second) tokens_.push_back(token);
  }
  for (const Token& token : tokens) {
    if (!special.contains(token.content)) others.push_back(token);
  }
  tokens_.insert(tokens_.end(), others.begin(), others.end());
  std::map<uint32_t, const Token*> last;
  for (const Token& token : tokens) last[token.id] = &token;
  for (Token& token : tokens_) {
    const Token& options = *last[token.id];
    token.single_word = options.single_word;
    token.strips_left = options.strips_left;
    token.strips_right = options.strips_right;
  }
  vocabulary_ = TokenVocabulary({ids.begin(), ids.end()}, poll);
}

Result<AddedTokens::Finder> AddedTokens::finder(const JsonField& field, bool of_normalized,
                                                const Normalizers* normalizers) const {
  std::vector<std::string> contents(tokens_.size());
  std::vector<Trie::Entry> entries;
  Finder finder;
  NormalizerBuffers buffers;
  for (uint32_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].is_normalized != of_normalized) continue;
    size_t origin = 0;
    const bool changes = of_normalized && normalizers != nullptr;
    TextWork work(field.poll(), tokens_[i].content.size());
    contents[i] =
        changes ? normalizers->apply(tokens_[i].content, buffers, origin, work) : tokens_[i].content;
    if (field.poll().stop()) return interrupted_error();
    if (work.stopped())
      return field.unsupported("has the token " + quoted_value(tokens_[i].content) + ", but " +
                               work.status().error().message);
    entries.emplace_back(contents[i], i);
    if (contents[i].empty())
      finder.begins.fill(true);
    else
      finder.begins[static_cast<unsigned char>(contents[i][0])] = true;
  }
  finder.is_empty = entries.empty();
  finder.trie = Trie(std::move(entries), field.poll());
  return finder;
}

// The leftmost matches, of those the longest. A match that is no single word is passed over as a whole. A
// token that the normalizer makes empty is found between any two characters, as in the reference, and so cuts
// the text there.
void AddedTokens::split(const Finder& finder, std::string_view text, std::vector<Section>& sections,
                        TextWork& work) const {
  sections.clear();
  size_t begin = 0;        // of the text that is not in a section yet
  size_t last = SIZE_MAX;  // the end of the last match
  for (size_t at = 0; !finder.is_empty && at <= text.size() && !work.stop();) {
    if (at < text.size() && !finder.begins[static_cast<unsigned char>(text[at])]) {
      ++at;
      continue;
    }
    uint32_t node = Trie::kRoot, best = finder.trie.value(node);
    size_t end = at;
    for (size_t i = at;
         i < text.size() && finder.trie.step(node, static_cast<unsigned char>(text[i])) && !work.stop();) {
      ++i;
      if (finder.trie.value(node) == Trie::kNone) continue;
      best = finder.trie.value(node);
      end = i;
    }
    if (best == Trie::kNone || (end == at && at == last)) {
      at += at < text.size() ? length_of(text[at]) : 1;
      continue;
    }
    const Token& token = tokens_[best];
    const Section section = widened(token, {at, end, token.id}, begin, text, work);
    at = last = end;
    if (section.id == Trie::kNone) continue;
    if (begin < section.begin) sections.push_back({begin, section.begin, Trie::kNone});
    if (section.begin < section.end) sections.push_back(section);  // and not all taken in by the last one
    begin = section.end;
  }
  if (begin < text.size()) sections.push_back({begin, text.size(), Trie::kNone});
}

// Returns a match with the white space that it takes in, at most from `least` on; or one without an id if it
// is no single word.
Section AddedTokens::widened(const Token& token, Section match, size_t least, std::string_view text,
                             TextWork& work) const {
  const auto is = [&](size_t at, uint16_t flags) { return has(next_code(text, at), flags); };
  if (token.single_word && ((match.begin > 0 && is(previous(text, match.begin), kWord)) ||
                            (match.end < text.size() && is(match.end, kWord))))
    return {match.begin, match.end, Trie::kNone};
  if (token.strips_left) {
    while (match.begin > 0 && is(previous(text, match.begin), kWhite) && !work.stop())
      match.begin = previous(text, match.begin);
    match.begin = std::max(match.begin, least);
  }
  while (token.strips_right && match.end < text.size() && is(match.end, kWhite) && !work.stop())
    match.end += length_of(text[match.end]);
  return match;
}

}  // namespace glove::tokenizers
