#include "loader/formats/matrix.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "model/limits.h"

namespace glove {
namespace {

constexpr int64_t kBlockBytes = int64_t{1} << 20;

// Shared by both orders: reading words and decoding.
class MatrixReader : public RowReader {
 public:
  MatrixReader(std::string source, const MatrixLayout& layout, std::unique_ptr<WordSource> words)
      : source_(std::move(source)), layout_(layout), words_(std::move(words)) {
    row_bytes_ = layout.columns * element_bytes(layout.type);
    rows_per_block_ = std::clamp<int64_t>(kBlockBytes / row_bytes_, 1, layout.rows);
  }

  int64_t dims() const override { return layout_.columns - layout_.leading_columns; }
  int64_t promised_rows() const override { return layout_.rows; }
  int64_t least_row_bytes() const override { return row_bytes_; }
  RowMetric metric() const override { return layout_.metric; }
  KeyType key_type() const override { return words_->key_type(); }
  std::string warning() const override { return words_->note(); }

  Result<bool> fetch(RawBlock& raw) override {
    raw.first_row = rows_done_ + 1;
    raw.rows = std::min(rows_per_block_, layout_.rows - rows_done_);
    raw.words.clear();
    if (raw.rows == 0) return finish(raw);
    raw.bytes.resize(static_cast<size_t>(raw.rows * row_bytes_));
    GLOVE_RETURN_IF_ERROR(fetch_numbers(raw));
    GLOVE_ASSIGN_OR_RETURN(const int64_t words, words_->next(raw.rows, raw.words));
    if (words < raw.rows)
      return corrupt_file(source_, "the matrix has ", counted(layout_.rows, "rows"), ", but '",
                          words_->name(), "' has ", counted(rows_done_ + words, "words"));
    rows_done_ += raw.rows;
    return true;
  }

  Status decode(const RawBlock& raw, RowBlock& rows) const override {
    rows.place = "row";
    rows.first_row = raw.first_row;
    rows.words.resize(static_cast<size_t>(raw.rows));
    for (size_t i = 0; i < rows.words.size(); ++i) rows.words[i] = raw.words.word(i);
    rows.vectors.resize(static_cast<size_t>(raw.rows * dims()));
    decode_numbers(raw, rows.vectors.data());
    if (tokenizer() != nullptr) clear_empty_tokens(rows);
    return {};
  }

 protected:
  // No text has an empty token, and a zero row is never a neighbor.
  void clear_empty_tokens(RowBlock& rows) const {
    for (size_t i = 0; i < rows.words.size(); ++i)
      if (rows.words[i].empty())
        std::fill_n(rows.vectors.data() + i * static_cast<size_t>(dims()), dims(), 0.0f);
  }
  virtual Status fetch_numbers(RawBlock& raw) = 0;
  virtual void decode_numbers(const RawBlock& raw, float* vectors) const = 0;
  // Called after the last row. Returns false or an error.
  virtual Result<bool> finish(RawBlock& raw) {
    GLOVE_ASSIGN_OR_RETURN(const int64_t more, words_->next(1, raw.words));
    if (more > 0)
      return corrupt_file(source_, "the matrix has ", counted(layout_.rows, "rows"), ", but '",
                          words_->name(), "' has more words");
    return false;
  }
  Error ends_early(int64_t bytes_got) const {
    return corrupt_file(source_, "row ", rows_done_ + 1 + bytes_got / row_bytes_,
                        ": the file ends early, before ", counted(layout_.rows, "rows"), " of ", row_bytes_,
                        " bytes");
  }

  std::string source_;
  MatrixLayout layout_;
  std::unique_ptr<WordSource> words_;
  int64_t row_bytes_;
  int64_t rows_per_block_;
  int64_t rows_done_ = 0;
};

class RowMajorReader final : public MatrixReader {
 public:
  RowMajorReader(std::string source, const MatrixLayout& layout, std::unique_ptr<ByteStream> stream,
                 std::unique_ptr<WordSource> words, StoredTokenizerPtr tokenizer, SubwordsPtr subwords)
      : MatrixReader(std::move(source), layout, std::move(words)),
        stream_(std::move(stream)),
        tokenizer_(std::move(tokenizer)),
        subwords_(std::move(subwords)) {}

  StoredTokenizerPtr tokenizer() const override { return tokenizer_; }
  SubwordsPtr subwords() const override { return subwords_; }
  int64_t file_position() const override { return stream_->file_position(); }

