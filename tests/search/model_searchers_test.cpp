// Which backend answers, and what is said when one cannot. The registry is: scripted, cpu, plain, ranking.
#include "search/model_searchers.h"

#include <gtest/gtest.h>

#include "search/nearest.h"
#include "tests/search/random_model.h"
#include "tests/search/temporary_model.h"
#include "tests/search/test_engine.h"

namespace glove {
namespace {

using namespace glove::testing;

std::vector<std::string> logged;

class BackendChoice : public ::testing::Test {
 protected:
  void SetUp() override {
    logged.clear();
    engine_.log().set_sink([](const std::string& message) { logged.push_back(message); });
    script_.available = {};
  }

  // The backend that answered, or the error.
  std::string search(const std::string& backend, InterruptCheck interrupted = {}) {
    SearchReport report;
    const auto answers = nearest(*searchers_, {&query_, 1}, 3, {backend, std::move(interrupted)}, report);
    return answers.ok() ? report.backend : answers.error().message;
  }

  TestEngine test_;
  Engine& engine_ = test_.engine;
  Script& script_ = test_.script;
  std::mt19937_64 random_{1};
  ModelPtr model_ = random_model(random_, 100, 4, Rows::kGaussian);
  ModelSearchersPtr searchers_ = test_.searchers(model_);
  Query query_ = *query_for_word(*model_, "w1");
};

TEST_F(BackendChoice, AutoTakesTheFirstThatWorks) {
  EXPECT_EQ(search("auto"), "scripted");
  EXPECT_EQ(search(""), "scripted");
  script_.available = Status(ErrorCode::kUnavailable, "no device");
  EXPECT_EQ(search("auto"), "cpu");
  EXPECT_EQ(search("auto"), "cpu");
  EXPECT_EQ(logged, (std::vector<std::string>{"backend 'scripted' is not available: no device"}));
  script_.available = {};
  EXPECT_EQ(search("auto"), "scripted");
}

TEST_F(BackendChoice, AnAbsentDeviceIsLoggedOncePerEngine) {
  script_.available = Status(ErrorCode::kUnavailable, "no device");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(search("auto"), "cpu");
  EXPECT_EQ(logged, (std::vector<std::string>{"backend 'scripted' is not available: no device"}));
}

TEST_F(BackendChoice, AFailureIsLoggedOnceAndRemembered) {
  script_.prepare = Status(ErrorCode::kOutOfMemory, "the model needs 3 GB");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(search("auto"), "cpu");
  EXPECT_EQ(script_.prepared, 1);
  EXPECT_EQ(
      logged,
      (std::vector<std::string>{"backend 'scripted' cannot search the model test: the model needs 3 GB"}));
  EXPECT_EQ(searchers_->remembered_failure("scripted"), "the model needs 3 GB");
  EXPECT_EQ(searchers_->remembered_failure("cpu"), std::nullopt);
  const ModelPtr other = random_model(random_, 10, 4, Rows::kGaussian);
  EXPECT_EQ(test_.searchers(other)->remembered_failure("scripted"), std::nullopt);

  script_.prepare = {};
  EXPECT_EQ(search("auto"), "cpu") << "still remembered";
  EXPECT_EQ(search("scripted"), "scripted") << "a named one is always tried";
  ASSERT_TRUE(engine_.settings().set("gpu_memory", "0").ok());
  EXPECT_EQ(search("auto"), "scripted") << "a setting may have mended it";
}

TEST_F(BackendChoice, ALoadMayMendAFailure) {
  script_.search = Status(ErrorCode::kUnavailable, "the device was lost");
  EXPECT_EQ(search("auto"), "cpu");
  EXPECT_EQ(script_.searched, 1);
  EXPECT_EQ(search("auto"), "cpu");
  EXPECT_EQ(script_.searched, 1);
  const TemporaryModel file("mend.txt", {"a 1 2"});
  ASSERT_TRUE(engine_.catalog().load(file.path(), "mend", {}).ok());
  script_.search = {};
  EXPECT_EQ(search("auto"), "scripted");
  script_.released = 0;
  ASSERT_TRUE(engine_.catalog().unload("mend").ok());
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
  ASSERT_TRUE(engine_.settings().set("backend", "plain").ok());
  EXPECT_EQ(search("auto"), "plain");
  EXPECT_EQ(search("cpu"), "cpu");
  ASSERT_TRUE(engine_.settings().set("backend", "scripted").ok());
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
  ASSERT_TRUE(engine_.catalog().load(file.path(), "used", {}).ok());
  searchers_ = engine_.catalog().find_entry("used").value().searchers;
  model_ = searchers_->model();
  query_ = *query_for_word(*model_, "a");
  EXPECT_EQ(search("auto"), "scripted");
  EXPECT_EQ(script_.released, 0);
  ASSERT_TRUE(engine_.catalog().unload("used").ok());
  EXPECT_EQ(script_.released, 1);
  EXPECT_EQ(search("auto"), "scripted");
  EXPECT_EQ(script_.released, 2);
}

}  // namespace
}  // namespace glove
