// Which backend answers, and the messages if one cannot. The registry is: scripted, cpu, plain, ranking.
#include "search/model_searchers.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <optional>
#include <thread>

#include "model/model_builder.h"
#include "search/nearest.h"
#include "search/searcher_choice.h"
#include "tests/forked_child.h"
#include "tests/search/random_model.h"
#include "tests/search/temporary_model.h"
#include "tests/search/test_engine.h"

namespace glove {
namespace {

using namespace glove::testing;

std::vector<std::string> logged;

// Positions of the backends.
constexpr size_t kScripted = 0;
constexpr size_t kCpu = 1;

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
  script_.open = Status(ErrorCode::kOutOfMemory, "the model needs 3 GB");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(search("auto"), "cpu");
  EXPECT_EQ(script_.opened, 1);
  EXPECT_EQ(
      logged,
      (std::vector<std::string>{"backend 'scripted' cannot search the model test: the model needs 3 GB"}));
  EXPECT_EQ(searchers_->remembered_failure(kScripted), "the model needs 3 GB");
  EXPECT_EQ(searchers_->remembered_failure(kCpu), std::nullopt);
  const ModelPtr other = random_model(random_, 10, 4, Rows::kGaussian);
  EXPECT_EQ(test_.searchers(other)->remembered_failure(kScripted), std::nullopt);

