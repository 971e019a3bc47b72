// Shared by the two word2vec formats: the header line, and how to distinguish the formats.
#pragma once

#include <optional>

#include "base/status.h"
#include "loader/formats/text.h"
#include "loader/input.h"

namespace glove {

// Returns the first line as "ROWS DIMS", if it has this form.
std::optional<TextHeader> word2vec_header(const Input& input);

// Returns the same if it is within the limits of a model, and otherwise the reason.
Result<TextHeader> checked_word2vec_header(const Input& input);

// Returns true if the content after the header is binary: the first row is not text with numbers, and there
// are control characters. REQUIRES: there is a header.
bool word2vec_body_is_binary(const Input& input);

}  // namespace glove
