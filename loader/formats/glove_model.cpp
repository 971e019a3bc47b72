// Our own model file (docs/format.md) read row by row, to make another of it. open_model() maps a plain one
// instead.
#include <utility>

#include "loader/formats/formats.h"
#include "loader/formats/matrix.h"
#include "loader/model_file.h"
#include "loader/safetensors.h"

namespace glove {
namespace {

class ModelWords final : public WordSource {
 public:
  explicit ModelWords(ModelPtr model) : model_(std::move(model)) {}

  Result<int64_t> next(int64_t count, WordBlock& words) override {
    int64_t given = 0;
    for (; given < count && next_ < model_->words(); ++given, ++next_) {
      const std::string_view word = model_->vocabulary().word(next_);
      words.bytes.insert(words.bytes.end(), word.begin(), word.end());
      words.ends.push_back(words.bytes.size());
    }
    GLOVE_RETURN_IF_ERROR(model_->health());
    return given;
  }
  const std::string& name() const override { return model_->path(); }

 private:
  ModelPtr model_;
  int64_t next_ = 0;
};

}  // namespace

Result<bool> sniff_glove_model(const Input& input, const ReadOptions&) {
  if (!looks_like_safetensors({input.sample().data(), input.sample().size()})) return false;
  const auto header = read_safetensors_header(input.path(), *input.stream(), input.content_bytes());
  if (header.ok()) return is_model_file(header.value());
  if (header.error().code == ErrorCode::kCorrupt) return false;
  return header.error();
}

Result<std::unique_ptr<RowReader>> open_glove_model(const Input& input, const ReadOptions&) {
  GLOVE_ASSIGN_OR_RETURN(const auto file, safetensors_file(input));
  GLOVE_ASSIGN_OR_RETURN(const ModelPtr model, open_model_file(input.path(), file, 0));
  MatrixLayout layout;
  layout.rows = model->words();
  layout.columns = model->dims();
  const auto vectors = std::as_bytes(model->parts().front().vectors);
  const int64_t begin = model->place_in_file(vectors)->offset;
  return read_row_major(input.path(), layout,
                        plain_stream(file, begin, begin + static_cast<int64_t>(vectors.size())),
                        std::make_unique<ModelWords>(model));
}

}  // namespace glove
