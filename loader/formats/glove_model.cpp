// Reads our own model files and shards (docs/format.md) row by row, to make another model file from them.
// open_model() maps uncompressed ones instead.
#include <algorithm>
#include <utility>

#include "loader/formats/formats.h"
#include "loader/model_file.h"
#include "loader/model_format.h"
#include "loader/open.h"
#include "loader/safetensors.h"
#include "loader/shard.h"

namespace glove {
namespace {

class ModelReader final : public RowReader {
 public:
  explicit ModelReader(ModelPtr model) : model_(std::move(model)) {}

  int64_t dims() const override { return model_->dims(); }
  int64_t promised_rows() const override { return model_->words(); }
  int64_t least_row_bytes() const override { return dims() * static_cast<int64_t>(sizeof(float)); }
  StoredTokenizerPtr tokenizer() const override { return model_->source().tokenizer; }
  SubwordsPtr subwords() const override { return model_->source().subwords; }
  RowMetric metric() const override { return model_->metric(); }
  KeyType key_type() const override { return model_->vocabulary().key_type(); }
  // As if all of the files' bytes were rows.
  int64_t file_position() const override {
    return static_cast<int64_t>(static_cast<double>(model_->source().file_bytes) *
                                static_cast<double>(rows_done_) / static_cast<double>(model_->words()));
  }

  Result<bool> fetch(RawBlock& raw) override {
    raw.first_row = rows_done_ + 1;
    raw.rows = std::min(std::max<int64_t>(1, kBlockBytes / least_row_bytes()), model_->words() - rows_done_);
    rows_done_ += raw.rows;
    return raw.rows > 0;
  }

  Status decode(const RawBlock& raw, RowBlock& rows) const override {
    rows.first_row = raw.first_row;
    rows.vectors.clear();
    for (int64_t row = raw.first_row - 1; row < raw.first_row - 1 + raw.rows; ++row) {
      rows.words.push_back(model_->vocabulary().word(row));
      const float* const vector = model_->vector(row);
      rows.vectors.insert(rows.vectors.end(), vector, vector + dims());
      // No text has an empty token, and a zero row is never a neighbor.
      if (rows.words.back().empty()) std::fill(rows.vectors.end() - dims(), rows.vectors.end(), 0.0f);
    }
    Status healthy = model_->health();
    if (!healthy.ok()) rows.words.clear();  // perhaps none of these was in the file
    return healthy;
  }

 private:
  static constexpr int64_t kBlockBytes = int64_t{1} << 20;
  const ModelPtr model_;
  int64_t rows_done_ = 0;
};

}  // namespace

Result<bool> sniff_glove_model(const Input& input, const ReadOptions&) {
  if (!looks_like_safetensors(input.sample())) return false;
  const auto header = read_safetensors_header(input.path(), *input.stream(), input.content_bytes());
  if (header.ok()) return is_model_file(header.value());
  if (header.error().code == ErrorCode::kCorrupt) return false;
  return header.error();
}

Result<std::unique_ptr<RowReader>> open_glove_model(const Input& input, const ReadOptions&) {
  GLOVE_ASSIGN_OR_RETURN(const auto file, safetensors_file(input));
  GLOVE_ASSIGN_OR_RETURN(ModelPtr model, open_model_file(input.path(), file, 0));
  return std::unique_ptr<RowReader>(std::make_unique<ModelReader>(std::move(model)));
}

Result<bool> sniff_glove_shards(const Input& input, const ReadOptions&) {
  return looks_like_shard_index(input.sample());
}

Result<std::unique_ptr<RowReader>> open_glove_shards(const Input& input, const ReadOptions&) {
  GLOVE_ASSIGN_OR_RETURN(ModelPtr model, open_shards(input, {}));
  return std::unique_ptr<RowReader>(std::make_unique<ModelReader>(std::move(model)));
}

}  // namespace glove
