// A model -> shards and their index -> the same model; and every way in which the files may not fit together.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "convert/convert.h"
#include "loader/model_format.h"
#include "loader/open.h"
#include "loader/save_model.h"
#include "loader/shard.h"
#include "model/model.h"
#include "model/model_builder.h"
#include "model/quantize.h"
#include "tests/loader/random.h"
#include "tests/loader/temporary_directory.h"
#include "tests/model/parts.h"

namespace glove {
namespace {

using testing::random_source;
using testing::TemporaryDirectory;

ModelPtr random_model(std::mt19937_64& random, int64_t rows, int64_t dims, KeyType keys = KeyType::kText) {
  std::normal_distribution<float> normal;
  ModelBuilder builder("random");
  std::vector<float> vector(static_cast<size_t>(dims));
  for (int64_t row = 0; row < rows; ++row) {
    for (float& value : vector) value = row == 2 ? 0.0f : normal(random);
    EXPECT_TRUE((keys == KeyType::kInteger ? builder.add(row * 7 - 3, vector)
                                           : builder.add("w" + std::to_string(random()), vector))
                    .ok());
  }
  return builder.finish().value();
}

Result<ModelPtr> open_shards_verified(const std::string& path) {
  OpenOptions options;
  options.verify = true;
  return open_model(path, options);
}

std::string error_of(const std::string& path, bool verify = false) {
  const auto opened = verify ? open_shards_verified(path) : open_model(path);
  return opened.ok() ? "ok" : opened.error().message;
}

// The rows of the shard files are those of the whole, bit for bit, with the codes of the whole.
void expect_same_rows(const Model& got, const Model& wanted) {
  ASSERT_EQ(got.words(), wanted.words());
  ASSERT_EQ(got.dims(), wanted.dims());
  EXPECT_EQ(got.vocabulary().key_type(), wanted.vocabulary().key_type());
  for (int64_t id = 0; id < wanted.words(); ++id) {
    const std::string_view word = wanted.vocabulary().word(id);
    ASSERT_EQ(got.vocabulary().word(id), word);
    ASSERT_EQ(got.vocabulary().find_exact(word), id);
    ASSERT_EQ(got.vocabulary().sorted_id(id), wanted.vocabulary().sorted_id(id));
    const ModelPart& part = got.part_of(id);
    const ModelPart& whole = wanted.part_of(id);
    const int64_t row = id - part.first_row;
    ASSERT_TRUE(std::equal(part.vector(row), part.vector(row) + part.dims, whole.vector(id)));
    ASSERT_EQ(part.norm_squared(row), whole.norm_squared(id));
    ASSERT_EQ(part.level(8).scales[static_cast<size_t>(row)], whole.level(8).scales[static_cast<size_t>(id)]);
    for (int64_t j = 0; j < part.dims; ++j)
      ASSERT_EQ(part.level(8).codes[static_cast<size_t>(code_index(row, j, part.dims))],
                whole.level(8).codes[static_cast<size_t>(code_index(id, j, part.dims))]);
  }
}

TEST(Shards, OpenAsTheWholeModel) {
  GLOVE_TRACE_SEED();
  auto random = random_source();
  for (const KeyType keys : {KeyType::kText, KeyType::kInteger})
    for (const int64_t shards : {1, 2, 3, 7})
      for (const int64_t rows : {kTileRows * 6 + 1, int64_t{257}, int64_t{1000}, kTileRows * 8}) {
        const TemporaryDirectory directory;
        const ModelPtr whole = random_model(random, rows, 1 + static_cast<int64_t>(random() % 20), keys);
        const auto saved = save_shards(*whole, directory.path("m"), shards, 0, {});
        ASSERT_TRUE(saved.ok()) << saved.error().message;
        EXPECT_EQ(saved.value().index_path, directory.path("m.safetensors.index.json"));
        EXPECT_EQ(directory.entries().size(), static_cast<size_t>(shards + 1));
        const auto opened = open_shards_verified(saved.value().index_path);
        ASSERT_TRUE(opened.ok()) << opened.error().message;
        EXPECT_EQ(opened.value()->parts().size(), static_cast<size_t>(shards));
        EXPECT_EQ(opened.value()->source().format, "glove-shards");
        EXPECT_EQ(opened.value()->source().file_bytes, saved.value().bytes);
        expect_same_rows(*opened.value(), *whole);
        for (const ModelPart& part : opened.value()->parts()) EXPECT_EQ(part.first_row % kTileRows, 0);
      }
}

TEST(Shards, KeepTheCommonComponentsOfTheWhole) {
  GLOVE_TRACE_SEED();
  auto random = random_source();
  const TemporaryDirectory directory;
  const ModelPtr rows = random_model(random, 96, 5);
  Model::Source source;
  source.path = "random";
  source.components =
      std::make_shared<StoredComponents>(StoredComponents{0.0001, 96, 1, {0.5f, -1, 0.25f, 3, 4}});
  const Model whole({rows->parts().front()}, rows->vocabulary(), source, rows);
  ASSERT_TRUE(save_shards(whole, directory.path("m"), 3, 0, {}).ok());
  const ModelPtr joined = open_shards_verified(directory.path("m.safetensors.index.json")).value();
  ASSERT_NE(joined->source().components, nullptr);
  EXPECT_EQ(joined->source().components->vectors, source.components->vectors);
  EXPECT_EQ(joined->source().components->words, 96);
  EXPECT_EQ(open_model(directory.path("m-00002-of-00003.safetensors")).value()->source().components, nullptr);
}

TEST(Shards, EachIsAModelOfItsRows) {
  GLOVE_TRACE_SEED();
  auto random = random_source();
  const TemporaryDirectory directory;
  const ModelPtr whole = random_model(random, 100, 9);
  ASSERT_TRUE(save_shards(*whole, directory.path("m.safetensors"), 3, 0, {}).ok());
  int64_t first = 0;
  for (const std::string name : {"1", "2", "3"}) {
    const auto shard = open_shards_verified(directory.path("m-0000" + name + "-of-00003.safetensors"));
    ASSERT_TRUE(shard.ok()) << shard.error().message;
    for (int64_t row = 0; row < shard.value()->words(); ++row) {
      EXPECT_EQ(shard.value()->vocabulary().word(row), whole->vocabulary().word(first + row));
      EXPECT_TRUE(
          std::equal(shard.value()->vector(row), shard.value()->vector(row) + 9, whole->vector(first + row)));
    }
    first += shard.value()->words();
  }
  EXPECT_EQ(first, 100);
}

TEST(Shards, TheConverterWritesAndReadsThem) {
  GLOVE_TRACE_SEED();
  auto random = random_source();
  const TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 500; ++i)  // many words are there twice, in several shards
    text += "w" + std::to_string(random() % 300) + " 1." + std::to_string(random() % 999) + " -2\n";
  const std::string input = directory.write("in.txt", text);
  ASSERT_TRUE(convert(input, directory.path("whole.safetensors"), {}).ok());
  ConvertOptions options;
  options.shards = 4;
  const auto report = convert(input, directory.path("m.safetensors"), options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_GT(report.value().counts.duplicates, 0);
  EXPECT_EQ(report.value().path, directory.path("m.safetensors.index.json"));
  const ModelPtr whole = open_model(directory.path("whole.safetensors")).value();
  expect_same_rows(*open_shards_verified(report.value().path).value(), *whole);
  // Shards are an input, too.
  ASSERT_TRUE(convert(report.value().path, directory.path("back.safetensors"), {}).ok());
  EXPECT_TRUE(TemporaryDirectory::read(directory.path("back.safetensors")) ==
              TemporaryDirectory::read(directory.path("whole.safetensors")));
  // The same input makes the same bytes, over the files of before.
  const std::string index = TemporaryDirectory::read(report.value().path);
  const auto names = directory.entries();
  ASSERT_TRUE(convert(input, directory.path("m"), options).ok());
  EXPECT_EQ(TemporaryDirectory::read(report.value().path), index);
  EXPECT_EQ(directory.entries(), names);
}

// Shards 1, 2 and 3 of 96 rows, and of another model of the same size.
class DamagedShards : public ::testing::Test {
 protected:
  void SetUp() override {
    auto random = random_source();
    ASSERT_TRUE(save_shards(*random_model(random, 96, 5), path("m"), 3, 0, {}).ok());
    ASSERT_TRUE(save_shards(*random_model(random, 96, 5), path("other"), 3, 0, {}).ok());
    ASSERT_TRUE(save_shards(*random_model(random, 96, 6), path("wider"), 3, 0, {}).ok());
    index_ = path("m.safetensors.index.json");
    text_ = TemporaryDirectory::read(index_);
  }
  std::string path(const std::string& name) const { return directory_.path(name); }
  std::string shard(int number) const {
    return path("m-0000" + std::to_string(number) + "-of-00003.safetensors");
  }
  void copy(const std::string& from, const std::string& to) const {
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
  }
  // Returns the error of an index in which `from` is replaced by `to`.
  std::string error_with(const std::string& from, const std::string& to) const {
    std::string text = text_;
    EXPECT_NE(text.find(from), std::string::npos) << from;
    directory_.write("m.safetensors.index.json", text.replace(text.find(from), from.size(), to));
    const std::string message = error_of(index_);
    return message.starts_with(index_ + ": ") ? message.substr(index_.size() + 2) : message;
  }

