// Each kind of wrong header of a binary file leads to one error that names the file and what is wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/convert.h"
#include "loader/model_format.h"
#include "loader/open.h"
#include "tests/loader/bad_input.h"

namespace glove {
namespace {

using testing::BadInput;
using testing::floats;
using testing::gzipped;
using testing::npy;
using testing::TemporaryDirectory;

std::string safetensors(const std::string& json, const std::string& data = "") {
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>(json.size() >> (8 * i));
  return length + json + data;
}

std::string tensor(const std::string& name, const std::string& rest) {
  return "\"" + name + "\":{" + rest + "}";
}

// A matrix of 2 x 2 that begins at this byte of the data.
std::string matrix(const std::string& name, int begin = 0) {
  return tensor(name, R"("dtype":"F32","shape":[2,2],"data_offsets":[)" + std::to_string(begin) + "," +
                          std::to_string(begin + 16) + "]");
}

// Without a reader of tokenizers, which text/ has.
TEST_F(BadInput, StaticModels) {
  directory_.write("config.json", "{}");
  const std::string tokenizer = directory_.write("tokenizer.json", "{}");
  const std::string data = floats({1, 2, 3, 4});
  const std::string good = safetensors("{" + matrix("embeddings") + "}", data);
  OpenOptions options;
  const auto error = [&](const std::string& content) {
    const auto opened = open_model(directory_.write("model.safetensors", content), options);
    return opened.ok() ? "ok" : opened.error().message;
  };
  EXPECT_EQ(error(good),
            tokenizer + ": this program reads no tokenizers; convert the model with glove-convert");
  const std::string path = directory_.path("model.safetensors");
  for (const char* rest : {R"("dtype":"F32","shape":[4],"data_offsets":[0,16])",
                           R"("dtype":"I32","shape":[2,2],"data_offsets":[0,16])"})
    EXPECT_EQ(error(safetensors("{" + tensor("embeddings", rest) + "}", data)),
              path + ": the tensor 'embeddings' must be a matrix of F16, BF16, F32, F64 or I8");
  options.read.format = "static-model";
  EXPECT_EQ(
      error(gzipped(directory_, good)),
      path + ": the vectors of a static embedding model must not be compressed; unpack the folder first");
}

TEST_F(BadInput, HeadersOfSafetensors) {
  const std::string header = "the safetensors header ";
  const auto expect_fault = [&](const std::string& json, const std::string& fault) {
    expect_error(safetensors(json, floats({1, 2, 3, 4})), header + fault);
  };
  const std::string place = R"(,"data_offsets":[0,16])", shape = R"(,"shape":[2,2])";
  expect_fault("{\"a\":{", "is not valid JSON at its byte 7");
  expect_fault("{]", "is not valid JSON at its byte 2");
  for (const auto& [value, what] : std::vector<std::pair<std::string, std::string>>{
           {"null", "null"},
           {"true", "a boolean"},
           {"7", "number 7"},
           {"[]", "an array"},
           {R"({"dtype":{}})", "an object"},
           {R"({"dtype":["F32"]})", "an array"},
           {R"({"dtype":7})", "number 7"},
           {R"({"shape":"F32"})", "a string"},
           {R"({"dtype":""})", "a string"},
           {R"({"dtype":"F32","dtype":"F32"})", "a string"},
           {R"({"shape":[[2]]})", "an array"},
           {R"({"shape":[{}]})", "an object"},
           {R"({"shape":["2"]})", "a string"},
           {R"({"shape":[2.5]})", "a fraction"},
           {R"({"shape":[-2]})", "a negative number"},
           {R"({"shape":[18446744073709551615]})", "number 18446744073709551615"},
           {R"({"shape":[2],"shape":[2]})", "the key 'shape' twice"},
           {R"({"shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]})", "more than 16 numbers"},
           {R"({"kind":"F32"})", "the key 'kind'"}})
    expect_fault("{\"a\":" + value + "}", "has " + what + " where the format has none");
  expect_fault("{" + matrix("a") + "," + matrix("a") + "}",
               "has the tensor 'a' twice where the format has none");
  expect_fault(R"({"__metadata__":{"k":"1","k":"2"}})", "has the key 'k' twice where the format has none");
  expect_fault(R"({"__metadata__":{"k":[]}})", "has an array where the format has none");
  for (const std::string& rest : {R"("dtype":"F32")" + shape, R"("shape":[2,2])" + place,
                                  R"("dtype":"F32","data_offsets":[0])" + shape})
    expect_fault("{" + tensor("a", rest) + "}", "lacks the type or place of tensor 'a'");
  expect_fault("{" + tensor("a", R"("dtype":"F32","data_offsets":[16,0])" + shape) + "}",
               "gives tensor 'a' a place that ends before it begins");
  for (const std::string wrong : {"[2,3]", "[9223372036854775807,2]", "[]"})
    expect_fault("{" + tensor("a", R"("dtype":"F32","shape":)" + wrong + place) + "}",
                 "gives tensor 'a' 16 bytes, which does not fit its type and shape");
  expect_fault("{" + matrix("a", 4) + "}", "leaves a hole or an overlap at byte 0 of the data");
  expect_fault("{" + matrix("a") + "," + matrix("b", 8) + "}",
               "leaves a hole or an overlap at byte 8 of the data");
  // Whose length is none, with a format that the caller names.
  OpenOptions options;
  options.read.format = "safetensors";
  const auto error = [&](const std::string& content) {
    const std::string path = directory_.write("in", content);
    return open_model(path, options).error().message.substr(path.size() + 2);
  };
  EXPECT_EQ(error("{}"), "the file ends early: it has 2 bytes");
  EXPECT_EQ(error(std::string(8, '\x7f')),
            header + "would have 9187201950435737471 bytes; the most is 100000000");
  EXPECT_EQ(error(safetensors("[]")), header + "is not a JSON object");
  EXPECT_EQ(error(safetensors(std::string("\0{}", 3))), header + "is not a JSON object");
}

