#include "launch/launch_file.h"

#include <gtest/gtest.h>

#include "temporary_folder.h"

namespace glove::verify {
namespace {

class SpecFileTest : public testing::Test {
 protected:
  Result<std::vector<Launch>> read(const std::string& text) {
    path_ = folder_.write("a.launch.toml", text);
    return read_spec(path_);
  }
  // The only launch of the text.
  Launch launch(const std::string& text) {
    const auto launches = read(text);
    EXPECT_TRUE(launches.ok()) << (launches.ok() ? "" : launches.error().message);
    if (!launches.ok()) return {};
    EXPECT_EQ(launches.value().size(), 1u);
    return launches.value().at(0);
  }
  // What is wrong, without the path.
  std::string problem(const std::string& text) {
    const auto launches = read(text);
    if (launches.ok()) return "nothing";
    EXPECT_EQ(launches.error().code, ErrorCode::kLaunchFile);
    const std::string& message = launches.error().message;
    EXPECT_TRUE(message.starts_with(path_)) << message;
    return message.substr(std::min(path_.size(), message.size()));
  }
  std::string parameter_problem(const std::string& keys) {
    return problem("[[launch]]\nparameters = [{" + keys + "}]\n");
  }

  TemporaryFolder folder_;
  std::string path_;
};

using Size = std::array<uint32_t, 3>;

TEST_F(SpecFileTest, AnEmptyLaunchHasOneBlockOfTheKernelsSize) {
  const Launch read = launch("[[launch]]\n");
  EXPECT_EQ(read.block, (Size{0, 0, 0}));
  EXPECT_EQ(read.grid, (Size{1, 1, 1}));
  EXPECT_FALSE(read.dynamic_shared);
  EXPECT_TRUE(read.parameters.empty());
  EXPECT_EQ(read.file, path_);
}

TEST_F(SpecFileTest, SizesAreNumbersOrArrays) {
  const Launch read = launch("[[launch]]\nblock = [32, 4]\ngrid = 7\n");
  EXPECT_EQ(read.block, (Size{32, 4, 1}));
  EXPECT_EQ(read.grid, (Size{7, 1, 1}));
}

TEST_F(SpecFileTest, AFileWithoutLaunchesIsAnError) {
  EXPECT_EQ(problem("name = \"a\"\n"),
            ": there is no launch in this file; add one, which begins with [[launch]]");
}

TEST_F(SpecFileTest, AMissingFileIsAnErrorAndSoIsAFolder) {
  const auto missing = read_spec((folder_.path() / "none").string());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, (folder_.path() / "none").string() + ": cannot be read");
  const auto folder = read_spec(folder_.path().string());
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().message, folder_.path().string() + " is a directory; give --launch a file");
}

TEST_F(SpecFileTest, AnErrorOfSyntaxHasItsLine) {
  EXPECT_TRUE(problem("[[launch]]\n\ngrid = = 2\n").starts_with(":3: "));
}

TEST_F(SpecFileTest, OtherAlphabetsAreRefused) {
  EXPECT_EQ(problem("[[launch]]\nname = \"\xc3\xa4\"\n"), ":2: a launch file has ASCII characters only");
}

TEST_F(SpecFileTest, ABlockHasAtMost1024Threads) {
  EXPECT_EQ(launch("[[launch]]\nblock = [32, 32]\n").block, (Size{32, 32, 1}));
  EXPECT_EQ(problem("[[launch]]\nblock = [32, 33]\n"),
            ":2: a block has at most 1024 threads, and this block has 1056");
}

TEST_F(SpecFileTest, AProductOfSizesDoesNotWrap) {
  EXPECT_EQ(problem("[[launch]]\nblock = [65535, 65535, 65535]\n"),
            ":2: a block has at most 1024 threads, and this block has 281462092005375");
}

TEST_F(SpecFileTest, AGridHasAtMost65536Blocks) {
  EXPECT_EQ(launch("[[launch]]\ngrid = [256, 256]\n").grid, (Size{256, 256, 1}));
  EXPECT_NE(problem("[[launch]]\ngrid = [256, 257]\n"), "nothing");
}

