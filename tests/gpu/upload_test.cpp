// Uploads to a fake device in host memory are exact byte for byte, and failed ones leave nothing behind.
#include "gpu/residency/upload.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "tests/gpu/fake_device.h"
#include "tests/loader/random.h"

namespace glove::testing {
namespace {

class UploadTest : public ::testing::Test {
 protected:
  // A file of random bytes that is deleted when it is closed.
  std::FILE* random_file(int64_t bytes, std::vector<std::byte>* content) {
    std::FILE* file = std::tmpfile();
    content->resize(static_cast<size_t>(bytes));
    for (std::byte& byte : *content) byte = static_cast<std::byte>(random_());
    std::fwrite(content->data(), 1, content->size(), file);
    std::fflush(file);
    return file;
  }

  // The fake's blocks have 4,096 bytes in 32 slices.
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "GLOVE_TEST_SEED=" + std::to_string(test_seed())};
  std::mt19937_64 random_ = random_source();
  FakeDevice::Knobs knobs_;
  FakeDevice device_{knobs_};
  std::atomic<bool> cancelled_{false};
};

TEST_F(UploadTest, EveryByteArrivesWithAnyNumberOfThreads) {
  std::vector<std::byte> content;
  std::FILE* file = random_file(200000, &content);
  for (const int threads : {0, 1, 2, 7}) {
    for (const int64_t bytes : {1, 63, 64, 65, 255, 257, 4096, 8191, 100000}) {
      const auto offset = static_cast<int64_t>(random_() % 100000);
      const int64_t rest = static_cast<int64_t>(random_() % 5000);
      auto block = device_.allocate(bytes + 16 + rest);
      std::vector<gpu::CopyTask> tasks = {{nullptr, fileno(file), offset, 0, bytes},
                                          {nullptr, fileno(file), 0, bytes, 0},
                                          {content.data() + 7, -1, 0, bytes + 16, rest}};
      auto upload = gpu::Upload::start(device_, tasks, threads, "a file", cancelled_);
      ASSERT_TRUE(upload.ok());
      const Status status = upload.value()->copy_to(block.value().data());
      ASSERT_TRUE(status.ok()) << status.error().message;
      const std::byte* got = block.value().data();
      EXPECT_TRUE(std::equal(got, got + bytes, content.begin() + offset))
          << bytes << " bytes from " << offset;
      for (int i = 0; i < 16; ++i) EXPECT_EQ(got[bytes + i], std::byte{0x5A});  // between the tasks
      EXPECT_TRUE(std::equal(got + bytes + 16, got + bytes + 16 + rest, content.begin() + 7));
    }
  }
  std::fclose(file);
}

TEST_F(UploadTest, AShortFileIsNamedWithThePlace) {
  std::vector<std::byte> content;
  std::FILE* file = random_file(50000, &content);
  auto block = device_.allocate(100000);
  auto upload = gpu::Upload::start(device_, {{nullptr, fileno(file), 10, 0, 60000}}, 3, "a file", cancelled_);
  const Status status = upload.value()->copy_to(block.value().data());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_NE(status.error().message.find("a file: the file ends at byte 50000"), std::string::npos)
      << status.error().message;
  std::fclose(file);
  auto unreadable = gpu::Upload::start(device_, {{nullptr, -1, 0, 0, 10}}, 3, "a file", cancelled_);
  EXPECT_NE(
      unreadable.value()->copy_to(block.value().data()).error().message.find("reading at byte 0 failed"),
      std::string::npos);
}

TEST_F(UploadTest, OneThatIsGivenUpStopsItsThreads) {
  std::vector<std::byte> content;
  std::FILE* file = random_file(100000, &content);
  const gpu::CopyTask task = {nullptr, fileno(file), 0, 0, 100000};
  for (int i = 0; i < 50; ++i) {
    auto upload = gpu::Upload::start(device_, {task}, static_cast<int>(random_() % 6), "a file", cancelled_);
    ASSERT_TRUE(upload.ok());
  }
  auto block = device_.allocate(100000);
  auto upload = gpu::Upload::start(device_, {task}, 4, "a file", cancelled_);
  cancelled_ = true;
  EXPECT_EQ(upload.value()->copy_to(block.value().data()).error().code, ErrorCode::kInterrupted);
  cancelled_ = false;
  for (const int asked : {0, 1, 9}) {
    auto interrupted =
        gpu::Upload::start(device_, {task}, static_cast<int>(random_() % 6), "a file", cancelled_);
    int left = asked;
    const Status status = interrupted.value()->copy_to(block.value().data(), [&left] { return left-- == 0; });
    EXPECT_EQ(status.error().code, ErrorCode::kInterrupted);
    EXPECT_EQ(left, -1);
  }
  for (const int works : {0, 1, 9}) {
    knobs_.fail_copies_after = works;
    auto failing = gpu::Upload::start(device_, {task}, 4, "a file", cancelled_);
    EXPECT_EQ(failing.value()->copy_to(block.value().data()).error().code, ErrorCode::kUnavailable);
  }
  std::fclose(file);
}

}  // namespace
}  // namespace glove::testing
