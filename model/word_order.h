// The sorted order of words.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"

namespace glove {

// Returns the ids of the words that a Vocabulary would have (word_bytes, word_offsets[n + 1]), in the memcmp
// order of their words, with equal words ordered by id. Sorts on up to `threads` threads (0 = the cores that
// this process may use). The offsets may be damaged: an impossible word counts as empty.
Result<std::vector<int32_t>> sorted_word_ids(std::span<const char> word_bytes,
                                             std::span<const int64_t> word_offsets, int threads,
                                             const InterruptCheck& interrupted = {});

}  // namespace glove