TEST_F(SpecFileTest, SizesOfZeroOrOfFourDimensionsAreRefused) {
  const std::string wanted = ":2: grid must be an integer from 1 to 65535, or an array of at most three";
  EXPECT_EQ(problem("[[launch]]\ngrid = 0\n"), wanted);
  EXPECT_EQ(problem("[[launch]]\ngrid = -1\n"), wanted);
  EXPECT_EQ(problem("[[launch]]\ngrid = 65536\n"), wanted);
  EXPECT_EQ(problem("[[launch]]\ngrid = []\n"), wanted);
  EXPECT_EQ(problem("[[launch]]\ngrid = [1, 1, 1, 1]\n"), wanted);
  EXPECT_EQ(problem("[[launch]]\ngrid = [1, 0]\n"), wanted);
  EXPECT_EQ(problem("[[launch]]\ngrid = \"2\"\n"), wanted);
}

TEST_F(SpecFileTest, DynamicSharedMemoryHasALimit) {
  EXPECT_EQ(launch("[[launch]]\ndynamic_shared = 232448\n").dynamic_shared, kMostBlockShared);
  EXPECT_EQ(launch("[[launch]]\ndynamic_shared = 0\n").dynamic_shared, 0u);
  EXPECT_EQ(problem("[[launch]]\ndynamic_shared = 232449\n"),
            ":2: dynamic_shared must be an integer from 0 to 232448");
}

TEST_F(SpecFileTest, KeysOfOthersBeginWithX) {
  EXPECT_EQ(launch("x-tool = 1\n[[launch]]\nx-note = \"a\"\n").name, "");
  EXPECT_TRUE(
      problem("[[launch]]\nblocks = 2\n").starts_with(":2: a launch has no key 'blocks'; its keys are "));
  EXPECT_TRUE(problem("blocks = 2\n[[launch]]\n").starts_with(":1: a launch file has no key 'blocks'"));
}

TEST_F(SpecFileTest, AKernelIsARegularExpression) {
  EXPECT_EQ(launch("[[launch]]\nkernel = \"a.*\"\n").kernel, "a.*");
  EXPECT_EQ(problem("[[launch]]\nkernel = \"a(\"\n"), ":2: kernel = 'a(' is not a regular expression");
  EXPECT_EQ(problem("[[launch]]\nkernel = 3\n"), ":2: kernel must be a string");
}

TEST_F(SpecFileTest, ParametersAreNumbersOrBuffers) {
  const Launch read = launch(
      "[[launch]]\nparameters = [{at = 0, buffer = \"in\", bytes = 64, zeroed = true}, {at = 8, u32 = "
      "4294967295}, {at = 16, u64 = 9223372036854775807}]\n");
  ASSERT_EQ(read.parameters.size(), 3u);
  EXPECT_TRUE(read.parameters[0].is_buffer);
  EXPECT_EQ(read.parameters[0].buffer, "in");
  EXPECT_EQ(read.parameters[0].buffer_bytes, 64u);
  EXPECT_TRUE(read.parameters[0].zeroed);
  EXPECT_TRUE(read.parameters[0].own);
  EXPECT_EQ(read.parameters[0].line, 2);
  EXPECT_EQ(read.parameters[1].value, 0xffffffffu);
  EXPECT_EQ(read.parameters[1].bytes, 4u);
  EXPECT_EQ(read.parameters[2].value, uint64_t{INT64_MAX});
  EXPECT_EQ(read.parameters[2].bytes, 8u);
}

TEST_F(SpecFileTest, NumbersMustFitTheirParameter) {
  EXPECT_EQ(parameter_problem("at = 0, u32 = 4294967296"), ":2: u32 must be an integer from 0 to 4294967295");
  EXPECT_EQ(parameter_problem("at = 0, u32 = -1"), ":2: u32 must be an integer from 0 to 4294967295");
  EXPECT_EQ(parameter_problem("at = 65536, u32 = 1"), ":2: at must be an integer from 0 to 65535");
}