  ::testing::ScopedTrace trace_{__FILE__, __LINE__,
                                "GLOVE_TEST_SEED=" + std::to_string(testing::test_seed())};
  TemporaryDirectory directory_;
  std::string index_;
  std::string text_;
};

TEST_F(DamagedShards, MissingForeignAndReordered) {
  std::filesystem::rename(shard(2), path("elsewhere"));
  EXPECT_EQ(error_of(index_), index_ + ": a shard is missing: cannot open '" + shard(2) +
                                  "': No such file or directory; all shards must be beside the index");
  copy(path("other-00002-of-00003.safetensors"), shard(2));
  EXPECT_NE(error_of(index_).find(shard(2) + ": this shard belongs to the set '"), std::string::npos);
  copy(path("wider-00002-of-00003.safetensors"), shard(2));
  EXPECT_NE(error_of(index_).find(shard(2) + ": this shard belongs to the set '"), std::string::npos);
  copy(shard(3), shard(2));
  EXPECT_EQ(error_of(index_),
            shard(2) + ": this shard begins at row 64, but '" + index_ +
                "' needs row 32 there; the shards are in another order, or one is not named");
  std::filesystem::rename(path("elsewhere"), shard(2));
  EXPECT_EQ(error_of(index_), "ok");
  ASSERT_TRUE(save_model(*open_model(index_).value(), path("whole.safetensors"), 0, {}).ok());
  copy(path("whole.safetensors"), shard(1));
  EXPECT_EQ(error_of(index_), shard(1) + ": this is a whole model and not a shard, but '" + index_ +
                                  "' names it; open it directly, or convert again");
}

TEST_F(DamagedShards, ABitOfAShard) {
  std::string bytes = TemporaryDirectory::read(shard(2));
  bytes[kModelHeaderBytes + 5] ^= 1;  // of the vectors: only --verify reads them
  directory_.write("m-00002-of-00003.safetensors", bytes);
  EXPECT_EQ(error_of(index_), "ok");
  EXPECT_NE(error_of(index_, true).find(shard(2) + ": the tensor 'vectors' is damaged"), std::string::npos);
  bytes.resize(bytes.size() - 1);
  directory_.write("m-00002-of-00003.safetensors", bytes);
  EXPECT_NE(error_of(index_).find(shard(2) + ": the file ends early"), std::string::npos);
  bytes.resize(100);
  directory_.write("m-00002-of-00003.safetensors", bytes);
  EXPECT_NE(error_of(index_).find(shard(2) + ": the file ends early"), std::string::npos);
}

// Replaces text of a header by other text of the same length, and makes its checksum right again.
void edit_header(const TemporaryDirectory& directory, const std::string& name, const std::string& from,
                 const std::string& to) {
  std::string bytes = TemporaryDirectory::read(directory.path(name));
  ASSERT_EQ(from.size(), to.size());
  ASSERT_NE(bytes.find(from), std::string::npos) << from;
  bytes.replace(bytes.find(from), from.size(), to);
  const std::string key = "\"" + std::string(kHeaderChecksumKey) + "\":\"";
  bytes.replace(bytes.find(key) + key.size(), 8, header_checksum(bytes.substr(0, kModelHeaderBytes)));
  directory.write(name, bytes);
}

TEST_F(DamagedShards, ImpossiblePlaces) {
  const std::string name = "m-00002-of-00003.safetensors";
  edit_header(directory_, name, "\"glove.first_row\":\"32\"", "\"glove.first_row\":\"xx\"");
  EXPECT_EQ(error_of(index_), shard(2) +
                                  ": the metadata of a shard must have the row counts 'glove.first_row' and "
                                  "'glove.rows_total', but they are missing or impossible");
  edit_header(directory_, name, "\"glove.first_row\":\"xx\"", "\"glove.first_row\":\"-1\"");
  EXPECT_NE(error_of(index_).find("impossible"), std::string::npos);
  EXPECT_EQ(error_of(shard(2)), "ok") << "its rows are a model all the same";
  edit_header(directory_, name, "\"glove.first_row\":\"-1\"", "\"glove.first_row\":\"32\"");
  edit_header(directory_, name, "\"glove.rows_total\":\"96\"", "\"glove.rows_total\":\"97\"");
  EXPECT_NE(error_of(index_).find("belongs to a model of 97 rows"), std::string::npos);
}

std::string set_of(const std::string& path) {
  const std::string bytes = TemporaryDirectory::read(path);
  const std::string key = "\"glove.set\":\"";
  const size_t place = bytes.find(key) + key.size();
  return bytes.substr(place, bytes.find('"', place) - place);
}

// Of the same set, by its name.
TEST_F(DamagedShards, OfOtherDimensions) {
  const std::string name = "wider-00002-of-00003.safetensors";
  edit_header(directory_, name, set_of(path(name)), set_of(shard(1)));
  copy(path(name), shard(2));
  EXPECT_EQ(error_of(index_),
            shard(2) +
                ": this shard has other dimensions, keys or tokens, or another metric or type, than the "
                "first one; use the files of one conversion");
}

// Which only a set of two conversions has, because one refuses equal words.
TEST_F(DamagedShards, AWordInTwoShards) {
  for (const auto& [base, first] : {std::pair{"m", 0}, std::pair{"shifted", -32}}) {
    ModelBuilder builder(base);
    for (int word = first; word < first + 96; ++word)
      ASSERT_TRUE(builder.add("word " + std::to_string(word), std::vector<float>{1.0f, 2.0f}).ok());
    ASSERT_TRUE(save_shards(*builder.finish().value(), path(base), 3, 0, {}).ok());
  }
  EXPECT_EQ(error_of(index_, true), "ok");
  const std::string name = "shifted-00002-of-00003.safetensors";
  edit_header(directory_, name, set_of(path(name)), set_of(shard(1)));
  copy(path(name), shard(2));
  EXPECT_EQ(error_of(index_), "ok") << "only --verify compares them";
  EXPECT_EQ(error_of(index_, true),
            index_ + ": the word 'word 0' is in two rows of the shards; convert the original again");
}

TEST_F(DamagedShards, OverlappingWords) {
  std::string bytes = TemporaryDirectory::read(shard(1));
  const ModelPtr model = open_model(shard(1)).value();
  const auto* const map = model->vocabulary().word_bytes().data();
  const int64_t length = static_cast<int64_t>(model->vocabulary().word_bytes().size());
  // All words but the first become the whole of the words' bytes.
  const auto offsets = std::search(
      bytes.begin(), bytes.end(), reinterpret_cast<const char*>(model->vocabulary().word_offsets().data()),
      reinterpret_cast<const char*>(model->vocabulary().word_offsets().data() + 33));
  ASSERT_NE(offsets, bytes.end());
  ASSERT_NE(map, nullptr);
  for (int64_t i = 1; i < 32; ++i) {
    const int64_t value = i % 2 == 0 ? 0 : length;
    std::copy_n(reinterpret_cast<const char*>(&value), 8, offsets + i * 8);
  }
  directory_.write("m-00001-of-00003.safetensors", bytes);
  EXPECT_EQ(error_of(index_), shard(1) +
                                  ": the tensor 'word_offsets' at row 2 gives the word an impossible "
                                  "length; the file is damaged");
}

TEST_F(DamagedShards, Indexes) {
  const std::string name = "\"m-00002-of-00003.safetensors\"";
  const auto outside = [](const std::string& file) {
    return "the file '" + file +
           "' of 'vectors.00002' is not a name in the directory of the index; shards must be beside it";
  };
  EXPECT_EQ(error_with(name, "\"../m-00002-of-00003.safetensors\""),
            outside("../m-00002-of-00003.safetensors"));
  EXPECT_EQ(error_with(name, "\"/etc/passwd\""), outside("/etc/passwd"));
  EXPECT_EQ(error_with(name, "\"..\""), outside(".."));
  EXPECT_EQ(error_with(name, "\"a\\u0000b\""), outside("a\\x00b"));
  const std::string no_entry =
      "the 'weight_map' has 3 entries, but none of them is 'vectors.00002' with the name of a file";
  EXPECT_EQ(error_with("vectors.00002", "vectors.00009"), no_entry);
  EXPECT_EQ(error_with(name, "7"), no_entry);
  EXPECT_EQ(error_with(name, "\"\""), no_entry);
  EXPECT_EQ(error_with("\"glove.set\"", "\"glove.net\""),
            "this index is not one of glove-convert: its metadata has no 'glove.set'");
  EXPECT_EQ(error_with("\"glove.version\": \"1.", "\"glove.version\": \"9."),
            "the file has format version 9.3, but this build reads the versions 1 to 3; convert the "
            "original again, or use "
            "a newer build");
  EXPECT_EQ(error_with("glove.version", "glove.vision"),
            "the metadata key 'glove.version' is missing or no version");
  EXPECT_EQ(error_with("\"96\"", "\"-96\""), "the metadata key 'glove.rows_total' must be a count of rows");
  EXPECT_NE(error_with("\"96\"", "\"97\"").find("belongs to a model of 96 rows"), std::string::npos);
  EXPECT_EQ(error_with(",\n    \"vectors.00003\": \"m-00003-of-00003.safetensors\"", ""),
            "the shards have 64 rows, but the index says 96; it does not name all shards");
  const size_t first = text_.find("\"vectors.00001\"");
  EXPECT_EQ(error_with(text_.substr(first, text_.find("\n  }", first) - first), ""),
            "the 'weight_map' must name 1 to 256 shards");
  std::string many;
  for (int i = 0; i < 257; ++i) many += "\"" + std::to_string(i) + "\": \"x\", ";
  EXPECT_EQ(error_with("\"vectors.00001\"", many + "\"vectors.00001\""),
            "the 'weight_map' must name 1 to 256 shards");
  EXPECT_EQ(error_with("{\n", "{{"), "the index of shards is not valid JSON; the file is damaged");
  directory_.write("m.safetensors.index.json", "{\"weight_map\":{" + std::string(kMaxIndexBytes, ' ') + "}}");
  EXPECT_NE(error_of(index_).find("an index of shards has at most"), std::string::npos);
  directory_.write("m.safetensors.index.json", text_);
  EXPECT_EQ(error_of(index_), "ok");
}

TEST(Shards, AnErrorLeavesNothing) {
  GLOVE_TRACE_SEED();
  auto random = random_source();
  const TemporaryDirectory directory;
  const ModelPtr model = random_model(random, 96, 5);
  const auto too_many = save_shards(*model, directory.path("m"), 4, 0, {});
  ASSERT_FALSE(too_many.ok());
  EXPECT_EQ(too_many.error().message,
            "'" + directory.path("m") +
                "': 96 words make 1 to 3 shards, because each has 32 words or more, but "
                "4 were asked for");
  int asked = 0;
  ASSERT_TRUE(save_shards(*model, directory.path("count"), 3, 1, [&] { return ++asked < 0; }).ok());
  const auto names = directory.entries();
  int interrupted = 0;
  for (int stop = 1; stop <= asked; ++stop) {
    int calls = 0;
    const auto stopped = save_shards(*model, directory.path("m"), 3, 1, [&] { return ++calls >= stop; });
    if (stopped.ok()) {  // a wait for the disk asks as well, so a run may ask less often than the first
      ASSERT_LT(calls, stop);
      for (const std::string& name : directory.entries())
        if (std::find(names.begin(), names.end(), name) == names.end())
          std::filesystem::remove(directory.path(name));
      continue;
    }
    ++interrupted;
    EXPECT_EQ(stopped.error().code, ErrorCode::kInterrupted);
    ASSERT_EQ(directory.entries(), names) << stop;
    EXPECT_TRUE(directory.open_unnamed_files().empty());
  }
  EXPECT_GE(interrupted, 3);  // at least once per shard
  EXPECT_NE(save_shards(*model, directory.path("m\xff"), 3, 0, {})
                .status()
                .error()
                .message.find("must be valid UTF-8"),
            std::string::npos);
  EXPECT_FALSE(save_shards(*model, directory.path("m"), 0, 0, {}).ok());
  // Somebody makes a folder in the place of the index before it appears: the shards that have appeared go.
  const std::string index = directory.path("n.safetensors.index.json");
  bool refused = false;
  for (int at = 1; at <= asked && !refused; ++at) {
    int calls = 0;
    const auto saved = save_shards(*model, directory.path("n"), 3, 1, [&] {
      if (++calls == at) std::filesystem::create_directory(index);
      return false;
    });
    EXPECT_FALSE(saved.ok());
    refused = saved.error().message.starts_with("cannot replace '" + index);
    std::filesystem::remove(index);
    ASSERT_EQ(directory.entries(), names) << at << " " << saved.error().message;
  }
  EXPECT_TRUE(refused);
  // The last shard cannot get its name.
  std::filesystem::create_directory(directory.path("m-00003-of-00003.safetensors"));
  EXPECT_FALSE(save_shards(*model, directory.path("m"), 3, 0, {}).ok());
  EXPECT_EQ(directory.entries().size(), names.size() + 1);
}

}  // namespace
}  // namespace glove
