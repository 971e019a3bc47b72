// A loaded model -> model file -> the same model, with its keys and its derivation.
#include "loader/save_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/crc32.h"
#include "loader/model_format.h"
#include "loader/open.h"
#include "model/model_builder.h"
#include "tests/loader/random.h"
#include "tests/loader/temporary_directory.h"
#include "tests/model/parts.h"

namespace glove {
namespace {

using testing::random_source;
using testing::TemporaryDirectory;

// A model of `rows` random rows, the third of them zero. `derivation` may be nullptr.
ModelPtr random_model(int64_t rows, int64_t dims, KeyType keys, std::shared_ptr<const RowMap> derivation) {
  auto random = random_source();
  std::normal_distribution<float> normal;
  ModelBuilder builder("random");
  std::vector<float> vector(static_cast<size_t>(dims));
  for (int64_t row = 0; row < rows; ++row) {
    for (float& value : vector) value = row == 2 ? 0.0f : normal(random);
    EXPECT_TRUE((keys == KeyType::kInteger ? builder.add(row * 7 - 3, vector)
                                           : builder.add("word " + std::to_string(row), vector))
                    .ok());
  }
  Model::Source source;
  source.path = "random";
  source.derivation = std::move(derivation);
  return builder.finish(std::move(source), 0).value();
}

std::shared_ptr<RowMap> random_map(int64_t dims_in, int64_t dims_out, int steps) {
  auto random = random_source();
  std::normal_distribution<float> normal;
  auto map = std::make_shared<RowMap>();
  map->dims_in = dims_in;
  map->dims_out = dims_out;
  map->mean.resize(static_cast<size_t>((steps & 1) != 0 ? dims_in : 0));
  map->matrix.resize(static_cast<size_t>((steps & 2) != 0 ? dims_in * dims_out : 0));
  map->normalize = (steps & 4) != 0;
  for (float& value : map->mean) value = normal(random);
  for (float& value : map->matrix) value = normal(random);
  return map;
}

Result<ModelPtr> open_verified(const std::string& path) {
  OpenOptions options;
  options.verify = true;
  return open_model(path, options);
}

TEST(SaveModel, WritesTheSameModel) {
  GLOVE_TRACE_SEED();
  const TemporaryDirectory directory;
  const std::string path = directory.path("saved.safetensors");
  for (const KeyType keys : {KeyType::kText, KeyType::kInteger})
    for (const auto& [rows, dims] : {std::pair{1, 1}, {33, 5}, {3000, 17}}) {
      const ModelPtr model = random_model(rows, dims, keys, nullptr);
      const Status saved = save_model(*model, path, 0, {});
      ASSERT_TRUE(saved.ok()) << saved.error().message;
      const auto opened = open_verified(path);
      ASSERT_TRUE(opened.ok()) << opened.error().message;
      testing::expect_same_parts(*opened.value(), *model);
      EXPECT_EQ(opened.value()->vocabulary().key_type(), keys);
      EXPECT_EQ(opened.value()->derivation(), nullptr);
      for (int64_t id = 0; id < rows; ++id)
        EXPECT_EQ(opened.value()->vocabulary().word(id), model->vocabulary().word(id));
      // A mapped model over itself.
      const std::string bytes = TemporaryDirectory::read(path);
      ASSERT_TRUE(save_model(*opened.value(), path, 1, {}).ok());
      EXPECT_TRUE(TemporaryDirectory::read(path) == bytes);
      EXPECT_EQ(directory.entries(), std::vector<std::string>{"saved.safetensors"});
    }
}

TEST(SaveModel, KeepsEveryKindOfDerivation) {
  GLOVE_TRACE_SEED();
  const TemporaryDirectory directory;
  const std::string path = directory.path("saved.safetensors");
  for (int steps = 0; steps < 8; ++steps) {
    const auto map = random_map((steps & 2) != 0 ? 9 : 5, 5, steps);
    ASSERT_TRUE(save_model(*random_model(4, 5, KeyType::kText, map), path, 0, {}).ok());
    const auto opened = open_verified(path);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    const RowMap* const found = opened.value()->derivation();
    ASSERT_NE(found, nullptr) << steps;
    EXPECT_EQ(found->dims_in, map->dims_in);
    EXPECT_EQ(found->dims_out, map->dims_out);
    EXPECT_EQ(found->mean, map->mean);
    EXPECT_EQ(found->matrix, map->matrix);
    EXPECT_EQ(found->normalize, map->normalize);
  }
}

// Replaces a text of the header by one of the same length, and makes the checksum right again.
std::string edited(std::string bytes, const std::string& from, const std::string& to) {
  EXPECT_EQ(from.size(), to.size());
  const size_t place = bytes.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  bytes.replace(place, from.size(), to);
  std::string header = bytes.substr(0, kModelHeaderBytes);
  const std::string key = "\"" + std::string(kHeaderChecksumKey) + "\":\"";
  bytes.replace(header.find(key) + key.size(), 8, header_checksum(header));
  return bytes;
}

TEST(SaveModel, FilesWithAnImpossibleDerivationAreRefused) {
  GLOVE_TRACE_SEED();
  const TemporaryDirectory directory;
  const std::string path = directory.path("saved.safetensors");
  ASSERT_TRUE(save_model(*random_model(4, 5, KeyType::kInteger, random_map(9, 5, 3)), path, 0, {}).ok());
  const std::string good = TemporaryDirectory::read(path);
  const auto error_of = [&](const std::string& from, const std::string& to) {
    directory.write("saved.safetensors", edited(good, from, to));
    const auto opened = open_model(path);
    return opened.ok() ? "ok" : opened.error().message.substr(path.size() + 2);
  };
  EXPECT_EQ(error_of("\"glove.keys\"", "\"glove_keys\""), "ok");
  EXPECT_EQ(error_of("\"integer\"", "\"decimal\""),
            "the metadata key 'glove.keys' is 'decimal', but this build knows only 'integer'");
  EXPECT_EQ(error_of("center,matrix", "matrix,center"),
            "the metadata key 'glove.derivation' is 'matrix,center', which this build does not know");
  EXPECT_EQ(error_of("\"derivation_mean\"", "\"derivation_xxxx\""),
            "the tensor 'derivation_mean' is missing");
  EXPECT_EQ(error_of("\"derivation_matrix\"", "\"derivation_xxxxxx\""),
            "the tensor 'derivation_mean' has another type or shape than a model of 4 words and 5 "
            "dimensions needs");
  EXPECT_EQ(error_of("\"shape\":[5,9]", "\"shape\":[9,5]"),
            "the tensor 'derivation_mean' has another type or shape than a model of 4 words and 5 "
            "dimensions needs");
  EXPECT_EQ(error_of("\"shape\":[5,9]", "\"shape\":[45] "),
            "the tensor 'derivation_mean' has another type or shape than a model of 4 words and 5 "
            "dimensions needs");
}

// A model of 4 words and 5 dimensions with common components and frequencies.
ModelPtr model_for_texts(StoredComponents components, std::vector<double> counts) {
  const ModelPtr rows = with_counts(random_model(4, 5, KeyType::kText, nullptr), std::move(counts));
  Model::Source source = rows->source();
  source.components = std::make_shared<const StoredComponents>(std::move(components));
  return std::make_shared<const Model>(std::vector(rows->parts().begin(), rows->parts().end()),
                                       rows->vocabulary(), std::move(source), rows);
}

TEST(SaveModel, KeepsComponentsAndFrequencies) {
  GLOVE_TRACE_SEED();
  const TemporaryDirectory directory;
  const std::string path = directory.path("saved.safetensors");
  const std::vector<float> vectors = {1, 2, 3, 4, 5, -6, -7, -8, -9, 1e-40f};
  ASSERT_TRUE(save_model(*model_for_texts({0.1, 3, 2, vectors}, {0, 1e-300, 7.25, 3}), path, 0, {}).ok());
  const auto opened = open_verified(path);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const Model::Source& source = opened.value()->source();
  ASSERT_NE(source.components, nullptr);
  EXPECT_EQ(source.components->a, 0.1);
  EXPECT_EQ(source.components->words, 3);
  EXPECT_EQ(source.components->count, 2);
  EXPECT_EQ(source.components->vectors, vectors);
  ASSERT_NE(source.counts, nullptr);
  EXPECT_EQ(*source.counts, (std::vector<double>{0, 1e-300, 7.25, 3}));
  const std::string good = TemporaryDirectory::read(path);
  const auto error_of = [&](const std::string& from, const std::string& to) {
    directory.write("saved.safetensors", edited(good, from, to));
    const auto changed = open_model(path);
    if (changed.ok()) return std::string(changed.value()->source().components == nullptr ? "none" : "ok");
    return changed.error().message.substr(path.size() + 2);
  };
  EXPECT_EQ(error_of("\"common_components\"", "\"commonXcomponents\""), "none");
  EXPECT_EQ(error_of("\"zipf\"", "\"none\""), "none") << "weights that this build does not know";
  EXPECT_EQ(
      error_of("\"shape\":[2,5]", "\"shape\":[5,2]"),
      "the tensor 'common_components' has 5 rows; a model of 5 dimensions has at least 1 and fewer than 5 "
      "components");
  EXPECT_EQ(
      error_of("\"shape\":[2,5]", "\"shape\":[10] "),
      "the tensor 'common_components' has 10 rows; a model of 5 dimensions has at least 1 and fewer than 5 "
      "components");
  EXPECT_EQ(error_of("glove.components.a\":\"0.1\"", "glove.components.a\":\"1e9\""), "ok");
  for (const char* wrong : {"0.0", "-.1", "nan", "0x1", "1e "})
    EXPECT_EQ(error_of("glove.components.a\":\"0.1\"", "glove.components.a\":\"" + std::string(wrong) + "\""),
              "the metadata key 'glove.components.a' is '" + std::string(wrong) +
                  "', but must be a number above 0");
  EXPECT_EQ(error_of("glove.components.words\":\"3\"", "glove.components.words\":\"0\""),
            "the metadata key 'glove.components.words' is '0', but must be a number above 0");
}

TEST(SaveModel, FilesWithImpossibleComponentsAreRefused) {
  GLOVE_TRACE_SEED();
  const TemporaryDirectory directory;
  const std::string path = directory.path("saved.safetensors");
  const auto error_of = [&](float component, std::vector<double> counts) {
    EXPECT_TRUE(
        save_model(*model_for_texts({1, 4, 1, {1, 0, component, 0, 0}}, std::move(counts)), path, 0, {})
            .ok());
    const auto opened = open_model(path);
    return opened.ok() ? "ok" : opened.error().message.substr(path.size() + 2);
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(error_of(2, {1, 1, 1, 0}), "ok");
  EXPECT_EQ(error_of(static_cast<float>(-kInfinity), {1, 1, 1, 1}),
            "the tensor 'common_components' has a component that is NaN or infinite");
  EXPECT_EQ(error_of(0, {1, 1, -1, 1}), "the tensor 'word_counts' at row 3 is negative or NaN");
  EXPECT_EQ(error_of(0, {std::nan(""), 1, 1, 1}), "the tensor 'word_counts' at row 1 is negative or NaN");
  for (const std::vector<double>& counts : {std::vector<double>{0, 0, 0, 0}, {1, kInfinity, 0, 0}})
    EXPECT_EQ(error_of(0, counts), "the tensor 'word_counts' must have a finite sum above 0");
}

TEST(SaveModel, VerifyReadsTheDerivation) {
  GLOVE_TRACE_SEED();
  const TemporaryDirectory directory;
  const std::string path = directory.path("saved.safetensors");
  const auto map = random_map(5, 5, 3);
  map->matrix[7] = std::numeric_limits<float>::infinity();
  ASSERT_TRUE(save_model(*random_model(4, 5, KeyType::kText, map), path, 0, {}).ok());
  EXPECT_TRUE(open_model(path).ok());
  EXPECT_EQ(open_verified(path).error().message,
            path + ": the tensor 'derivation_matrix' has a component that is NaN or infinite");
  std::string bytes = TemporaryDirectory::read(path);
  bytes.back() ^= 1;  // of the matrix, the last tensor
  directory.write("saved.safetensors", bytes);
  EXPECT_NE(open_verified(path).error().message.find("'derivation_matrix' is damaged"), std::string::npos);
}

TEST(SaveModel, AnErrorLeavesThePathUnchanged) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("saved.safetensors", "as it was");
  const ModelPtr model = random_model(3000, 17, KeyType::kText, nullptr);
  const Status stopped = save_model(*model, path, 0, [] { return true; });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(TemporaryDirectory::read(path), "as it was");
  EXPECT_EQ(directory.entries(), std::vector<std::string>{"saved.safetensors"});
  const Status nowhere = save_model(*model, directory.path("no/such/directory"), 0, {});
  ASSERT_FALSE(nowhere.ok());
  EXPECT_NE(nowhere.error().message.find(directory.path("no/such/directory")), std::string::npos)
      << nowhere.error().message;
}

}  // namespace
}  // namespace glove
