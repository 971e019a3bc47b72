#include "text/neural/neural_encoder.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/concat.h"
#include "base/system_calls.h"
#include "base/thread_pool.h"
#include "model/limits.h"
#include "text/static_encoder.h"
#include "text/tokenizers/unicode.h"

namespace glove {

using neural::OnnxObject;
using neural::OnnxSession;
using neural::OnnxTensor;
using neural::Pooling;

namespace {

constexpr int kTextsPerThread = 16;
constexpr int kTextsForGpu = 8192;       // among which many have as many tokens as another one
constexpr int kRunsOnGpu = 2;            // at once, so that one computes while another is read
constexpr size_t kMostTokens = 1 << 14;  // of a run, about
constexpr double kLeastLength = 1e-12;   // of a vector that gets the length 1, as in PyTorch

std::string lower(std::string_view text, const InterruptCheck& interrupted) {
  std::string lowered, buffer;
  InterruptPoll poll(interrupted);
  tokenizers::TextWork work(poll, text.size());
  text = tokenizers::well_formed(text, buffer, work);
  for (size_t at = 0; at < text.size();) tokenizers::append_lower(lowered, tokenizers::next_code(text, at));
  return lowered;
}

}  // namespace

Result<std::shared_ptr<NeuralEncoder>> NeuralEncoder::open(Settings& settings, const std::string& path,
                                                           const EncoderOptions& options,
                                                           const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(neural::SentenceFolder folder,
                         neural::read_sentence_folder(path, options, interrupted));
  GLOVE_ASSIGN_OR_RETURN(const int64_t provider, settings.provider());
  neural::OnnxLibrary library{settings.onnxruntime(), options.accepts_old, provider != 0};
  const std::string network = folder.network;
  std::shared_ptr<NeuralEncoder> encoder(
      new NeuralEncoder(settings, std::move(folder), std::move(library), options.dims));
  std::vector<TextToEncode> texts(1);
  texts[0].text = "a";  // an empty one may have no tokens
  Status made = encoder->encode_all_as("", texts, interrupted);
  if (made.ok()) made = texts[0].fault;
  if (!made.ok() && made.error().code != ErrorCode::kInterrupted)
    return Error{made.error().code, network + ": " + made.error().message};
  GLOVE_RETURN_IF_ERROR(made);
  encoder->dims_ = std::ssize(texts[0].vector);
  return encoder;
}

// The session of this process: a forked child cannot use the locks of its parent's, and leaves it alone.
Result<std::shared_ptr<const OnnxSession>> NeuralEncoder::session(const InterruptCheck& interrupted) const {
  const int64_t process = system_calls::process_number();
  {
    const Lock lock(mutex_);
    if (process_ == process) return session_;
  }
  GLOVE_ASSIGN_OR_RETURN(auto made, OnnxSession::open(library_, folder_.network, interrupted));
  const Lock lock(mutex_);
  if (process_ != 0 && process_ != process) new std::shared_ptr<const OnnxSession>(session_);  // never freed
  process_ = process;
  session_ = made;
  return made;
}

// Appends the ids of a text to scratch.ids.
Status NeuralEncoder::find_ids(std::string_view prompt, std::string_view text, Scratch& scratch,
                               const InterruptCheck& interrupted) const {
  std::string whole = concat(prompt, text);
  if (folder_.lower_case) whole = lower(whole, interrupted);
  scratch.ids.clear();
  GLOVE_RETURN_IF_ERROR(folder_.tokenizer->encode(whole, /*add_special_tokens=*/true, scratch.tokenizer,
                                                  interrupted, scratch.ids));
  if (scratch.ids.empty()) return {ErrorCode::kInvalidArgument, "the text has no tokens"};
  return {};
}

// Returns the vector of one of the texts of a run, before it is cut and gets its length.
Result<std::vector<double>> NeuralEncoder::pooled(const OnnxTensor& output, size_t text, size_t texts) const {
  const std::vector<int64_t>& shape = output.shape;
  if (!((shape.size() == 2 || shape.size() == 3) && shape.front() == static_cast<int64_t>(texts) &&
        shape.back() > 0 && shape[shape.size() - 2] > 0 && shape.back() <= kMaxDims))
    return {ErrorCode::kInvalidArgument,
            "the network's output is no vector per text or token, so the model encodes no texts"};
  const auto dims = static_cast<size_t>(shape.back());
  const float* const values = output.values.data() + output.values.size() / texts * text;
  if (shape.size() == 2) return std::vector<double>(values, values + dims);
  if (folder_.has_dense)
    return invalid_argument(
        "the model has a Dense layer, which only a network with the output "
        "'sentence_embedding' computes; export it with sentence-transformers");
  const auto tokens = static_cast<size_t>(shape[1]);
  const size_t first = folder_.pooling == Pooling::kLast ? tokens - 1 : 0;
  std::vector<double> sum(values + first * dims, values + (first + 1) * dims);
  if (folder_.pooling != Pooling::kMean && folder_.pooling != Pooling::kMax) return sum;
  for (size_t i = 1; i < tokens; ++i)
    for (size_t j = 0; j < dims; ++j) {
      const auto value = static_cast<double>(values[i * dims + j]);
      sum[j] = folder_.pooling == Pooling::kMax ? std::max(sum[j], value) : sum[j] + value;
    }
  if (folder_.pooling == Pooling::kMean)
    for (double& value : sum) value /= static_cast<double>(tokens);
  return sum;
}

Status NeuralEncoder::finish(std::vector<double> sum, std::vector<float>& vector) const {
  const auto most = static_cast<int64_t>(sum.size());
  if (dims_ > most)
    return invalid_argument("the option \"dims\" is ", dims_, ", but the model has ", most, " dimensions");
  const bool cuts = dims_ != 0 && dims_ < most;
  if (cuts) sum.resize(static_cast<size_t>(dims_));
  double squares = 0;
  for (const double value : sum) squares += value * value;
  const double divisor = folder_.normalizes || cuts ? std::max(std::sqrt(squares), kLeastLength) : 1;
  vector.clear();
  for (const double value : sum) {
    vector.push_back(static_cast<float>(value / divisor));
    if (!std::isfinite(vector.back()))
      return invalid_argument("component ", vector.size(), " of the network's output is NaN or infinite");
  }
  return {};
}

// Computes the vectors of texts of one length, or says of each why not.
void NeuralEncoder::run(const Batch& batch, Run texts) const {
  std::vector<int64_t> ids;
  for (const auto& [tokens, i] : texts) ids.insert(ids.end(), batch.ids[i].begin(), batch.ids[i].end());
  const Result<OnnxTensor> output = batch.session.run(ids, texts.front().first, batch.stop);
  for (size_t i = 0; i < texts.size(); ++i) {
    TextToEncode& text = batch.texts[texts[i].second];
    if (!output.ok() && texts.size() > 1) {  // one of them may be the reason
      run(batch, texts.subspan(i, 1));
      continue;
    }
    text.fault = output.status();
    if (!output.ok()) return;
    Result<std::vector<double>> sum = pooled(output.value(), i, texts.size());
    text.fault = sum.ok() ? finish(std::move(sum).value(), text.vector) : sum.status();
  }
}

// Those texts that have tokens, ordered by how many if they are for a GPU.
std::vector<NeuralEncoder::TextOfRun> NeuralEncoder::order_of(const Batch& batch) const {
  std::vector<TextOfRun> order;
  for (size_t i = 0; i < batch.ids.size(); ++i)
    if (!batch.ids[i].empty()) order.emplace_back(batch.ids[i].size(), i);
  if (library_.on_gpu) std::sort(order.begin(), order.end());
  return order;
}

Status NeuralEncoder::encode_all_as(std::string_view prompt, std::span<TextToEncode> texts,
                                    const InterruptCheck& interrupted) const {
  GLOVE_ASSIGN_OR_RETURN(const auto session, this->session(interrupted));
  GLOVE_ASSIGN_OR_RETURN(const int threads, settings_.threads());
  GLOVE_ASSIGN_OR_RETURN(const OnnxObject stop, session->make_stop());
  std::atomic<bool> stopped = false;
  const InterruptCheck is_stopped = [&stopped] { return stopped.load(); };
  const int at_once = thread_count(threads);
  std::vector<Scratch> scratches(static_cast<size_t>(at_once));
  Batch batch{*session, stop, texts, std::vector<std::vector<uint32_t>>(texts.size())};
  const auto encode = [&] {
    const auto find = [&](int slot, int64_t i) {
      Scratch& scratch = scratches[static_cast<size_t>(slot)];
      TextToEncode& text = texts[static_cast<size_t>(i)];
      text.fault = find_ids(prompt, text.text, scratch, is_stopped);
      text.was_cut = scratch.tokenizer.was_cut();
      if (text.fault.ok()) batch.ids[static_cast<size_t>(i)] = scratch.ids;
    };
    if (!ThreadPool::instance().run(at_once, std::ssize(texts), find, is_stopped)) return;
    const std::vector<TextOfRun> order = order_of(batch);
    std::vector<Run> runs;
    for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
      const size_t tokens = order[begin].first;
      const size_t most = library_.on_gpu ? kMostTokens / tokens + 1 : 1;
      while (end < order.size() && end < begin + most && order[end].first == tokens) ++end;
      runs.push_back(Run(order).subspan(begin, end - begin));
    }
    ThreadPool::instance().run(
        library_.on_gpu ? std::min(at_once, kRunsOnGpu) : at_once, std::ssize(runs),
        [&](int, int64_t i) { run(batch, runs[static_cast<size_t>(i)]); }, is_stopped);
  };
  neural::run_watched(interrupted, encode, [&] {
    stopped = true;
    session->stop(stop);
  });
  return stopped ? Status(interrupted_error()) : Status();
}

