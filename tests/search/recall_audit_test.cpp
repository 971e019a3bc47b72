// Audits of approximate answers: which queries are audited, and what follows.
#include "lists/recall_audit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "search/ranking.h"
#include "tests/loader/random.h"
#include "tests/search/test_engine.h"

namespace glove {
namespace {

using namespace glove::testing;

TEST(RecallAudit, TheIntervalHasTheMean) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  int inside = 0;
  constexpr int kRuns = 200;
  for (int run = 0; run < kRuns; ++run) {
    RecallAudit audit;
    std::binomial_distribution<int> found(10, 0.96);
    for (int i = 0; i < 300; ++i) EXPECT_FALSE(audit.add(0.95, found(random) / 10.0));
    const AuditedRecall seen = audit.of(0.95);
    EXPECT_EQ(seen.audits, 300);
    EXPECT_NEAR(seen.promised, 0.95, 1e-9);
    EXPECT_EQ(audit.of(0.9).audits, 0);
    EXPECT_EQ(audit.all().audits, 300);
    inside += seen.low <= 0.96 && 0.96 <= seen.high;
  }
  EXPECT_GE(inside, kRuns * 9 / 10);
}

TEST(RecallAudit, WithoutAMissItKnowsThatOneIsPossible) {
  RecallAudit audit;
  for (int i = 0; i < 100; ++i) audit.add(0.99, 1);
  EXPECT_EQ(audit_text(audit.of(0.99)), "1.000 (0.970-1.000), 100 audits");
}

TEST(RecallAudit, FindsDriftAlsoAfterALongGoodPast) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  std::binomial_distribution<int> good(10, 0.96), bad(10, 0.8);
  RecallAudit audit;
  for (int i = 0; i < 20000; ++i) ASSERT_FALSE(audit.add(0.95, good(random) / 10.0)) << i;
  int found = 0;
  for (int i = 0; i < 512; ++i) found += audit.add(0.95, bad(random) / 10.0);
  EXPECT_EQ(found, 1);
  EXPECT_TRUE(audit.has_drifted());
}

TEST(RecallAudit, KeepsSomeRecallsApartAndAllTogether) {
  RecallAudit audit;
  for (int i = 0; i < 1000; ++i) audit.add(0.5 + i / 2000.0, 1);
  EXPECT_EQ(audit.of(0.5).audits, 1);
  EXPECT_EQ(audit.of(0.99).audits, 0);
  EXPECT_EQ(audit.all().audits, 1000);
}

// Finds all of ten rows if it is asked exactly, and otherwise the first nine.
class NineOfTen final : public RankedRelation {
 public:
  int64_t most_rows() const override { return 10; }
  bool wants_full_pass(int64_t) const override { return false; }
  Result<Answers> nearest(std::span<const Query> queries, int64_t, const SearchOptions& options,
                          SearchReport& report) override {
    if (options.recall == 1) ++exact_;
    if (options.recall == 1 && !exact_status.ok()) return exact_status.error();
    Answers answers(queries.size());
    for (auto& rows : answers)
      for (int64_t i = 0; i < 10; ++i)
        rows.push_back({options.recall == 1 || i < 9 ? i : 99, -1.0 * double(i)});
    if (options.recall < 1) report.notes.assign(queries.size(), {true, 5});
    return answers;
  }
  Result<OrderedRows> all_rows(const Query&, const SearchOptions&, SearchReport&) override {
    return OrderedRows({});
  }
  Result<std::vector<Neighbor>> score(const Query&, std::span<const int64_t>,
                                      const InterruptCheck&) override {
    return std::vector<Neighbor>();
  }
  RecallAudit* audit() override { return &audit_; }

  int64_t take_exact() { return std::exchange(exact_, 0); }
  Status exact_status;

 private:
  int64_t exact_ = 0;
  RecallAudit audit_;
};

