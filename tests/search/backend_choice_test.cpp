// Which backend answers, and what is said when one cannot. The registry is: scripted, cpu, plain, ranking.
#include "search/backend_choice.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "search/catalog.h"
#include "search/engine.h"
#include "search/settings.h"
#include "tests/search/fake_backend.h"
#include "tests/search/random_model.h"
#include "tests/search/temporary_model.h"

namespace glove {
namespace {

using namespace glove::testing;

std::vector<std::string> logged;

class BackendChoice : public ::testing::Test {
 protected:
  void SetUp() override {
    logged.clear();
    set_log_sink([](const std::string& message) { logged.push_back(message); });
    script_.available = {};
    script_.prepared = script_.searched = script_.released = 0;
  }
  void TearDown() override {
    set_log_sink(nullptr);
    script_.available = Status(ErrorCode::kUnavailable, "it was switched off");
    script_.prepare = script_.search = {};
    EXPECT_TRUE(set_setting("backend", "auto").ok());
  }

  // The backend that answered, or the error.
  std::string search(const std::string& backend, InterruptCheck interrupted = {}) {
    SearchReport report;
    const auto answers = nearest(model_, {&query_, 1}, 3, {backend, std::move(interrupted)}, report);
    return answers.ok() ? report.backend : answers.error().message;
  }

  Script& script_ = Script::instance();
  std::mt19937_64 random_{1};
  ModelPtr model_ = random_model(random_, 100, 4, Rows::kGaussian);
  Query query_ = *query_for_word(*model_, "w1");
};

TEST_F(BackendChoice, AutoTakesTheFirstThatWorks) {
  EXPECT_EQ(search("auto"), "scripted");
  EXPECT_EQ(search(""), "scripted");
  script_.available = Status(ErrorCode::kUnavailable, "no device");
  EXPECT_EQ(search("auto"), "cpu");
  EXPECT_EQ(search("auto"), "cpu");
  EXPECT_LE(logged.size(), 1U) << "once a process";
  for (const std::string& line : logged) EXPECT_EQ(line, "backend 'scripted' is not available: no device");
  script_.available = {};
  EXPECT_EQ(search("auto"), "scripted");
}

// The first test of the process that meets it logs it; this one is alone in its process under ctest.
TEST_F(BackendChoice, AnAbsentDeviceIsLoggedOnceAProcess) {
  script_.available = Status(ErrorCode::kUnavailable, "no device");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(search("auto"), "cpu");
  if (logged.empty() && ::testing::UnitTest::GetInstance()->test_to_run_count() > 1)
    GTEST_SKIP() << "another test of this process was first";
  EXPECT_EQ(logged, (std::vector<std::string>{"backend 'scripted' is not available: no device"}));
}

TEST_F(BackendChoice, AFailureIsLoggedOnceAndRemembered) {
  script_.prepare = Status(ErrorCode::kOutOfMemory, "the model needs 3 GB");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(search("auto"), "cpu");
  EXPECT_EQ(script_.prepared, 1);
  EXPECT_EQ(
      logged,
      (std::vector<std::string>{"backend 'scripted' cannot search the model test: the model needs 3 GB"}));
  EXPECT_EQ(remembered_failure("scripted", *model_), "the model needs 3 GB");
  EXPECT_EQ(remembered_failure("cpu", *model_), std::nullopt);
  const ModelPtr other = random_model(random_, 10, 4, Rows::kGaussian);
  EXPECT_EQ(remembered_failure("scripted", *other), std::nullopt);

  script_.prepare = {};
  EXPECT_EQ(search("auto"), "cpu") << "still remembered";
  EXPECT_EQ(search("scripted"), "scripted") << "a named one is always tried";
  ASSERT_TRUE(set_setting("gpu_memory", "0").ok());
  EXPECT_EQ(search("auto"), "scripted") << "a setting may have mended it";
}

TEST_F(BackendChoice, ALoadMayMendAFailure) {
  script_.search = Status(ErrorCode::kUnavailable, "the device was lost");
  EXPECT_EQ(search("auto"), "cpu");
  EXPECT_EQ(script_.searched, 1);
  EXPECT_EQ(search("auto"), "cpu");
  EXPECT_EQ(script_.searched, 1);
  const TemporaryModel file("mend.txt", {"a 1 2"});
  ASSERT_TRUE(Catalog::instance().load(file.path(), "mend", {}).ok());
  script_.search = {};
  EXPECT_EQ(search("auto"), "scripted");
  script_.released = 0;
  ASSERT_TRUE(Catalog::instance().unload("mend").ok());
  EXPECT_EQ(script_.released, 1);
}

TEST_F(BackendChoice, ANamedOneFailsWithItsReason) {
  script_.available = Status(ErrorCode::kUnavailable, "no driver");
  EXPECT_EQ(search("scripted"), "backend 'scripted' is not available: no driver");
  script_.available = {};
  script_.prepare = Status(ErrorCode::kOutOfMemory, "the model needs 3 GB");
  EXPECT_EQ(search("scripted"), "backend 'scripted': the model needs 3 GB");
  script_.prepare = {};
  script_.search = Status(ErrorCode::kUnavailable, "the device was lost");
  EXPECT_EQ(search("scripted"), "backend 'scripted': the device was lost");
  EXPECT_EQ(search("gpu"),
            "there is no backend 'gpu'; the backends are: auto, scripted, cpu, plain, ranking");
  EXPECT_EQ(search("CPU"),
            "there is no backend 'CPU'; the backends are: auto, scripted, cpu, plain, ranking");
}

TEST_F(BackendChoice, TheSettingDecidesForAuto) {
  ASSERT_TRUE(set_setting("backend", "plain").ok());
  EXPECT_EQ(search("auto"), "plain");
  EXPECT_EQ(search("cpu"), "cpu");
  ASSERT_TRUE(set_setting("backend", "scripted").ok());
  script_.available = Status(ErrorCode::kUnavailable, "no driver");
  EXPECT_EQ(search("auto"), "backend 'scripted' is not available: no driver") << "no silent fallback";
}

TEST_F(BackendChoice, AnInterruptIsNoFailure) {
  EXPECT_EQ(search("auto", [] { return true; }), "interrupted");
  EXPECT_TRUE(logged.empty());
  EXPECT_EQ(search("auto"), "scripted");
}

TEST_F(BackendChoice, AModelUnloadedWhileInUseIsReleasedAgain) {
  const TemporaryModel file("used.txt", {"a 1 2", "b 2 1"});
  ASSERT_TRUE(Catalog::instance().load(file.path(), "used", {}).ok());
  model_ = Catalog::instance().find("used").value();
  query_ = *query_for_word(*model_, "a");
  EXPECT_EQ(search("auto"), "scripted");
  EXPECT_EQ(script_.released, 0);
  ASSERT_TRUE(Catalog::instance().unload("used").ok());
  EXPECT_EQ(script_.released, 1);
  EXPECT_EQ(search("auto"), "scripted");
  EXPECT_EQ(script_.released, 2);
}

}  // namespace
}  // namespace glove