  script_.open = {};
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
  ASSERT_TRUE(engine_.catalog().unload("mend").ok());
  EXPECT_EQ(script_.closed, 0) << "the other model is still open";
}

TEST_F(BackendChoice, ANamedOneFailsWithItsReason) {
  script_.available = Status(ErrorCode::kUnavailable, "no driver");
  EXPECT_EQ(search("scripted"), "backend 'scripted' is not available: no driver");
  script_.available = {};
  script_.open = Status(ErrorCode::kOutOfMemory, "the model needs 3 GB");
  EXPECT_EQ(search("scripted"), "backend 'scripted': the model needs 3 GB");
  script_.open = {};
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

TEST_F(BackendChoice, OnlyTheLastSearchesBits) {
  Model::Source source;
  source.coding = std::make_shared<const Coding>(Coding{RowMetric::kHamming, {}});
  model_ = std::make_shared<const Model>(std::vector(model_->parts().begin(), model_->parts().end()),
                                         model_->vocabulary(), std::move(source), model_);
  searchers_ = test_.searchers(model_);
  EXPECT_EQ(search("auto"), "ranking");
  EXPECT_EQ(search("ranking"), "ranking");
  ASSERT_TRUE(engine_.settings().set("backend", "scripted").ok());
  EXPECT_EQ(search("auto"), "ranking");
  EXPECT_EQ(
      search("scripted"),
      "an index of bits, or one whose codes are not all in memory, is searched by the CPU; use the backend "
      "'auto' or 'ranking' instead of 'scripted'");
  EXPECT_EQ(script_.opened, 0);
  EXPECT_EQ(likely_backend(engine_, searchers_.get()).backend->name(), "ranking");
}

TEST_F(BackendChoice, AnInterruptIsNoFailure) {
  EXPECT_EQ(search("auto", [] { return true; }), "interrupted");
  EXPECT_TRUE(logged.empty());
  EXPECT_EQ(search("auto"), "scripted");
}

TEST_F(BackendChoice, AModelUnloadedWhileInUseIsFreedByItsLastUser) {
  const TemporaryModel file("used.txt", {"a 1 2", "b 2 1"});
  ASSERT_TRUE(engine_.catalog().load(file.path(), "used", {}).ok());
  searchers_ = engine_.catalog().find_entry("used").value().searchers;
  model_ = searchers_->model();
  query_ = *query_for_word(*model_, "a");
  EXPECT_EQ(search("auto"), "scripted");
  EXPECT_EQ(search("auto"), "scripted");
  EXPECT_EQ(script_.opened, 1);
  ASSERT_TRUE(engine_.catalog().unload("used").ok());
  EXPECT_EQ(script_.closed, 0);
  EXPECT_EQ(search("auto"), "scripted") << "a search that goes on keeps its searcher";
  EXPECT_EQ(script_.opened, 1);
  searchers_.reset();
  EXPECT_EQ(script_.closed, 1);
}

TEST_F(BackendChoice, UnloadingAModelThatNobodyUsesFreesIt) {
  const TemporaryModel file("idle.txt", {"a 1 2", "b 2 1"});
  for (const bool replaced : {false, true}) {
    ASSERT_TRUE(engine_.catalog().load(file.path(), "idle", {}).ok());
    const ModelPtr model = engine_.catalog().find("idle").value();
    ASSERT_TRUE(engine_.catalog().find_entry("idle").value().searchers->open(kScripted, {}).ok());
    script_.closed = 0;
    if (replaced)
      ASSERT_TRUE(engine_.catalog().load(file.path(), "idle", {}).ok());
    else
      ASSERT_TRUE(engine_.catalog().unload("idle").ok());
    EXPECT_EQ(script_.closed, 1);
  }
}

// Opening takes until the test lets it continue.
class SlowBackend final : public PlainBackend {
 public:
  std::string_view name() const override { return "slow"; }
  Result<std::shared_ptr<Searcher>> open(const ModelPtr& model, const InterruptCheck& interrupted) override {
    ++opening;
    while (!go_on) {
      GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
      std::this_thread::yield();
    }
    return PlainBackend::open(model, interrupted);
  }
  std::atomic<int> opening = 0;
  std::atomic<bool> go_on = false;
};

class Opening : public ::testing::Test {
 protected:
  Opening() {
    auto backend = std::make_unique<SlowBackend>();
    slow_ = backend.get();
    engine_.backends().add(std::move(backend));
  }

  Engine engine_;
  SlowBackend* slow_;
  std::mt19937_64 random_{1};
  ModelSearchers searchers_{engine_, random_model(random_, 100, 4, Rows::kGaussian)};
};

TEST_F(Opening, ManyThreadsShareOneSearcher) {
  std::array<Searcher*, 6> found{};
  std::vector<std::thread> threads;
  for (Searcher*& searcher : found) threads.emplace_back([&] { searcher = searchers_.open(0, {}).value(); });
  while (slow_->opening == 0) std::this_thread::yield();
  slow_->go_on = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(slow_->opening, 1);
  for (const Searcher* const searcher : found) EXPECT_EQ(searcher, found[0]);
}

TEST_F(Opening, AWaitingThreadHeedsItsOwnInterrupt) {
  std::thread opener([&] { EXPECT_TRUE(searchers_.open(0, {}).ok()); });
  while (slow_->opening == 0) std::this_thread::yield();
  int asked = 0;
  EXPECT_EQ(searchers_.open(0, [&] { return ++asked == 3; }).error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(asked, 3);
  slow_->go_on = true;
  opener.join();
  EXPECT_EQ(slow_->opening, 1);
}

TEST_F(Opening, AnInterruptedOpenerLeavesItToTheNext) {
  std::atomic<bool> stop = false;
  std::thread opener([&] {
    EXPECT_EQ(searchers_.open(0, [&] { return stop.load(); }).error().code, ErrorCode::kInterrupted);
  });
  while (slow_->opening == 0) std::this_thread::yield();
  std::thread next([&] { EXPECT_TRUE(searchers_.open(0, {}).ok()); });
  stop = true;
  opener.join();
  slow_->go_on = true;
  next.join();
  EXPECT_EQ(slow_->opening, 2);
}

TEST_F(Opening, TheHostsCodeMayComeBack) {
  const auto come_back = [&] {
    EXPECT_EQ(searchers_.open(0, {}).error().code, ErrorCode::kInvalidArgument);
    slow_->go_on = true;
    return false;
  };
  EXPECT_TRUE(searchers_.open(0, come_back).ok());
}

// A forked child has none of the parent's threads, so it opens again what one of them was opening.
TEST_F(Opening, AForkedChildDoesNotWaitForAThreadThatItDoesNotHave) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not support threads after a fork";
#endif
  std::thread opener([&] { EXPECT_TRUE(searchers_.open(0, {}).ok()); });
  while (slow_->opening == 0) std::this_thread::yield();
  EXPECT_TRUE(holds_in_forked_child([this] {
    slow_->go_on = true;
    return searchers_.open(0, {}).ok();
  }));
  slow_->go_on = true;
  opener.join();
}

}  // namespace
}  // namespace glove
