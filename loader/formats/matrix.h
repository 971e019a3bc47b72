// Shared by the formats that store a matrix of numbers and a separate list of words.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "loader/byte_stream.h"
#include "loader/formats/elements.h"
#include "loader/row_reader.h"
#include "loader/word_list.h"

namespace glove {

// The layout of a matrix in a file.
struct MatrixLayout {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t leading_columns = 0;  // the number of first columns that are not components and are omitted
  ElementType type = ElementType::kFloat32;
  bool by_columns = false;      // the rows come from a column_stream(), without leading columns or scales
  std::vector<float> scales{};  // by which rows are multiplied; empty: none
  StoredTokenizerPtr tokenizer = nullptr;  // RowReader::tokenizer()
};

// Reads a matrix. `stream` must be positioned at the first row and must end after the last one; otherwise an
// error names the row.
std::unique_ptr<RowReader> read_matrix(std::string source, MatrixLayout layout,
                                       std::unique_ptr<ByteStream> stream, std::unique_ptr<WordSource> words);

// Returns the rows of a matrix that is stored column by column from `offset` of `file`. Each read() must be
// of whole rows, which it returns column by column, or of a byte after the last one.
std::unique_ptr<ByteStream> column_stream(const MatrixLayout& layout, std::shared_ptr<const File> file,
                                          int64_t offset);

// Checks that rows x columns > 0 and within the limits of a model. `source` begins the message.
Status check_matrix(const std::string& source, const MatrixLayout& layout);

// Skips the first `count` bytes of a stream, or all if it has fewer.
Status skip_bytes(ByteStream& stream, int64_t count);

}  // namespace glove