TEST_F(BadInput, MatricesOfSafetensors) {
  const std::string name_one =
      "name the tensor that holds the vectors (--tensor of glove-convert, \"tensor\" of glove_load); ";
  const std::string none = "a matrix of F16, BF16, F32, F64 or I8 was expected, but there is ";
  const std::string data = floats({1, 2, 3, 4});
  for (const auto& [rest, found] :
       {std::pair{R"("dtype":"I32","shape":[2,2],"data_offsets":[0,16])", "a of I32"},
        {R"("dtype":"F32","shape":[4],"data_offsets":[0,16])", "none"},
        {R"("dtype":"X9","shape":[2,2],"data_offsets":[0,16])", "a of X9"}})
    expect_error(safetensors("{" + tensor("a", rest) + "}", data), none + found);
  const std::string two =
      safetensors("{" + matrix("a") + "," + matrix("b", 16) + "}", data + floats({5, 6, 7, 8}));
  expect_error(two, name_one + "the matrices are a, b");
  OpenOptions options;
  options.read.tensor = "c";
  const std::string path = directory_.write("in", two);
  EXPECT_EQ(open_model(path, options).error().message,
            path + ": there is no matrix 'c'; the matrices are a, b");
  options.read.tensor = "b";
  options.read.words_path = directory_.write("words", "x\ny\n");
  const auto model = open_model(path, options);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model.value()->vector(0)[0], 5);
  expect_error(safetensors("{" + tensor("a", R"("dtype":"F32","shape":[2,0],"data_offsets":[0,0])") + "}"),
               "there are 2 rows of 0 components; a model has 1 to 2147483583 rows of 1 to 65536");
}

TEST_F(BadInput, HeadersOfNumpy) {
  directory_.write("m.words", "a\nb\n");
  const std::string data = floats({1, 2, 3, 4});
  const auto expect_fault = [&](const std::string& content, const std::string& fault) {
    expect_error(content, "offset 0: the .npy header " + fault, "m.npy");
  };
  const std::string sound = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", data);
  expect_fault(sound.substr(0, 11), "is missing or cut off");
  for (const int version : {0, 4, 255}) {
    std::string content = sound;
    content[6] = static_cast<char>(version);
    expect_fault(content, "has version " + std::to_string(version) + "; 1 to 3 are known");
  }
  expect_fault(sound.substr(0, 30), "is cut off");
  expect_fault(npy("{'descr': '<f4', 'shape': (2, 2), }", data), "lacks fortran_order");
  expect_fault(npy("{'descr': '<f4', 'fortran_order': 1, 'shape': (2, 2), }", data), "lacks fortran_order");
  for (const std::string shape :
       {"()", "(2)", "(2, 2", "[2, 2]", "(2, x)", "(2, 2, 2)", "(99999999999999999999, 2)"})
    expect_fault(npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape, data),
                 "says the shape is " + (shape.back() == ')' ? shape : shape + "\\x0a") +
                     "; a matrix (words, dimensions) was expected");
  // Of versions 2 and 3, whose length has four bytes.
  const std::string dictionary = sound.substr(10, sound.size() - 10 - data.size());
  for (const char version : {'\2', '\3'}) {
    const std::string content = std::string("\x93NUMPY") + version + '\0' +
                                static_cast<char>(dictionary.size()) + std::string(3, '\0') + dictionary +
                                data;
    const auto model = open_model(directory_.write("m.npy", content));
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_EQ(model.value()->vector(1)[1], 4);
  }
}

