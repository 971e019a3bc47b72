#include "search/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <tuple>

#include "tests/search/test_engine.h"

namespace glove {
namespace {

using testing::TestEngine;

std::string problem(const Status& status) {
  return status.ok() ? "" : status.error().message;
}

TEST(Settings, Keys) {
  TestEngine test;
  Settings& settings = test.engine.settings();
  EXPECT_EQ(settings.get("thread").error().message,
            "there is no setting 'thread'; the settings are: backend, threads, gpu_memory, devices, "
            "index_memory, audits, encode_limit, onnxruntime_provider, onnxruntime");
  EXPECT_EQ(problem(settings.set("", "1")),
            "there is no setting ''; the settings are: backend, threads, gpu_memory, devices, index_memory, "
            "audits, encode_limit, onnxruntime_provider, onnxruntime");
}

TEST(Settings, ValuesAreCheckedAndKeptAsTheyWereOnError) {
  TestEngine test;
  Settings& settings = test.engine.settings();
  const uint64_t generation = settings.generation();
  ASSERT_TRUE(settings.set("threads", "3").ok());
  EXPECT_GT(settings.generation(), generation);
  for (const char* bad : {"", "-1", "1025", "two", "3.0", " 3", "3 ", "99999999999999999999"})
    EXPECT_EQ(problem(settings.set("threads", bad)),
              "the setting 'threads' must be an integer from 0 (all cores) to 1024, not '" +
                  std::string(bad) + "'");
  EXPECT_EQ(settings.get("threads").value(), "3");
  ASSERT_TRUE(settings.set("threads", "007").ok());
  EXPECT_EQ(settings.get("threads").value(), "7");
  ASSERT_TRUE(settings.set("threads", "0").ok());

  for (const auto& [text, bytes] : {std::pair{"0", "0"},
                                    {"4096", "4096"},
                                    {"4K", "4096"},
                                    {"2m", "2097152"},
                                    {"80G", "85899345920"},
                                    {"8589934591G", "9223372035781033984"}}) {
    ASSERT_TRUE(settings.set("gpu_memory", text).ok()) << text;
    EXPECT_EQ(settings.get("gpu_memory").value(), bytes);
  }
  for (const char* bad : {"", "G", "-1", "4GB", "4.5G", "8589934592G", "four"})
    EXPECT_EQ(
        problem(settings.set("gpu_memory", bad)),
        "the setting 'gpu_memory' must be a number of bytes such as 1000000, 512M or 4G, or 0 for all free "
        "memory, not '" +
            std::string(bad) + "'");
  ASSERT_TRUE(settings.set("gpu_memory", "0").ok());

  EXPECT_EQ(settings.get("devices").value(), "all");
  for (const auto& [text, spelled, bits] :
       {std::tuple{"0", "0", 1}, {"1,0", "0,1", 3}, {"3,01,3", "1,3", 10}}) {
    ASSERT_TRUE(settings.set("devices", text).ok()) << text;
    EXPECT_EQ(settings.get("devices").value(), spelled);
    EXPECT_EQ(settings.devices().value(), static_cast<uint64_t>(bits));
  }
  ASSERT_TRUE(settings.set("devices", "62").ok());
  EXPECT_EQ(settings.get("devices").value(), "62");
  for (const char* bad : {"", ",", "0,", ",1", "0 1", "-1", "63", "none", "all,0"})
    EXPECT_EQ(problem(settings.set("devices", bad)),
              "the setting 'devices' must be all, or numbers of devices such as 0 or 0,1, not '" +
                  std::string(bad) + "'");
  EXPECT_EQ(settings.get("devices").value(), "62");
  ASSERT_TRUE(settings.set("devices", "all").ok());
  EXPECT_EQ(settings.devices().value(), 0u);

  EXPECT_EQ(settings.index_memory().value(), 0);
  ASSERT_TRUE(settings.set("index_memory", "100M").ok());
  EXPECT_EQ(settings.index_memory().value(), int64_t{100} << 20);
  EXPECT_EQ(settings.audits().value(), 256);
  ASSERT_TRUE(settings.set("audits", "0").ok());
  EXPECT_EQ(settings.audits().value(), 0);
  EXPECT_EQ(problem(settings.set("audits", "-1")),
            "the setting 'audits' must be an integer from 0 (no audits) to 1000000, not '-1'");
  EXPECT_EQ(problem(settings.set("index_memory", "all")),
            "the setting 'index_memory' must be a number of bytes such as 1000000, 512M or 4G, or 0 for no "
            "limit, not 'all'");

  ASSERT_TRUE(settings.set("backend", "cpu").ok());
  EXPECT_EQ(problem(settings.set("backend", "CPU")),
            "the setting 'backend' must be one of (auto, scripted, cpu, plain, ranking), not 'CPU'");
  EXPECT_EQ(settings.get("backend").value(), "cpu");
  ASSERT_TRUE(settings.set("backend", "auto").ok());
}

// Runs in a new process, because a valid value is read once.
TEST(SettingsDeathTest, TheEnvironment) {
  TestEngine test;
  Settings& settings = test.engine.settings();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("GLOVE_THREADS", "many", 1);
        bool good =
            problem(settings.get("threads").status()) ==
            "the environment variable GLOVE_THREADS must be an integer from 0 (all cores) to 1024, not "
            "'many'";
        setenv("GLOVE_THREADS", "2", 1);
        good &= settings.get("threads").value() == "2";
        setenv("GLOVE_THREADS", "4", 1);
        good &= settings.get("threads").value() == "2";
        setenv("GLOVE_GPU_MEMORY", "1G", 1);
        good &= settings.get("gpu_memory").value() == "1073741824";
        setenv("GLOVE_BACKEND", "quantum", 1);
        good &=
            problem(settings.get("backend").status()) ==
            "the environment variable GLOVE_BACKEND must be one of (auto, scripted, cpu, plain, ranking), "
            "not 'quantum'";
        good &= settings.set("backend", "auto").ok() && settings.get("backend").value() == "auto";
        std::_Exit(good ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace glove
