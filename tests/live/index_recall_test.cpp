// What a stored calibration must be to be used.
#include "live/index_recall.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>

#include "base/float_environment.h"

namespace glove::live {
namespace {

constexpr int64_t kQueries = 3;

class IndexRecallTest : public ::testing::Test {
 protected:
  IndexRecallTest() {
    const std::vector<float> centroids = {1, 0, 0.5f, 0.5f, -1, 2};
    lists_ = Lists::make(centroids, 2, 10);
    const auto entries = std::ssize(kRecallKs) * kQueries;
    arrays_.queries = kQueries;
    arrays_.transform.assign(kRecallKs.size() * kRecallTransform, 1);
    arrays_.features.assign(static_cast<size_t>(entries * kRecallColumns), 7);
    arrays_.found.assign(static_cast<size_t>(entries * kRecallSteps), 1);
  }

  IndexRecallPtr parse(HugePageBuffer<char> bytes) const {
    return IndexRecall::parse(std::move(bytes), *lists_, std::make_shared<RecallAudit>());
  }

  const ScopedFloatEnvironment environment_;
  ListsPtr lists_;
  RecallArrays arrays_;
};

TEST_F(IndexRecallTest, IsReadAsItWasWritten) {
  const IndexRecallPtr recall = parse(IndexRecall::bytes_of(arrays_, 5000, *lists_));
  ASSERT_NE(recall, nullptr);
  EXPECT_EQ(recall->table().calibrated_rows, 5000);
  EXPECT_EQ(recall->table().queries, kQueries);
  EXPECT_EQ(recall->table().lists.lists(), 3);
  EXPECT_TRUE(std::equal(recall->table().transform.begin(), recall->table().transform.end(),
                         arrays_.transform.begin(), arrays_.transform.end()));
  EXPECT_TRUE(std::equal(recall->table().found.begin(), recall->table().found.end(), arrays_.found.begin(),
                         arrays_.found.end()));
}

TEST_F(IndexRecallTest, IsNotUsedIfItCannotBeOne) {
  const HugePageBuffer<char> good = IndexRecall::bytes_of(arrays_, 5000, *lists_);
  const auto with_number = [&good](size_t place, int64_t number) {
    HugePageBuffer<char> bytes = good;
    std::memcpy(bytes.data() + place * sizeof(number), &number, sizeof(number));
    return bytes;
  };
  for (size_t place = 0; place < 4; ++place)
    for (const int64_t number :
         {int64_t{0}, int64_t{-1}, int64_t{1} << 40, std::numeric_limits<int64_t>::max()})
      EXPECT_EQ(parse(with_number(place, number)), nullptr) << place << ", " << number;
  EXPECT_EQ(parse(with_number(0, 1)), nullptr);  // an older version, without classes for small k
  for (const size_t size :
       {size_t{0}, size_t{7}, size_t{32}, good.size() - 1, good.size() - 2, good.size() + 2}) {
    HugePageBuffer<char> bytes = good;
    bytes.resize(size);
    EXPECT_EQ(parse(std::move(bytes)), nullptr) << size;
  }
  const auto expect_refused = [&](const std::function<void(RecallArrays&)>& change) {
    RecallArrays changed = arrays_;
    change(changed);
    EXPECT_EQ(parse(IndexRecall::bytes_of(changed, 5000, *lists_)), nullptr);
  };
  expect_refused(
      [](RecallArrays& arrays) { arrays.transform[40] = std::numeric_limits<double>::infinity(); });
  expect_refused([](RecallArrays& arrays) { arrays.features[3] = 5000; });
  expect_refused([](RecallArrays& arrays) { arrays.found[5] = 0; });   // falls
  expect_refused([](RecallArrays& arrays) { arrays.found[95] = 2; });  // of 1
  const std::vector<float> other = {1, 0, 0.5f, 0.5f, -1, 2.5f};
  EXPECT_EQ(IndexRecall::parse(good, *Lists::make(other, 2, 10), nullptr), nullptr);
}

TEST(SharedRecalls, AuditsOutliveTheCalibration) {
  const std::shared_ptr<RecallAudit> audit = audit_of_recall("a key of this test");
  audit->add(0.9, 1);
  EXPECT_EQ(find_recall("a key of this test"), nullptr);
  EXPECT_EQ(audit_of_recall("a key of this test")->all().audits, 1);
  EXPECT_EQ(audit_of_recall("another key")->all().audits, 0);
}

}  // namespace
}  // namespace glove::live
