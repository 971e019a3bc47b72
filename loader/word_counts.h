// How often words occur in a corpus, from a file.
#pragma once

#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/status.h"
#include "model/vocabulary.h"

namespace glove {

// Returns the count of each word of the vocabulary; 0 for a word that the file lacks. Each line of the file
// is a word, a space or a tab, and a number of at least 0, as GloVe's vocab_count writes it; words that the
// vocabulary lacks are ignored, and if a word occurs twice its first number is used. The file may be
// compressed with gzip or zip. It is an error if a line is malformed, or if no word of the vocabulary has a
// count.
Result<std::vector<double>> read_word_counts(const std::string& path, const Vocabulary& vocabulary,
                                             const InterruptCheck& interrupted = {});

}  // namespace glove
