#include "text/tokenizers/vocabulary.h"

#include <algorithm>

namespace glove::tokenizers {

TokenVocabulary::TokenVocabulary(std::vector<std::pair<std::string, uint32_t>> tokens, InterruptPoll& poll)
    : tokens_(std::move(tokens)) {
  std::vector<Trie::Entry> entries;
  entries.reserve(tokens_.size());
  for (const auto& [token, id] : tokens_) entries.emplace_back(token, id);
  trie_ = Trie(std::move(entries), poll);
  sort_polled(tokens_, poll, [](const auto& left, const auto& right) { return left.second < right.second; });
}

std::string_view TokenVocabulary::token(uint32_t id) const {
  if (id < tokens_.size() && tokens_[id].second == id && (id == 0 || tokens_[id - 1].second != id))
    return tokens_[id].first;
  const auto found =
      std::lower_bound(tokens_.begin(), tokens_.end(), id,
                       [](const auto& entry, uint32_t wanted) { return entry.second < wanted; });
  return found != tokens_.end() && found->second == id ? std::string_view(found->first) : std::string_view();
}

}  // namespace glove::tokenizers
