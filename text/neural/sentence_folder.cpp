#include "text/neural/sentence_folder.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/concat.h"
#include "base/crc32.h"
#include "base/file.h"
#include "base/file_calls.h"
#include "text/tokenizers/json.h"

namespace glove::neural {
namespace {

using tokenizers::Json;
using tokenizers::JsonField;

constexpr int64_t kMostJsonBytes = int64_t{256} << 20;
constexpr std::string_view kModules = "modules.json";

bool exists(const std::string& path) {
  return system_calls::status_of(path).has_value();
}

// A JSON file of the folder.
class Document {
 public:
  Document(std::string path, InterruptPoll& poll) : path_(std::move(path)), source_{path_, poll} {}
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  Status read() {
    GLOVE_ASSIGN_OR_RETURN(const std::string text,
                           read_file(path_, kMostJsonBytes, "a JSON file of a model"));
    GLOVE_ASSIGN_OR_RETURN(json_, tokenizers::parse_json(text, source_));
    return {};
  }
  // The same, and an empty object if there is no file.
  Status read_if_there() {
    json_.value = tokenizers::JsonObject();
    return exists(path_) ? read() : Status();
  }

  JsonField root() const { return {json_, "", source_}; }

 private:
  std::string path_;
  tokenizers::JsonSource source_;
  Json json_;
};

class FolderReader {
 public:
  FolderReader(const std::string& path, const EncoderOptions& options, const InterruptCheck& interrupted)
      : path_(path), options_(options), poll_(interrupted), interrupted_(interrupted) {}

  Result<SentenceFolder> read() {
    GLOVE_RETURN_IF_ERROR(read_modules());
    GLOVE_RETURN_IF_ERROR(read_transformer());
    GLOVE_RETURN_IF_ERROR(read_pooling());
    GLOVE_RETURN_IF_ERROR(read_prompts());
    GLOVE_RETURN_IF_ERROR(find_network());
    made_.fingerprint += concat(" ", static_cast<int>(made_.pooling), made_.normalizes, made_.lower_case, " ",
                                options_.dims, " ", made_.document_prompt);
    made_.fingerprint = concat("neural:", crc32_continue(0, made_.fingerprint));
    return std::move(made_);
  }

 private:
  std::string in(const std::string& folder, std::string_view name) const {
    return (folder.empty() ? path_ : path_ + "/" + folder) + "/" + std::string(name);
  }

  Status read_modules() {
    Document modules(in("", kModules), poll_);
    GLOVE_RETURN_IF_ERROR(modules.read());
    int place = 0;
    return modules.root().each([&](const JsonField& module) -> Status {
      GLOVE_ASSIGN_OR_RETURN(const std::string type, module.string("type"));
      GLOVE_ASSIGN_OR_RETURN(const std::string folder, module.string("path", ""));
      const std::string name = type.substr(type.rfind('.') + 1);
      const bool in_place = name == "Transformer" ? place == 0
                            : name == "Pooling"   ? place == 1
                                                  : place > 1 && (name == "Dense" || name == "Normalize");
      if (!in_place || folder.find("..") != std::string::npos || folder.starts_with('/'))
        return module.unsupported("is of the type " + quoted_value(type) + " with the path " +
                                  quoted_value(folder) +
                                  ", which is not supported there; Transformer, then Pooling, then Dense and "
                                  "Normalize are");
      ++place;
      if (name == "Transformer") transformer_ = folder;
      if (name == "Pooling") pooling_ = folder;
      made_.has_dense = made_.has_dense || name == "Dense";
      made_.normalizes = name == "Normalize";
      return {};
    });
  }

  Status read_transformer() {
    Document sentence(in(transformer_, "sentence_bert_config.json"), poll_);
    Document tokens(in(transformer_, "tokenizer_config.json"), poll_);
    Document config(in(transformer_, "config.json"), poll_);
    std::optional<size_t> most;
    for (const auto& [document, name] :
         {std::pair(&sentence, "max_seq_length"), std::pair(&tokens, "model_max_length"),
          std::pair(&config, "max_position_embeddings")}) {
      GLOVE_RETURN_IF_ERROR(document->read_if_there());
      const auto field = document->root().find(name);
      if (!field || field->value().as<double>() != nullptr) continue;  // -1 and 1e30: no limit
      if (most && document == &tokens) continue;
      GLOVE_ASSIGN_OR_RETURN(const uint64_t number, document->root().number(name));
      // The positions of these begin at 2.
      GLOVE_ASSIGN_OR_RETURN(const std::string type, document->root().string("model_type", ""));
      const bool shifted =
          type == "roberta" || type == "xlm-roberta" || type == "camembert" || type == "mpnet";
      const auto positions = static_cast<size_t>(shifted && number > 2 ? number - 2 : number);
      most = most ? std::min(*most, positions) : positions;
    }
    GLOVE_ASSIGN_OR_RETURN(made_.lower_case, sentence.root().boolean("do_lower_case", false));
    const std::string file = in(transformer_, "tokenizer.json");
    GLOVE_ASSIGN_OR_RETURN(const std::string text, read_file(file, kMostJsonBytes, "a tokenizer"));
    GLOVE_ASSIGN_OR_RETURN(made_.tokenizer, Tokenizer::parse(text, file, interrupted_, most));
    made_.fingerprint = concat(crc32_continue(0, text), " ", most.value_or(0));
    return {};
  }

