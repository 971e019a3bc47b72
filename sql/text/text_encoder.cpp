#include "sql/text/text_encoder.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/timer.h"
#include "sql/adapter/arguments.h"
#include "sql/values/json_options.h"
#include "sql/values/toolbox_inputs.h"
#include "text/common_components.h"
#include "text/sentence_encoder.h"
#include "text/static_encoder.h"
#include "text/word_index.h"

namespace glove::sql {
namespace {

// What a parsed tokenizer needs per byte of its JSON; an estimate for the cache.
constexpr size_t kBytesPerJsonByte = 3;

using TextMethod = TextOptions::Method;
constexpr std::pair<const char*, TextMethod> kTextMethods[] = {{"words", TextMethod::kWords},
                                                               {"tokenizer", TextMethod::kTokenizer}};
constexpr std::pair<const char*, WeightSource> kWeightSources[] = {
    {"zipf", WeightSource::kZipf}, {"none", WeightSource::kNone}, {"model", WeightSource::kModel}};

bool take_a(const JsonValue& value, TextOptions& options) {
  return take_number(value, 0, 1e300, options.a) && options.a > 0;
}

constexpr JsonOption<TextOptions> kTextOptions[] = {
    {"a", "a number above 0", take_a},
    {"components", &TextOptions::components, 0, kMostCommonComponents},
    {"weights", "\"zipf\", \"none\" or \"model\"", store_choice<&TextOptions::weights, kWeightSources>},
    {"lower_case", &TextOptions::lower_case},
    {"longest_match", &TextOptions::longest_match},
    {"method", "\"words\" or \"tokenizer\"", store_choice<&TextOptions::method, kTextMethods>}};

Result<WordWeights> weights_of(const Model& model, const TextOptions& options, std::string_view function) {
  switch (options.weights) {
    case WeightSource::kZipf:
      return WordWeights::of_rank(model.words(), options.a);
    case WeightSource::kNone:
      return WordWeights::none(model.words());
    case WeightSource::kModel:
      if (model.source().counts != nullptr) return WordWeights::of_counts(model.source().counts, options.a);
  }
  return invalid_value(function, "the model from ", model.path(),
                       " has no frequencies for the option \"weights\":\"model\"; give them "
                       "to glove_load by its option \"frequencies\" or to glove_load_table by a third "
                       "column, or use \"zipf\"");
}

// The common components of a model with these weights, `needed` of them or more unless the model has fewer
// dimensions: those of its file, or derived.
Result<std::shared_ptr<const CommonComponents>> components_of(Connection& connection, const ModelPtr& model,
                                                              const WordWeights& weights,
                                                              const TextOptions& options,
                                                              std::string_view function) {
  const int64_t needed = std::min(options.components, model->dims() - 1);
  if (auto stored = stored_common_components(*model, weights, needed); stored != nullptr) return stored;
  Engine& engine = connection.engine();
  const std::string key = concat("common components ", model->id(), " ", static_cast<int>(options.weights),
                                 " ", std::bit_cast<uint64_t>(options.a));
  return engine.results().find_or_add<CommonComponents>(key, [&]() -> Result<CommonComponents> {
    GLOVE_ASSIGN_OR_RETURN(const AnalysisBackends backends, analysis_backends(engine, function, nullptr));
    InterruptPoller poller(connection.db());
    std::string backend;
    const auto derive = [&](Analysis& analysis) {
      return derive_common_components(analysis, model, weights, poller);
    };
    auto derived = with_takeover(
        engine, backends, "compute the common components of the model " + model->path(), backend, derive);
    if (!derived.ok() && derived.error().code == ErrorCode::kInvalidArgument)
      return invalid_value(function, derived.error().message, "; the option \"components\":0 needs none");
    GLOVE_RETURN_IF_ERROR(derived);
    GLOVE_RETURN_IF_ERROR(model->health());
    return derived;
  });
}

// Adds a row to glove_stats.
void record(Connection& connection, const Model& model, double microseconds) {
  Engine& engine = connection.engine();
  SearchReport report;
  for (const CatalogEntry& entry : connection.models()->entries())
    if (entry.model->id() == model.id()) report.model = entry.name;
  report.backend = engine.backends().all().back()->name();  // the CPU
  report.kind = "text";
  report.queries = 1;
  report.total_us = microseconds;
  engine.statistics().record(std::move(report));
}

// Returns whether texts are encoded by the model's tokenizer.
Result<bool> uses_tokenizer(const Model& model, const TextOptions& options, std::string_view function) {
  const bool has_tokenizer = model.source().tokenizer != nullptr;
  const bool uses = options.method ? *options.method == TextMethod::kTokenizer : has_tokenizer;
  if (uses && !has_tokenizer)
    return invalid_value(function, "the model from ", model.path(),
                         " has no tokenizer for the option \"method\":\"tokenizer\"; omit it, or "
                         "use \"words\"");
  if (uses && options.for_words)
    return invalid_value(function,
                         "the options \"a\", \"components\", \"weights\", \"lower_case\" and "
                         "\"longest_match\" are for encoding by words, but the model from ",
                         model.path(), " encodes by its tokenizer; omit them, or add \"method\":\"words\"");
  return uses;
}

Result<std::shared_ptr<const TextEncoder>> make_word_encoder(Connection& connection, const ModelPtr& model,
                                                             const TextOptions& parsed,
                                                             std::string_view function, bool for_words_only) {
  GLOVE_ASSIGN_OR_RETURN(WordWeights weights, weights_of(*model, parsed, function));
  std::shared_ptr<const CommonComponents> common;
  int64_t components = for_words_only ? 0 : parsed.components;
  if (components > 0) {
    GLOVE_ASSIGN_OR_RETURN(common, components_of(connection, model, weights, parsed, function));
    components = std::min(components, common->count);
  }
  GLOVE_ASSIGN_OR_RETURN(auto index, connection.engine().results().find_or_add<WordIndex>(
                                         concat("word index ", model->id()),
                                         [&] { return Result<WordIndex>(WordIndex(model->vocabulary())); }));
  return std::shared_ptr<const TextEncoder>(
      std::make_shared<const SentenceEncoder>(std::move(index), std::move(weights), std::move(common),
                                              components, static_cast<const TokenizerOptions&>(parsed)));
}

// The tokenizer depends on the model only.
Result<std::shared_ptr<const TextEncoder>> static_encoder_of(Connection& connection, const Model& model,
                                                             std::string_view function) {
  Engine& engine = connection.engine();
  const std::string key = "static encoder " + std::to_string(model.id());
  if (auto known = engine.results().find<StaticEncoder>(key); known != nullptr)
    return std::shared_ptr<const TextEncoder>(std::move(known));
  InterruptPoller poller(connection.db());
  auto made = StaticEncoder::make(model, poller);
  GLOVE_RETURN_IF_ERROR(model.health());  // of what was read
  if (!made.ok()) return named_error(function, made.error());
  const auto bytes = static_cast<int64_t>(kBytesPerJsonByte * model.source().tokenizer->json.size());
  engine.results().add(key, made.value(), bytes);
  return std::shared_ptr<const TextEncoder>(std::move(made.value()));
}

Result<std::shared_ptr<const TextEncoder>> make_encoder(Connection& connection, const ModelPtr& model,
                                                        std::optional<std::string_view> options,
                                                        std::string_view function, bool for_words_only) {
  const Timer timer;
  GLOVE_ASSIGN_OR_RETURN(const TextOptions parsed, parse_text_options(options, function));
  GLOVE_ASSIGN_OR_RETURN(const bool by_tokenizer, uses_tokenizer(*model, parsed, function));
  auto encoder = by_tokenizer ? static_encoder_of(connection, *model, function)
                              : make_word_encoder(connection, model, parsed, function, for_words_only);
  if (encoder.ok()) record(connection, *model, timer.microseconds());
  return encoder;
}

// The encoder that the process keeps for this model and these options.
Result<std::shared_ptr<const TextEncoder>> shared_encoder(Connection& connection, const ModelPtr& model,
                                                          std::optional<std::string_view> options,
                                                          std::string_view function, bool for_words_only) {
  std::string key = for_words_only ? "word encoder " : "encoder ";
  key += std::to_string(model->id());
  if (options) key.append(" ").append(*options);
  if (auto known = connection.engine().results().find<TextEncoder>(key); known != nullptr) return known;
  GLOVE_ASSIGN_OR_RETURN(auto made, make_encoder(connection, model, options, function, for_words_only));
  const auto bytes = static_cast<int64_t>(sizeof(SentenceEncoder) + key.size());
  connection.engine().results().add(std::move(key), made, bytes);
  return made;
}

}  // namespace

Result<TextOptions> parse_text_options(std::optional<std::string_view> json, std::string_view function) {
  size_t given = 0;
  GLOVE_ASSIGN_OR_RETURN(TextOptions options, parse_options<TextOptions>(json, function, "{\"components\":0}",
                                                                         kTextOptions, {}, &given));
  options.for_words = given > (options.method ? 1 : 0);
  return options;
}

int text_vector_version(const Model& model, std::string_view options) {
  constexpr int kOfWords = 2, kOther = 1;
  const auto parsed = parse_text_options(options.empty() ? "{}" : options, {});
  if (model.source().encoder != nullptr || !parsed.ok() || !parsed.value().longest_match) return kOther;
  const auto by_tokenizer = uses_tokenizer(model, parsed.value(), {});
  return by_tokenizer.ok() && !by_tokenizer.value() ? kOfWords : kOther;
}

std::string options_of_version_1(std::string_view options) {
  const std::string added = "{\"longest_match\":false";
  const size_t first = options.find_first_not_of(" \t\r\n{");
  if (first == std::string_view::npos || options[first] == '}') return added + "}";
  return concat(added, ",", options.substr(first));
}

Result<const TextEncoder*> KeptEncoder::find(Connection& connection, const ModelPtr& model,
                                             std::optional<std::string_view> options,
                                             std::string_view function, bool for_words_only) {
  if (encoder_ != nullptr && model_id_ == model->id() && options_ == options) return encoder_.get();
  encoder_.reset();
  if (model->source().encoder != nullptr && options)
    return invalid_value(function, "the model from ", model->path(),
                         " is a neural encoder, which has no options for texts; leave them out, and pass "
                         "prompts and dims to glove_load");
  encoder_ = model->source().encoder;
  if (encoder_ == nullptr) {
    GLOVE_ASSIGN_OR_RETURN(encoder_, shared_encoder(connection, model, options, function, for_words_only));
  }
  model_id_ = model->id();
  options_.reset();
  if (options) options_.emplace(*options);
  return encoder_.get();
}

}  // namespace glove::sql
