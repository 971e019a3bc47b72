// An interrupt in any loop of any tokenizer ends all loops around it, and so does one while a file is read.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/share.h"
#include "text/tokenizers/added_tokens.h"
#include "text/tokenizers/model.h"
#include "text/tokenizers/normalizers.h"
#include "text/tokenizers/post_processor.h"
#include "text/tokenizers/pre_tokenizers.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/unicode.h"

namespace glove::tokenizers {
namespace {

using nlohmann::json;

constexpr uint32_t kIterationsPerPoll = 4096;
// How many iterations may begin after the stop: each loop of a tokenizer may ask once more.
constexpr uint32_t kMostAfterwards = 32;

const json& golden() {
  static const json document = json::parse(std::ifstream(GLOVE_TEST_DATA "/golden.json"));
  return document;
}

json golden_tokenizer(const std::string& name) {
  for (const json& entry : golden()["tokenizers"]) {
    if (entry["name"] == name) return entry["json"];
  }
  throw std::out_of_range(name);
}

template <class T>
T must(Result<T> made) {
  if (!made.ok()) throw std::runtime_error(made.error().message);
  return std::move(made).value();
}

// The steps of Tokenizer::encode(), over a TextWork that the test can watch.
class Steps {
 public:
  explicit Steps(const json& document)
      : document_(must(parse_json(document.dump(), source_))), root_(document_, "", source_) {
    model_ = must(read_model(must(root_.at("model"))));
    if (const auto field = root_.find("normalizer")) normalizers_ = must(Normalizers::read(*field));
    if (const auto field = root_.find("pre_tokenizer")) pre_tokenizers_ = must(PreTokenizers::read(*field));
    if (const auto field = root_.find("added_tokens")) {
      added_ = must(AddedTokens::read(*field, model_->vocabulary(), normalizers_ ? &*normalizers_ : nullptr));
    }
  }

  void run(std::string_view text, TextWork& work) {
    ids_.clear();
    const std::string_view whole = well_formed(text, well_formed_, work);
    added_.split_source(whole, sections_, work);
    for (const Section& section : sections_) {
      if (work.stop()) return;
      if (section.id != Trie::kNone) continue;
      std::string_view part = whole.substr(section.begin, section.end - section.begin);
      size_t origin = pre_tokenizers_ && pre_tokenizers_->needs_origin() ? length_of(part[0]) : 0;
      if (normalizers_) part = normalizers_->apply(part, normalizer_buffers_, origin, work);
      added_.split_normalized(part, normalized_, work);
      for (const Section& one : normalized_) {
        if (work.stop()) return;
        if (one.id != Trie::kNone) continue;
        pieces_.start(part.substr(one.begin, one.end - one.begin), origin);
        if (pre_tokenizers_) pre_tokenizers_->apply(pieces_, work);
        for (const Span span : pieces_.spans()) {
          if (work.stop()) return;
          if (!model_->encode(pieces_.text(span), model_buffers_, work, ids_).ok()) return;
        }
      }
    }
  }

