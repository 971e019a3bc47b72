#include "launch/launch_file.h"

#include <gtest/gtest.h>

namespace glove::verify {
namespace {

Kernel kernel(const std::string& name, std::vector<Parameter> parameters = {}) {
  Kernel made;
  made.name = name;
  made.parameters = std::move(parameters);
  return made;
}

ParameterValue value(uint64_t offset, uint64_t bytes, bool own) {
  ParameterValue made;
  made.offset = offset, made.bytes = bytes, made.own = own, made.line = 4;
  return made;
}

Launch launch_of(const std::string& pattern, std::vector<ParameterValue> parameters = {}) {
  Launch launch;
  launch.file = "a.toml";
  launch.kernel = pattern;
  launch.parameters = std::move(parameters);
  return launch;
}

std::string message(const Status& status) {
  return status.ok() ? "ok" : status.error().message;
}

TEST(MatchingKernels, AreFoundByAPartOfTheirName) {
  Program program;
  program.kernels = {kernel("scan_one"), kernel("merge"), kernel("scan_two")};
  EXPECT_EQ(matching_kernels(launch_of("scan"), program).value(), (std::vector<size_t>{0, 2}));
  EXPECT_EQ(matching_kernels(launch_of("^merge$"), program).value(), std::vector<size_t>{1});
  EXPECT_TRUE(matching_kernels(launch_of("^can"), program).value().empty());
  EXPECT_EQ(matching_kernels(launch_of(""), program).value().size(), 3u);
}

TEST(MatchingKernels, NeedARegularExpression) {
  const auto matching = matching_kernels(launch_of("a["), {});
  ASSERT_FALSE(matching.ok());
  EXPECT_EQ(matching.error().message, "kernel = 'a[' is not a regular expression");
}

Status check_launch(Launch launch, const std::array<uint32_t, 3>& block, const Kernel& of) {
  launch.block = block;
  return fit_launch(&launch, of);
}

TEST(CheckLaunch, NeedsTheSizeOfABlock) {
  EXPECT_EQ(message(check_launch(launch_of(""), {0, 1, 1}, kernel("k"))),
            "k has no .maxntid; please give its size with --block");
  EXPECT_EQ(message(check_launch(launch_of(""), {1024, 1, 1}, kernel("k"))), "ok");
  EXPECT_EQ(message(check_launch(launch_of(""), {1025, 1, 1}, kernel("k"))),
            "k: a block has at most 1024 threads, and not 1025");
}

TEST(CheckLaunch, MultipliesSizesWithoutWrapping) {
  EXPECT_EQ(message(check_launch(launch_of(""), {65536, 65536, 1}, kernel("k"))),
            "k: a block has at most 1024 threads, and not 4294967296");
}

TEST(CheckLaunch, KeepsToWhatTheKernelIsCompiledFor) {
  Kernel limited = kernel("k");
  limited.max_threads = {128, 1, 1};
  EXPECT_EQ(message(check_launch(launch_of(""), {64, 2, 1}, limited)), "ok");
  EXPECT_EQ(message(check_launch(launch_of(""), {64, 1, 1}, limited)), "ok");
  EXPECT_EQ(message(check_launch(launch_of(""), {129, 1, 1}, limited)),
            "k is compiled for at most 128 threads per block (.maxntid), and --block or the launch file asks "
            "for 129");
  limited.exact_threads = true;
  EXPECT_EQ(message(check_launch(launch_of(""), {64, 1, 1}, limited)),
            "k is compiled for exactly 128 threads per block (.reqntid), and --block or the launch file asks "
            "for 64");
}

TEST(CheckLaunch, KnowsTheLimitOfSharedMemory) {
  Kernel large = kernel("k");
  large.shared_bytes = 1024;
  Launch launch = launch_of("");
  launch.dynamic_shared = kMostBlockShared - 1024;
  EXPECT_EQ(message(check_launch(launch, {32, 1, 1}, large)), "ok");
  ++*launch.dynamic_shared;
  EXPECT_FALSE(check_launch(launch, {32, 1, 1}, large).ok());
}

TEST(CheckLaunch, NeedsTheLaunchsOwnParameters) {
  const Kernel with = kernel("k", {{"p", 0, 8}, {"q", 8, 4}});
  EXPECT_EQ(message(check_launch(launch_of("", {value(0, 8, true)}), {32, 1, 1}, with)), "ok");
  EXPECT_EQ(message(check_launch(launch_of("", {value(4, 4, true)}), {32, 1, 1}, with)), "ok") << "a part";
  EXPECT_EQ(
      message(check_launch(launch_of("", {value(8, 8, true)}), {32, 1, 1}, with)),
      "a.toml:4: k does not have 8 bytes at offset 8 of its parameters; correct the offset or the type, or "
      "remove the parameter");
  EXPECT_EQ(message(check_launch(launch_of("", {value(8, 8, false)}), {32, 1, 1}, with)), "ok")
      << "not its own";
}

TEST(CheckSharedParameters, NeedOneKernelThatHasThem) {
  Program program;
  program.kernels = {kernel("small", {{"p", 0, 4}}), kernel("large", {{"p", 0, 16}})};
  const std::vector<ParameterValue> shared = {value(8, 8, false)};
  EXPECT_EQ(
      message(check_shared_parameters({launch_of("small", shared), launch_of("large", shared)}, program)),
      "ok");
  EXPECT_EQ(
      message(check_shared_parameters({launch_of("small", shared)}, program)),
      "a.toml:4: no kernel that this file launches has 8 bytes at offset 8 of its parameters; correct the "
      "offset or the type, or remove the parameter");
  EXPECT_EQ(message(check_shared_parameters({launch_of("small", shared), launch_of("other")}, program)), "ok")
      << "one of the kernels is elsewhere";
  EXPECT_FALSE(check_shared_parameters({launch_of("(")}, program).ok());
}

}  // namespace
}  // namespace glove::verify
