// Files with lists and planes whose contents are wrong, with the right checksums: an error that names the
// tensor, when the file is opened or when it is verified.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "base/float_environment.h"
#include "lists/plane_arrays.h"
#include "lists/recall_table.h"
#include "loader/model_format.h"
#include "loader/model_writer.h"
#include "loader/open.h"
#include "loader/save_model.h"
#include "model/model_builder.h"
#include "tests/loader/damaged_model.h"
#include "tests/loader/random.h"
#include "tests/loader/temporary_directory.h"

namespace glove {
namespace {

using testing::TemporaryDirectory;

constexpr int64_t kWords = 70;
constexpr int64_t kWidth = 18;
constexpr int64_t kLists = 5;
constexpr int64_t kZeroRow = 3;

// Rows in lists by their number; the one of kZeroRow is zero, and those from 60 on are their centroid.
ModelPtr model_in_lists(Model::Source source = {}) {
  const ScopedFloatEnvironment environment;
  auto random = testing::random_source();
  std::normal_distribution<float> normal;
  std::vector<float> centroids(kLists * kWidth);
  for (float& value : centroids) value = normal(random);
  ModelBuilder builder("random");
  std::vector<int32_t> lists;
  for (int64_t row = 0; row < kWords; ++row) {
    lists.push_back(static_cast<int32_t>(row % kLists));
    std::vector<float> vector(kWidth);
    for (int64_t j = 0; j < kWidth; ++j) {
      const float centroid = centroids[static_cast<size_t>(lists.back() * kWidth + j)];
      if (row != kZeroRow)
        vector[static_cast<size_t>(j)] = centroid + (row < 60 ? 0.4f * normal(random) : 0.0f);
    }
    EXPECT_TRUE(builder.add(row, vector).ok());
  }
  source.path = "random";
  const ModelPtr model = builder.finish(std::move(source), 0).value();
  const ModelPart& part = model->parts().front();
  Result<PlaneArrays> planes = make_planes(part.vectors, part.norms_squared, centroids, lists, kWidth, 1);
  RecallArrays recall;
  recall.queries = 3;
  recall.transform.assign(kRecallKs.size() * kRecallTransform, 1);
  recall.features.assign(kRecallKs.size() * kRecallColumns * 3, -7);
  recall.found.assign(kRecallKs.size() * kRecallSteps * 3, 1);
  return with_recall(with_planes(model, std::move(planes).value()), std::move(recall));
}

class DamagedLists : public testing::DamagedModel {
 protected:
  void SetUp() override { save(*model_in_lists()); }
};

TEST_F(DamagedLists, AnUndamagedFileIsVerified) {
  GLOVE_TRACE_SEED();
  OpenOptions options;
  options.verify = true;
  const auto opened = open_model(path_, options);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const PlaneLevel* const planes = opened.value()->parts().front().planes;
  ASSERT_NE(planes, nullptr);
  EXPECT_EQ(planes->lists(), kLists);
  write_with<int32_t>(kListRows, 0, {value_of<int32_t>(kListRows, 0)});  // what the tests below do
  EXPECT_TRUE(open_model(path_, options).ok());
}

TEST_F(DamagedLists, WrongTypesAndShapes) {
  GLOVE_TRACE_SEED();
  const auto tensor = [](std::string_view name, const std::string& type) {
    return "\"" + std::string(name) + "\":{\"dtype\":\"" + type;
  };
  for (const auto& [name, type, other] : {std::tuple{kListCentroids, "F32", "I32"},
                                          {kListOffsets, "I64", "F64"},
                                          {kListRows, "I32", "F32"},
                                          {kPlane1, "U8", "I8"},
                                          {kPlane2, "U8", "I8"}}) {
    write_with_header(tensor(name, type), tensor(name, other));
    expect_error_of_opening("the tensor '" + std::string(name) + "' has another type or shape");
  }
  for (const auto& [name, shape, other] : {std::tuple{kListCentroids, "[5,18]", "[18,5]"},
                                           {kPlane1, "[3,160]", "[160,3]"},
                                           {kPlane1Bounds, "[3,3,32]", "[3,32,3]"},
                                           {kPlane2, "[70,12]", "[12,70]"}}) {
    const std::string type = header_.find(name)->dtype;
    write_with_header(tensor(name, type) + "\",\"shape\":" + shape,
                      tensor(name, type) + "\",\"shape\":" + other);
    expect_error_of_opening("the tensor '" + std::string(name) + "' has another type or shape");
  }
  for (const auto& [shape, rows] : {std::pair{"[ 90 ]", "90"}, {"[]    ", "0"}}) {
    const std::string before = tensor(kListCentroids, "F32") + "\",\"shape\":";
    write_with_header(before + "[5,18]", before + shape);
    expect_error_of_opening(
        rows[0] == '9' ? "the tensor 'list_centroids' has 90 rows; a model of 70 words has 1 to 70 lists"
                       : "gives tensor 'list_centroids' 360 bytes, which does not fit its type and shape");
  }
  const std::string key = "\"" + std::string(kPlanesMostKKey) + "\":\"9";
  write_with_header(key, key.substr(0, key.size() - 1) + "x");
  expect_error_of_opening("the metadata key 'glove.planes.most_k' is 'x");
}

TEST_F(DamagedLists, OffsetsThatDoNotRise) {
  GLOVE_TRACE_SEED();
  const std::string message = "the tensor 'list_offsets' does not rise from 0 to 70";
  for (const auto& [i, value] : {std::pair<int64_t, int64_t>{0, 1},
                                 {0, -1},
                                 {2, 71},
                                 {2, -5},
                                 {3, 1},
                                 {4, std::numeric_limits<int64_t>::max()},
                                 {kLists, 69},
                                 {kLists, 71}}) {
    write_with<int64_t>(kListOffsets, i, {value});
    expect_error_of_opening(message);
  }
}

TEST_F(DamagedLists, CentroidsThatAreNotFinite) {
  GLOVE_TRACE_SEED();
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
    write_with<float>(kListCentroids, kLists * kWidth - 1, {value});
    expect_error_of_opening("the tensor 'list_centroids' has a component that is NaN or infinite");
  }
}

TEST_F(DamagedLists, AnOrderThatIsNoPermutation) {
  GLOVE_TRACE_SEED();
  const int32_t other = value_of<int32_t>(kListRows, 4);
  for (const int32_t row : {other, -1, static_cast<int32_t>(kWords), std::numeric_limits<int32_t>::max()}) {
    write_with<int32_t>(kListRows, 9, {row});
    expect_error_of_verifying("the tensor 'list_rows' at position 9 has " + std::to_string(row));
  }
  // A permutation, but of rows whose bounds are others.
  write_with<int32_t>(kListRows, 4, {value_of<int32_t>(kListRows, 5), other});
  expect_error_of_verifying("the tensor 'plane1_bounds' at position 4 is not a bound");
}

// The numbers of position 4, which is neither zero nor its centroid.
TEST_F(DamagedLists, NumbersThatAreNoBound) {
  GLOVE_TRACE_SEED();
  constexpr int64_t kPosition = 4;
  constexpr uint16_t kNan = 0x7E00, kInfinity = 0x7C00, kNegative = 0x8000, kLarge = 0x7BFF;
  for (const bool both : {false, true}) {
    const std::string_view tensor = both ? kPlane2 : kPlane1Bounds;
    const auto index = [&](int64_t i) { return both ? kPosition * 6 + 3 + i : 32 * i + kPosition; };
    const std::string start = "the tensor '" + std::string(tensor) + "' at position 4 ";
    for (int64_t i = 0; i < 3; ++i) {
      const auto value = value_of<uint16_t>(tensor, index(i));
      ASSERT_TRUE(value > 0 && value < kInfinity);
      for (const uint16_t wrong : {kNan, static_cast<uint16_t>(kNegative | value), kLarge}) {
        write_with<uint16_t>(tensor, index(i), {wrong});
        expect_error_of_verifying(start);
      }
      if (i == 2) continue;
      write_with<uint16_t>(tensor, index(i), {kInfinity});
      expect_error_of_verifying(start + "has a number that is NaN, negative or too large");
    }
    // Rounded towards zero, the numbers promise too little: <u, b> < 1, or a distance that is too small.
    const auto distance = value_of<uint16_t>(tensor, index(2));
    write_with<uint16_t>(tensor, index(2), {static_cast<uint16_t>(distance - 1)});
    expect_error_of_verifying(start + "is not a bound of the row, its centroid and its codes");
    write_with<uint16_t>(tensor, index(2), {0});
    expect_error_of_verifying(start + "has a number");
    write_with<uint16_t>(tensor, index(2), {kInfinity});  // which promises nothing
    OpenOptions options;
    options.verify = true;
    EXPECT_TRUE(open_model(path_, options).ok());
  }
}

TEST_F(DamagedLists, ZeroRowsHaveZeros) {
  GLOVE_TRACE_SEED();
  int64_t position = 0;
  while (value_of<int32_t>(kListRows, position) != kZeroRow) ++position;
  write_with<uint16_t>(kPlane2, position * 6 + 5, {0x7C00});
  expect_error_of_verifying("the tensor 'plane2' at position " + std::to_string(position) +
                            " is not 0, but the vector is zero");
}

TEST_F(DamagedLists, CodesAndPaddingThatAreOthers) {
  GLOVE_TRACE_SEED();
  write_with<uint8_t>(kPlane1, 4 * 4, {static_cast<uint8_t>(value_of<uint8_t>(kPlane1, 4 * 4) ^ 0xFF)});
  expect_error_of_verifying("the tensor 'plane1_bounds' at position 4 is not a bound");
  write_with<uint8_t>(kPlane2, 4 * 12, {static_cast<uint8_t>(value_of<uint8_t>(kPlane2, 4 * 12) ^ 0xFF)});
  expect_error_of_verifying("the tensor 'plane2' at position 4 is not a bound");
  const auto with_bits = [&](std::string_view tensor, int64_t i) {
    write_with<uint8_t>(tensor, i, {static_cast<uint8_t>(value_of<uint8_t>(tensor, i) | 0x40)});
  };
  with_bits(kPlane1, 4 * 32);  // component 19 of position 0
  expect_error_of_verifying("the tensor 'plane1' at position 0 has padding that is not zero");
  with_bits(kPlane2, 4);  // the same
  expect_error_of_verifying("the tensor 'plane2' at position 0 has padding that is not zero");
  with_bits(kPlane2, 5);  // the byte before the bound
  expect_error_of_verifying("the tensor 'plane2' at position 0 has padding that is not zero");
  write_with<uint8_t>(kPlane1, 2 * 5 * 32 + 6 * 4, {1});  // component 0 of position 70
  expect_error_of_verifying("the tensor 'plane1' at position 70 has padding that is not zero");
  write_with<uint16_t>(kPlane1Bounds, 2 * 3 * 32 + 6, {1});
  expect_error_of_verifying("the tensor 'plane1_bounds' at position 70 has padding that is not zero");
}

// Searches are then exact, so that it is no error unless somebody asks.
TEST_F(DamagedLists, ACalibrationThatIsImpossibleIsNotUsed) {
  GLOVE_TRACE_SEED();
  const auto opened = open_model(path_).value();
  ASSERT_NE(opened->parts().front().planes->recall, nullptr);
  const RecallTable& table = *opened->parts().front().planes->recall;
  ASSERT_FALSE(table.is_damaged);
  EXPECT_EQ(table.queries, 3);
  EXPECT_TRUE(std::ranges::all_of(table.transform, [](double value) { return value == 1; }));
  EXPECT_TRUE(std::ranges::all_of(table.features, [](int16_t value) { return value == -7; }));
  EXPECT_TRUE(std::ranges::all_of(table.found, [](int16_t value) { return value == 1; }));
  EXPECT_EQ(table.lists.lists(), kLists);
  const auto expect_damaged = [&] {
    const auto model = open_model(path_);
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_TRUE(model.value()->parts().front().planes->recall->is_damaged);
    expect_error_of_verifying("the tensor 'recall_");
  };
  write_with<double>(kRecallClasses, 5, {std::numeric_limits<double>::quiet_NaN()});
  expect_damaged();
  for (const auto& [i, value] : {std::pair<int64_t, int16_t>{0, 4096},  // a feature
                                 {kRecallColumns, -1},
                                 {kRecallColumns + kRecallSteps - 1, 2},  // of 1
                                 {kRecallColumns + 4, 0}}) {              // falls
    write_with<int16_t>(kRecallTrials, i, {value});
    expect_damaged();
  }
  write_with_header("[8,3,106]", "[8,106,3]");
  expect_damaged();
}

// All that a file with lists can have fits its header; more is an error, and not cut.
TEST(ModelHeader, FitsOrIsAnError) {
  GLOVE_TRACE_SEED();
  const TemporaryDirectory directory;
  const std::string path = directory.path("full.safetensors");
  auto map = std::make_shared<RowMap>();
  map->dims_in = 1001;
  map->dims_out = kWidth;
  map->mean.assign(1001, 1.0f);
  map->matrix.assign(1001 * kWidth, 1.0f);
  map->normalize = true;
  Model::Source source;
  source.derivation = map;
  source.components = std::make_shared<StoredComponents>(
      StoredComponents{0.000123456789, kWords, 3, std::vector<float>(3 * kWidth, 0.5f)});
  source.counts = std::make_shared<const std::vector<double>>(kWords, 2.0);
  const Status saved = save_model(*model_in_lists(std::move(source)), path, 1, {});
  ASSERT_TRUE(saved.ok()) << saved.error().message;
  OpenOptions options;
  options.verify = true;
  const auto opened = open_model(path, options);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  ASSERT_NE(opened.value()->parts().front().planes, nullptr);
  EXPECT_NE(opened.value()->parts().front().planes->recall, nullptr);
  EXPECT_NE(opened.value()->source().components, nullptr);
  EXPECT_NE(opened.value()->source().counts, nullptr);
  EXPECT_NE(opened.value()->derivation(), nullptr);

  for (const size_t length : {size_t{1000}, size_t{4000}}) {
    const auto writer = ModelWriter::create(path, 1, 1).value();
    const float value = 1;
    ASSERT_TRUE(writer->assembler().append_row("word", {&value, 1}).ok());
    ASSERT_TRUE(writer->assembler().derive(path, {&value, 1}, 1, {}).ok());
    writer->set_shard({0, 1, std::string(length, 'x')});
    const Status written = writer->commit(1);
    EXPECT_EQ(written.ok(), length == 1000);
    if (!written.ok()) {
      EXPECT_NE(written.error().message.find("the header of '" + path + "' would take"), std::string::npos)
          << written.error().message;
    }
    EXPECT_EQ(open_model(path, options).value()->words(), 1);  // of the earlier round
  }
}

}  // namespace
}  // namespace glove
