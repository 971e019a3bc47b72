// A static embedding model: a safetensors file with a vector per token, and a tokenizer.json beside it.
#include "loader/static_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/concat.h"
#include "base/file_calls.h"
#include "base/json.h"
#include "loader/formats/formats.h"
#include "loader/formats/matrix.h"
#include "loader/safetensors.h"

namespace glove {
namespace {

constexpr std::string_view kModel2VecTable = "embeddings";
constexpr std::string_view kStaticEmbeddingTable = "embedding.weight";
constexpr std::string_view kWeights = "weights";
constexpr std::string_view kMapping = "mapping";
constexpr int64_t kMostConfigBytes = int64_t{1} << 20;

Error corrupt(const std::string& path, const std::string& what) {
  return {ErrorCode::kCorrupt, path + ": " + what};
}

// Returns all bytes of a file that has at most `most`. `what` names such files in the error.
Result<std::string> read_text(const std::string& path, int64_t most, std::string_view what) {
  GLOVE_ASSIGN_OR_RETURN(std::string text, read_file(path, most, what));
  if (is_lfs_pointer(text)) return lfs_pointer_error(path);
  return text;
}

// Reads "normalize" of an object, and "type" of each object in an array.
class ConfigHandler final : public JsonHandler {
 public:
  JsonKind root = JsonKind::kNull;
  JsonValue normalize;
  std::vector<std::string> types;  // an element per element of the array; empty if it has no such text

  bool value(JsonValue& value) override {
    const bool is_container = value.kind == JsonKind::kObject || value.kind == JsonKind::kArray;
    if (depth_ == 0) root = value.kind;
    if (depth_ == 1 && root == JsonKind::kObject && key_ == "normalize") normalize = value;
    if (depth_ == 1 && root == JsonKind::kArray) types.emplace_back();
    if (depth_ == 2 && key_ == "type" && value.kind == JsonKind::kText) types.back() = value.text;
    const bool enters = depth_ == 0
                            ? is_container
                            : depth_ == 1 && root == JsonKind::kArray && value.kind == JsonKind::kObject;
    if (enters) ++depth_;
    return enters;
  }
  void key(std::string& name) override { key_ = name; }
  void end() override { --depth_; }

 private:
  int depth_ = 0;
  std::string key_;
};

Result<ConfigHandler> read_config(const std::string& path, JsonKind root, const std::string& what) {
  GLOVE_ASSIGN_OR_RETURN(const std::string text, read_text(path, kMostConfigBytes, "a configuration"));
  ConfigHandler config;
  GLOVE_ASSIGN_OR_RETURN(const bool is_json, read_json(text, config));
  if (!is_json) return corrupt(path, "the file is not valid JSON");
  if (config.root != root)
    return corrupt(path, "the file must be " + what + ", and not of the type " + json_type_name(config.root));
  return config;
}

// A value for a message.
std::string shown(const JsonValue& value) {
  if (value.kind == JsonKind::kText) return quoted_value(value.text);
  if (!value.is_number()) return std::string("an ") + json_type_name(value.kind);
  return value.kind == JsonKind::kInteger ? std::to_string(value.integer) : json_text(value.number);
}

// Returns the value of "normalize", and false if there is none.
Result<bool> read_normalize(const std::string& path) {
  GLOVE_ASSIGN_OR_RETURN(const ConfigHandler config, read_config(path, JsonKind::kObject, "a JSON object"));
  if (config.normalize.kind == JsonKind::kNull) return false;
  if (config.normalize.kind != JsonKind::kBoolean)
    return corrupt(path, "\"normalize\" must be true or false, and not " + shown(config.normalize));
  return config.normalize.flag;
}

// Whether one of the modules of sentence-transformers normalizes. StaticEmbedding must be the first one.
Result<bool> has_normalize_module(const std::string& path) {
  GLOVE_ASSIGN_OR_RETURN(const ConfigHandler config,
                         read_config(path, JsonKind::kArray, "a JSON array of modules"));
  bool normalizes = false;
  for (size_t i = 0; i < config.types.size(); ++i) {
    const std::string& type = config.types[i];
    const bool normalize = type.ends_with(".Normalize");
    if (type.ends_with(".StaticEmbedding") ? i != 0 : !normalize || i == 0)
      return invalid_argument(path, ": module ", i, " is of the type ", quoted_value(type),
                              ", which is not supported there; StaticEmbedding and then Normalize are");
    normalizes = normalizes || normalize;
  }
  return normalizes;
}

// Reads what says whether the vectors of texts get the length 1. `folder` has the table.
Result<bool> read_normalization(const std::string& folder, EncodingRules rules) {
  if (rules == EncodingRules::kModel2Vec) return read_normalize(in_folder(folder, "config.json"));
  const auto nested = [](const std::string& name) { return file_name_of(name) == kNestedFolder; };
  // The name of "." does not say that it is the nested folder.
  const std::string whole = nested(folder) ? folder : system_calls::resolved_path(folder).value_or(folder);
  const std::string top = nested(whole) ? directory_of(whole) : folder;
  const std::string modules = in_folder(top, "modules.json");
  const std::string config = in_folder(top, "config_sentence_transformers.json");
  bool normalizes = false;
  if (path_exists(modules)) {
    GLOVE_ASSIGN_OR_RETURN(normalizes, has_normalize_module(modules));
  } else if (!path_exists(config)) {
    return corrupt(top, "there is neither modules.json nor config_sentence_transformers.json in the folder");
  }
  if (normalizes || !path_exists(config)) return normalizes;
  return read_normalize(config);
}

// An open file of tensors with its header.
struct Tensors {
  std::string path;
  std::shared_ptr<const File> file;
  SafetensorsHeader header;
  const InterruptCheck& interrupted;
  std::string tokenizer{};  // its path
  int64_t tokens = 0;       // that it has