 protected:
  Status fetch_numbers(RawBlock& raw) override {
    GLOVE_ASSIGN_OR_RETURN(const size_t got, stream_->read(raw.bytes));
    if (got < raw.bytes.size()) return ends_early(static_cast<int64_t>(got));
    return {};
  }
  void decode_numbers(const RawBlock& raw, float* vectors) const override {
    const char* const from = raw.bytes.data() + layout_.leading_columns * element_bytes(layout_.type);
    for (int64_t row = 0; row < raw.rows; ++row, vectors += dims()) {
      convert_elements(layout_.type, from + row * row_bytes_, dims(), vectors);
      if (layout_.scales.empty()) continue;
      const float scale = layout_.scales[static_cast<size_t>(raw.first_row - 1 + row)];
      for (int64_t j = 0; j < dims(); ++j) vectors[j] *= scale;
    }
  }
  Result<bool> finish(RawBlock& raw) override {
    char extra = 0;
    GLOVE_ASSIGN_OR_RETURN(const size_t got, stream_->read(std::span(&extra, 1)));
    if (got > 0)
      return corrupt_file(source_, "there are bytes after the last of ", counted(layout_.rows, "rows"));
    return MatrixReader::finish(raw);
  }

 private:
  std::unique_ptr<ByteStream> stream_;
  StoredTokenizerPtr tokenizer_;
  SubwordsPtr subwords_;
};

// A block is stored as [columns, rows of the block].
class ColumnMajorReader final : public MatrixReader {
 public:
  ColumnMajorReader(std::string source, const MatrixLayout& layout, std::shared_ptr<const File> file,
                    int64_t offset, std::unique_ptr<WordSource> words)
      : MatrixReader(std::move(source), layout, std::move(words)), file_(std::move(file)), offset_(offset) {}

  int64_t file_position() const override { return rows_done_ * row_bytes_; }

 protected:
  Status fetch_numbers(RawBlock& raw) override {
    const int64_t size = element_bytes(layout_.type);
    const auto piece = static_cast<size_t>(raw.rows * size);
    for (int64_t column = 0; column < layout_.columns; ++column) {
      const std::span<char> into(raw.bytes.data() + static_cast<size_t>(column) * piece, piece);
      const int64_t place = offset_ + (column * layout_.rows + rows_done_) * size;
      GLOVE_ASSIGN_OR_RETURN(const size_t got, file_->read_at(place, into));
      if (got < piece) return corrupt_file(source_, "column ", column + 1, ": the file ends early");
    }
    return {};
  }
  void decode_numbers(const RawBlock& raw, float* vectors) const override {
    const int64_t size = element_bytes(layout_.type);
    std::vector<float> values(static_cast<size_t>(raw.rows));
    for (int64_t column = layout_.leading_columns; column < layout_.columns; ++column) {
      convert_elements(layout_.type, raw.bytes.data() + column * raw.rows * size, raw.rows, values.data());
      for (int64_t row = 0; row < raw.rows; ++row)
        vectors[row * dims() + column - layout_.leading_columns] = values[static_cast<size_t>(row)];
    }
  }

 private:
  std::shared_ptr<const File> file_;
  int64_t offset_;
};

}  // namespace

std::unique_ptr<RowReader> read_row_major(std::string source, const MatrixLayout& layout,
                                          std::unique_ptr<ByteStream> stream,
                                          std::unique_ptr<WordSource> words, StoredTokenizerPtr tokenizer,
                                          SubwordsPtr subwords) {
  return std::make_unique<RowMajorReader>(std::move(source), layout, std::move(stream), std::move(words),
                                          std::move(tokenizer), std::move(subwords));
}

std::unique_ptr<RowReader> read_column_major(std::string source, const MatrixLayout& layout,
                                             std::shared_ptr<const File> file, int64_t offset,
                                             std::unique_ptr<WordSource> words) {
  return std::make_unique<ColumnMajorReader>(std::move(source), layout, std::move(file), offset,
                                             std::move(words));
}

Status check_matrix(const std::string& source, const MatrixLayout& layout) {
  const int64_t dims = layout.columns - layout.leading_columns;
  if (layout.rows >= 1 && layout.rows <= kMaxRows && dims >= 1 && dims <= kMaxDims) return {};
  return corrupt_file(source, "there are ", layout.rows, " rows of ", dims, " components; a model has 1 to ",
                      kMaxRows, " rows of 1 to ", kMaxDims);
}

Status skip_bytes(ByteStream& stream, int64_t count) {
  std::vector<char> buffer(static_cast<size_t>(std::min<int64_t>(count, int64_t{1} << 16)));
  while (count > 0) {
    const auto piece = static_cast<size_t>(std::min<int64_t>(count, static_cast<int64_t>(buffer.size())));
    GLOVE_ASSIGN_OR_RETURN(const size_t got, stream.read(std::span(buffer).first(piece)));
    if (got < piece) return {};  // the next read finds the same end
    count -= static_cast<int64_t>(piece);
  }
  return {};
}

}  // namespace glove