TEST_F(BadInput, NormsThatFitNoWords) {
  const std::string values = floats({5, 3, 4, 5, 4, 3});
  const auto error = [&](const std::string& content, const std::string& words) {
    OpenOptions options;
    options.read.format = "norm-binary";
    options.read.words_path = directory_.write("in.words", words);
    const std::string path = directory_.write("in", content);
    const auto opened = open_model(path, options);
    return opened.ok() ? "none" : opened.error().message.substr(path.size() + 2);
  };
  const auto cannot = [&](int bytes, int words) {
    return "its " + std::to_string(bytes) + " bytes cannot be rows of float32 for the " +
           std::to_string(words) + " words of '" + directory_.path("in.words") + "'";
  };
  EXPECT_EQ(error(values, "a\nb\n"), "none");
  EXPECT_EQ(error(values, ""),
            directory_.path("in.words").substr(directory_.path("in").size() + 2) + ": the file is empty");
  EXPECT_EQ(error(values + "x", "a\nb\n"), cannot(25, 2));
  EXPECT_EQ(error(values, "a\nb\nc\nd\n"), cannot(24, 4));
  EXPECT_EQ(error(floats({1, 1}), "a\nb\n"),
            "there are 2 rows of 0 components; a model has 1 to 2147483583 rows of 1 to 65536");
  EXPECT_EQ(error(values, "a\n" + std::string(65538, 'w') + "\n"),
            directory_.path("in.words").substr(directory_.path("in").size() + 2) +
                ": line 2: the word is longer than 65536 bytes");
  // Text whose lines have no norm.
  OpenOptions options;
  options.read.format = "norm-text";
  const std::string path = directory_.write("in", "a 1\nb 2\nc 3\n");
  EXPECT_EQ(open_model(path, options).error().message,
            path + ": line 1: a word followed by a norm and components was expected");
  options.read.format = "glove-text";
  directory_.write("in", "a\nb\nc\n");
  EXPECT_EQ(open_model(path, options).error().message,
            path + ": line 1: a word followed by numbers was expected");
  options.read.format = "word2vec-text";
  EXPECT_EQ(open_model(path, options).error().message,
            path + ": line 1: a header with the number of rows and of dimensions was expected");
  options.read.format = "csv";
  EXPECT_EQ(open_model(path, options).error().message.substr(0, 38),
            "there is no format 'csv'; there are gl");
}

// A model file whose header has another text of the same length, with the right checksum.
class BadModelHeader : public BadInput {
 protected:
  void SetUp() override {
    const std::string text = directory_.write("good.txt", "the 1 2 3\nof 3 4 5\nand 5 6 7\n");
    path_ = directory_.path("good.safetensors");
    ASSERT_TRUE(convert(text, path_, {}).ok());
    good_ = TemporaryDirectory::read(path_);
  }

  std::string error_with(const std::string& from, const std::string& to) const {
    EXPECT_EQ(from.size(), to.size());
    std::string bytes = good_;
    EXPECT_NE(bytes.find(from), std::string::npos) << from;
    bytes.replace(bytes.find(from), from.size(), to);
    const std::string key = "\"" + std::string(kHeaderChecksumKey) + "\":\"";
    bytes.replace(bytes.find(key) + key.size(), 8,
                  header_checksum(bytes.substr(0, static_cast<size_t>(kModelHeaderBytes))));
    const auto opened = open_model(directory_.write("good.safetensors", bytes));
    return opened.ok() ? "none" : opened.error().message.substr(path_.size() + 2);
  }

