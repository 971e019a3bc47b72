// Vectors of texts by a neural network: the folder of a sentence-transformers model, computed by ONNX
// Runtime.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "search/settings.h"
#include "text/neural/onnx_session.h"
#include "text/neural/sentence_folder.h"
#include "text/text_encoder.h"

namespace glove {

// Opens such a folder as a model without rows; null if `path` is something else. The settings name the
// library, and must outlive the model. Errors: those of the folder and of the session, and a network whose
// output is no vector.
Result<ModelPtr> open_neural_model(Settings& settings, const std::string& path, const EncoderOptions& options,
                                   const InterruptCheck& interrupted);

// Encodes one text per run of the network, so that a vector does not depend on other texts, and runs for
// several texts at the same time; on a GPU, texts of as many tokens share a run.
class NeuralEncoder final : public TextEncoder {
 public:
  static Result<std::shared_ptr<NeuralEncoder>> open(Settings& settings, const std::string& path,
                                                     const EncoderOptions& options,
                                                     const InterruptCheck& interrupted);

  int64_t dims() const { return dims_; }

  Result<bool> encode(const Model& model, std::string_view text, Scratch& scratch,
                      const InterruptCheck& interrupted = {}) const override;
  Result<bool> encode_query(const Model& model, std::string_view text, Scratch& scratch,
                            const InterruptCheck& interrupted) const override;
  int texts_at_once() const override;
  Status encode_all(std::span<TextToEncode> texts, const InterruptCheck& interrupted) const override;
  Result<std::unique_ptr<Tokens>> tokens(const Model& model, std::string_view text,
                                         const InterruptCheck& interrupted) const override;
  std::optional<RowMetric> metric() const override { return folder_.metric; }
  std::string fingerprint() const override { return folder_.fingerprint; }

 private:
  // Texts with their tokens.
  struct Batch {
    const neural::OnnxSession& session;
    const neural::OnnxObject& stop;
    std::span<TextToEncode> texts;
    std::vector<std::vector<uint32_t>> ids;  // [texts]; empty: the text has a fault
  };
  using TextOfRun = std::pair<size_t, size_t>;  // how many tokens it has, and its place in the batch
  using Run = std::span<const TextOfRun>;

  NeuralEncoder(Settings& settings, neural::SentenceFolder folder, neural::OnnxLibrary library, int64_t dims)
      : settings_(settings), folder_(std::move(folder)), library_(std::move(library)), dims_(dims) {}

  Result<std::shared_ptr<const neural::OnnxSession>> session(const InterruptCheck& interrupted) const;
  Result<bool> encode_one(std::string_view prompt, std::string_view text, Scratch& scratch,
                          const InterruptCheck& interrupted) const;
  Status find_ids(std::string_view prompt, std::string_view text, Scratch& scratch,
                  const InterruptCheck& interrupted) const;
  std::vector<TextOfRun> order_of(const Batch& batch) const;
  void run(const Batch& batch, Run texts) const;
  Result<std::vector<double>> pooled(const neural::OnnxTensor& output, size_t text, size_t texts) const;
  Status finish(std::vector<double> sum, std::vector<float>& vector) const;
  Status encode_all_as(std::string_view prompt, std::span<TextToEncode> texts,
                       const InterruptCheck& interrupted) const;

  Settings& settings_;
  neural::SentenceFolder folder_;
  neural::OnnxLibrary library_;
  int64_t dims_;
  mutable ForkSafeMutex mutex_;
  mutable std::shared_ptr<const neural::OnnxSession> session_ GLOVE_GUARDED_BY(mutex_);
  mutable int64_t process_ GLOVE_GUARDED_BY(mutex_) = 0;  // that opened the session
};

}  // namespace glove
