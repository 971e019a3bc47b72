#include "sql/vtab/input_numbers.h"

#include <algorithm>

namespace glove::sql::vtab {

void InputNumbers::close() noexcept {
  if (--cursors_ > 0) return;
  branches_.clear();
  idle_.clear();
  entries_.clear();
  next_ = 0;
}

void InputNumbers::begin_scan(const void* branch) {
  if (const auto found = branches_.find(branch); found != branches_.end()) release(found->second);
}

int64_t InputNumbers::number_of(std::string_view key, const void* branch) {
  if (branches_.size() >= kMostBranches && !branches_.contains(branch)) release_oldest_branch();
  Branch& asking = branches_[branch];
  if (asking.held.empty()) asking.begun = ++scans_;
  asking.held.push_back(nullptr);  // what allocates comes first
  const auto [node, added] = entries_.try_emplace(std::string(key));
  Entry& entry = node->second;
  if (added) {
    if (next_ == kMostNumbers) {
      entries_.erase(node);
      return -1;
    }
    entry.number = next_++;
  } else if (entry.holders == 0) {
    idle_.erase(entry.idle);
  }
  ++entry.holders;
  asking.held.back() = &*node;
  return entry.number;
}

void InputNumbers::release(Branch& branch) {
  for (; !branch.held.empty(); branch.held.pop_back()) {
    const Node node = branch.held.back();
    if (node == nullptr) continue;
    if (node->second.holders == 1) node->second.idle = idle_.insert(idle_.end(), node->first);
    --node->second.holders;
  }
  while (idle_.size() > kMostIdle) {
    entries_.erase(entries_.find(std::string(idle_.front())));
    idle_.pop_front();
  }
}

void InputNumbers::release_oldest_branch() {
  const auto oldest = std::min_element(branches_.begin(), branches_.end(), [](const auto& a, const auto& b) {
    return a.second.begun < b.second.begun;
  });
  release(oldest->second);
  branches_.erase(oldest);
}

}  // namespace glove::sql::vtab
