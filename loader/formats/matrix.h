// What the formats share that keep a matrix of numbers and a list of words apart.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/file.h"
#include "base/status.h"
#include "loader/byte_stream.h"
#include "loader/row_reader.h"
#include "loader/word_list.h"

namespace glove {

enum class ElementType { kFloat16, kBFloat16, kFloat32, kFloat64 };  // little-endian

// Bytes that an element takes in a file.
int64_t element_bytes(ElementType type);

// `count` elements -> float32, rounded to nearest. `from` needs no alignment.
void convert_elements(ElementType type, const char* from, int64_t count, float* to);

// What a matrix in a file looks like.
struct MatrixLayout {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t leading_columns = 0;  // of the columns the first so many are no components and are left out
  ElementType type = ElementType::kFloat32;
};

// Rows one after another. `stream` stands at the first; it must end after the last, which an error otherwise
// tells, with the row.
std::unique_ptr<RowReader> read_row_major(std::string source, const MatrixLayout& layout,
                                          std::unique_ptr<ByteStream> stream,
                                          std::unique_ptr<WordSource> words);

// Columns one after another, from `offset` of `file`.
std::unique_ptr<RowReader> read_column_major(std::string source, const MatrixLayout& layout,
                                             std::shared_ptr<const File> file, int64_t offset,
                                             std::unique_ptr<WordSource> words);

// rows x columns > 0 within the limits of a model, or why not; `source` begins the message.
Status check_matrix(const std::string& source, const MatrixLayout& layout);

// A stream without its first `count` bytes. An error if it has fewer.
Status skip_bytes(ByteStream& stream, int64_t count);

}  // namespace glove