  Error fault(std::string_view tensor, const std::string& what) const {
    return corrupt(path, "the tensor '" + std::string(tensor) + "' " + what);
  }

  // Fails unless the tokenizer has as many tokens.
  Status check_entries(std::string_view name, const std::string& unit, int64_t entries) const {
    if (entries == tokens) return {};
    return fault(name, "has " + std::to_string(entries) + " " + unit + ", but '" + tokenizer + "' has " +
                           std::to_string(tokens) + " tokens; use the files of one model");
  }

  // Reads a vector with an entry for each token, and nothing of another one: a file with holes may have much
  // more than there is memory for. Calls take(bytes) with whole entries, in order.
  template <class Take>
  Status read(std::string_view name, const Tensor& tensor, const Take& take) const {
    constexpr int64_t kPieceBytes = int64_t{1} << 20;
    if (tensor.shape.size() != 1 || tensor.bytes == 0)
      return fault(name, "must be a vector with an entry for each token");
    GLOVE_RETURN_IF_ERROR(check_entries(name, "entries", tensor.shape[0]));
    std::vector<char> bytes;
    for (int64_t done = 0; done < tensor.bytes; done += std::ssize(bytes)) {
      GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
      bytes.resize(static_cast<size_t>(std::min(kPieceBytes, tensor.bytes - done)));
      GLOVE_ASSIGN_OR_RETURN(const size_t got, file->read_at(tensor.offset + done, bytes));
      if (got < bytes.size()) return fault(name, "ends early: the file was truncated");
      take(bytes);
    }
    return {};
  }
};

Result<std::vector<double>> read_weights(const Tensors& tensors) {
  const Tensor* const tensor = tensors.header.find(kWeights);
  std::vector<double> weights;
  if (tensor == nullptr) return weights;
  const std::optional<ElementType> type = element_type(tensor->dtype);
  if (!type || *type == ElementType::kInt8)
    return tensors.fault(
        kWeights, "is of the type " + quoted_value(tensor->dtype) + "; F16, BF16, F32 and F64 are supported");
  std::vector<float> values;
  GLOVE_RETURN_IF_ERROR(tensors.read(kWeights, *tensor, [&](const std::vector<char>& bytes) {
    const size_t first = weights.size(), count = bytes.size() / static_cast<size_t>(element_bytes(*type));
    if (*type == ElementType::kFloat64) {
      weights.resize(first + count);
      std::memcpy(weights.data() + first, bytes.data(), bytes.size());
    } else {
      values.resize(count);
      convert_elements(*type, bytes.data(), static_cast<int64_t>(count), values.data());
      weights.insert(weights.end(), values.begin(), values.end());
    }
  }));
  const auto bad = std::ranges::find_if(weights, [](double weight) { return !std::isfinite(weight); });
  if (bad != weights.end())
    return tensors.fault(
        kWeights, "is NaN or infinite for the token with the id " + std::to_string(bad - weights.begin()));
  return weights;
}

template <class T>
void widen(const std::vector<char>& bytes, std::vector<int64_t>& values) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    values.push_back(static_cast<int64_t>(value));  // of a uint64_t above INT64_MAX: negative
  }
}

