// What becomes of the matches of a pre-tokenizer.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "text/tokenizers/json.h"
#include "text/tokenizers/pre_tokenizers.h"

namespace glove::tokenizers {

// Of "the-final--countdown" with '-' as the pattern:
enum class SplitBehavior {
  kRemoved,             // the final countdown
  kIsolated,            // the - final - - countdown
  kMergedWithPrevious,  // the- final- - countdown
  kMergedWithNext,      // the -final - -countdown
  kContiguous,          // the - final -- countdown
};

// Reads the member "behavior".
[[gnu::cold]] Result<SplitBehavior> read_behavior(const JsonField& field);

// Receives the matches and what is between them, in order and covering a piece, and passes parts on.
template <class Sink>
class Splitter {
 public:
  Splitter(SplitBehavior behavior, const Sink& sink) : behavior_(behavior), sink_(sink) {}

  void add(size_t begin, size_t end, bool is_match) {
    if (begin == end) return;
    switch (behavior_) {
      case SplitBehavior::kRemoved:
        if (!is_match) sink_(begin, end);
        return;
      case SplitBehavior::kIsolated:
        sink_(begin, end);
        return;
      case SplitBehavior::kMergedWithPrevious:
        return add_or_extend(begin, end, is_match && !was_match_, is_match);
      case SplitBehavior::kMergedWithNext:
        return add_or_extend(begin, end, was_match_ && !is_match, is_match);
      case SplitBehavior::kContiguous:
        return add_or_extend(begin, end, is_match == was_match_, is_match);
    }
  }

  // After the last add().
  void finish() {
    if (held_.begin < held_.end) sink_(held_.begin, held_.end);
    held_ = {0, 0};
  }

 private:
  void add_or_extend(size_t begin, size_t end, bool extends, bool is_match) {
    was_match_ = is_match;
    if (extends && held_.begin < held_.end) {
      held_.end = end;
      return;
    }
    finish();
    held_ = {begin, end};
  }

  SplitBehavior behavior_;
  const Sink& sink_;
  Span held_ = {0, 0};  // the part that may still grow, if not empty
  bool was_match_ = false;
};

}  // namespace glove::tokenizers
