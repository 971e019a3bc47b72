// What --verify says of a model file whose contents are wrong, with the right checksums.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "loader/formats/elements.h"
#include "loader/model_format.h"
#include "model/model_builder.h"
#include "model/quantize.h"
#include "tests/loader/damaged_model.h"

namespace glove {
namespace {

constexpr int64_t kVerifiedRows = 40, kVerifiedDims = 5, kVerifiedZero = 7;
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN(),
                kInfinite = std::numeric_limits<float>::infinity();

// Words w00 to w39, or the integers 100 to 139; row 7 is zero.
ModelPtr model_to_verify(KeyType keys, Model::Source source = {}, RowMetric metric = RowMetric::kCosine) {
  ModelBuilder builder("made");
  builder.set_metric(metric);
  for (int64_t row = 0; row < kVerifiedRows; ++row) {
    std::vector<float> vector(kVerifiedDims);
    for (int64_t j = 0; j < kVerifiedDims; ++j)
      vector[static_cast<size_t>(j)] =
          row == kVerifiedZero ? 0.0f : static_cast<float>((row * 7 + j * 3) % 11 - 4) + 0.25f;
    EXPECT_TRUE((keys == KeyType::kInteger
                     ? builder.add(100 + row, vector)
                     : builder.add((row < 10 ? "w0" : "w") + std::to_string(row), vector))
                    .ok());
  }
  source.path = "made";
  return builder.finish(std::move(source), 1).value();
}

class Verify : public testing::DamagedModel {};

TEST_F(Verify, Words) {
  save(*model_to_verify(KeyType::kText));
  OpenOptions options;
  options.verify = true;
  ASSERT_TRUE(open_model(path_, options).ok());
  const std::string offsets = "the tensor 'word_offsets' ";
  write_with<int64_t>(kWordOffsets, 0, {1});
  expect_error_of_verifying(offsets + "does not begin with 0");
  for (const int64_t wrong : {int64_t{3}, int64_t{2}, int64_t{-1}, int64_t{65537 + 3}}) {
    write_with<int64_t>(kWordOffsets, 2, {wrong});
    expect_error_of_verifying(offsets + "at row 2 gives the word an impossible length");
  }
  write_with<int64_t>(kWordOffsets, kVerifiedRows, {3 * kVerifiedRows - 1});
  expect_error_of_verifying(offsets + "does not end with the length of the words' bytes");
  save(*model_to_verify(KeyType::kInteger));
  write_with<char>(kWordBytes, 3, {'x'});
  expect_error_of_verifying(
      "the tensor 'word_bytes' at row 2 has a word that is not an integer, but the keys are integers");
}

TEST_F(Verify, TheOrderOfWords) {
  save(*model_to_verify(KeyType::kText));
  for (const int32_t wrong : {-1, static_cast<int32_t>(kVerifiedRows), std::numeric_limits<int32_t>::max()}) {
    write_with<int32_t>(kSortedIds, 3, {wrong});
    expect_error_of_verifying("the tensor 'sorted_ids' has an impossible id at position 3");
  }
  const std::string order = "the tensor 'sorted_ids' is out of order, or a word is there twice, at position ";
  write_with<int32_t>(kSortedIds, 3, {4, 3});
  expect_error_of_verifying(order + "4");
  write_with<int32_t>(kSortedIds, 3, {2});
  expect_error_of_verifying(order + "3");
  write_with<char>(kWordBytes, 3 * 6, {'w', '0', '5'});  // as the row before
  expect_error_of_verifying(order + "6");
}

TEST_F(Verify, SavingNoticesAWordThatIsThereTwice) {
  save(*model_to_verify(KeyType::kText));
  write_with<char>(kWordBytes, 3 * 6, {'w', '0', '5'});
  const std::string other = path_ + ".other";
  EXPECT_EQ(save_model(*open_model(path_).value(), other, 1, {}).error().message,
            path_ + ": row 7 has the word of an earlier row; the file is damaged");
  EXPECT_FALSE(open_model(other).ok());
}

TEST_F(Verify, VectorsAndNorms) {
  save(*model_to_verify(KeyType::kText));
  for (const float wrong : {kNotANumber, kInfinite, -kInfinite}) {
    write_with<float>(kVectors, 2 * kVerifiedDims + 1, {wrong});
    expect_error_of_verifying("the tensor 'vectors' at row 3 has a component that is NaN or infinite");
  }
  const double norm = value_of<double>(kNormsSquared, 4);
  for (const double wrong : {std::nextafter(norm, 1e9), -norm, std::nan("")}) {
    write_with<double>(kNormsSquared, 4, {wrong});
    expect_error_of_verifying("the tensor 'norms_squared' at row 5 is not the vector's squared norm");
  }
  write_with<double>(kNormsSquared, kVerifiedZero, {-0.0});
  expect_error_of_verifying("the tensor 'norms_squared' at row 8 is not the vector's squared norm");
}

TEST_F(Verify, VectorsOfOtherTypes) {
  const ModelPtr model = model_to_verify(KeyType::kText);
  OpenOptions options;
  options.verify = true;
  for (const ElementType type : {ElementType::kFloat16, ElementType::kBFloat16}) {
    const uint16_t infinite = type == ElementType::kFloat16 ? 0x7C00 : 0xFF80;
    Model::Source source;
    source.type = type;
    save(*model_to_verify(KeyType::kText, source));
    EXPECT_EQ(header_.find(kVectors)->bytes, 2 * kVerifiedRows * kVerifiedDims);
    const auto opens = [&] {
      const auto opened = open_model(path_, options);
      return opened.ok() && opened.value()->source().type == type &&
             std::ranges::equal(opened.value()->parts().front().vectors, model->parts().front().vectors);
    };
    std::vector<std::future<bool>> at_once;
    for (int i = 0; i < 4; ++i) at_once.push_back(std::async(std::launch::async, opens));
    for (auto& opened : at_once) EXPECT_TRUE(opened.get());
    write_with<uint16_t>(kVectors, 2 * kVerifiedDims + 1, {infinite});
    expect_error_of_verifying("the tensor 'vectors' at row 3 has a component that is NaN or infinite");
    EXPECT_EQ(save_model(*open_model(path_).value(), path_ + ".other", 1, {}).error().message,
              path_ + ": row 3 of the vectors has a component that is NaN or infinite");
    write_with<uint16_t>(kVectors, 2 * kVerifiedDims + 1, {1});
    expect_error_of_verifying("the tensor 'norms_squared' at row 3 is not the vector's squared norm");
  }
}

TEST_F(Verify, CodesOfBothLevels) {
  save(*model_to_verify(KeyType::kText));
  const auto named = [](std::string_view tensor, int row) {
    return "the tensor '" + std::string(tensor) + "' at row " + std::to_string(row) + " ";
  };
  for (const auto& [codes, scales, residuals] :
       {std::tuple{kCodes, kScales, kResiduals}, {kCodes4, kScales4, kResiduals4}}) {
    for (const float wrong : {0.0f, -1.0f, kNotANumber, kInfinite}) {
      write_with<float>(scales, 2, {wrong});
      expect_error_of_verifying(named(scales, 3) + "is not a positive number");
    }
    write_with<float>(residuals, 2, {kInfinite});
    expect_error_of_verifying(named(residuals, 3) + "is infinite, but the vector is not zero");
    for (const float wrong : {0.0f, kNotANumber, value_of<float>(residuals, 2) * 0.5f}) {
      write_with<float>(residuals, 2, {wrong});
      expect_error_of_verifying(named(residuals, 3) +
                                "is smaller than the distance between codes and vector");
    }
    write_with<float>(scales, kVerifiedZero, {1});
    expect_error_of_verifying(named(scales, 8) + "is not 0, but the vector is zero");
    for (const float wrong : {1.0f, -kInfinite, kNotANumber}) {
      write_with<float>(residuals, kVerifiedZero, {wrong});
      expect_error_of_verifying(named(residuals, 8) + "is not infinite, but the vector is zero");
    }
    write_with<char>(codes, header_.find(codes)->bytes - 1, {1});  // of row 64, which the model does not have
    expect_error_of_verifying(named(codes, 64) + "has padding that is not zero");
  }
  write_with<int8_t>(kCodes, code_index(2, 1, kVerifiedDims), {-128});
  expect_error_of_verifying(named(kCodes, 3) + "holds -128");
  write_with<int8_t>(kCodes, code_index(2, kVerifiedDims, kVerifiedDims), {1});  // behind the last component
  expect_error_of_verifying(named(kCodes, 3) + "has padding that is not zero");
}

TEST_F(Verify, ShiftedCodes) {
  OpenOptions verified;
  verified.verify = true;
  for (const RowMetric metric : {RowMetric::kDot, RowMetric::kL2}) {
    save(*model_to_verify(KeyType::kText, {}, metric));
    const auto opened = open_model(path_, verified);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    EXPECT_EQ(opened.value()->metric(), metric);
    EXPECT_EQ(header_.metadata_value(kVersionKey), "3.0");
    EXPECT_EQ(header_.find(kCodes4), nullptr);
    const std::string row =
        "the tensor 'residuals' at row 3 and what belongs to it is no bound of the vector and its codes";
    const auto expect_no_bound = [&](std::string_view tensor, const std::vector<float>& values) {
      for (const float wrong : values) {
        write_with<float>(tensor, 2, {wrong});
        expect_error_of_verifying(row);
      }
    };
    expect_no_bound(kResiduals, {0.0f, -1.0f, value_of<float>(kResiduals, 2) * 0.5f});
    expect_no_bound(kLengths, {0.0f, kNotANumber, kInfinite, value_of<float>(kLengths, 2) * 0.999f});
    expect_no_bound(kScales, {0.0f, kNotANumber, value_of<float>(kScales, 2) * 1.01f});
    expect_no_bound(kAlong, {kNotANumber, kInfinite, value_of<float>(kAlong, 2) + 0.01f});
    const int64_t code = code_index(2, 1, kVerifiedDims);
    for (const int wrong : {value_of<int8_t>(kCodes, code) / 2 - 20, -128}) {
      write_with<int8_t>(kCodes, code, {static_cast<int8_t>(wrong)});
      expect_error_of_verifying(row);
    }
    write_with<char>(kCodes, header_.find(kCodes)->bytes - 1, {1});
    expect_error_of_verifying("the tensor 'codes' at row 64 has padding that is not zero");
    write_with<float>(kResiduals, 2, {kNotANumber});  // no bound, which is none to break
    EXPECT_TRUE(open_model(path_, verified).ok());
  }
}

TEST_F(Verify, TheMeanIsCheckedWheneverAFileIsOpened) {
  save(*model_to_verify(KeyType::kText, {}, RowMetric::kL2));
  for (const float wrong : {kNotANumber, kInfinite}) {
    write_with<float>(kShiftMean, 1, {wrong});
    expect_error_of_opening("the mean of its rows is NaN or infinite");
    write_with<float>(kShiftDirection, 1, {wrong});
    expect_error_of_opening("the mean of its rows is NaN or infinite");
  }
  write_with<float>(kShiftDirection, 0, std::vector<float>(kVerifiedDims));
  expect_error_of_opening("the mean of its rows has a direction of another length than 1");
  for (const std::string name : {"l3", "\\n", "  "}) {
    write_with_header("\"glove.metric\":\"l2\"", "\"glove.metric\":\"" + name + "\"");
    expect_error_of_opening("the metadata key 'glove.metric' is '");
    expect_error_of_opening("', but must be 'dot' or 'l2'");
  }
}

TEST_F(Verify, ADerivation) {
  auto map = std::make_shared<RowMap>();
  map->dims_in = map->dims_out = kVerifiedDims;
  map->mean.assign(kVerifiedDims, 1.0f);
  Model::Source source;
  source.derivation = map;
  save(*model_to_verify(KeyType::kText, source));
  for (const float wrong : {kNotANumber, kInfinite}) {
    write_with<float>(kDerivationMean, kVerifiedDims - 1, {wrong});
    expect_error_of_verifying("the tensor 'derivation_mean' has a component that is NaN or infinite");
  }
}

TEST_F(Verify, ATokenizer) {
  const std::string json = "{\"a\": 1}";
  std::vector<double> weights(kVerifiedRows, 1.0);
  auto tokenizer = std::make_shared<StoredTokenizer>();
  tokenizer->tokens = kVerifiedRows;
  tokenizer->json = json;
  tokenizer->weights = weights;
  Model::Source source;
  source.tokenizer = tokenizer;
  save(*model_to_verify(KeyType::kText, source));
  // Says that the tokens are these.
  std::vector<std::string> tokens;
  for (int64_t row = 0; row < kVerifiedRows; ++row)
    tokens.push_back((row < 10 ? "w0" : "w") + std::to_string(row));
  const TokenizerReader reader = [&](const std::string&, std::string_view text,
                                     const InterruptCheck&) -> Result<TokenizerContent> {
    EXPECT_EQ(text, json);
    return TokenizerContent{tokens, nullptr};
  };
  OpenOptions options;
  options.verify = true;
  options.read.read_tokenizer = reader;
  ASSERT_TRUE(open_model(path_, options).ok());
  tokens[11] = "other";
  expect_error_of_verifying("the tensor 'word_bytes' at row 12 is not the token of the tokenizer", reader);
  tokens.push_back("more");
  expect_error_of_verifying("the tensor 'tokenizer' has 41 tokens, not 40", reader);
  for (const double wrong : {std::nan(""), -std::numeric_limits<double>::infinity()}) {
    write_with<double>(kTokenWeights, 3, {wrong});
    expect_error_of_verifying("the tensor 'token_weights' has a weight that is NaN or infinite", reader);
  }
  // Tokens may be equal and empty; equal ones are in the order of their ids.
  write_with<char>(kWordBytes, 3 * 6, {'w', '0', '5'});
  options.read.read_tokenizer = {};
  EXPECT_TRUE(open_model(path_, options).ok());
  EXPECT_EQ(value_of<int32_t>(kSortedIds, 5), 5);
}

}  // namespace
}  // namespace glove
