#include "sync/progress.h"

#include <gtest/gtest.h>

namespace glove::verify {
namespace {

using Steps = std::vector<ProgressStep>;

ProgressStep add(uint32_t place, uint64_t number, std::vector<uint32_t> after = {}) {
  ProgressStep step;
  step.place = place;
  step.number = number;
  step.after = std::move(after);
  return step;
}

ProgressStep store(uint32_t place, uint64_t number, std::vector<uint32_t> after = {}) {
  ProgressStep step = add(place, number, std::move(after));
  step.kind = ProgressStep::kStore;
  return step;
}

ProgressStep wait(std::vector<WaitEnd> ends, std::vector<uint32_t> after = {}) {
  ProgressStep step = add(0, 0, std::move(after));
  step.kind = ProgressStep::kWait;
  step.ends = std::move(ends);
  return step;
}

class ProgressTest : public testing::Test {
 protected:
  Progress& run(std::vector<Steps> blocks, StepPlace held = {}) {
    blocks_ = std::move(blocks);
    for (const Steps& steps : blocks_) pointers_.push_back(&steps);
    progress_.emplace_back(pointers_, 2);
    progress_.back().run(held);
    return progress_.back();
  }

 private:
  std::vector<Steps> blocks_;
  std::vector<const Steps*> pointers_;
  std::vector<Progress> progress_;
};

TEST_F(ProgressTest, NobodyIsStuckWithoutWaits) {
  const Progress& progress = run({{add(0, 1)}, {add(0, 2)}});
  EXPECT_TRUE(progress.stuck().empty());
  EXPECT_EQ(progress.number(0), 3u);
  EXPECT_EQ(progress.total(0), 3u);
  EXPECT_EQ(progress.number(1), 0u);
}

TEST_F(ProgressTest, AGridBarrierEnds) {
  const Steps block = {add(0, 1), wait({{0, 3}})};
  const Progress& progress = run({block, block, block});
  EXPECT_TRUE(progress.stuck().empty());
  EXPECT_TRUE(progress.done({2, 1}));
}

TEST_F(ProgressTest, AGridBarrierForOneMoreThanComeSticks) {
  const Steps block = {add(0, 1), wait({{0, 4}})};
  const Progress& progress = run({block, block, block});
  ASSERT_EQ(progress.stuck().size(), 3u);
  EXPECT_EQ(progress.stuck()[0].block, 0u);
  EXPECT_EQ(progress.stuck()[0].step, 1u);
  EXPECT_FALSE(progress.done({0, 1}));
  EXPECT_TRUE(progress.done({0, 0}));
}

TEST_F(ProgressTest, BlocksThatWaitForEachOtherStick) {
  const Progress& progress = run({{wait({{0, 1}}), add(1, 1, {0})}, {wait({{1, 1}}), add(0, 1, {0})}});
  EXPECT_EQ(progress.stuck().size(), 2u);
  EXPECT_EQ(progress.total(0), 1u);
  EXPECT_EQ(progress.number(0), 0u);
}

TEST_F(ProgressTest, ABlockThatWaitsForItsOwnAdditionSticks) {
  EXPECT_EQ(run({{wait({{0, 1}}), add(0, 1, {0})}}).stuck().size(), 1u);
}

TEST_F(ProgressTest, ABlockThatAddsBeforeItsWaitGoesOn) {
  EXPECT_TRUE(run({{add(0, 1), wait({{0, 1}})}}).stuck().empty());
}

TEST_F(ProgressTest, AChainRunsAgainstTheOrderOfTheBlocks) {
  const Progress& progress = run({{wait({{0, 2}})}, {wait({{0, 1}}), add(0, 1, {0})}, {add(0, 1)}});
  EXPECT_TRUE(progress.stuck().empty());
  EXPECT_EQ(progress.number(0), 2u);
}

TEST_F(ProgressTest, StoresKeepTheGreatestNumber) {
  const Progress& progress = run({{store(0, 5), store(0, 2)}, {wait({{0, 5}})}});
  EXPECT_EQ(progress.number(0), 5u);
  EXPECT_TRUE(progress.stuck().empty());
}

TEST_F(ProgressTest, StoresDoNotAddUp) {
  EXPECT_EQ(run({{store(0, 1)}, {store(0, 1)}, {wait({{0, 2}})}}).stuck().size(), 1u);
}

TEST_F(ProgressTest, OneOfSeveralEndsIsEnough) {
  EXPECT_TRUE(run({{wait({{0, 9}, {1, 1}})}, {add(1, 1)}}).stuck().empty());
}

TEST_F(ProgressTest, AWaitWithoutEndsIsTakenToEnd) {
  const Progress& progress = run({{wait({}), add(0, 1, {0})}});
  EXPECT_TRUE(progress.stuck().empty());
  EXPECT_EQ(progress.number(0), 1u);
}

TEST_F(ProgressTest, AHeldWaitStopsWhatComesBehindIt) {
  const std::vector<Steps> blocks = {{wait({}), add(0, 1, {0}), add(1, 1)}};
  const Progress& progress = run(blocks, {0, 0});
  EXPECT_EQ(progress.number(0), 0u);
  EXPECT_EQ(progress.number(1), 1u);
  EXPECT_EQ(progress.total(0), 1u);
  EXPECT_FALSE(progress.done({0, 1}));
}

TEST_F(ProgressTest, OnlyTheFirstOfTwoWaitsIsStuck) {
  const Progress& progress = run({{wait({{0, 1}}), wait({{1, 1}}, {0})}});
  ASSERT_EQ(progress.stuck().size(), 1u);
  EXPECT_EQ(progress.stuck()[0].step, 0u);
}

TEST_F(ProgressTest, RunBeginsAnew) {
  Progress& progress = run({{add(0, 1), wait({{0, 1}})}});
  progress.run({0, 1});
  EXPECT_EQ(progress.number(0), 1u) << "the addition counts once";
  EXPECT_EQ(progress.stuck().size(), 1u);
  progress.run({});
  EXPECT_TRUE(progress.stuck().empty());
}

TEST_F(ProgressTest, NumbersOf64BitsDoNotWrapAt32) {
  const uint64_t large = uint64_t{1} << 32;
  const Progress& progress = run({{add(0, large - 1)}, {add(0, 1)}, {wait({{0, large}})}});
  EXPECT_EQ(progress.number(0), large);
  EXPECT_TRUE(progress.stuck().empty());
}

TEST(ProgressStep, EqualityLooksAtEveryPart) {
  const ProgressStep step = wait({{0, 3, true}}, {1});
  EXPECT_EQ(step, step);
  EXPECT_NE(step, wait({{0, 3, false}}, {1}));
  EXPECT_NE(step, wait({{0, 4, true}}, {1}));
  EXPECT_NE(step, wait({{1, 3, true}}, {1}));
  EXPECT_NE(step, wait({{0, 3, true}, {0, 3, true}}, {1}));
  EXPECT_NE(step, wait({{0, 3, true}}));
  EXPECT_NE(add(0, 1), store(0, 1));
  EXPECT_NE(add(0, 1), add(1, 1));
  EXPECT_NE(add(0, 1), add(0, 2));
  ProgressStep other = add(0, 1);
  other.certain = false;
  EXPECT_NE(other, add(0, 1));
  other = add(0, 1);
  other.thread = 1;
  EXPECT_NE(other, add(0, 1));
  other = add(0, 1);
  other.instruction = 1;
  EXPECT_NE(other, add(0, 1));
}

}  // namespace
}  // namespace glove::verify
