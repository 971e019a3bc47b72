#include "memory/contents.h"

#include "memory/access.h"
#include "values.h"

namespace glove::verify {
namespace {

using ContentsTest = TableTest;

TEST_F(ContentsTest, NothingIsWrittenAtTheStart) {
  Contents contents;
  EXPECT_EQ(contents.at(0).known, Known::kNothingWritten);
  EXPECT_EQ(contents.at(kMostShared - 4).known, Known::kNothingWritten);
}

TEST_F(ContentsTest, AWordIsWhatWasWritten) {
  Contents contents;
  contents.write(8, 4, number(42), true);
  EXPECT_EQ(contents.at(8).known, Known::kValue);
  EXPECT_EQ(contents.at(8).value, number(42));
  EXPECT_EQ(contents.at(8).bytes, 4);
  EXPECT_EQ(contents.at(4).known, Known::kNothingWritten);
  EXPECT_EQ(contents.at(12).known, Known::kNothingWritten);
}

TEST_F(ContentsTest, AValueThatIsNotKnownIsStillWritten) {
  Contents contents;
  contents.write(8, 4, number(42), false);
  EXPECT_EQ(contents.at(8).known, Known::kUnknown);
}

TEST_F(ContentsTest, ADoubleWordHasATail) {
  Contents contents;
  contents.write(8, 8, number(42, 64), true);
  EXPECT_EQ(contents.at(8).bytes, 8);
  EXPECT_EQ(contents.at(12).known, Known::kTail);
}

TEST_F(ContentsTest, AWordInTheTailSpoilsTheDoubleWord) {
  Contents contents;
  contents.write(8, 8, number(42, 64), true);
  contents.write(12, 4, number(1), true);
  EXPECT_EQ(contents.at(8).known, Known::kUnknown);
  EXPECT_EQ(contents.at(12).known, Known::kValue);
  EXPECT_EQ(contents.at(12).value, number(1));
}

TEST_F(ContentsTest, AWordAtTheHeadSpoilsTheTail) {
  Contents contents;
  contents.write(8, 8, number(42, 64), true);
  contents.write(8, 4, number(1), true);
  EXPECT_EQ(contents.at(8).known, Known::kValue);
  EXPECT_EQ(contents.at(12).known, Known::kUnknown);
}

TEST_F(ContentsTest, ADoubleWordAcrossAnotherSpoilsItsTail) {
  Contents contents;
  contents.write(8, 8, number(42, 64), true);
  contents.write(4, 8, number(1, 64), true);
  EXPECT_EQ(contents.at(4).known, Known::kValue);
  EXPECT_EQ(contents.at(8).known, Known::kTail);
  EXPECT_EQ(contents.at(12).known, Known::kUnknown);
}

TEST_F(ContentsTest, AByteInAWordSpoilsIt) {
  Contents contents;
  contents.write(8, 4, number(42), true);
  contents.write(8, 1, number(1), true);
  EXPECT_EQ(contents.at(8).known, Known::kUnknown);
}

TEST_F(ContentsTest, AByteIsKnownOnlyAtTheBeginningOfItsWord) {
  Contents contents;
  contents.write(8, 1, number(1), true);
  EXPECT_EQ(contents.at(8).known, Known::kValue);
  EXPECT_EQ(contents.at(8).bytes, 1);
  contents.write(12, 2, number(1), true);
  contents.write(14, 2, number(2), true);
  EXPECT_EQ(contents.at(12).known, Known::kUnknown);
}

TEST_F(ContentsTest, SixteenBytesAreWrittenAndUnknown) {
  Contents contents;
  contents.write(0, 16, number(1), true);
  for (const uint64_t address : {0, 4, 8, 12}) EXPECT_EQ(contents.at(address).known, Known::kUnknown);
  EXPECT_EQ(contents.at(16).known, Known::kNothingWritten);
}

TEST_F(ContentsTest, ABlurReachesBothEnds) {
  Contents contents;
  contents.write(4, 4, number(1), true);
  contents.write(16, 4, number(1), true);
  EXPECT_TRUE(contents.blur(8, 12));
  EXPECT_EQ(contents.at(4).known, Known::kValue);
  EXPECT_EQ(contents.at(8).known, Known::kVaries);
  EXPECT_EQ(contents.at(12).known, Known::kVaries);
  EXPECT_EQ(contents.at(16).known, Known::kValue);
}

TEST_F(ContentsTest, ASecondBlurChangesNothing) {
  Contents contents;
  EXPECT_TRUE(contents.blur(0, 64));
  EXPECT_FALSE(contents.blur(0, 64));
  EXPECT_FALSE(contents.blur(32, 40));
  EXPECT_TRUE(contents.blur(64, 72));
}

TEST_F(ContentsTest, ABlurEndsWithSharedMemory) {
  Contents contents;
  EXPECT_TRUE(contents.blur(0, ~uint64_t{0}));
  EXPECT_EQ(contents.slots().size(), kMostShared / 4 + 1);
}

TEST_F(ContentsTest, AWriteThatMayNotHappenLeavesTheWordOpen) {
  Contents contents;
  contents.write(8, 4, number(42), true);
  EXPECT_TRUE(contents.write_maybe(8, 4));
  EXPECT_EQ(contents.at(8).known, Known::kVaries);
  EXPECT_FALSE(contents.write_maybe(8, 4));
}

TEST_F(ContentsTest, AWriteThatMayNotHappenSpoilsTheOtherHalf) {
  Contents contents;
  contents.write(0, 8, number(42, 64), true);
  EXPECT_TRUE(contents.write_maybe(4, 4));
  EXPECT_EQ(contents.at(0).known, Known::kVaries);
  contents.write(16, 8, number(42, 64), true);
  EXPECT_TRUE(contents.write_maybe(16, 4));
  EXPECT_EQ(contents.at(20).known, Known::kVaries);
}

TEST_F(ContentsTest, AWriteThatMayNotHappenTouchesEveryWordOfItsBytes) {
  Contents contents;
  EXPECT_TRUE(contents.write_maybe(6, 4));
  EXPECT_EQ(contents.at(4).known, Known::kVaries);
  EXPECT_EQ(contents.at(8).known, Known::kVaries);
  EXPECT_EQ(contents.at(12).known, Known::kNothingWritten);
}

TEST_F(ContentsTest, ACountRaisesTheGreatestNumberOnly) {
  Contents contents;
  contents.write(0, 4, number(3), true);
  EXPECT_TRUE(contents.count(0, 5, table));
  EXPECT_TRUE(contents.count(0, 1, table));
  EXPECT_EQ(contents.at(0).known, Known::kCounted);
  contents.settle(table);
  EXPECT_EQ(contents.at(0).known, Known::kValue);
  EXPECT_EQ(unsigned_range(contents.at(0).value), (Interval{3, 9}));
  EXPECT_EQ(table.scope_of(contents.at(0).value), Scope::kBlock);
}

TEST_F(ContentsTest, ACountOfARangeMovesItsEndOnly) {
  Contents contents;
  contents.write(0, 4, in(2, 5), true);
  EXPECT_TRUE(contents.count(0, 3, table));
  contents.settle(table);
  EXPECT_EQ(unsigned_range(contents.at(0).value), (Interval{2, 8}));
}

TEST_F(ContentsTest, ACountStopsBeforeItWraps) {
  Contents contents;
  contents.write(0, 4, number(0x7ffffffe), true);
  EXPECT_TRUE(contents.count(0, 1, table));
  EXPECT_FALSE(contents.count(0, 1, table));
  contents.settle(table);
  EXPECT_EQ(unsigned_range(contents.at(0).value), (Interval{0x7ffffffe, 0x7fffffff}));
}

TEST_F(ContentsTest, ACountNeedsABoundedNumber) {
  Contents contents;
  EXPECT_FALSE(contents.count(0, 1, table)) << "nothing is written";
  contents.write(0, 4, number(-1), true);
  EXPECT_FALSE(contents.count(0, 1, table));
  contents.write(4, 4, any(), true);
  EXPECT_FALSE(contents.count(4, 1, table));
  contents.write(8, 8, number(1, 64), true);
  EXPECT_FALSE(contents.count(8, 1, table));
  contents.write(16, 4, number(1), true);
  EXPECT_FALSE(contents.count(18, 1, table));
  EXPECT_FALSE(contents.count(16, uint64_t{1} << 32, table));
  EXPECT_EQ(contents.at(16).known, Known::kValue);
}

TEST_F(ContentsTest, SettledMemoryIsUnknownAndNotVarying) {
  Contents contents;
  (void)contents.write_maybe(0, 4);
  contents.settle(table);
  EXPECT_EQ(contents.at(0).known, Known::kUnknown);
  EXPECT_EQ(contents.at(4).known, Known::kNothingWritten);
}

TEST(Shadow, ANewPhaseKeepsOnlyWhatGoesOn) {
  Shadow shadow;
  shadow.shared.resize(2);
  shadow.shared[0] = {shadow.phase, true, {{1, 1, 5}, {2, 3, 5}}};
  shadow.shared[1] = {shadow.phase, true, {{1, 1, 5}}};
  shadow.flights = {0, 1};
  shadow.global[{7, 0}].entries = {{2, 1, 5}};
  shadow.global[{8, 0}].entries = {{1, 1, 5}};
  shadow.forms[3] = {7, 8};
  RangeAccess gone, stays;
  gone.record = 1, gone.lanes = 1, stays.record = 2, stays.lanes = 3;
  shadow.ranges = {gone, stays};
  shadow.new_phase(
      [](uint32_t record, Lanes lanes, uint32_t*, bool) { return record == 2 ? lanes & 2u : 0u; });
  EXPECT_EQ(shadow.phase, 2u);
  EXPECT_EQ(shadow.flights, std::vector<size_t>{0});
  EXPECT_EQ(shadow.shared[0].phase, 2u);
  ASSERT_EQ(shadow.shared[0].entries.size(), 1u);
  EXPECT_EQ(shadow.shared[0].entries[0].lanes, 2u);
  EXPECT_TRUE(shadow.global.empty());
  EXPECT_TRUE(shadow.forms.empty());
  ASSERT_EQ(shadow.ranges.size(), 1u);
  EXPECT_EQ(shadow.ranges[0].lanes, 2u);
}

TEST(Shadow, PlacesAreTheSameOnlyWithFormAndGranule) {
  EXPECT_EQ((GlobalPlace{1, 2}), (GlobalPlace{1, 2}));
  EXPECT_NE((GlobalPlace{1, 2}), (GlobalPlace{2, 1}));
  EXPECT_NE(GlobalPlaceHash()({1, 2}), GlobalPlaceHash()({2, 1}));
}

TEST_F(ContentsTest, BytesAreDefinedOnceTheyAreWrittenForCertain) {
  Contents contents;
  EXPECT_FALSE(contents.defined(0, 4));
  contents.define(2, 5, true);
  EXPECT_TRUE(contents.defined(2, 7));
  EXPECT_FALSE(contents.defined(1, 7));
  EXPECT_FALSE(contents.defined(2, 8));
  contents.write_maybe(8, 4);
  contents.blur(0, 64);
  EXPECT_FALSE(contents.defined(8, 12));
  EXPECT_TRUE(contents.defined(2, 7));
}

TEST_F(ContentsTest, WhatNothingOrdersIsDefinedOnceAllHaveMet) {
  Contents contents, others;
  contents.define(0, 4, false);
  others.define(0, 4, false);
  EXPECT_FALSE(contents.defined(0, 4));
  contents.settle_defined(true);
  others.settle_defined(false);
  EXPECT_TRUE(contents.defined(0, 4));
  others.settle_defined(true);
  EXPECT_FALSE(others.defined(0, 4));
}

TEST_F(ContentsTest, DefinedBytesCanBeTakenBack) {
  Contents more, less;
  more.define(0, 16, true);
  less.define(4, 8, true);
  EXPECT_TRUE(more.defined(0, 16));
  EXPECT_TRUE(less.defined_within(more));
  EXPECT_FALSE(more.defined_within(less));
  EXPECT_FALSE(more.defined_within(Contents()));
  more.keep_defined(less);
  EXPECT_TRUE(more.defined_within(less));
  EXPECT_TRUE(more.defined(4, 12));
  EXPECT_FALSE(more.defined(0, 16));
}

TEST(Conflict, ReadsDoNotConflict) {
  AccessRecord a, b;
  EXPECT_FALSE(conflict(a, b));
  b.kind = AccessKind::kWrite;
  EXPECT_TRUE(conflict(a, b));
  EXPECT_TRUE(conflict(b, a));
}

TEST(Conflict, StrongAccessesOfOneSizeDoNotConflict) {
  AccessRecord a, b;
  a.kind = AccessKind::kAtomic, b.kind = AccessKind::kWrite;
  EXPECT_TRUE(conflict(a, b));
  b.strong = true;
  EXPECT_FALSE(conflict(a, b));
  b.bytes = 8;  // two elements
  EXPECT_FALSE(conflict(a, b));
  b.element = 8;
  EXPECT_TRUE(conflict(a, b));
}

TEST(Conflict, AccessesOfABlocksScopeConflictWithOtherBlocks) {
  AccessRecord a, b;
  a.kind = b.kind = AccessKind::kAtomic;
  a.scope = StrongFor::kBlock;
  EXPECT_FALSE(conflict(a, b));
  b.home.block = 1;
  EXPECT_TRUE(conflict(a, b));
  EXPECT_TRUE(conflict(b, a));
}

}  // namespace
}  // namespace glove::verify
