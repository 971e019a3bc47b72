// Tokenizers of embedding models. The expected ids are those of the reference (make_golden.mjs).
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/float_environment.h"
#include "model/model_builder.h"
#include "tests/share.h"
#include "text/static_encoder.h"
#include "text/tokenizers/tokenizer.h"

namespace {

std::atomic<size_t> allocations{0};

}  // namespace

// Not inlined, because the compiler would warn about pairs of malloc and delete.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  if (void* place = std::malloc(size == 0 ? 1 : size)) return place;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {  // of std::stable_sort
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* place) noexcept {
  std::free(place);
}
[[gnu::noinline]] void operator delete(void* place, size_t) noexcept {
  std::free(place);
}
[[gnu::noinline]] void operator delete(void* place, const std::nothrow_t&) noexcept {
  std::free(place);
}

namespace glove {
namespace {

using nlohmann::json;
using Ids = std::vector<uint32_t>;

const json& golden() {
  static const json document = json::parse(std::ifstream(GLOVE_TEST_DATA "/golden.json"));
  return document;
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

std::vector<std::string> golden_texts() {
  std::vector<std::string> texts;
  for (const json& text : golden()["texts"]) texts.push_back(from_hex(text));
  return texts;
}

const json& golden_tokenizer(const std::string& name) {
  for (const json& entry : golden()["tokenizers"]) {
    if (entry["name"] == name) return entry;
  }
  throw std::out_of_range(name);
}

std::shared_ptr<const Tokenizer> parsed(const json& document) {
  auto tokenizer = Tokenizer::parse(document.dump(), "tokenizer.json");
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  return tokenizer.ok() ? std::move(tokenizer).value() : nullptr;
}

Ids ids_of(const Tokenizer& tokenizer, std::string_view text, bool special = true) {
  Tokenizer::Scratch scratch;
  Ids ids;
  const Status status = tokenizer.encode(text, special, scratch, {}, ids);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return ids;
}

std::string error_of(const json& document) {
  const auto tokenizer = Tokenizer::parse(document.dump(), "tokenizer.json");
  return tokenizer.ok() ? "no error" : tokenizer.error().message;
}

TEST(Tokenizers, GiveTheIdsOfTheReference) {
  const std::vector<std::string> texts = golden_texts();
  Tokenizer::Scratch scratch;  // shared, so that nothing of one text or tokenizer may appear in the next
  size_t compared = 0;
  for (const json& entry : golden()["tokenizers"]) {
    const auto tokenizer = parsed(entry["json"]);
    ASSERT_NE(tokenizer, nullptr) << entry["name"];
    for (size_t i = 0; i < texts.size(); ++i) {
      for (int round = 0; round < 2; ++round) {
        Ids ids;
        ASSERT_TRUE(tokenizer->encode(texts[i], true, scratch, {}, ids).ok());
        EXPECT_EQ(ids, entry["ids"][i].get<Ids>()) << entry["name"] << ": " << texts[i];
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 2000u);
}

// The pieces are those of the Rust crate 0.23.3.
TEST(Tokenizers, SplitByTheExpressionsOfLargeModels) {
  constexpr const char* kText = "I'LL don't  pay 12345\n\n  é²!!\r\n\t x's 'ſ";
  struct Case {
    const char *expression, *behavior;
    bool inverts;
    std::vector<std::string> pieces;
  };
  const Case cases[] = {
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       "Isolated",
       false,
       {"I", "'LL", " don", "'t", " ", " pay", " ", "123", "45", "\n\n", " ", " é", "²", "!!\r\n", "\t", " x",
        "'s", " '", "ſ"}},
      {R"('s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)",
       "Removed",
       true,
       {"I", "'", "LL", "don", "'t", "pay", "1", "2", "3", "4", "5", "é", "²", "!!", "x", "'s", "'", "ſ"}}};
  for (const Case& each : cases) {
    json document = {{"version", "1.0"}, {"model", {{"type", "WordLevel"}, {"unk_token", "?"}}}};
    json& vocabulary = document["model"]["vocab"] = {{"?", 0}};
    Ids expected;
    for (const std::string& piece : each.pieces) {
      if (!vocabulary.contains(piece)) vocabulary[piece] = vocabulary.size();
      expected.push_back(vocabulary[piece]);
    }
    document["pre_tokenizer"] = {{"type", "Split"},
                                 {"pattern", {{"Regex", each.expression}}},
                                 {"behavior", each.behavior},
                                 {"invert", each.inverts}};
    EXPECT_EQ(ids_of(*parsed(document), kText), expected) << each.expression;
  }
}

TEST(Tokenizers, AddSpecialTokensOnlyIfAsked) {
  const auto bert = parsed(golden_tokenizer("bert")["json"]);
  const Ids with = ids_of(*bert, "hello"), without = ids_of(*bert, "hello", false);
  ASSERT_EQ(with.size(), without.size() + 2);
  EXPECT_EQ(bert->token(with.front()), "[CLS]");
  EXPECT_EQ(bert->token(with.back()), "[SEP]");
  EXPECT_EQ(bert->token(without.front()), "hello");
}

TEST(Tokenizers, AppendToTheIdsThatAreThere) {
  const auto added = parsed(golden_tokenizer("added")["json"]);  // truncates to 9 ids, from the left
  Tokenizer::Scratch scratch;
  Ids ids = {7, 7, 7};
  ASSERT_TRUE(added->encode("a b c d e f g h i j k", true, scratch, {}, ids).ok());
  ASSERT_EQ(ids.size(), 3u + 9u);
  EXPECT_EQ(ids[2], 7u);
  EXPECT_EQ(added->token(ids.back()), "k");
}

TEST(Tokenizers, ListTheirVocabulary) {
  json document = golden_tokenizer("bert")["json"];
  document["model"]["vocab"] = {{"[UNK]", 5}, {"a", 7}, {"##b", 4000000000u}};
  document["added_tokens"] = json::array();
  for (const char* token : {"[UNK]", "[NEW]"}) {
    json added = golden_tokenizer("added")["json"]["added_tokens"][10];
    added["content"] = token;
    added["special"] = token[1] == 'N';
    document["added_tokens"].push_back(added);
  }
  const auto tokenizer = parsed(document);
  EXPECT_EQ(tokenizer->vocabulary_size(), 4000000001u);
  EXPECT_EQ(tokenizer->token(7), "a");
  EXPECT_EQ(tokenizer->token(6), "");
  EXPECT_EQ(tokenizer->token(4000000000u), "##b");
  EXPECT_EQ(tokenizer->token(4000000001u), "");
  EXPECT_EQ(tokenizer->id_of("a"), 7u);
  EXPECT_EQ(tokenizer->id_of("[NEW]"), 3u) << "the number of tokens of the model, as in the reference";
  EXPECT_EQ(tokenizer->id_of("b"), std::nullopt);
  EXPECT_EQ(tokenizer->unknown_id(), 5u);
  EXPECT_EQ(ids_of(*tokenizer, "ab[NEW]c", false), (Ids{7, 4000000000u, 3, 5}));
}

TEST(Tokenizers, AllocateNothingOnceWarm) {
  const std::vector<std::string> texts = golden_texts();
  for (const json& entry : golden()["tokenizers"]) {
    const auto tokenizer = parsed(entry["json"]);
    Tokenizer::Scratch scratch;
    Ids ids;
    size_t before = 0;
    for (int round = 0; round < 5; ++round) {  // a step and the next one swap their buffers
      before = allocations;
      for (const std::string& text : texts) {
        ids.clear();
        ASSERT_TRUE(tokenizer->encode(text, true, scratch, {}, ids).ok());
      }
    }
    EXPECT_EQ(allocations - before, 0u) << entry["name"];
  }
}

// The whole way from a text to its vector.
TEST(StaticEncoders, AllocateNothingOnceWarm) {
  const ScopedFloatEnvironment environment;
  const std::vector<std::string> texts = golden_texts();
  for (const char* name : {"bert", "gpt2", "unigram"}) {
    const std::string text = golden_tokenizer(name)["json"].dump();
    auto content = read_tokenizer(name, text, {});
    ASSERT_TRUE(content.ok()) << content.error().message;
    auto stored = std::make_shared<StoredTokenizer>();
    stored->json = text;
    stored->tokens = std::ssize(content.value().tokens);
    stored->parsed = content.value().tokenizer;
    ModelBuilder builder(name);
    for (int64_t id = 0; id < stored->tokens; ++id) {
      const float row[] = {1.0f + static_cast<float>(id), 1.0f};
      ASSERT_TRUE(builder.add("w" + std::to_string(id), row).ok());
    }
    const ModelPtr words = builder.finish(1).value();
    Model::Source source;
    source.tokenizer = stored;
    const Model model({words->parts().begin(), words->parts().end()}, words->vocabulary(), source, words);
    const auto encoder = StaticEncoder::make(model, {});
    ASSERT_TRUE(encoder.ok()) << encoder.error().message;
    TextEncoder::Scratch scratch;
    size_t before = 0;
    int64_t vectors = 0;
    for (int round = 0; round < 5; ++round) {
      before = allocations;
      for (const std::string& one : texts) {
        const Result<bool> encoded = encoder.value()->encode(model, one, scratch);
        ASSERT_TRUE(encoded.ok()) << encoded.error().message;
        vectors += encoded.value();
      }
    }
    EXPECT_EQ(allocations - before, 0u) << name;
    EXPECT_GT(vectors, 0);
  }
}

// A text of one word, or of marks in descending order of their classes, takes time in proportion to its
// length.
std::vector<std::string> long_texts() {
  const size_t kBytes = static_cast<size_t>(600'000 / test::kShortShare);
  std::string letters, marks;
  for (size_t i = 0; i < kBytes; ++i) letters += static_cast<char>('a' + i * i % 13);
  for (size_t i = 0; i < kBytes / 3; ++i) marks += i % 2 == 0 ? "\u0301" : "\u0323";
  return {letters, std::string(kBytes, 'a'), "e" + marks, std::string(kBytes, '\x80'),
          std::string(kBytes, ' ')};
}

TEST(Tokenizers, EncodeLongTexts) {
  for (const char* name :
       {"bert", "nfkc", "gpt2", "gpt2_whole", "llama", "unigram", "unigram_bytes", "added", "replaced"}) {
    const auto tokenizer = parsed(golden_tokenizer(name)["json"]);
    for (const std::string& text : long_texts()) {
      Tokenizer::Scratch scratch;
      Ids ids;
      EXPECT_TRUE(tokenizer->encode(text, true, scratch, {}, ids).ok()) << name;
    }
  }
}

TEST(Tokenizers, StopWhenInterrupted) {
  for (const char* name :
       {"bert", "nfkc", "gpt2", "gpt2_whole", "llama", "unigram", "unigram_bytes", "added", "replaced"}) {
    const auto tokenizer = parsed(golden_tokenizer(name)["json"]);
    for (const std::string& text : long_texts()) {
      Tokenizer::Scratch scratch;
      for (const int most : {1, 3, 10}) {
        int asked = 0;
        Ids ids;
        const Status status = tokenizer->encode(
            text, true, scratch, [&] { return ++asked == most; }, ids);
        EXPECT_EQ(status.ok(), asked < most) << name;
        EXPECT_TRUE(status.ok() || status.error().code == ErrorCode::kInterrupted) << name;
        EXPECT_LE(asked, most) << name << ": asked again after it said stop";
        EXPECT_GE(asked, 1) << name;
      }
    }
  }
}

TEST(Tokenizers, NameThePartThatIsNotSupported) {
  const json& bert = golden_tokenizer("bert")["json"];
  const auto with = [&](const char* part, const json& value) {
    json document = bert;
    document[json::json_pointer(part)] = value;
    return error_of(document);
  };
  EXPECT_EQ(with("/normalizer/type", "Foo"),
            "tokenizer.json: normalizer has the type 'Foo', which is not supported: BertNormalizer, "
            "ByteLevel, Lowercase, NFC, NFD, "
            "NFKC, NFKD, Nmt, Precompiled, Prepend, Replace, Sequence, Strip and StripAccents are");
  EXPECT_EQ(with("/pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {{{"type", "FixedLength"}}}}}),
            "tokenizer.json: pre_tokenizer.pretokenizers[0] has the type 'FixedLength', which is not "
            "supported: BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, Metaspace, Punctuation, "
            "Sequence, Split, UnicodeScripts, Whitespace and WhitespaceSplit are");
  EXPECT_EQ(with("/model/type", "Foo"),
            "tokenizer.json: model has the type 'Foo', which is not supported: WordPiece, WordLevel, Unigram "
            "and BPE are");
  EXPECT_NE(with("/post_processor/type", "Foo").find("post_processor has the type 'Foo'"), std::string::npos);
  EXPECT_NE(with("/normalizer", {{"type", "Replace"}, {"pattern", {{"Regex", "(a|b)"}}}, {"content", ""}})
                .find("normalizer.pattern is the regular expression '(a|b)', which is not supported"),
            std::string::npos);
  for (const char* expression : {"a**", "[a-z]+", "(?=a)", "x{3,2}", "\\w+", "a*", "[b", "(?i:a)b", "|a"})
    EXPECT_NE(
        with("/normalizer", {{"type", "Replace"}, {"pattern", {{"Regex", expression}}}, {"content", ""}})
            .find("is the regular expression"),
        std::string::npos)
        << expression;
  EXPECT_NE(with("/version", "2.0").find("version '2.0'"), std::string::npos);
  const json long_string = {{"String", std::string(65'537, 'a')}};
  EXPECT_NE(
      with("/normalizer", {{"type", "Replace"}, {"pattern", long_string}, {"content", ""}})
          .find("normalizer.pattern is a string of 65537 bytes, which is not supported: at most 65536 are"),
      std::string::npos);
  json random = golden_tokenizer("gpt2")["json"];
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    json affixes = random;
    affixes["model"][affix] = std::string(257, '#');
    EXPECT_NE(
        error_of(affixes).find("model has a continuing_subword_prefix or end_of_word_suffix of more than "
                               "256 bytes, which is not supported"),
        std::string::npos);
  }
  random["model"]["dropout"] = 0.1;
  EXPECT_NE(error_of(random).find("model.dropout makes tokens random"), std::string::npos);
}

TEST(Tokenizers, NameThePartThatIsWrong) {
  const auto with = [&](const char* name, const char* part, const json& value) {
    json document = golden_tokenizer(name)["json"];
    document[json::json_pointer(part)] = value;
    return error_of(document);
  };
  const auto expect = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << message << " lacks " << part;
  };
  expect(with("bert", "/model", nullptr), "the file lacks 'model'");
  expect(with("bert", "/model", 3), "model must be an object");
  expect(with("bert", "/model/vocab", nullptr), "model lacks 'vocab'");
  expect(with("bert", "/model/vocab", json::array()), "model.vocab must be an object");
  const std::string the = "model.vocab.'the' must be an id, a whole number up to 4294967293, and not ";
  expect(with("bert", "/model/vocab/the", -1), (the + "'-1'").c_str());
  expect(with("bert", "/model/vocab/the", 4294967295u), (the + "'4294967295'").c_str());
  expect(with("bert", "/model/vocab/the", 1.5), (the + "'1.5'").c_str());
  expect(with("bert", "/model/unk_token", 1), "model.unk_token must be a string, and not '1'");
  expect(with("bert", "/model/unk_token", "[NONE]"),
         "model has the unk_token '[NONE]', which its 'vocab' lacks");
  expect(with("nothing", "/model/unk_token", "[NONE]"),
         "model has the unk_token '[NONE]', which its 'vocab' lacks");
  expect(with("bert", "/normalizer/lowercase", "yes"),
         "normalizer.lowercase must be true or false, and not '\"yes\"'");
  expect(with("bert", "/normalizer/clean_text", nullptr), "normalizer lacks 'clean_text'");
  expect(with("bert", "/added_tokens", 1), "added_tokens must be an array");
  expect(with("bert", "/added_tokens/0/content", nullptr), "added_tokens[0] lacks 'content'");
  expect(with("bert", "/post_processor/special_tokens", json::object()), "special_tokens lacks '[CLS]'");
  expect(with("bert_lower", "/truncation/max_length", 1), "truncation has a max_length of 1");
  expect(with("bert_lower", "/truncation/strategy", "Some"), "strategy 'Some'");
  expect(with("gpt2", "/model/merges/3", "a"), "model.merges must have a pair of tokens at place 3");
  expect(with("gpt2", "/model/merges/3", {"q", "zz"}), "model.merges needs the token 'zz' at place 3");
  expect(with("unigram", "/model/unk_id", 1000), "model has the unk_id 1000, but only");
  expect(with("unigram", "/model/vocab/2", {"a"}),
         "model.vocab.2 must be an array of a token and its score, and not '[\"a\"]'");
  expect(with("unigram", "/pre_tokenizer/replacement", "ab"), "one character as its 'replacement'");
  expect(with("unigram", "/normalizer/normalizers/0/precompiled_charsmap", "AAAA"),
         "normalizer.normalizers[0] has a precompiled_charsmap");
  expect(with("unigram", "/normalizer/normalizers/0/precompiled_charsmap", "???"), "is not base64");
  expect(with("next", "/pre_tokenizer/pretokenizers/0/behavior", "Foo"), "behavior 'Foo'");
  expect(with("next", "/pre_tokenizer/pretokenizers/0/pattern", {{"String", ""}}), "is an empty string");
}

TEST(Tokenizers, RefuseWhatIsNoTokenizer) {
  const auto error = [](const std::string& text) {
    const auto tokenizer = Tokenizer::parse(text, "t.json");
    return tokenizer.ok() ? "no error" : tokenizer.error().message;
  };
  const std::string whole = golden_tokenizer("bert")["json"].dump();
  for (size_t length = 0; length < whole.size(); length += 97) {
    EXPECT_NE(error(whole.substr(0, length)).find("t.json: malformed JSON at byte"), std::string::npos)
        << length;
  }
  EXPECT_EQ(error("[]"), "t.json: the file must be an object, and not '[]'");
  EXPECT_EQ(error(R"([{"a":[1,-2.5,null],"b":"c"},[]])"),
            R"(t.json: the file must be an object, and not '[{"a":[1,-2.5,null],"b":"c"},[]]')");
  EXPECT_EQ(error(std::string("{}\0", 3)), "t.json: malformed JSON at byte 3: download tokenizer.json again");
  EXPECT_EQ(error(R"({"version":"1.0","version":"2"})"),
            "t.json: the file has the version '2': only 1.0 is supported");
  const std::string deep = std::string(1'000'000, '[');
  EXPECT_EQ(error(deep), "t.json: the JSON is nested deeper than 64 levels, so it is no tokenizer.json");
  EXPECT_EQ(error("{\"normalizer\":" + deep),
            "t.json: the JSON is nested deeper than 64 levels, so it is no tokenizer.json");
  EXPECT_EQ(error("{\"version\":1e999}"),
            "t.json: the JSON has a number beyond the range of a double: download tokenizer.json again");
  // Nothing of a text beyond the limit is looked at.
  EXPECT_EQ(error(std::string((size_t{256} << 20) + 1, ' ')),
            "t.json: a tokenizer.json of 268435457 bytes is too long: at most 268435456 are read");
}

TEST(Tokenizers, NeedAnUnknownTokenOnlyForUnknownPieces) {
  json document = golden_tokenizer("unigram")["json"];
  document["model"]["unk_id"] = nullptr;
  const auto tokenizer = parsed(document);
  EXPECT_EQ(tokenizer->unknown_id(), std::nullopt);
  EXPECT_EQ(ids_of(*tokenizer, "hello", false).size(), 1u);
  Tokenizer::Scratch scratch;
  Ids ids;
  const Status status = tokenizer->encode("☃", false, scratch, {}, ids);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("names no token of the vocabulary for unknown pieces"),
            std::string::npos);
}

TEST(Tokenizers, KeepTheLastOfEqualTokens) {
  std::string text = golden_tokenizer("nothing")["json"].dump();
  const std::string place = R"("vocab":{)";
  const size_t at = text.find(place) + place.size();
  text.insert(at, R"("same":9000,"same":9002,)");
  const auto tokenizer = Tokenizer::parse(text, "t.json");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ(ids_of(*tokenizer.value(), "same", false), Ids{9002});
  EXPECT_EQ(tokenizer.value()->token(9000).data(), nullptr);
}

// The reference finds such a token between any two bytes.
TEST(Tokenizers, CutTheTextWhereAnAddedTokenIsEmptyOnceNormalized) {
  json document = golden_tokenizer("nothing")["json"];
  document["normalizer"] = {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}};
  json token = golden_tokenizer("added")["json"]["added_tokens"][9];  // one that is normalized
  token["content"] = " ";
  document["added_tokens"] = json::array({token});
  const auto tokenizer = parsed(document);
  std::vector<std::string> tokens;
  for (const uint32_t id : ids_of(*tokenizer, "the ☃", false)) tokens.emplace_back(tokenizer->token(id));
  EXPECT_EQ(tokens, (std::vector<std::string>{"t", "h", "e", " ", "[UNK]"}));
}

TEST(Tokenizers, LimitTheGrowthOfATextByTheStepsBefore) {
  const auto spelled = [](const char* name) {
    json steps = json::array();
    for (int i = 0; i < 40; ++i) {
      steps.push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}});
    }
    return json{{"type", "Sequence"}, {name, steps}};
  };
  json replace = json::array();
  for (int i = 0; i < 4; ++i) {
    replace.push_back(
        {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(1000, 'a')}});
  }
  json documents[3];
  documents[0] = documents[1] = documents[2] = golden_tokenizer("nothing")["json"];
  documents[0]["normalizer"] = {{"type", "Sequence"}, {"normalizers", replace}};
  documents[1]["normalizer"] = spelled("normalizers");
  documents[2]["pre_tokenizer"] = spelled("pretokenizers");
  for (json& document : documents) {
    const auto tokenizer = parsed(document);
    Tokenizer::Scratch scratch;
    Ids ids;
    const Status status = tokenizer->encode("é a", false, scratch, {}, ids);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(
        status.error().message,
        "the normalizer and pre_tokenizer of the model's tokenizer.json make the text longer than 16777280 "
        "bytes, which is the limit for its length; use another model");
    EXPECT_TRUE(tokenizer->encode("b", false, scratch, {}, ids).ok()) << "after an error";
    json token = golden_tokenizer("added")["json"]["added_tokens"][9];
    token["content"] = "éa";
    document["added_tokens"] = json::array({token});
    const bool grows = error_of(document).starts_with("tokenizer.json: added_tokens has the token 'éa', but");
    EXPECT_EQ(grows, &document != &documents[2]);
  }
}

TEST(Tokenizers, StopParsingWhenInterrupted) {
  json document = golden_tokenizer("bert")["json"];
  for (uint32_t i = 1000; i < 60'000; ++i)
    document["model"]["vocab"]["##" + std::to_string(uint64_t{i} * 7919 * 7919)] = i;
  const std::string text = document.dump();
  int asked = 0;
  ASSERT_TRUE(Tokenizer::parse(text, "t.json", [&] { return ++asked < 0; }).ok());
  ASSERT_GT(asked, 3);
  for (const int most : {1, 2, asked / 2}) {
    int now = 0;
    const auto tokenizer = Tokenizer::parse(text, "t.json", [&] { return ++now == most; });
    if (now < most) continue;  // this time it was faster
    ASSERT_FALSE(tokenizer.ok());
    EXPECT_EQ(tokenizer.error().code, ErrorCode::kInterrupted);
    EXPECT_EQ(now, most) << "asked again after it said stop";
  }
}

// Damaged tables of a charsmap must not be followed out of their bounds.
TEST(Tokenizers, SurviveDamagedCharsmaps) {
  json document = golden_tokenizer("unigram")["json"];
  json& charsmap = document["normalizer"]["normalizers"][0]["precompiled_charsmap"];
  const std::string whole = charsmap;
  const std::vector<std::string> texts = golden_texts();
  uint32_t random = 35;
  for (int round = 0; round < 300 / test::kShortShare; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 40; ++i) {
      random = random * 1664525 + 1013904223;
      damaged[8 + random % (damaged.size() - 12)] = static_cast<char>('A' + random % 26);
    }
    charsmap = damaged;
    const auto tokenizer = Tokenizer::parse(document.dump(), "t.json");
    if (!tokenizer.ok()) continue;
    for (const std::string& text : texts) ids_of(*tokenizer.value(), text);
  }
}

}  // namespace
}  // namespace glove