  std::string path_, good_;
};

TEST_F(BadModelHeader, Shapes) {
  const std::string sound = R"("vectors":{"dtype":"F32","shape":[3,3])";
  EXPECT_EQ(error_with(sound, sound), "none");
  const std::string no_matrix = "the tensor 'vectors' must be a matrix of F32, F16, BF16 or I8";
  EXPECT_EQ(error_with(sound, R"("vectors":{"dtype":"I32","shape":[3,3])"), no_matrix);
  EXPECT_EQ(error_with(sound, R"("vectors":{"dtype":"F32","shape":[ 9 ])"), no_matrix);
  const std::string more_columns =
      "the tensor 'codes' has another type or shape than a model of 3 words and ";
  for (const auto& [vectors, columns] : {std::pair(R"("vectors":{"dtype":"F16","shape":[3,6])", "6"),
                                         {R"("vectors":{"dtype":"I8","shape":[3,12])", "12"}})
    EXPECT_EQ(error_with(sound, vectors), more_columns + columns + " dimensions needs");
}

TEST_F(BadModelHeader, Checksums) {
  std::string bytes = good_;
  const std::string key = "\"" + std::string(kHeaderChecksumKey) + "\":\"";
  const size_t place = bytes.find(key) + key.size();
  const std::string stored = bytes.substr(place, 8), wrong = stored == "00000000" ? "00000001" : "00000000";
  bytes.replace(place, 8, wrong);
  const auto opened = open_model(directory_.write("good.safetensors", bytes));
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().message, path_ + ": the header's checksum is " + stored +
                                        ", but the header says '" + wrong + "'; the file is damaged");
}

// A model file of another program: the tensors in any order and type, no checksums but the header's.
class MinimalModel : public BadInput {
 protected:
  struct Part {
    std::string name, type, shape, data;
  };

  template <class T>
  static std::string bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
  }

  static std::vector<Part> sound() {
    return {{"vectors", "F32", "[2,2]", floats({1, 2, 3, 4})},
            {"word_offsets", "I64", "[3]", bytes_of<int64_t>({0, 1, 2})},
            {"word_bytes", "U8", "[2]", "ab"}};
  }

  using Metadata = std::vector<std::pair<std::string_view, std::string>>;

  // The data begins `shift` bytes after a multiple of 64.
  std::string error_with(const std::vector<Part>& parts, const Metadata& metadata = {{kVersionKey, "1.0"}},
                         size_t shift = 0) const {
    std::string json = "{\"__metadata__\":{\"" + std::string(kHeaderChecksumKey) + "\":\"00000000\"";
    for (const auto& [key, value] : metadata) json += ",\"" + std::string(key) + "\":\"" + value + "\"";
    json += "}";
    std::string data;
    for (const Part& part : parts) {
      json += "," + tensor(part.name, "\"dtype\":\"" + part.type + "\",\"shape\":" + part.shape +
                                          ",\"data_offsets\":[" + std::to_string(data.size()) + "," +
                                          std::to_string(data.size() + part.data.size()) + "]");
      data += part.data;
    }
    json += "}";
    while ((8 + json.size()) % 64 != shift) json += ' ';
    std::string header = safetensors(json);
    header.replace(header.find("00000000"), 8, header_checksum(header));
    const std::string path = directory_.write("m.safetensors", header + data);
    const auto opened = open_model(path);
    return opened.ok() ? "none" : opened.error().message.substr(path.size() + 2);
  }
};

