// A model of several parts reads the same as one part with the same rows.
#include <gtest/gtest.h>

#include "model/mapped_file.h"
#include "tests/loader/random.h"
#include "tests/loader/temporary_directory.h"
#include "tests/model/parts.h"
#include "tests/search/random_model.h"

namespace glove {
namespace {

using namespace glove::testing;

void expect_same_rows(const Model& got, const Model& wanted) {
  ASSERT_EQ(got.words(), wanted.words());
  ASSERT_EQ(got.dims(), wanted.dims());
  for (int64_t row = 0; row < wanted.words(); ++row) {
    EXPECT_TRUE(std::equal(got.vector(row), got.vector(row) + got.dims(), wanted.vector(row)));
    EXPECT_EQ(got.norm_squared(row), wanted.norm_squared(row));
    const ModelPart& part = got.part_of(row);
    EXPECT_LE(part.first_row, row);
    EXPECT_LT(row, part.first_row + part.rows);
    EXPECT_EQ(got.vocabulary().word(row), wanted.vocabulary().word(row));
  }
}

TEST(ModelParts, HoldTheRowsOfTheWhole) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (const int64_t words : {1, 32, 33, 700}) {
    const ModelPtr whole = random_model(random, words, 7, Rows::kMixed);
    for (int i = 0; i < 20; ++i) expect_same_rows(*randomly_split(whole, random), *whole);
    std::vector<int64_t> rows;
    int64_t left = words;
    for (; left > 0; left -= rows.back())
      rows.push_back(1 + static_cast<int64_t>(random() % static_cast<uint64_t>(left)));
    const ModelPtr rebuilt = rebuilt_in_parts(*whole, rows);
    EXPECT_EQ(rebuilt->parts().size(), rows.size());
    expect_same_rows(*rebuilt, *whole);
  }
}

TEST(ModelParts, KnowTheirPlaceInAFile) {
  const TemporaryDirectory directory;
  const auto map = [&](const std::string& name) {
    const std::string path = directory.write(name, std::string(10000, 'x'));
    auto file = std::make_shared<const File>(File::open_for_reading(path).value());
    return MappedFile::map(path, std::move(file)).value();
  };
  std::mt19937_64 random(1);
  const ModelPtr heap = random_model(random, 10, 4, Rows::kGaussian);
  EXPECT_FALSE(heap->place_in_file(std::as_bytes(heap->parts().front().vectors)));
  Model::Source source;
  source.maps = {map("first"), map("second")};
  const Model model({heap->parts().front()}, heap->vocabulary(), source, heap);
  for (const auto& mapped : source.maps) {
    const auto bytes = std::as_bytes(std::span(mapped->bytes()));
    const auto place = model.place_in_file(bytes.subspan(123, 1000));
    ASSERT_TRUE(place);
    EXPECT_EQ(place->descriptor, mapped->file().descriptor());
    EXPECT_EQ(place->offset, 123);
    EXPECT_TRUE(model.place_in_file(bytes));
    EXPECT_FALSE(model.place_in_file({bytes.data() + 1, bytes.size()})) << "reaches beyond the file";
  }
  EXPECT_FALSE(model.place_in_file(std::as_bytes(heap->parts().front().vectors)));
  EXPECT_TRUE(model.health().ok());
  ASSERT_EQ(::truncate((directory.path("second")).c_str(), 100), 0);
  EXPECT_FALSE(model.health().ok()) << "any of the files";
}

}  // namespace
}  // namespace glove
