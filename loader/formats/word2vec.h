// What the two word2vec formats share: the header line, and how to tell the formats apart.
#pragma once

#include <optional>

#include "loader/formats/text.h"
#include "loader/input.h"
#include "base/status.h"

namespace glove {

// The first line as "ROWS DIMS", if it is one.
std::optional<TextHeader> word2vec_header(const Input& input);

// The same within the limits of a model, or why not.
Result<TextHeader> checked_word2vec_header(const Input& input);

// Whether what follows the header is binary: its first row is no text of numbers, and there are control
// characters. REQUIRES: there is a header.
bool word2vec_body_is_binary(const Input& input);

}  // namespace glove
