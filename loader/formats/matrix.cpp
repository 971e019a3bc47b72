#include "loader/formats/matrix.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "model/limits.h"

namespace glove {
namespace {

constexpr int64_t kBlockBytes = int64_t{1} << 20;

class MatrixReader final : public RowReader {
 public:
  MatrixReader(std::string source, MatrixLayout layout, std::unique_ptr<ByteStream> stream,
               std::unique_ptr<WordSource> words)
      : source_(std::move(source)),
        layout_(std::move(layout)),
        stream_(std::move(stream)),
        words_(std::move(words)),
        row_bytes_(layout_.columns * element_bytes(layout_.type)),
        rows_per_block_(std::clamp<int64_t>(kBlockBytes / row_bytes_, 1, layout_.rows)) {}

  int64_t dims() const override { return layout_.columns - layout_.leading_columns; }
  int64_t promised_rows() const override { return layout_.rows; }
  int64_t least_row_bytes() const override { return row_bytes_; }
  StoredTokenizerPtr tokenizer() const override { return layout_.tokenizer; }
  std::string warning() const override { return words_->note(); }
  int64_t file_position() const override { return stream_->file_position(); }

  Result<bool> fetch(RawBlock& raw) override {
    raw.first_row = rows_done_ + 1;
    raw.rows = std::min(rows_per_block_, layout_.rows - rows_done_);
    raw.words.clear();
    if (raw.rows == 0) return check_end(raw);
    raw.bytes.resize(static_cast<size_t>(raw.rows * row_bytes_));
    GLOVE_ASSIGN_OR_RETURN(const size_t got, stream_->read(raw.bytes));
    if (got < raw.bytes.size())
      return corrupt_file(source_, "row ", raw.first_row + static_cast<int64_t>(got) / row_bytes_,
                          ": the file ends early, before ", counted(layout_.rows, "rows"), " of ", row_bytes_,
                          " bytes");
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
    if (layout_.by_columns)
      decode_columns(raw, rows.vectors.data());
    else
      decode_rows(raw, rows.vectors.data());
    // No text has an empty token, and a zero row is never a neighbor.
    for (size_t i = 0; layout_.tokenizer != nullptr && i < rows.words.size(); ++i)
      if (rows.words[i].empty())
        std::fill_n(rows.vectors.data() + i * static_cast<size_t>(dims()), dims(), 0.0f);
    return {};
  }

 private:
  void decode_rows(const RawBlock& raw, float* vectors) const {
    const char* const from = raw.bytes.data() + layout_.leading_columns * element_bytes(layout_.type);
    for (int64_t row = 0; row < raw.rows; ++row, vectors += dims()) {
      convert_elements(layout_.type, from + row * row_bytes_, dims(), vectors);
      if (layout_.scales.empty()) continue;
      const float scale = layout_.scales[static_cast<size_t>(raw.first_row - 1 + row)];
      for (int64_t j = 0; j < dims(); ++j) vectors[j] *= scale;
    }
  }

  void decode_columns(const RawBlock& raw, float* vectors) const {
    const int64_t bytes = raw.rows * element_bytes(layout_.type);
    std::vector<float> values(static_cast<size_t>(raw.rows));
    for (int64_t column = 0; column < dims(); ++column) {
      convert_elements(layout_.type, raw.bytes.data() + column * bytes, raw.rows, values.data());
      for (int64_t row = 0; row < raw.rows; ++row)
        vectors[row * dims() + column] = values[static_cast<size_t>(row)];
    }
  }

  // Called after the last row. Returns false or an error.
  Result<bool> check_end(RawBlock& raw) {
    char extra = 0;
    GLOVE_ASSIGN_OR_RETURN(const size_t got, stream_->read(std::span(&extra, 1)));
    if (got > 0)
      return corrupt_file(source_, "there are bytes after the last of ", counted(layout_.rows, "rows"));
    GLOVE_ASSIGN_OR_RETURN(const int64_t more, words_->next(1, raw.words));
    if (more > 0)
      return corrupt_file(source_, "the matrix has ", counted(layout_.rows, "rows"), ", but '",
                          words_->name(), "' has more words");
    return false;
  }

  const std::string source_;
  const MatrixLayout layout_;
  const std::unique_ptr<ByteStream> stream_;
  const std::unique_ptr<WordSource> words_;
  const int64_t row_bytes_;
  const int64_t rows_per_block_;
  int64_t rows_done_ = 0;
};

class ColumnStream final : public ByteStream {
 public:
  ColumnStream(const MatrixLayout& layout, std::shared_ptr<const File> file, int64_t offset)
      : rows_(layout.rows),
        columns_(layout.columns),
        bytes_(element_bytes(layout.type)),
        file_(std::move(file)),
        offset_(offset) {}

  Result<size_t> read(std::span<char> into) override {
    const size_t piece = into.size() / static_cast<size_t>(columns_);
    for (int64_t column = 0; column < columns_; ++column) {
      const std::span<char> own = into.subspan(static_cast<size_t>(column) * piece, piece);
      GLOVE_ASSIGN_OR_RETURN(const size_t got,
                             file_->read_at(offset_ + (column * rows_ + rows_done_) * bytes_, own));
      if (got < piece) return size_t{0};
    }
    rows_done_ += static_cast<int64_t>(piece) / bytes_;
    return piece * static_cast<size_t>(columns_);
  }
  int64_t file_position() const override { return offset_ + rows_done_ * columns_ * bytes_; }

 private:
  const int64_t rows_;
  const int64_t columns_;
  const int64_t bytes_;  // of an element
  const std::shared_ptr<const File> file_;
  const int64_t offset_;
  int64_t rows_done_ = 0;
};

}  // namespace

std::unique_ptr<RowReader> read_matrix(std::string source, MatrixLayout layout,
                                       std::unique_ptr<ByteStream> stream,
                                       std::unique_ptr<WordSource> words) {
  return std::make_unique<MatrixReader>(std::move(source), std::move(layout), std::move(stream),
                                        std::move(words));
}

std::unique_ptr<ByteStream> column_stream(const MatrixLayout& layout, std::shared_ptr<const File> file,
                                          int64_t offset) {
  return std::make_unique<ColumnStream>(layout, std::move(file), offset);
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
