// The functions in the table of format.cpp. Each pair is defined in the file of its name, without -text and
// -binary (safetensors in safetensors_matrix.cpp, glove-shards in glove_model.cpp, glove-text in text.cpp).
#pragma once

#include <memory>

#include "loader/format.h"

namespace glove {

// Each pair is one row of the table.
Format::Sniff sniff_glove_model, sniff_glove_shards, sniff_fasttext, sniff_numpy, sniff_safetensors,
    sniff_static_model, sniff_word2vec_binary, sniff_word2vec_text, sniff_text_matrix, sniff_norm_text,
    sniff_glove_text, sniff_norm_binary;
Format::Open open_glove_model, open_glove_shards, open_fasttext, open_numpy, open_safetensors,
    open_static_model, open_word2vec_binary, open_word2vec_text, open_text_matrix, open_norm_text,
    open_glove_text, open_norm_binary;

// Returns a safetensors file for random access, unpacked as far as its header describes it.
Result<std::shared_ptr<const File>> safetensors_file(const Input& input);

}  // namespace glove