 private:
  InterruptCheck never_;
  InterruptPoll poll_{never_};
  const std::string file_ = "t.json";
  const JsonSource source_{file_, poll_};
  Json document_;
  JsonField root_;
  std::unique_ptr<const TokenModel> model_;
  std::optional<Normalizers> normalizers_;
  std::optional<PreTokenizers> pre_tokenizers_;
  AddedTokens added_;
  std::string well_formed_;
  NormalizerBuffers normalizer_buffers_;
  ModelBuffers model_buffers_;
  PieceList pieces_;
  std::vector<Section> sections_, normalized_;
  std::vector<uint32_t> ids_;
};

json whole_words(const json& model) {
  return {{"model", model}};
}

// Vocabularies of "a", "aa", "aaa" and so on, with which each place of a text begins hundreds of tokens.
std::vector<std::pair<std::string, json>> documents() {
  std::vector<std::pair<std::string, json>> all;
  for (const json& entry : golden()["tokenizers"]) all.emplace_back(entry["name"], entry["json"]);
  json words = {{"[UNK]", 0}, {"b", 1}}, scores = json::array({json::array({"[UNK]", -1.0})}),
       bytes = json::object(), added = json::array();
  for (uint32_t i = 1; i <= 800; ++i) {
    words[std::string(i, 'a')] = 2 * i;
    words["##" + std::string(i, 'a')] = 2 * i + 1;
    scores.push_back(json::array({std::string(i, 'a'), -1.0}));
  }
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (uint32_t i = 0; i < 256; ++i) bytes["<0x" + std::string{kDigits[i / 16], kDigits[i % 16]} + ">"] = i;
  bytes["a"] = 256;
  bytes["aa"] = 257;
  json token = golden_tokenizer("added")["added_tokens"][9];
  for (uint32_t i = 2; i < 40; ++i) {
    token["content"] = std::string(20 * i, 'a') + "b";
    token["lstrip"] = token["rstrip"] = i % 2 == 0;
    token["normalized"] = i % 3 == 0;
    added.push_back(token);
  }
  all.emplace_back("unigram of a", whole_words({{"type", "Unigram"}, {"unk_id", 0}, {"vocab", scores}}));
  all.emplace_back("pieces of a", whole_words({{"type", "WordPiece"},
                                               {"unk_token", "[UNK]"},
                                               {"continuing_subword_prefix", "##"},
                                               {"max_input_chars_per_word", 100000},
                                               {"vocab", words}}));
  json pairs = whole_words(
      {{"type", "BPE"}, {"vocab", bytes}, {"merges", json::array({"a a"})}, {"byte_fallback", true}});
  pairs["model"]["continuing_subword_prefix"] = "";
  all.emplace_back("pairs of bytes", pairs);
  json unknown = json::array({json::array({"[UNK]", -1.0})});
  for (const auto& [byte, id] : bytes.items()) unknown.push_back(json::array({byte, -1.0}));
  all.emplace_back(
      "unigram of bytes",
      whole_words({{"type", "Unigram"}, {"unk_id", 0}, {"byte_fallback", true}, {"vocab", unknown}}));
  all.emplace_back("added", whole_words({{"type", "WordLevel"}, {"unk_token", "[UNK]"}, {"vocab", words}}));
  all.back().second["added_tokens"] = added;
  return all;
}

std::vector<std::string> texts() {
  std::string letters, marks, words, lines;
  for (size_t i = 0; i < 1200; ++i) letters += static_cast<char>('a' + i * i % 13);
  for (size_t i = 0; i < 500; ++i) marks += i % 2 == 0 ? "\u0301" : "\u0323";
  for (size_t i = 0; i < 300; ++i) words += i % 7 == 0 ? "It's \u4e2d\u00e9, " : "a1 b-- ";
  for (size_t i = 0; i < 60; ++i) lines += std::string(i, 'a') + "b<mask> [CLS] \r\n\u2581";
  return {
      letters, std::string(1500, 'a'), "e" + marks, std::string(1500, '\x80'), std::string(1500, ' '), words,
      lines};
}

TEST(TokenizerInterrupts, EndAllLoops) {
  const char* const given = std::getenv("GLOVE_TEST_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  SCOPED_TRACE("repeat with GLOVE_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::vector<std::string> all_texts = texts();
  size_t stopped = 0;
  for (const auto& [name, document] : documents()) {
    Steps steps(document);
    for (size_t i = 0; i < all_texts.size(); ++i) {
      const std::string& text = all_texts[i];
      for (int round = 0; round < 60 / test::kShare; ++round) {
        TextWork* watched = nullptr;
        uint32_t at = 0;
        const InterruptCheck check = [&] {
          at = watched->iterations();
          return true;
        };
        InterruptPoll poll(check);
        TextWork work(poll, text.size());
        watched = &work;
        // The check is asked at the first multiple of 4096, which is any iteration of the tokenizer.
        for (uint64_t before = random() % kIterationsPerPoll; before > 0; --before) work.stop();
        steps.run(text, work);
        EXPECT_EQ(work.stopped(), at != 0);
        if (at == 0) continue;  // the text took fewer iterations
        ++stopped;
        ASSERT_LE(work.iterations() - at, kMostAfterwards) << name << ", text " << i << ", iteration " << at;
        EXPECT_EQ(work.status().error().code, ErrorCode::kInterrupted);
      }
    }
  }
  EXPECT_GT(stopped, 100u);
}

TEST(TokenizerInterrupts, LeaveNothingInTheBuffers) {
  std::string text;
  for (size_t i = 0; i < 6000; ++i) text += i % 5 == 4 ? ' ' : static_cast<char>('a' + i * i % 7);
  for (const json& entry : golden()["tokenizers"]) {
    const auto tokenizer = must(Tokenizer::parse(entry["json"].dump(), "t.json"));
    Tokenizer::Scratch used, fresh;
    std::vector<uint32_t> ids, expected;
    EXPECT_FALSE(tokenizer
                     ->encode(
                         text, true, used, [] { return true; }, ids)
                     .ok())
        << entry["name"];
    ids.clear();
    ASSERT_TRUE(tokenizer->encode(text, true, used, {}, ids).ok());
    ASSERT_TRUE(tokenizer->encode(text, true, fresh, {}, expected).ok());
    EXPECT_EQ(ids, expected) << entry["name"];
  }
}

// The special tokens around a text are counted before they are read.

json with_processor(const json& processor) {
  json document = golden_tokenizer("nothing");
  document["post_processor"] = processor;
  return document;
}

json template_of(size_t pieces, const json& ids) {
  json single = json::array();
  for (size_t i = 0; i < pieces; ++i) single.push_back({{"SpecialToken", {{"id", "x"}, {"type_id", 0}}}});
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"special_tokens", {{"x", {{"id", "x"}, {"ids", ids}}}}}};
}

json nested(size_t count) {
  json list = json::array();
  for (size_t i = 0; i < count; ++i)
    list.push_back({{"type", i % 2 == 0 ? "BertProcessing" : "RobertaProcessing"},
                    {"cls", {"x", 2 * i}},
                    {"sep", {"x", 2 * i + 1}}});
  return {{"type", "Sequence"}, {"processors", {{{"type", "Sequence"}, {"processors", list}}}}};
}

std::string error_of(const json& document) {
  const auto tokenizer = Tokenizer::parse(document.dump(), "t.json");
  return tokenizer.ok() ? "no error" : tokenizer.error().message;
}

TEST(PostProcessors, LimitTheSpecialTokensOfAText) {
  const std::string limit =
      " puts more than 65536 special tokens around each text, which is not supported; use another model";
  const std::string ids = "t.json: post_processor.special_tokens.x.ids" + limit;
  EXPECT_EQ(error_of(with_processor(template_of(2'000, std::vector<int>(500, 0)))), ids);
  EXPECT_EQ(error_of(with_processor(template_of(257, std::vector<int>(256, 0)))), ids);
  EXPECT_EQ(error_of(with_processor(template_of(1, std::vector<std::string>(65'537, "no id")))), ids)
      << "counted before they are read";
  EXPECT_EQ(error_of(with_processor(template_of(1, json::array({"no id"}))))
                .find("t.json: post_processor.special_tokens.x.ids[0] must be an id"),
            0u);
  EXPECT_EQ(error_of(with_processor(nested(32'769))),
            "t.json: post_processor.processors[0].processors[32768]" + limit);
  json both = {{"type", "Sequence"},
               {"processors", json::array({template_of(257, std::vector<int>(255, 0)), nested(1)})}};
  EXPECT_EQ(error_of(with_processor(both)),
            "t.json: post_processor.processors[1].processors[0].processors[0]" + limit);
  json three = nested(1);
  three["processors"][0]["processors"][0]["cls"] = {"x", 1, 2};
  EXPECT_NE(error_of(with_processor(three)).find("cls must be an array of a token and its id"),
            std::string::npos);
}

TEST(PostProcessors, PutAsManyAroundATextAsTheyMay) {
  for (const json& processor : {template_of(256, std::vector<int>(256, 7)), nested(32'768)}) {
    const auto tokenizer = Tokenizer::parse(with_processor(processor).dump(), "t.json");
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    Tokenizer::Scratch scratch;
    std::vector<uint32_t> ids;
    ASSERT_TRUE(tokenizer.value()->encode("the", true, scratch, {}, ids).ok());
    ASSERT_EQ(ids.size(), 65'537u);
    if (processor["type"] == "Sequence") {  // the last processor is the outermost
      EXPECT_EQ(ids.front(), 65'534u);
      EXPECT_EQ(ids.back(), 65'535u);
    }
  }
}

TEST(PostProcessors, StopWhenInterrupted) {
  for (const json& processor : {template_of(3, json::array({0})), template_of(0, json::array()), nested(2)}) {
    const json whole = {{"post_processor", processor}};
    const InterruptCheck never, check = [] { return true; };
    InterruptPoll unstopped(never), poll(check);
    const std::string file = "t.json";
    const Json document = must(parse_json(whole.dump(), {file, unstopped}));
    const auto read = PostProcessor::read(JsonField(document, "", JsonSource{file, poll}));
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, ErrorCode::kInterrupted);
  }
}

}  // namespace
}  // namespace glove::tokenizers