TEST_F(SpecFileTest, ParametersThatMayBeAnythingHaveNames) {
  const Launch read = launch(
      "[[launch]]\nparameters = [{at = 0, s32 = \"w\"}, {at = 4, s32 = -2}, {at = 8, u64 = \"n\"}]\n"
      "assume = [\"w >= 32 * grid_x\",\n \"n != 0\"]\n");
  ASSERT_EQ(read.parameters.size(), 3u);
  EXPECT_EQ(read.parameters[0].name, "w");
  EXPECT_TRUE(read.parameters[0].is_signed);
  EXPECT_EQ(read.parameters[0].bytes, 4u);
  EXPECT_EQ(static_cast<int32_t>(read.parameters[1].value), -2);
  EXPECT_EQ(read.parameters[2].name, "n");
  EXPECT_FALSE(read.parameters[2].is_signed);
  ASSERT_EQ(read.relations.size(), 2u);
  EXPECT_EQ(read.relations[0].text, "w >= 32 * grid_x");
  EXPECT_EQ(read.relations[0].line, 3);
  EXPECT_EQ(read.relations[0].column, 12);
  EXPECT_EQ(read.relations[1].line, 4);
  EXPECT_EQ(problem("[[launch]]\nassume = \"grid_x > w\"\n").substr(0, 31),
            ":2:20: assume = \"grid_x > w\": n");
}

TEST_F(SpecFileTest, AParameterHasOneKindAndAPlace) {
  const std::string one = ":2: a parameter must have one of the keys buffer, u32, s32, u64 and s64";
  EXPECT_EQ(parameter_problem("at = 0"), one);
  EXPECT_EQ(parameter_problem("at = 0, u32 = 1, u64 = 1"), one);
  EXPECT_EQ(parameter_problem("u32 = 1"),
            ":2: a parameter needs its offset or its index; add at = ... or index = ...");
}

TEST_F(SpecFileTest, AParameterIsAligned) {
  EXPECT_EQ(parameter_problem("at = 2, u32 = 1"),
            ":2: at = 2 must be a multiple of 4, which are the bytes of this parameter");
  EXPECT_EQ(parameter_problem("at = 4, u64 = 1"),
            ":2: at = 4 must be a multiple of 8, which are the bytes of this parameter");
}

TEST_F(SpecFileTest, ParametersDoNotOverlap) {
  EXPECT_EQ(problem("[[launch]]\nparameters = [\n{at = 0, u64 = 1},\n{at = 4, u32 = 1}]\n"),
            ":4: at = 4 lies in the parameter of line 3; remove one of them");
  EXPECT_EQ(launch("[[launch]]\nparameters = [{at = 0, u64 = 1}, {at = 8, u32 = 1}]\n").parameters.size(),
            2u);
}

TEST_F(SpecFileTest, PropertiesOfBuffersNeedABuffer) {
  EXPECT_TRUE(parameter_problem("at = 0, u64 = 1, bytes = 4").starts_with(":2: bytes belongs to"));
  EXPECT_TRUE(parameter_problem("at = 0, u64 = 1, distinct = \"a\"").starts_with(":2: distinct belongs to"));
  EXPECT_EQ(parameter_problem("at = 0, buffer = \"a\", zeroed = 1"), ":2: zeroed must be true or false");
}

TEST_F(SpecFileTest, DistinctNumbersHaveAStride) {
  const Launch read =
      launch("[[launch]]\nparameters = [{at = 0, buffer = \"a\", distinct = \"rows\", every = 12}]\n");
  EXPECT_EQ(read.parameters.at(0).distinct, "rows");
  EXPECT_EQ(read.parameters.at(0).every, 12u);
  const std::string every =
      ":2: every must be a multiple of 4, beside distinct, sorted or strictly_increasing";
  EXPECT_EQ(parameter_problem("at = 0, buffer = \"a\", distinct = \"rows\", every = 6"), every);
  EXPECT_EQ(parameter_problem("at = 0, buffer = \"a\", every = 8"), every);
}

TEST_F(SpecFileTest, LemmasHaveALineAndAReason) {
  const Launch read = launch(
      "[[launch]]\nlemmas = [{name = \"rows\", reason = \"r\"}, {file = \"a.cu\", line = 7, reason = "
      "\"r\"}]\n");
  ASSERT_EQ(read.lemmas.size(), 2u);
  EXPECT_EQ(read.lemmas[0].at.name, "rows");
  EXPECT_EQ(read.lemmas[0].at.declared_at, 2);
  EXPECT_EQ(read.lemmas[1].at.line, 7);
  const std::string wrong = ":2: a lemma has a name, or a file and a line; and a reason";
  EXPECT_EQ(problem("[[launch]]\nlemmas = [{name = \"rows\"}]\n"), wrong);
  EXPECT_EQ(problem("[[launch]]\nlemmas = [{name = \"rows\", line = 3, reason = \"r\"}]\n"), wrong);
  EXPECT_EQ(problem("[[launch]]\nlemmas = [{file = \"a.cu\", reason = \"r\"}]\n"), wrong);
}