Status NeuralEncoder::encode_all(std::span<TextToEncode> texts, const InterruptCheck& interrupted) const {
  return encode_all_as(folder_.document_prompt, texts, interrupted);
}

int NeuralEncoder::texts_at_once() const {
  if (library_.on_gpu) return kTextsForGpu;
  const Result<int> threads = settings_.threads();
  return kTextsPerThread * thread_count(threads.ok() ? threads.value() : 1);
}

Result<bool> NeuralEncoder::encode_one(std::string_view prompt, std::string_view text, Scratch& scratch,
                                       const InterruptCheck& interrupted) const {
  std::vector<TextToEncode> texts(1);
  texts[0].text = text;
  GLOVE_RETURN_IF_ERROR(encode_all_as(prompt, texts, interrupted));
  if (!texts[0].fault.ok()) return texts[0].fault.error();
  scratch.vector = std::move(texts[0].vector);
  return true;
}

Result<bool> NeuralEncoder::encode(const Model& /*model*/, std::string_view text, Scratch& scratch,
                                   const InterruptCheck& interrupted) const {
  return encode_one(folder_.document_prompt, text, scratch, interrupted);
}

Result<bool> NeuralEncoder::encode_query(const Model& /*model*/, std::string_view text, Scratch& scratch,
                                         const InterruptCheck& interrupted) const {
  return encode_one(folder_.query_prompt, text, scratch, interrupted);
}

Result<std::unique_ptr<TextEncoder::Tokens>> NeuralEncoder::tokens(const Model& /*model*/,
                                                                   std::string_view text,
                                                                   const InterruptCheck& interrupted) const {
  Scratch scratch;
  GLOVE_RETURN_IF_ERROR(find_ids(folder_.document_prompt, text, scratch, interrupted));
  return std::unique_ptr<Tokens>(std::make_unique<IdTokens>(*folder_.tokenizer, std::move(scratch.ids)));
}

Result<ModelPtr> open_neural_model(Settings& settings, const std::string& path, const EncoderOptions& options,
                                   const InterruptCheck& interrupted) {
  if (!neural::is_sentence_folder(path)) return ModelPtr();
  GLOVE_ASSIGN_OR_RETURN(auto encoder, NeuralEncoder::open(settings, path, options, interrupted));
  ModelPart part;
  part.dims = encoder->dims();
  Model::Source source;
  source.path = path;
  source.format = "onnx";
  source.encoder = std::move(encoder);
  return ModelPtr(std::make_shared<const Model>(std::vector{part}, Vocabulary(), std::move(source), nullptr));
}

}  // namespace glove