// Returns the row of each token in a table of `rows` rows; empty if token i has row i.
Result<std::vector<int64_t>> read_mapping(const Tensors& tensors, int64_t rows) {
  const Tensor* const tensor = tensors.header.find(kMapping);
  std::vector<int64_t> mapping;
  if (tensor == nullptr) return mapping;
  constexpr std::pair<std::string_view, void (*)(const std::vector<char>&, std::vector<int64_t>&)> kTypes[] =
      {{"I8", widen<int8_t>},  {"I16", widen<int16_t>},  {"I32", widen<int32_t>},  {"I64", widen<int64_t>},
       {"U8", widen<uint8_t>}, {"U16", widen<uint16_t>}, {"U32", widen<uint32_t>}, {"U64", widen<uint64_t>}};
  const auto* const type = std::ranges::find(kTypes, std::string_view(tensor->dtype),
                                             [](const auto& entry) { return entry.first; });
  if (type == std::end(kTypes))
    return tensors.fault(kMapping, "is of the type " + quoted_value(tensor->dtype) +
                                       "; integers of 8 to 64 bits are supported");
  GLOVE_RETURN_IF_ERROR(
      tensors.read(kMapping, *tensor, [&](const std::vector<char>& bytes) { type->second(bytes, mapping); }));
  const auto bad = std::ranges::find_if(mapping, [&](int64_t row) { return row < 0 || row >= rows; });
  if (bad != mapping.end())
    return tensors.fault(kMapping, "maps the token with the id " + std::to_string(bad - mapping.begin()) +
                                       " to row " + std::to_string(*bad) + ", but there are " +
                                       std::to_string(rows) + " rows");
  return mapping;
}

// The tokens as the words of the rows.
class TokenWords final : public WordSource {
 public:
  TokenWords(std::string name, std::vector<std::string> tokens)
      : name_(std::move(name)), tokens_(std::move(tokens)) {}

  Result<int64_t> next(int64_t count, WordBlock& words) override {
    int64_t given = 0;
    for (; given < count && next_ < tokens_.size(); ++given, ++next_) {
      words.bytes.insert(words.bytes.end(), tokens_[next_].begin(), tokens_[next_].end());
      words.ends.push_back(words.bytes.size());
    }
    return given;
  }
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  std::vector<std::string> tokens_;
  size_t next_ = 0;
};

// The rows of a table in the order of a mapping.
class MappedRows final : public ByteStream {
 public:
  MappedRows(std::shared_ptr<const File> file, const Tensor& table, std::vector<int64_t> mapping)
      : file_(std::move(file)),
        offset_(table.offset),
        bytes_(table.bytes),
        row_bytes_(table.bytes / table.shape[0]),
        mapping_(std::move(mapping)) {}

  // REQUIRES: whole rows, or a byte after the last one.
  Result<size_t> read(std::span<char> into) override {
    const auto row_bytes = static_cast<size_t>(row_bytes_);
    size_t done = 0;
    for (; next_ < mapping_.size() && done + row_bytes <= into.size(); ++next_, done += row_bytes) {
      const int64_t place = offset_ + mapping_[next_] * row_bytes_;
      GLOVE_ASSIGN_OR_RETURN(const size_t got, file_->read_at(place, into.subspan(done, row_bytes)));
      if (got < row_bytes) return done + got;
    }
    return done;
  }
  int64_t file_position() const override {
    return offset_ + static_cast<int64_t>(static_cast<double>(bytes_) * static_cast<double>(next_) /
                                          static_cast<double>(mapping_.size()));
  }

 private:
  std::shared_ptr<const File> file_;
  int64_t offset_;
  int64_t bytes_;
  int64_t row_bytes_;
  std::vector<int64_t> mapping_;
  size_t next_ = 0;
};

// What a StoredTokenizer of a folder keeps alive.
struct TokenizerMemory {
  std::string json;
  std::vector<double> weights;
};

