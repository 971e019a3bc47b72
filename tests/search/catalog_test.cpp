#include "search/catalog.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "search/nearest.h"
#include "tests/forked_child.h"
#include "tests/search/temporary_model.h"
#include "tests/search/test_engine.h"
#include "tests/share.h"

namespace glove {
namespace {

using testing::holds_in_forked_child;
using testing::TemporaryModel;
using testing::TestEngine;

class CatalogTest : public ::testing::Test {
 protected:
  void clear() {
    for (const auto& entry : catalog_.list()) EXPECT_TRUE(catalog_.unload(entry.name).ok());
  }
  std::string load(const std::string& path, const std::string& name = "") {
    const auto loaded = catalog_.load(path, name, {});
    return loaded.ok() ? loaded.value().name : loaded.error().message;
  }
  std::string default_name() {
    for (const auto& entry : catalog_.list())
      if (entry.is_default) return entry.name;
    return "none";
  }

  TestEngine test_;
  Catalog& catalog_ = test_.engine.catalog();
  TemporaryModel two_{"two.txt", {"a 1 2", "b 3 4"}};
  TemporaryModel three_{"three.6B.3d.txt", {"a 1 2 3", "b 3 4 5", "c 6 7 8"}};
};

TEST_F(CatalogTest, NamesAndTheDefault) {
  const std::string two = "glove-" + std::to_string(getpid()) + "-two";
  const std::string three = "glove-" + std::to_string(getpid()) + "-three.6B.3d";
  EXPECT_EQ(load(two_.path()), two);
  EXPECT_EQ(load(three_.path()), three);
  EXPECT_EQ(default_name(), two);
  EXPECT_EQ(load(three_.path(), "main"), "main");
  EXPECT_EQ(default_name(), "main");
  EXPECT_EQ(catalog_.find({}).value()->dims(), 3);
  EXPECT_EQ(catalog_.find(two).value()->dims(), 2);
  ASSERT_TRUE(catalog_.unload("main").ok());
  EXPECT_EQ(default_name(), two) << "the oldest that is left";
  EXPECT_EQ(catalog_.list().size(), 2u);
}

TEST_F(CatalogTest, ReplacingKeepsTheDefaultAndTheUsers) {
  load(two_.path(), "m");
  load(two_.path(), "other");
  const ModelPtr old = catalog_.find("m").value();
  const uint64_t generation = catalog_.generation();
  EXPECT_EQ(load(three_.path(), "m"), "m");
  EXPECT_GT(catalog_.generation(), generation);
  EXPECT_EQ(default_name(), "m");
  EXPECT_EQ(catalog_.list().size(), 2u);
  EXPECT_EQ(catalog_.find("m").value()->dims(), 3);
  EXPECT_EQ(old->dims(), 2);
  EXPECT_NE(old->id(), catalog_.find("m").value()->id());
}

TEST_F(CatalogTest, AFailedLoadChangesNothing) {
  load(two_.path(), "m");
  const uint64_t generation = catalog_.generation();
  const ModelPtr model = catalog_.find("m").value();
  EXPECT_FALSE(catalog_.load(two_.path() + ".missing", "m", {}).ok());
  EXPECT_FALSE(catalog_.load(two_.path() + ".missing", "main", {}).ok());
  EXPECT_EQ(catalog_.generation(), generation);
  EXPECT_EQ(catalog_.find({}).value(), model);
}

TEST_F(CatalogTest, ErrorsNameTheModelsThereAre) {
  unsetenv("GLOVE_MODEL");
  const std::string none =
      "no model is loaded; load one with SELECT glove_load('FILE') or set GLOVE_MODEL=FILE";
  EXPECT_EQ(catalog_.find({}).error().message, none);
  EXPECT_EQ(catalog_.find("x").error().message, "there is no model 'x'; " + none);
  load(two_.path(), "m");
  load(two_.path(), "other");
  EXPECT_EQ(catalog_.find("x").error().message, "there is no model 'x'; the loaded models are: 'm', 'other'");
  EXPECT_EQ(catalog_.find("x").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(catalog_.unload("x").error().message,
            "there is no model 'x' to unload; the loaded models are: 'm', 'other'");
}

TEST_F(CatalogTest, TheEnvironmentsModel) {
  setenv("GLOVE_MODEL", "/no/such/file", 1);
  EXPECT_TRUE(catalog_.find({}).error().message.starts_with("$GLOVE_MODEL: "));
  setenv("GLOVE_MODEL", three_.path().c_str(), 1);
  std::atomic<int> found = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&] { found += catalog_.find({}).ok(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found, 4);
  EXPECT_EQ(catalog_.list().size(), 1u);
  clear();
  EXPECT_FALSE(catalog_.find({}).ok()) << "an unloaded model stays unloaded";
  unsetenv("GLOVE_MODEL");
}

// $GLOVE_MODEL, long enough to be read in several blocks, while one thread opens it and stays inside its
// interrupt check.
class EnvironmentCatalogTest : public CatalogTest {
 protected:
  void SetUp() override { setenv("GLOVE_MODEL", long_.path().c_str(), 1); }
  void TearDown() override { unsetenv("GLOVE_MODEL"); }

  // Starts find() on a thread; `answer` is what its interrupt check returns after release().
  void start_opening(bool answer) {
    opener_ = std::thread([this, answer] {
      opened_ = catalog_.find({}, [this, answer] {
        inside_ = true;
        while (!released_) std::this_thread::yield();
        return answer;
      });
      inside_ = true;
    });
    while (!inside_) std::this_thread::yield();
  }
  void release() {
    released_ = true;
    opener_.join();
  }

  static std::vector<std::string> long_text() {
    std::vector<std::string> lines;
    for (int i = 0; i < 100000; ++i) lines.push_back("w" + std::to_string(i) + " 1 2.5 3.25 4.125");
    return lines;
  }

  TemporaryModel long_{"long.txt", long_text()};
  std::thread opener_;
  std::atomic<bool> inside_ = false;
  std::atomic<bool> released_ = false;
  Result<ModelPtr> opened_ = Error{ErrorCode::kNotFound, "not asked yet"};
};

TEST_F(EnvironmentCatalogTest, AnInterruptStopsTheOpening) {
  int questions = 0;
  const auto found = catalog_.find({}, [&] { return ++questions == 2; });
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(found.error().message, "interrupted");
  EXPECT_TRUE(catalog_.list().empty());
  EXPECT_TRUE(catalog_.find({}).ok()) << "and it is opened by the next one";
}

TEST_F(EnvironmentCatalogTest, WhoWaitsHeedsHisOwnInterrupt) {
  start_opening(false);
  int questions = 0;
  const auto found = catalog_.find({}, [&] { return ++questions == 3; });
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(found.error().message, "interrupted");
  EXPECT_TRUE(catalog_.list().empty()) << "looking and loading go on meanwhile";
  EXPECT_EQ(load(two_.path(), "other"), "other");
  EXPECT_EQ(catalog_.find({}).value()->dims(), 2);
  release();
  EXPECT_TRUE(opened_.ok());
}

TEST_F(EnvironmentCatalogTest, WhoWaitsOpensItAfterAnInterrupt) {
  start_opening(true);
  std::thread waiting([&] { EXPECT_TRUE(catalog_.find({}).ok()); });
  release();
  waiting.join();
  EXPECT_EQ(opened_.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(catalog_.list().size(), 1u);
}

// A progress handler may run statements of its own.
TEST_F(EnvironmentCatalogTest, AStatementInsideTheOpeningIsRefused) {
  std::string message;
  const auto found = catalog_.find({}, [&] {
    if (const auto nested = catalog_.find({}); !nested.ok()) message = nested.error().message;
    return false;
  });
  EXPECT_TRUE(found.ok());
  EXPECT_EQ(message,
            "$GLOVE_MODEL: '" + long_.path() +
                "' is being opened by a statement that runs this one; ask again when that has ended");
}

TEST_F(EnvironmentCatalogTest, AForkedChildOpensIt) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not support threads after a fork";
#endif
  start_opening(false);
  EXPECT_TRUE(holds_in_forked_child([&] { return catalog_.find({}).ok(); }));
  release();
}

TEST_F(CatalogTest, AForkedChildFindsNothingLocked) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not support threads after a fork";
#elif defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer does not free its allocator's locks in a child";
#endif
  load(two_.path(), "m");
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    while (!stop) (void)catalog_.list();
  });
  threads.emplace_back([&] {
    while (!stop) test_.engine.statistics().record({});
  });
  threads.emplace_back([&] {
    while (!stop) (void)test_.engine.settings().set("threads", "1");
  });
  for (int i = 0; i < 200 / test::kShortStep; ++i)
    ASSERT_TRUE(holds_in_forked_child([&] {
      test_.engine.statistics().record({});
      return catalog_.find("m").ok() && test_.engine.settings().set("threads", "2").ok() &&
             catalog_.unload("m").ok();
    }));
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CatalogTest, ManyThreadsLoadUnloadAndSearch) {
  std::atomic<bool> stop = false;
  std::atomic<int> answers = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        EXPECT_TRUE(catalog_.load(i % 2 ? two_.path() : three_.path(), t ? "x" : "y", {}).ok());
        if (i % 3 == 0) (void)catalog_.unload(t ? "y" : "x");
      }
      stop = true;
    });
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      while (!stop) {
        const auto entry = catalog_.find_entry("x");
        for (const auto& listed : catalog_.list()) EXPECT_GE(listed.model->words(), 2);
        if (!entry.ok()) continue;
        const Query query = *query_for_word(*entry.value().model, "a");
        SearchReport report;
        const auto rows = nearest(*entry.value().searchers, {&query, 1}, 1, {}, report);
        ASSERT_TRUE(rows.ok()) << rows.error().message;
        EXPECT_EQ(rows.value()[0].size(), 1u);
        ++answers;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(catalog_.list().size(), 2u);
}

}  // namespace
}  // namespace glove