TEST_F(SpecFileTest, RangesHaveTwoEnds) {
  const Launch read = launch("[[launch]]\nranges = [{name = \"n\", least = -1, most = 9, reason = \"r\"}]\n");
  ASSERT_EQ(read.ranges.size(), 1u);
  EXPECT_EQ(read.ranges[0].least, -1);
  EXPECT_EQ(read.ranges[0].most, 9);
  EXPECT_EQ(problem("[[launch]]\nranges = [{name = \"n\", least = 2, most = 1, reason = \"r\"}]\n"),
            ":2: least = 2 must not be above most = 1");
  EXPECT_NE(problem("[[launch]]\nranges = [{name = \"n\", least = 2, reason = \"r\"}]\n"), "nothing");
}

TEST_F(SpecFileTest, ALaunchOverridesWhatTheFileSays) {
  const Launch read = launch(
      "block = 64\ngrid = 2\nparameters = [{at = 0, u32 = 1}, {at = 4, u32 = 2}]\n"
      "[[launch]]\ngrid = 3\nparameters = [{at = 4, u32 = 9}]\n");
  EXPECT_EQ(read.block, (Size{64, 1, 1}));
  EXPECT_EQ(read.grid, (Size{3, 1, 1}));
  ASSERT_EQ(read.parameters.size(), 2u);
  EXPECT_EQ(read.parameters[0].value, 9u);
  EXPECT_TRUE(read.parameters[0].own);
  EXPECT_EQ(read.parameters[1].value, 1u);
  EXPECT_FALSE(read.parameters[1].own);
}

TEST_F(SpecFileTest, ChoicesNameALaunchThatHasNoName) {
  const std::string text =
      "[choices.size.small]\ngrid = 2\n[choices.size.large]\ngrid = 9\n[choices.mode.fast]\nblock = 32\n"
      "[[launch]]\nwith = {mode = \"fast\", size = \"large\"}\n";
  const Launch read = launch(text);
  EXPECT_EQ(read.grid, (Size{9, 1, 1}));
  EXPECT_EQ(read.block, (Size{32, 1, 1}));
  EXPECT_EQ(read.name, "mode fast, size large");
  EXPECT_EQ(launch(text + "name = \"own\"\n").name, "own");
}

TEST_F(SpecFileTest, ChoicesMustExistAndMakeSenseWhoeverTakesThem) {
  EXPECT_EQ(problem("[choices.size.small]\ngrid = 2\n[[launch]]\nwith = {size = \"huge\"}\n"),
            ":4: there is no [choices.size.huge]");
  EXPECT_TRUE(
      problem("[choices.size.small]\ngrids = 2\n[[launch]]\n").starts_with(":2: a set of a choice has no"));
  EXPECT_NE(problem("[choices.size.small]\ngrid = 0\n[[launch]]\n"), "nothing");
  EXPECT_EQ(problem("[[launch]]\nwith = {size = \"huge\"}\n"),
            ":1: `with` is a table of names from [choices]");
  EXPECT_EQ(problem("choices = 3\n[[launch]]\n"), ":1: choices must be a table of tables");
}

TEST_F(SpecFileTest, LaunchesKeepTheirOrder) {
  const auto launches = read("[[launch]]\nname = \"a\"\n[[launch]]\nname = \"b\"\n");
  ASSERT_TRUE(launches.ok());
  ASSERT_EQ(launches.value().size(), 2u);
  EXPECT_EQ(launches.value()[0].name, "a");
  EXPECT_EQ(launches.value()[1].name, "b");
  EXPECT_EQ(problem("launch = 3\n"), ":1: launch must be an array of tables");
}

TEST_F(SpecFileTest, TheFirstErrorIsTold) {
  EXPECT_EQ(problem("[[launch]]\ngrid = 0\n[[launch]]\ngrid = \"b\"\n").substr(0, 3), ":2:");
}

}  // namespace
}  // namespace glove::verify
