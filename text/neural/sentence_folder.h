// The folder of a sentence-transformers model: which network makes vectors of texts, and by which rules.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "model/metric.h"
#include "model/stored_tokenizer.h"
#include "text/tokenizers/tokenizer.h"

namespace glove::neural {

// How the vectors of a text's tokens become one.
enum class Pooling { kMean, kFirst, kMax, kLast };

// What the files of a folder say.
struct SentenceFolder {
  std::string network;                         // the path of an ONNX file
  std::shared_ptr<const Tokenizer> tokenizer;  // cuts texts at the model's limit
  Pooling pooling = Pooling::kMean;
  bool has_dense = false;   // layers after the pooling, which only the network itself can compute
  bool normalizes = false;  // vectors get the length 1
  bool lower_case = false;  // texts become lower-case before they reach the tokenizer
  std::string query_prompt, document_prompt;
  std::optional<RowMetric> metric = RowMetric::kCosine;  // as TextEncoder::metric()
  std::string fingerprint;  // of all that determines a vector: checksums, rules and options
};

// Whether `path` is a folder with a modules.json that names a Transformer.
bool is_sentence_folder(const std::string& path);

// Reads modules.json and what it names. Errors: a file that is missing or invalid, and modules, poolings and
// similarities that are not supported; the message names them.
Result<SentenceFolder> read_sentence_folder(const std::string& path, const EncoderOptions& options,
                                            const InterruptCheck& interrupted);

}  // namespace glove::neural
