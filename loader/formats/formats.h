// The functions in the table of format.cpp. Each pair is defined in the file of its name, without -text and
// -binary (safetensors in safetensors_matrix.cpp, glove-shards in glove_model.cpp, glove-text in text.cpp).
#pragma once

#include <memory>

#include "loader/format.h"

namespace glove {

// Each pair is one row of the table: Format::sniff and Format::open.
Result<bool> sniff_glove_model(const Input& input, const ReadOptions& options);
Result<std::unique_ptr<RowReader>> open_glove_model(const Input& input, const ReadOptions& options);
Result<bool> sniff_glove_shards(const Input& input, const ReadOptions& options);
Result<std::unique_ptr<RowReader>> open_glove_shards(const Input& input, const ReadOptions& options);
Result<bool> sniff_fasttext(const Input& input, const ReadOptions& options);
Result<std::unique_ptr<RowReader>> open_fasttext(const Input& input, const ReadOptions& options);
Result<bool> sniff_numpy(const Input& input, const ReadOptions& options);
Result<std::unique_ptr<RowReader>> open_numpy(const Input& input, const ReadOptions& options);
Result<bool> sniff_safetensors(const Input& input, const ReadOptions& options);
Result<std::unique_ptr<RowReader>> open_safetensors(const Input& input, const ReadOptions& options);
Result<bool> sniff_static_model(const Input& input, const ReadOptions& options);
Result<std::unique_ptr<RowReader>> open_static_model(const Input& input, const ReadOptions& options);
Result<bool> sniff_word2vec_binary(const Input& input, const ReadOptions& options);
Result<std::unique_ptr<RowReader>> open_word2vec_binary(const Input& input, const ReadOptions& options);
Result<bool> sniff_word2vec_text(const Input& input, const ReadOptions& options);
Result<std::unique_ptr<RowReader>> open_word2vec_text(const Input& input, const ReadOptions& options);
Result<bool> sniff_text_matrix(const Input& input, const ReadOptions& options);
Result<std::unique_ptr<RowReader>> open_text_matrix(const Input& input, const ReadOptions& options);
Result<bool> sniff_norm_text(const Input& input, const ReadOptions& options);
Result<std::unique_ptr<RowReader>> open_norm_text(const Input& input, const ReadOptions& options);
Result<bool> sniff_glove_text(const Input& input, const ReadOptions& options);
Result<std::unique_ptr<RowReader>> open_glove_text(const Input& input, const ReadOptions& options);
Result<bool> sniff_norm_binary(const Input& input, const ReadOptions& options);
Result<std::unique_ptr<RowReader>> open_norm_binary(const Input& input, const ReadOptions& options);

// Returns a safetensors file for random access, unpacked as far as its header describes it.
Result<std::shared_ptr<const File>> safetensors_file(const Input& input);

}  // namespace glove
