// A loaded model -> model file -> the same model, with its keys and its derivation.
#include "loader/save_model.h"

#include <gtest/gtest.h>

#include <bit>
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
            "the tensor 'derivation_mean' of its derivation is missing");
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
