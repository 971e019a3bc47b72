#include "launch/launch_file.h"

#include <gtest/gtest.h>

#include "temporary_folder.h"

namespace glove::verify {
namespace {

class MarksTest : public testing::Test {
 protected:
  // The lines that a lemma of this name stands for in a source; none: an error.
  std::vector<int> lines(const std::string& source, const std::string& name) {
    Program program;
    program.files = {folder_.write("a.cu", source)};
    Launch launch;
    launch.file = "a.toml";
    launch.lemmas.resize(1);
    launch.lemmas[0].at.name = name;
    launch.lemmas[0].at.declared_at = 3;
    launch.lemmas[0].reason = "r";
    const Status status = Marks(program).place(&launch);
    error_ = status.ok() ? "" : status.error().message;
    std::vector<int> found;
    for (const Lemma& lemma : launch.lemmas)
      if (status.ok() && lemma.reason == "r") found.push_back(lemma.at.line);
    return found;
  }

  TemporaryFolder folder_;
  std::string error_;
};

TEST_F(MarksTest, StandAtTheEndOfTheirLine) {
  EXPECT_EQ(lines("int a;\nint b;  // verify: lemma rows\nint c;\n", "rows"), std::vector<int>{2});
}

TEST_F(MarksTest, StandAboveTheirLine) {
  EXPECT_EQ(lines("// verify: lemma rows\n\n// another comment\n  int b;\n", "rows"), std::vector<int>{4});
}

TEST_F(MarksTest, SeveralMayStandAboveOneLine) {
  const std::string source = "// verify: lemma rows\n// verify: lemma columns\nint b;\n";
  EXPECT_EQ(lines(source, "rows"), std::vector<int>{3});
  EXPECT_EQ(lines(source, "columns"), std::vector<int>{3});
}

TEST_F(MarksTest, OneNameMayMarkSeveralLines) {
  EXPECT_EQ(lines("a;  // verify: lemma x\nb;\nc;  // verify: lemma x\n", "x"), (std::vector<int>{1, 3}));
}

TEST_F(MarksTest, NamesAreWhole) {
  EXPECT_TRUE(lines("a;  // verify: lemma rows2\n", "rows").empty());
  EXPECT_EQ(lines("a;  // verify: lemma rows: they are distinct\n", "rows"), std::vector<int>{1});
}

TEST_F(MarksTest, ARangeIsNoLemma) {
  EXPECT_TRUE(lines("a;  // verify: range rows\n", "rows").empty());
  EXPECT_TRUE(
      error_.starts_with("a.toml:3: no line of the sources that the PTX names has the comment '// verify: "
                         "lemma rows'"))
      << error_;
}

TEST_F(MarksTest, AMarkWithNothingBelowMarksNothing) {
  EXPECT_TRUE(lines("a;\n// verify: lemma rows", "rows").empty());
}

TEST_F(MarksTest, ALastLineWithoutItsEndCounts) {
  EXPECT_EQ(lines("// verify: lemma rows\na;", "rows"), std::vector<int>{2});
}

TEST_F(MarksTest, SourcesAreFoundBesideThePtx) {
  (void)folder_.write("b.cu", "a;  // verify: range n\n");
  Program program;
  program.path = (folder_.path() / "b.ptx").string();
  program.files = {"/nowhere/else/b.cu"};
  Launch launch;
  launch.ranges.resize(1);
  launch.ranges[0].at.name = "n";
  ASSERT_TRUE(Marks(program).place(&launch).ok());
  EXPECT_EQ(launch.ranges.at(0).at.line, 1);
  EXPECT_EQ(launch.ranges.at(0).at.file, "/nowhere/else/b.cu");
}

TEST_F(MarksTest, AnErrorNamesASourceThatCannotBeRead) {
  Program program;
  program.path = (folder_.path() / "b.ptx").string();
  program.files = {"/nowhere/else/b.cu"};
  Launch launch;
  launch.lemmas.resize(1);
  launch.lemmas[0].at.name = "rows";
  const Status status = Marks(program).place(&launch);
  ASSERT_FALSE(status.ok());
  EXPECT_TRUE(status.error().message.ends_with(
      "; /nowhere/else/b.cu cannot be read, nor one of that name beside the PTX"))
      << status.error().message;
}

TEST_F(MarksTest, LinesThatAreGivenStay) {
  Launch launch;
  launch.lemmas.resize(1);
  launch.lemmas[0].at.file = "a.cu";
  launch.lemmas[0].at.line = 12;
  ASSERT_TRUE(Marks(Program{}).place(&launch).ok());
  EXPECT_EQ(launch.lemmas.at(0).at.line, 12);
}

}  // namespace
}  // namespace glove::verify