TEST_F(MinimalModel, ShapesAndTypes) {
  EXPECT_EQ(error_with(sound()), "none");
  const auto other = [](const std::string& name) {
    return "the tensor '" + name +
           "' has another type or shape than a model of 2 words and 2 dimensions needs";
  };
  std::vector<Part> parts = sound();
  parts[0] = {"vectors", "F64", "[2,2]", bytes_of<double>({1, 2, 3, 4})};
  EXPECT_EQ(error_with(parts), "the tensor 'vectors' must be a matrix of F32, F16, BF16 or I8");
  parts[0] = {"vectors", "F16", "[2,2]", bytes_of<uint16_t>({0x3C00, 0x7C00, 0, 1})};
  EXPECT_EQ(error_with(parts), "row 1 of the vectors has a component that is NaN or infinite");
  parts[0] = {"vectors", "F32", "[2,0]", ""};
  EXPECT_EQ(error_with(parts),
            "the tensor 'vectors' is 2 x 0; a model has 1 to 2147483583 words of 1 to 65536 dimensions");
  parts[0] = {"vectors", "F32", "[0,2]", ""};
  EXPECT_EQ(error_with(parts),
            "the tensor 'vectors' is 0 x 2; a model has 1 to 2147483583 words of 1 to 65536 dimensions");
  parts = sound();
  parts[1] = {"word_offsets", "I64", "[2]", bytes_of<int64_t>({0, 1})};
  EXPECT_EQ(error_with(parts), other("word_offsets"));
  parts = sound();
  parts[2].type = "I8";
  EXPECT_EQ(error_with(parts), other("word_bytes"));
  for (const Part& part : std::vector<Part>{{"norms_squared", "F32", "[2]", floats({5, 25})},
                                            {"codes", "I8", "[2]", "ab"},
                                            {"scales", "F32", "[1]", floats({1})},
                                            {"residuals", "F64", "[2]", bytes_of<double>({1, 2})},
                                            {"codes4", "U8", "[2]", "ab"},
                                            {"sorted_ids", "I32", "[3]", bytes_of<int32_t>({0, 1, 2})},
                                            {"word_counts", "F32", "[2]", floats({1, 2})}}) {
    parts = sound();
    parts.push_back(part);
    EXPECT_EQ(error_with(parts), other(part.name));
  }
  // A tensor that this build does not know is no fault.
  for (const auto& [type, bytes] : std::vector<std::pair<std::string, size_t>>{
           {"BOOL", 1}, {"U16", 2}, {"I16", 2}, {"BF16", 2}, {"U32", 4}, {"U64", 8}, {"I64", 8}}) {
    parts = sound();
    parts.push_back({"unknown", type, "[3]", std::string(3 * bytes, 'x')});
    EXPECT_EQ(error_with(parts), "none");
    parts.back().data += "x";
    EXPECT_NE(error_with(parts).find("does not fit its type and shape"), std::string::npos) << type;
  }
}

TEST_F(MinimalModel, Alignment) {
  std::vector<Part> parts = sound();
  std::swap(parts[1], parts[2]);  // behind 2 bytes of words
  const std::string message = error_with(parts);
  EXPECT_EQ(message.substr(0, 42), "the tensor 'word_offsets' begins at offset");
  EXPECT_EQ(message.substr(message.find(',')),
            ", which its type cannot; write the file again with glove-convert");
  EXPECT_EQ(error_with(sound(), {{kVersionKey, "1.0"}}, 2).substr(0, 37),
            "the tensor 'vectors' begins at offset");
  parts = sound();
  for (const size_t shift : {1, 2}) {
    parts[0] = {"vectors", "BF16", "[2,2]", bytes_of<uint16_t>({0x3F80, 0, 1, 2})};
    EXPECT_EQ(error_with(parts, {{kVersionKey, "1.0"}}, shift).substr(0, 37),
              shift == 1 ? "the tensor 'vectors' begins at offset" : "the tensor 'word_offsets' begins at o");
  }
}

// Of version 2: how texts are encoded is checked before the tokenizer itself is read.
TEST_F(MinimalModel, WithATokenizer) {
  const auto error = [&](const std::vector<Part>& more, const std::string& encoding,
                         const std::string& tokens) {
    std::vector<Part> parts = sound();
    parts.insert(parts.begin() + 2, more.begin(), more.end());
    return error_with(parts, {{kVersionKey, "2.0"}, {kEncodingKey, encoding}, {kTokensKey, tokens}});
  };
  const std::vector<Part> sound_json = {{"tokenizer", "U8", "[8]", "{\"a\": 1}"}};
  for (const std::string encoding :
       {"model2vec", "model2vec,normalize", "static-embedding", "static-embedding,normalize"})
    EXPECT_EQ(error(sound_json, encoding, "2"), "none");
  EXPECT_EQ(error(sound_json, "word2vec", "2"),
            "the metadata key 'glove.encoding' is 'word2vec', which this build does not know");
  for (const std::string tokens : {"", "0", "-2", "2x", "99999999999999999999"})
    EXPECT_EQ(error(sound_json, "model2vec", tokens),
              "the metadata key 'glove.tokens' is '" + tokens + "', but must be a number above 0");
  EXPECT_EQ(error({}, "model2vec", "2"), "the tensor 'tokenizer' is missing");
  const std::string wrong = "' has another type or shape than a model of 2 words and 2 dimensions needs";
  EXPECT_EQ(error({{"tokenizer", "I8", "[8]", "{\"a\": 1}"}}, "model2vec", "2"),
            "the tensor 'tokenizer" + wrong);
  std::vector<Part> weighted = sound_json;
  weighted.push_back({"token_weights", "F64", "[2]", bytes_of<double>({1, 2})});
  EXPECT_EQ(error(weighted, "model2vec", "2"), "none");
  EXPECT_EQ(error(weighted, "model2vec", "3"), "the tensor 'token_weights" + wrong);
}

