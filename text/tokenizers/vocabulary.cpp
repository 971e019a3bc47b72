#include "text/tokenizers/vocabulary.h"

#include <algorithm>

namespace glove::tokenizers {

// Places the nodes. Free nodes of the last blocks are in a list; older blocks stay as full as they are, so
// that placing a node takes bounded time.
class TrieBuilder {
 public:
  explicit TrieBuilder(std::vector<Trie::Node>& nodes) : nodes_(nodes) {
    add_block();
    take(Trie::kRoot, Trie::kNone - 1);  // no node is its parent
  }

  // Places the children of `node` for these bytes, in rising order.
  void place(uint32_t node, const std::vector<unsigned char>& bytes) {
    const uint32_t base = find_base(bytes);
    nodes_[node].base = base;
    for (const unsigned char byte : bytes) take(base ^ byte, node);
  }

 private:
  static constexpr uint32_t kBlock = 256;
  static constexpr uint32_t kOpenBlocks = 16;

  uint32_t find_base(const std::vector<unsigned char>& bytes) {
    for (uint32_t slot = first_; slot != Trie::kNone; slot = next_[slot]) {
      const uint32_t base = slot ^ bytes[0];
      if (std::all_of(bytes.begin(), bytes.end(), [&](unsigned char byte) { return is_free(base ^ byte); }))
        return base;
    }
    const auto block = static_cast<uint32_t>(nodes_.size());
    add_block();
    return block;
  }

  bool is_free(uint32_t slot) const { return nodes_[slot].parent == Trie::kNone; }

  void add_block() {
    const auto begin = static_cast<uint32_t>(nodes_.size());
    nodes_.resize(begin + kBlock);
    next_.resize(begin + kBlock);
    previous_.resize(begin + kBlock);
    for (uint32_t slot = begin; slot < begin + kBlock; ++slot) {
      previous_[slot] = last_;
      next_[slot] = Trie::kNone;
      (last_ == Trie::kNone ? first_ : next_[last_]) = slot;
      last_ = slot;
    }
    if (begin < kOpenBlocks * kBlock) return;
    const uint32_t oldest = begin - kOpenBlocks * kBlock;
    for (uint32_t slot = oldest; slot < oldest + kBlock; ++slot) {
      if (is_free(slot)) unlink(slot);
    }
  }

  void take(uint32_t slot, uint32_t parent) {
    unlink(slot);
    nodes_[slot].parent = parent;
  }

  void unlink(uint32_t slot) {
    const uint32_t before = previous_[slot], after = next_[slot];
    (before == Trie::kNone ? first_ : next_[before]) = after;
    (after == Trie::kNone ? last_ : previous_[after]) = before;
  }

  std::vector<Trie::Node>& nodes_;
  std::vector<uint32_t> next_, previous_;  // the list of free nodes
  uint32_t first_ = Trie::kNone, last_ = Trie::kNone;
};

Trie::Trie() {
  const TrieBuilder no_keys(nodes_);
}

Trie::Trie(std::vector<Entry> entries, InterruptPoll& poll) {
  sort_polled(entries, poll, [](const Entry& a, const Entry& b) { return a.first < b.first; });
  struct Pending {
    size_t begin, end, depth;  // the entries below a node
    uint32_t node;
  };
  TrieBuilder builder(nodes_);
  std::vector<Pending> pending = {{0, entries.size(), 0, kRoot}};
  std::vector<unsigned char> bytes;
  std::vector<size_t> begins;
  while (!pending.empty() && !poll.stop()) {
    auto [begin, end, depth, node] = pending.back();
    pending.pop_back();
    if (begin < end && entries[begin].first.size() == depth) nodes_[node].value = entries[begin].second;
    while (begin < end && entries[begin].first.size() == depth) ++begin;
    bytes.clear();
    begins.clear();
    for (size_t i = begin; i < end; ++i) {
      const auto byte = static_cast<unsigned char>(entries[i].first[depth]);
      if (!bytes.empty() && bytes.back() == byte) continue;
      bytes.push_back(byte);
      begins.push_back(i);
    }
    if (bytes.empty()) continue;
    builder.place(node, bytes);
    begins.push_back(end);
    for (size_t i = bytes.size(); i-- > 0;)
      pending.push_back({begins[i], begins[i + 1], depth + 1, nodes_[node].base ^ bytes[i]});
  }
}

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
