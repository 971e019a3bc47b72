// The sorted order of words.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"

namespace glove {

// The ids of words as Vocabulary sees them (word_bytes, word_offsets[n + 1]), in the memcmp order of their
// words, equal words by id. Sorts on up to `threads` threads; 0 = the cores this process may use. The offsets
// may be damaged: an impossible word counts as empty.
Result<std::vector<int32_t>> sorted_word_ids(std::span<const char> word_bytes,
                                             std::span<const int64_t> word_offsets, int threads,
                                             const InterruptCheck& interrupted = {});

}  // namespace glove
