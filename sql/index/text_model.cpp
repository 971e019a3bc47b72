#include "sql/index/text_model.h"

#include <array>
#include <charconv>

#include "base/concat.h"
#include "base/crc32.h"
#include "model/byte_sink.h"
#include "sql/adapter/interrupt.h"

namespace glove::sql {
namespace {

constexpr int64_t kMostMade = int64_t{1} << 22;  // components of the vectors of texts that are kept

std::string hexadecimal(uint32_t number) {
  std::array<char, 8> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return std::string(digits.data(), end);
}

std::string checksums(const Model& model) {
  if (const auto& encoder = model.source().encoder; encoder != nullptr)
    return concat(model.dims(), ":", encoder->fingerprint());
  uint32_t vectors = 0;
  for (const ModelPart& part : model.parts()) vectors = crc32_continue(vectors, bytes_of(part.vectors));
  uint32_t words = 0;
  for (int64_t id = 0; id < model.words(); ++id) {
    const std::string_view word = model.vocabulary().word(id);
    const auto length = static_cast<uint32_t>(word.size());
    words = crc32_continue(words, bytes_of(std::span(&length, 1)));
    words = crc32_continue(words, word);
  }
  if (const auto& counts = model.source().counts; counts != nullptr)
    words = crc32_continue(words, bytes_of(std::span<const double>(*counts)));
  std::string encoding;
  if (const StoredTokenizerPtr& tokenizer = model.source().tokenizer; tokenizer != nullptr) {
    uint32_t crc = crc32_continue(0, tokenizer->json);
    crc = crc32_continue(crc, bytes_of(tokenizer->weights));
    encoding = ":" + std::to_string(static_cast<int>(tokenizer->rules)) + (tokenizer->normalize ? "n" : "") +
               hexadecimal(crc);
  }
  if (const SubwordsPtr& subwords = model.source().subwords; subwords != nullptr)
    encoding =
        concat(":", subwords->minn, "-", subwords->maxn, ":", hexadecimal(crc32_continue(0, subwords->rows)));
  return std::to_string(model.words()) + "x" + std::to_string(model.dims()) + ":" + hexadecimal(vectors) +
         ":" + hexadecimal(words) + encoding;
}

// Returns a text that is equal for two models, options and versions of this extension only if they make the
// same vectors of texts, except with a probability of about 2^-32: checksums of the vectors, the words and
// the frequencies, the version of the encoder, and the options. The first call for a model reads all of it.
std::string model_fingerprint(Engine& engine, const ModelPtr& model, std::string_view options, int version) {
  const std::string key = "fingerprint " + std::to_string(model->id());
  auto known = engine.results().find<std::string>(key);
  if (known == nullptr) {
    known = std::make_shared<const std::string>(checksums(*model));
    engine.results().add(key, known, static_cast<int64_t>(known->size()));
  }
  return *known + ":" + std::to_string(version) + ":" + std::string(options);
}

}  // namespace

Status TextModel::choose(const std::string& stored) {
  encoder_ = nullptr;
  is_former_ = false;
  model_name_ = index_.model.empty() ? stored : index_.model;
  if (!index_.is_text || !model_name_.empty()) return {};
  const Result<CatalogEntry> entry =
      connection_.find(std::nullopt, Connection::For::kTexts);  // opens $GLOVE_MODEL
  if (!entry.ok()) return {entry.error().code, index_.name + ": " + entry.error().message};
  const CatalogSnapshotPtr models = connection_.models();
  if (models->entries().size() == 1) {
    model_name_ = entry.value().name;
    return {};
  }
  ShortList names;
  for (const CatalogEntry& model : models->entries()) names.add(model.name);
  return index_error(index_,
                     "model may be left out only while one model is loaded; "
                     "name the one that makes the vectors of the texts, as in model='",
                     models->entries().front().name, "'; these are loaded: ", names.text());
}

Status TextModel::check_fingerprint(const std::string& expected_fingerprint) {
  const std::string found = fingerprint();
  if (found == expected_fingerprint) return {};
  if (index_.is_text && text_vector_version(*model_, index_.options) > 1) {
    is_former_ = true;
    encoder_ = nullptr;
    if (fingerprint() == expected_fingerprint) return {};
  }
  if (!index_.is_text)
    return damaged_index(index_, "it has the fingerprint ", quoted_value(expected_fingerprint),
                         " of a model, but its vectors are in '", index_.content, "'");
  return index_error(index_, "the model '", model_name_, "' has the fingerprint ", found,
                     ", but the vectors of the index were made by one with ", expected_fingerprint,
                     "; load that model under this name, or run ", index_.command("rebuild"),
                     " to adopt this one");
}

std::string TextModel::fingerprint() const {
  if (!index_.is_text) return {};
  const int version = is_former_ ? 1 : text_vector_version(*model_, index_.options);
  return model_fingerprint(connection_.engine(), model_, index_.options, version);
}

Status TextModel::find(int64_t& dims) {
  encoder_ = nullptr;
  Result<CatalogEntry> entry = connection_.find(model_name_, Connection::For::kTexts);
  if (!entry.ok()) return {entry.error().code, index_.name + ": " + entry.error().message};
  model_ = entry.value().model;
  if (index_.is_text && dims == 0) dims = model_->dims();
  if (dims == 0 || dims == model_->dims()) return {};
  return index_error(
      index_, "the model '", model_name_, "' has ", model_->dims(), " dimensions, but the index has ", dims,
      "; load a model of ", dims, " dimensions under this name",
      index_.is_text && index_.dims == 0 ? ", or run " + index_.command("rebuild") + " to adopt this one"
                                         : "");
}

Status TextModel::find_encoder(int64_t& dims) {
  if (encoder_ != nullptr) return {};
  GLOVE_RETURN_IF_ERROR(find(dims));
  const std::string given = is_former_ ? options_of_version_1(index_.options) : index_.options;
  std::optional<std::string_view> options;
  if (!given.empty()) options = given;
  GLOVE_ASSIGN_OR_RETURN(encoder_, kept_encoder_.find(connection_, model_, options, index_.name));
  return {};
}

Result<std::optional<RowMetric>> TextModel::metric() {
  int64_t dims = 0;
  Status found = choose({});
  if (found.ok()) found = find(dims);
  if (!found.ok() && found.error().code == ErrorCode::kInterrupted) return found.error();
  if (!found.ok() || model_->source().encoder == nullptr) return std::optional<RowMetric>();
  return model_->source().encoder->metric();
}

Status TextModel::check_metric() const {
  if (texts_at_once() == 0 || index_.has_metric || encoder_->metric() == index_.metric) return {};
  return index_error(index_, "the vectors of the model '", model_name_, "' are meant for ",
                     encoder_->metric() ? metric_name(*encoder_->metric()) : "another metric",
                     " (similarity_fn_name of its folder), not for ", metric_name(index_.metric),
                     "; give the argument metric, ", kMetricNames);
}

const std::vector<float>* TextModel::find_made(const Digest128& digest, bool is_query) {
  if (std::exchange(made_by_, model_->id()) != model_->id()) made_.clear();
  const auto found = made_.find({is_query, digest});
  return found == made_.end() ? nullptr : &found->second;
}

void TextModel::keep_made(const Digest128& digest, bool is_query, std::span<const float> vector) {
  if (std::ssize(made_) * std::ssize(vector) >= kMostMade) made_.clear();
  made_[{is_query, digest}].assign(vector.begin(), vector.end());
}

Result<bool> TextModel::encode(std::string_view text, bool is_query, std::vector<float>& vector) {
  const bool keeps = texts_at_once() > 0;
  const Digest128 digest = keeps ? blake2b_128(text) : Digest128();
  if (const std::vector<float>* const made = keeps ? find_made(digest, is_query) : nullptr) {
    vector = *made;
    return true;
  }
  InterruptPoller poller(db());
  GLOVE_ASSIGN_OR_RETURN(const bool found, is_query ? encoder_->encode_query(*model_, text, scratch_, poller)
                                                    : encoder_->encode(*model_, text, scratch_, poller));
  vector = scratch_.vector;
  if (keeps && found) keep_made(digest, is_query, vector);
  return found;
}

Status TextModel::encode_all(std::span<TextToEncode> texts) {
  InterruptPoller poller(db());
  return encoder_->encode_all(texts, poller);
}

}  // namespace glove::sql
