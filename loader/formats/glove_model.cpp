// Reads our own model files and shards (docs/format.md) row by row, to make another model file from them.
// open_model() maps uncompressed ones instead.
#include <utility>
#include <vector>

#include "base/concat.h"
#include "loader/formats/formats.h"
#include "loader/formats/matrix.h"
#include "loader/model_file.h"
#include "loader/model_format.h"
#include "loader/open.h"
#include "loader/safetensors.h"
#include "loader/shard.h"
#include "model/mapped_file.h"

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
  KeyType key_type() const override { return model_->vocabulary().key_type(); }

 private:
  ModelPtr model_;
  int64_t next_ = 0;
};

// The vectors of the files of a model, one after another, as they are there.
class ModelVectors final : public ByteStream {
 public:
  Status add(const std::string& source, const std::shared_ptr<const MappedFile>& map) {
    GLOVE_ASSIGN_OR_RETURN(const SafetensorsHeader header, read_safetensors_header(source, map->file()));
    const Tensor* const vectors = header.find(kVectors);
    if (vectors == nullptr) return corrupt_file(source, "the file was changed while it was read");
    files_.push_back(plain_stream(std::shared_ptr<const File>(map, &map->file()), vectors->offset,
                                  vectors->offset + vectors->bytes));
    file_ends_.push_back((file_ends_.empty() ? 0 : file_ends_.back()) + std::ssize(map->bytes()));
    return {};
  }

  Result<size_t> read(std::span<char> into) override {
    size_t done = 0;
    while (done < into.size() && current_ < files_.size()) {
      GLOVE_ASSIGN_OR_RETURN(const size_t got, files_[current_]->read(into.subspan(done)));
      done += got;
      if (done < into.size()) ++current_;
    }
    return done;
  }
  // Counts the files before the current one as a whole.
  int64_t file_position() const override {
    if (current_ == files_.size()) return file_ends_.back();
    return (current_ > 0 ? file_ends_[current_ - 1] : 0) + files_[current_]->file_position();
  }

 private:
  std::vector<std::unique_ptr<ByteStream>> files_;
  std::vector<int64_t> file_ends_;
  size_t current_ = 0;
};

// REQUIRES: each part is of the file of the same number.
Result<std::unique_ptr<RowReader>> rows_of(const std::string& source, const ModelPtr& model) {
  MatrixLayout layout;
  layout.rows = model->words();
  layout.columns = model->dims();
  layout.metric = model->metric();
  const Model::Source& also = model->source();
  layout.type = also.type;
  auto vectors = std::make_unique<ModelVectors>();
  for (const auto& map : also.maps) GLOVE_RETURN_IF_ERROR(vectors->add(source, map));
  return read_row_major(source, layout, std::move(vectors), std::make_unique<ModelWords>(model),
                        also.tokenizer, also.subwords);
}

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
  return rows_of(input.path(), model);
}

Result<bool> sniff_glove_shards(const Input& input, const ReadOptions&) {
  return looks_like_shard_index(input.sample());
}

Result<std::unique_ptr<RowReader>> open_glove_shards(const Input& input, const ReadOptions&) {
  GLOVE_ASSIGN_OR_RETURN(ModelPtr model, open_shards(input, {}));
  return rows_of(input.path(), model);
}

}  // namespace glove