class Audits : public ::testing::Test {
 protected:
  // Asks queries that nobody has asked before.
  Result<Answers> ask(size_t count, double recall, bool may_audit) {
    std::vector<Query> queries(count);
    for (Query& query : queries) query.vector = {++last_};
    return ask(queries, recall, may_audit);
  }
  Result<Answers> ask(const std::vector<Query>& queries, double recall, bool may_audit) {
    SearchOptions options;
    options.recall = recall;
    options.may_audit = [may_audit] { return may_audit; };
    report = {};
    return nearest_with_audits(test.engine, relation, "it", queries, 10, options, report);
  }
  void set(const char* every) { ASSERT_TRUE(test.engine.settings().set("audits", every).ok()); }

  TestEngine test;
  static inline std::vector<std::string> log;
  NineOfTen relation;
  SearchReport report;

 private:
  float last_ = 0;
};

TEST_F(Audits, AreOfOneQueryInSoMany) {
  for (const auto& [every, audited] : {std::pair("0", 0), {"1", 100}, {"10", 10}, {"64", 6}}) {
    set(every);
    ASSERT_TRUE(ask(100, 0.9, true).ok());
    EXPECT_EQ(relation.take_exact(), audited);
  }
  EXPECT_EQ(relation.audit()->all().audits, 116);
  EXPECT_NEAR(relation.audit()->all().observed, 0.9, 1e-9);
  ASSERT_TRUE(ask(1, 0.9, false).ok());
  EXPECT_EQ(report.audited.audits, 116);
  EXPECT_EQ(report.recall, 0.9);
}

// Of the first 512 with a calibration, of which nothing is known yet.
TEST_F(Audits, AreMoreOftenAtFirst) {
  ASSERT_TRUE(ask(512, 0.9, true).ok());
  EXPECT_EQ(relation.take_exact(), 32);
  ASSERT_TRUE(ask(512, 0.9, true).ok());
  EXPECT_EQ(relation.take_exact(), 2);
}

TEST_F(Audits, AreOfEachQueryOnce) {
  set("1");
  ASSERT_TRUE(ask(std::vector<Query>(100), 0.9, true).ok());
  EXPECT_EQ(relation.take_exact(), 1);
  ASSERT_TRUE(ask(std::vector<Query>(1), 0.95, true).ok());
  EXPECT_EQ(relation.take_exact(), 1);
}

TEST_F(Audits, WaitUntilTheyMayRun) {
  set("10");
  ASSERT_TRUE(ask(50, 0.9, false).ok());
  EXPECT_EQ(relation.take_exact(), 0);
  ASSERT_TRUE(ask(1, 0.9, true).ok());
  EXPECT_EQ(relation.take_exact(), 1);
  ASSERT_TRUE(ask(9, 0.9, true).ok());
  EXPECT_EQ(relation.take_exact(), 0);
}

TEST_F(Audits, CanBeInterruptedAndOtherwiseFailInSilence) {
  set("1");
  relation.exact_status = {ErrorCode::kCorrupt, "damaged"};
  EXPECT_TRUE(ask(3, 0.9, true).ok());
  EXPECT_EQ(relation.audit()->all().audits, 0);
  relation.exact_status = interrupted_error();
  const Result<Answers> stopped = ask(3, 0.9, true);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kInterrupted);
}

TEST_F(Audits, ThatFindDriftMakeAnswersExact) {
  log.clear();
  test.engine.log().set_sink([](const std::string& message) { log.push_back(message); });
  set("1");
  const Answers before = ask(100, 0.99, true).value();
  EXPECT_EQ(before.front().back().id, 99);
  EXPECT_TRUE(relation.audit()->has_drifted());
  const Answers after = ask(2, 0.99, true).value();
  EXPECT_EQ(after.front().back().id, 9);
  EXPECT_EQ(report.recall, 1);
  ASSERT_EQ(log.size(), 1u);
  EXPECT_NE(log.front().find("it: the recall of its approximate answers is 0.900 (0."), std::string::npos)
      << log.front();
}

}  // namespace
}  // namespace glove