Result<std::unique_ptr<RowReader>> open_table(Tensors& tensors, EncodingRules rules,
                                              std::string_view table_name, const ReadOptions& options) {
  const Tensor& table = *tensors.header.find(table_name);
  const std::optional<ElementType> type = element_type(table.dtype);
  if (!type || table.shape.size() != 2)
    return tensors.fault(table_name, "must be a matrix of F16, BF16, F32, F64 or I8");
  MatrixLayout layout;
  layout.type = *type;
  layout.rows = table.shape[0];
  layout.columns = table.shape[1];
  GLOVE_RETURN_IF_ERROR(check_matrix(tensors.path, layout));

  const std::string folder = directory_of(tensors.path);
  tensors.tokenizer = in_folder(folder, kTokenizerFile);
  auto memory = std::make_shared<TokenizerMemory>();
  auto tokenizer = std::make_shared<StoredTokenizer>();
  tokenizer->rules = rules;
  GLOVE_ASSIGN_OR_RETURN(tokenizer->normalize, read_normalization(folder, rules));
  GLOVE_ASSIGN_OR_RETURN(memory->json, read_text(tensors.tokenizer, kMostTokenizerBytes, "a tokenizer"));
  if (!options.read_tokenizer)
    return invalid_argument(tensors.tokenizer,
                            ": this program reads no tokenizers; convert the model with glove-convert");
  GLOVE_ASSIGN_OR_RETURN(TokenizerContent content,
                         options.read_tokenizer(tensors.tokenizer, memory->json, tensors.interrupted));
  tokenizer->tokens = tensors.tokens = std::ssize(content.tokens);
  tokenizer->parsed = std::move(content.tokenizer);
  GLOVE_ASSIGN_OR_RETURN(memory->weights, read_weights(tensors));
  GLOVE_ASSIGN_OR_RETURN(std::vector<int64_t> mapping, read_mapping(tensors, layout.rows));
  const bool mapped = tensors.header.find(kMapping) != nullptr;
  if (!mapped && layout.rows < tokenizer->tokens)
    GLOVE_RETURN_IF_ERROR(tensors.check_entries(table_name, "rows", layout.rows));
  layout.rows = tokenizer->tokens;  // more are padding
  tokenizer->json = memory->json;
  tokenizer->weights = memory->weights;
  tokenizer->owner = std::move(memory);
  std::unique_ptr<ByteStream> rows;
  if (mapped)
    rows = std::make_unique<MappedRows>(tensors.file, table, std::move(mapping));
  else
    rows =
        plain_stream(tensors.file, table.offset, table.offset + table.bytes / table.shape[0] * layout.rows);
  layout.tokenizer = std::move(tokenizer);
  return read_matrix(tensors.path, layout, std::move(rows),
                     std::make_unique<TokenWords>(tensors.tokenizer, std::move(content.tokens)));
}

}  // namespace

// A word list or a tensor that the caller names means a plain matrix.
Result<bool> sniff_static_model(const Input& input, const ReadOptions& options) {
  if (!input.is_plain() || !options.words_path.empty() || !options.tensor.empty() ||
      !looks_like_safetensors(input.sample()) ||
      !path_exists(in_folder(directory_of(input.path()), kTokenizerFile)))
    return false;
  if (file_name_of(input.path()) == kStaticModelFile) return true;
  const auto header = read_safetensors_header(input.path(), *input.stream(), input.content_bytes());
  if (header.ok()) return header.value().find(kModel2VecTable) || header.value().find(kStaticEmbeddingTable);
  if (header.error().code == ErrorCode::kCorrupt) return false;
  return header.error();
}

Result<std::unique_ptr<RowReader>> open_static_model(const Input& input, const ReadOptions& options) {
  if (!input.is_plain())
    return invalid_argument(input.path(),
                            ": the vectors of a static embedding model must not be compressed; unpack the "
                            "folder first");
  GLOVE_ASSIGN_OR_RETURN(SafetensorsHeader header, read_safetensors_header(input.path(), *input.file()));
  Tensors tensors{input.path(), input.file(), std::move(header), input.interrupt_check()};
  for (const auto& [name, rules] : {std::pair(kModel2VecTable, EncodingRules::kModel2Vec),
                                    std::pair(kStaticEmbeddingTable, EncodingRules::kStaticEmbedding)})
    if (tensors.header.find(name) != nullptr) return open_table(tensors, rules, name, options);
  return corrupt(input.path(),
                 "this is no static embedding model: it has neither the tensor '" +
                     std::string(kModel2VecTable) + "' nor '" + std::string(kStaticEmbeddingTable) +
                     "'; glove_load opens the folders of models that run a neural network on a text");
}

}  // namespace glove
