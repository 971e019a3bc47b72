#include "loader/model_file.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "base/file.h"
#include "loader/input.h"
#include "loader/model_format.h"
#include "loader/open.h"
#include "loader/safetensors.h"
#include "loader/shard.h"
#include "model/mapped_file.h"
#include "model/shifted_codes.h"
#include "model/word_set.h"

namespace glove {
namespace {

struct OpenShard {
  ShardPlace place;
  ModelPtr model;
};

// The shards and what is computed from all of them, which a joined model keeps alive.
struct JoinedShards {
  std::vector<ModelPtr> shards;
  std::vector<char> word_bytes;
  std::vector<int64_t> word_offsets{0};
  std::vector<int32_t> sorted_ids;
};

Result<ShardIndex> read_index(const Input& input) {
  std::string text(kMaxIndexBytes + 1, '\0');
  GLOVE_ASSIGN_OR_RETURN(const size_t got, input.stream()->read(text));
  if (got > kMaxIndexBytes)
    return corrupt_file(input.path(), "an index of shards has at most ", kMaxIndexBytes,
                        " bytes; this file has more");
  text.resize(got);
  return parse_shard_index(input.path(), text);
}

Result<OpenShard> open_shard(const std::string& index_path, const std::string& name,
                             const OpenOptions& options) {
  const std::string path = index_path.substr(0, file_name_at(index_path)) + name;
  auto opened = File::open_for_reading(path);
  if (!opened.ok())
    return Error{opened.error().code, index_path + ": a shard is missing: " + opened.error().message +
                                          "; all shards must be beside the index"};
  const auto file = std::make_shared<const File>(std::move(opened).value());
  GLOVE_ASSIGN_OR_RETURN(ModelPtr model, open_model_file(path, file, options.threads, options.interrupted));
  GLOVE_ASSIGN_OR_RETURN(const SafetensorsHeader header, read_safetensors_header(path, *file));
  GLOVE_ASSIGN_OR_RETURN(auto place, read_shard_place(path, header));
  if (!place)
    return corrupt_file(path, "this is a whole model and not a shard, but '", index_path,
                        "' names it; open it directly, or convert again");
  return OpenShard{std::move(*place), std::move(model)};
}

// Checks that a shard is the next one of the index.
Status check_shard(const std::string& index_path, const ShardIndex& index, const OpenShard& shard,
                   int64_t expected_row, const Model& first) {
  const auto corrupt = [&](const auto&... what) { return corrupt_file(shard.model->path(), what...); };
  if (shard.place.set == index.set && shard.place.rows_total != index.rows_total)
    return corrupt("this shard belongs to a model of ", shard.place.rows_total, " rows, but '", index_path,
                   "' describes one of ", index.rows_total, "; use the files of one conversion");
  if (shard.place.set != index.set)
    return corrupt("this shard belongs to the set '", escaped(shard.place.set), "', but '", index_path,
                   "' describes the set '", escaped(index.set), "'; use the files of one conversion");
  if (shard.place.first_row != expected_row)
    return corrupt("this shard begins at row ", shard.place.first_row, ", but '", index_path, "' needs row ",
                   expected_row, " there; the shards are in another order, or one is not named");
  const StoredTokenizer* const tokenizer = shard.model->source().tokenizer.get();
  if (shard.model->dims() != first.dims() ||
      shard.model->vocabulary().key_type() != first.vocabulary().key_type() ||
      index.kind != format_kind(tokenizer != nullptr, shard.model->is_shifted()) ||
      first.source().type != shard.model->source().type ||
      (first.is_shifted() && !(*first.source().coding == *shard.model->source().coding)) ||
      (tokenizer != nullptr && tokenizer->tokens != index.rows_total))
    return corrupt(
        "this shard has other dimensions, keys or tokens, or another metric or type, than the first one; use "
        "the files of one conversion");
  return {};
}

// Copies the words of the next shard.
Status append_words(const Model& shard, const InterruptCheck& interrupted, JoinedShards& joined) {
  constexpr int64_t kWordsBetweenChecks = 4096;
  const Vocabulary& words = shard.vocabulary();
  const size_t end = joined.word_bytes.size() + words.word_bytes().size();
  for (int64_t id = 0; id < words.size(); ++id) {
    if (id % kWordsBetweenChecks == 0) GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    const std::string_view word = words.word(id);
    // Offsets that are damaged may overlap.
    if ((word.empty() && shard.source().tokenizer == nullptr) || word.size() > end - joined.word_bytes.size())
      return corrupt_file(shard.path(), "the tensor '", kWordOffsets, "' at row ", id + 1,
                          " gives the word an impossible length; the file is damaged");
    joined.word_bytes.insert(joined.word_bytes.end(), word.begin(), word.end());
    joined.word_offsets.push_back(static_cast<int64_t>(joined.word_bytes.size()));
  }
  return shard.health(interrupted);
}

// Makes one model of shards that check_shard() has accepted.
Result<ModelPtr> join(const std::string& path, std::shared_ptr<JoinedShards> joined,
                      const OpenOptions& options) {
  std::vector<ModelPart> parts;
  Model::Source source = joined->shards.front()->source();
  source.path = path;
  source.format = "glove-shards";
  source.counts = nullptr;  // of the first shard alone
  source.file_bytes = 0;
  source.maps.clear();
  size_t word_bytes = 0;
  size_t word_count = 0;
  for (const ModelPtr& shard : joined->shards) {
    word_bytes += shard->vocabulary().word_bytes().size();
    word_count += static_cast<size_t>(shard->words());
  }
  joined->word_bytes.reserve(word_bytes);
  joined->word_offsets.reserve(word_count + 1);
  for (const ModelPtr& shard : joined->shards) {
    ModelPart& part = parts.emplace_back(shard->parts().front());
    part.first_row = parts.size() == 1 ? 0 : (parts.end() - 2)->first_row + (parts.end() - 2)->rows;
    source.file_bytes += shard->source().file_bytes;
    source.maps.push_back(shard->source().maps.front());
    GLOVE_RETURN_IF_ERROR(append_words(*shard, options.interrupted, *joined));
  }
  GLOVE_ASSIGN_OR_RETURN(joined->sorted_ids, sorted_word_ids(joined->word_bytes, joined->word_offsets,
                                                             options.threads, options.interrupted));
  const Vocabulary words(joined->word_bytes, joined->word_offsets, joined->sorted_ids,
                         joined->shards.front()->vocabulary().key_type());
  return ModelPtr(
      std::make_shared<const Model>(std::move(parts), words, std::move(source), std::move(joined)));
}

Status check_words_are_distinct(const std::string& path, const Vocabulary& words) {
  for (int64_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words.word(words.sorted_id(i));
    if (words.word(words.sorted_id(i - 1)) == word)
      return corrupt_file(path, "the word '", escaped(word),
                          "' is in two rows of the shards; convert the original again");
  }
  return {};
}

}  // namespace

Result<ModelPtr> open_shards(const Input& input, const OpenOptions& options) {
  GLOVE_ASSIGN_OR_RETURN(const ShardIndex index, read_index(input));
  auto joined = std::make_shared<JoinedShards>();
  int64_t rows = 0;
  int64_t bytes = 0;
  const auto progress = [&](int64_t done, int64_t) {
    if (options.progress) options.progress(bytes + done, std::max(index.total_bytes, bytes + done));
  };
  for (const std::string& name : index.files) {
    GLOVE_RETURN_IF_ERROR(check_interrupt(options.interrupted));
    GLOVE_ASSIGN_OR_RETURN(OpenShard shard, open_shard(input.path(), name, options));
    const Model& first = joined->shards.empty() ? *shard.model : *joined->shards.front();
    GLOVE_RETURN_IF_ERROR(check_shard(input.path(), index, shard, rows, first));
    if (options.verify)
      GLOVE_RETURN_IF_ERROR(
          verify_model_file(*shard.model, options.read.read_tokenizer, progress, options.interrupted));
    rows += shard.model->words();
    bytes += shard.model->source().file_bytes;
    joined->shards.push_back(std::move(shard.model));
  }
  if (rows != index.rows_total)
    return corrupt_file(input.path(), "the shards have ", rows, " rows, but the index says ",
                        index.rows_total, "; it does not name all shards");
  GLOVE_ASSIGN_OR_RETURN(ModelPtr model, join(input.path(), std::move(joined), options));
  if (options.verify && index.kind != FormatKind::kTokenizer)
    GLOVE_RETURN_IF_ERROR(check_words_are_distinct(input.path(), model->vocabulary()));
  return model;
}

}  // namespace glove
