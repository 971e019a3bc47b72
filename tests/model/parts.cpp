#include "tests/model/parts.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "model/model_builder.h"
#include "model/nibbles.h"

namespace glove::testing {
namespace {

ModelPart part_between(const ModelPart& whole, int64_t first, int64_t last) {
  const auto from = static_cast<size_t>(first);
  const auto count = static_cast<size_t>(last - first);
  const auto width = static_cast<size_t>(whole.dims);
  ModelPart part;
  part.first_row = first;
  part.rows = last - first;
  part.dims = whole.dims;
  part.vectors = whole.vectors.subspan(from * width, count * width);
  part.norms_squared = whole.norms_squared.subspan(from, count);
  for (const CodeLevel& level : whole.levels) {
    const auto bytes = level.bits == 4 ? nibble_bytes : code_bytes;
    part.levels.push_back({level.bits,
                           level.codes.subspan(static_cast<size_t>(bytes(first, whole.dims)),
                                               static_cast<size_t>(bytes(part.rows, whole.dims))),
                           level.scales.subspan(from, count), level.residuals.subspan(from, count)});
    if (level.along.empty()) continue;
    part.levels.back().along = level.along.subspan(from, count);
    part.levels.back().lengths = level.lengths.subspan(from, count);
  }
  return part;
}

template <class T>
bool same_bytes(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

}  // namespace

ModelPtr split_model(const ModelPtr& model, const std::vector<int64_t>& first_rows) {
  EXPECT_EQ(model->parts().size(), 1u);
  std::vector<ModelPart> parts;
  int64_t first = 0;
  for (const int64_t next : first_rows) {
    EXPECT_EQ(next % kTileRows, 0);
    parts.push_back(part_between(model->parts().front(), first, next));
    first = next;
  }
  parts.push_back(part_between(model->parts().front(), first, model->words()));
  return std::make_shared<Model>(std::move(parts), model->vocabulary(), model->source(), model);
}

ModelPtr randomly_split(const ModelPtr& model, std::mt19937_64& random) {
  std::vector<int64_t> first_rows;
  const auto most = static_cast<uint64_t>(tile_count(model->words()) / 4 + 1);
  int64_t first = 0;
  for (uint64_t parts = random() % 5; parts > 0; --parts) {
    first += (2 * static_cast<int64_t>(random() % most) + 1) * kTileRows;
    if (first >= model->words()) break;
    first_rows.push_back(first);
  }
  return split_model(model, first_rows);
}

ModelPtr rebuilt_in_parts(const Model& model, const std::vector<int64_t>& rows) {
  struct Owner {
    std::vector<ModelPtr> parts;
    std::vector<char> word_bytes;
    std::vector<int64_t> word_offsets = {0};
    std::vector<int32_t> sorted_ids;
  };
  auto owner = std::make_shared<Owner>();
  std::vector<ModelPart> parts;
  int64_t row = 0;
  for (const int64_t count : rows) {
    ModelBuilder builder("part");
    const int64_t first = row;
    for (; row < first + count; ++row) {
      const std::string word(model.vocabulary().word(row));
      EXPECT_TRUE(builder.add(word, {model.vector(row), static_cast<size_t>(model.dims())}).value());
      owner->word_bytes.insert(owner->word_bytes.end(), word.begin(), word.end());
      owner->word_offsets.push_back(static_cast<int64_t>(owner->word_bytes.size()));
      owner->sorted_ids.push_back(model.vocabulary().sorted_id(row));
    }
    owner->parts.push_back(builder.finish(1).value());
    parts.push_back(owner->parts.back()->parts().front());
    parts.back().first_row = first;
  }
  EXPECT_EQ(row, model.words());
  const Vocabulary vocabulary(owner->word_bytes, owner->word_offsets, owner->sorted_ids);
  return std::make_shared<Model>(std::move(parts), vocabulary, model.source(), owner);
}

void expect_same_parts(const Model& got, const Model& wanted) {
  ASSERT_EQ(got.parts().size(), wanted.parts().size());
  for (size_t i = 0; i < got.parts().size(); ++i) {
    const ModelPart& a = got.parts()[i];
    const ModelPart& b = wanted.parts()[i];
    EXPECT_EQ(a.first_row, b.first_row);
    ASSERT_EQ(a.rows, b.rows);
    ASSERT_EQ(a.dims, b.dims);
    EXPECT_TRUE(same_bytes(a.vectors, b.vectors));
    EXPECT_TRUE(same_bytes(a.norms_squared, b.norms_squared));
    ASSERT_EQ(a.levels.size(), b.levels.size());
    for (size_t l = 0; l < a.levels.size(); ++l) {
      EXPECT_EQ(a.levels[l].bits, b.levels[l].bits);
      EXPECT_TRUE(same_bytes(a.levels[l].codes, b.levels[l].codes));
      EXPECT_TRUE(same_bytes(a.levels[l].scales, b.levels[l].scales));
      EXPECT_TRUE(same_bytes(a.levels[l].residuals, b.levels[l].residuals));
    }
  }
}

}  // namespace glove::testing
