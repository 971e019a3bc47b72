// Shared by the formats that store a matrix of numbers and a separate list of words.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "loader/byte_stream.h"
#include "loader/row_reader.h"
#include "loader/word_list.h"

namespace glove {

enum class ElementType { kInt8, kFloat16, kBFloat16, kFloat32, kFloat64 };  // little-endian

// Returns the type that a safetensors file calls `dtype`, or nullopt if it is none of them.
std::optional<ElementType> element_type(std::string_view dtype);

// Returns the bytes per element in a file.
int64_t element_bytes(ElementType type);

// Converts `count` elements to float32, rounded to nearest. `from` need not be aligned.
void convert_elements(ElementType type, const char* from, int64_t count, float* to);

// The layout of a matrix in a file.
struct MatrixLayout {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t leading_columns = 0;  // the number of first columns that are not components and are omitted
  ElementType type = ElementType::kFloat32;
  std::vector<float> scales{};  // by which rows are multiplied that are stored one by one; empty: none
};

// Reads a matrix stored row by row. `stream` must be positioned at the first row and must end after the last
// one; otherwise an error names the row. `tokenizer` and `subwords` are those of the RowReader.
std::unique_ptr<RowReader> read_row_major(std::string source, const MatrixLayout& layout,
                                          std::unique_ptr<ByteStream> stream,
                                          std::unique_ptr<WordSource> words,
                                          StoredTokenizerPtr tokenizer = nullptr,
                                          SubwordsPtr subwords = nullptr);

// Reads a matrix stored column by column from `offset` of `file`.
std::unique_ptr<RowReader> read_column_major(std::string source, const MatrixLayout& layout,
                                             std::shared_ptr<const File> file, int64_t offset,
                                             std::unique_ptr<WordSource> words);

// Checks that rows x columns > 0 and within the limits of a model. `source` begins the message.
Status check_matrix(const std::string& source, const MatrixLayout& layout);

// Skips the first `count` bytes of a stream, or all if it has fewer.
Status skip_bytes(ByteStream& stream, int64_t count);

}  // namespace glove