TEST_F(MinimalModel, Versions) {
  const std::string none = "the metadata key 'glove.version' is missing or no version";
  for (const std::string version : {"", "x", "1x", ".1"})
    EXPECT_EQ(error_with(sound(), {{kVersionKey, version}}), none);
  for (const std::string version : {"1", "1.", "1.99"})
    EXPECT_EQ(error_with(sound(), {{kVersionKey, version}}), "none");
  EXPECT_EQ(error_with(sound(), {{kVersionKey, "0.9"}}),
            "the file has format version 0.9, but this build reads the versions 1 to 3; convert the "
            "original again, or use a newer build");
}

// Codes are derived if anything that belongs to them is missing.
TEST_F(MinimalModel, Metrics) {
  const auto error = [&](const std::string& metric, const std::vector<Part>& more) {
    std::vector<Part> parts = sound();
    parts.insert(parts.begin() + 1, more.begin(), more.end());
    return error_with(parts, {{kVersionKey, "3.0"}, {kMetricKey, metric}});
  };
  const Part mean = {"shift_mean", "F32", "[2]", floats({1, 2})};
  const Part direction = {"shift_direction", "F32", "[2]", floats({0, 1})};
  const Part lengths = {"lengths", "F32", "[2]", floats({9, 9})};
  EXPECT_EQ(error("dot", {mean, direction}), "none");
  EXPECT_EQ(error("l2", {mean, direction, lengths}), "none");
  EXPECT_EQ(error("l2", {mean}), "the tensor 'shift_direction' is missing");
  EXPECT_EQ(error("l2", {direction}), "the tensor 'shift_mean' is missing");
  for (const std::string metric : {"", "cosine", "hamming", "L2"})
    EXPECT_EQ(error(metric, {mean, direction}),
              "the metadata key 'glove.metric' is '" + metric + "', but must be 'dot' or 'l2'");
  const std::string wrong = "' has another type or shape than a model of 2 words and 2 dimensions needs";
  EXPECT_EQ(error("l2", {{"shift_mean", "F32", "[4]", floats({1, 2, 3, 4})}, direction}),
            "the tensor 'shift_mean" + wrong);
  for (const std::string name : {"lengths", "along"})
    EXPECT_EQ(error("l2", {mean, direction, {name, "F32", "[4]", floats({1, 2, 3, 4})}}),
              "the tensor '" + name + wrong);
}

TEST_F(MinimalModel, Derivations) {
  const auto error = [&](const std::string& derivation, const std::vector<Part>& more) {
    std::vector<Part> parts = sound();
    parts.insert(parts.begin() + 1, more.begin(), more.end());
    return error_with(parts, {{kVersionKey, "1.0"}, {kDerivationKey, derivation}});
  };
  const Part mean = {"derivation_mean", "F32", "[2]", floats({1, 2})};
  EXPECT_EQ(error("identity", {}), "none");
  EXPECT_EQ(error("center", {mean}), "none");
  EXPECT_EQ(error("center,matrix", {mean}), "the tensor 'derivation_matrix' is missing");
  EXPECT_EQ(error("matrix", {{"derivation_matrix", "F32", "[2,0]", ""}}),
            "the tensor 'derivation_matrix' has 0 columns; vectors have 1 to 65536 dimensions");
  EXPECT_EQ(error("matrix", {{"derivation_matrix", "F32", "[2,1]", floats({1, 2})}}), "none");
}

}  // namespace
}  // namespace glove