  Status read_pooling() {
    if (pooling_.empty()) return {};  // the network makes vectors of texts, or else encoding is an error
    // The names of "pooling_mode", and the flags of older folders.
    constexpr std::array<std::array<const char*, 2>, 6> kPoolings = {
        {{"mean", "pooling_mode_mean_tokens"},
         {"cls", "pooling_mode_cls_token"},
         {"max", "pooling_mode_max_tokens"},
         {"lasttoken", "pooling_mode_lasttoken"},
         {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens"},
         {"weightedmean", "pooling_mode_weightedmean_tokens"}}};
    constexpr size_t kSupported = 4;  // the first ones, in the order of Pooling
    Document config(in(pooling_, "config.json"), poll_);
    GLOVE_RETURN_IF_ERROR(config.read());
    const JsonField root = config.root();
    GLOVE_ASSIGN_OR_RETURN(std::string chosen, root.string("pooling_mode", ""));
    if (!root.has("pooling_mode"))
      for (const auto& [name, flag] : kPoolings) {
        GLOVE_ASSIGN_OR_RETURN(const bool is_on, root.boolean(flag, false));
        if (is_on) chosen += concat(chosen.empty() ? "" : ", ", name);
      }
    if (chosen.empty()) chosen = "mean";
    size_t place = 0;
    while (place < kSupported && kPoolings[place][0] != chosen) ++place;
    if (place == kSupported)
      return root.unsupported("has the pooling " + quoted_value(chosen) +
                              ", which is not supported; one of mean, cls, max and lasttoken is");
    made_.pooling = static_cast<Pooling>(place);
    GLOVE_ASSIGN_OR_RETURN(includes_prompt_, root.boolean("include_prompt", true));
    return {};
  }

  Status read_prompts() {
    Document config(in("", "config_sentence_transformers.json"), poll_);
    GLOVE_RETURN_IF_ERROR(config.read_if_there());
    if (const auto prompts = config.root().find("prompts")) {
      GLOVE_ASSIGN_OR_RETURN(made_.query_prompt, prompts->string("query", ""));
      for (const char* const name : {"corpus", "passage", "document"})  // the last one counts
        if (prompts->find(name)) {
          GLOVE_ASSIGN_OR_RETURN(made_.document_prompt, prompts->string(name));
        }
    }
    made_.query_prompt = options_.query_prompt.value_or(made_.query_prompt);
    made_.document_prompt = options_.document_prompt.value_or(made_.document_prompt);
    if (!includes_prompt_ && !(made_.query_prompt + made_.document_prompt).empty())
      return config.root().unsupported("has prompts that the pooling leaves out, which is not supported");
    if (!config.root().find("similarity_fn_name")) return {};
    GLOVE_ASSIGN_OR_RETURN(const std::string name, config.root().string("similarity_fn_name"));
    made_.metric = metric_named(name == "dot_product" ? "dot" : name == "euclidean" ? "l2" : name);
    return {};
  }

  Status find_network() {
    if (options_.network.find("..") != std::string::npos || options_.network.starts_with('/'))
      return invalid_argument("the option \"file\" must be a path below the model's folder, but is ",
                              quoted_value(options_.network));
    const std::string name = options_.network.empty() ? "onnx/model.onnx" : options_.network;
    made_.network = in("", name);
    if (!exists(made_.network) && !transformer_.empty()) made_.network = in(transformer_, name);
    if (!exists(made_.network))
      return {ErrorCode::kNotFound,
              concat("there is no ", in("", name),
                     "; export the model to ONNX (SentenceTransformer(..., backend='onnx')), or name a file "
                     "of the folder by the option \"file\"")};
    for (const std::string& file : {made_.network, made_.network + "_data", made_.network + ".data"})
      if (exists(file)) GLOVE_RETURN_IF_ERROR(add_checksum_of(file));
    return {};
  }

  Status add_checksum_of(const std::string& path) {
    constexpr size_t kPiece = size_t{1} << 20;
    GLOVE_ASSIGN_OR_RETURN(const File file, File::open_for_reading(path));
    std::string piece(kPiece, '\0');
    uint32_t checksum = 0;
    for (int64_t offset = 0;; offset += static_cast<int64_t>(piece.size())) {
      GLOVE_RETURN_IF_ERROR(poll_.check());
      GLOVE_ASSIGN_OR_RETURN(const size_t got, file.read_at(offset, piece));
      checksum = crc32_continue(checksum, std::string_view(piece).substr(0, got));
      if (got < kPiece) break;
    }
    made_.fingerprint += concat(" ", checksum);
    return {};
  }

  const std::string& path_;
  const EncoderOptions& options_;
  InterruptPoll poll_;
  const InterruptCheck& interrupted_;
  SentenceFolder made_;
  std::string transformer_, pooling_;
  bool includes_prompt_ = true;
};

}  // namespace

bool is_sentence_folder(const std::string& path) {
  const auto modules = read_file(path + "/" + std::string(kModules), kMostJsonBytes, "a list of modules");
  return modules.ok() && modules.value().find(".Transformer\"") != std::string::npos;
}

Result<SentenceFolder> read_sentence_folder(const std::string& path, const EncoderOptions& options,
                                            const InterruptCheck& interrupted) {
  return FolderReader(path, options, interrupted).read();
}

}  // namespace glove::neural
