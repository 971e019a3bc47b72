// A map survives what others do to its file: the reader gets no SIGBUS, and health() reports it.
#include "model/mapped_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/crc32.h"
#include "tests/loader/temporary_directory.h"

namespace glove {
namespace {

using testing::TemporaryDirectory;

std::shared_ptr<const MappedFile> map(const std::string& path) {
  auto file = std::make_shared<const File>(File::open_for_reading(path).value());
  return MappedFile::map(path, std::move(file)).value();
}

TEST(MappedFile, PagesThatAreGoneReadAsZerosOnEveryThread) {
  const TemporaryDirectory directory;
  constexpr size_t kBytes = 1 << 20;
  const std::string path = directory.write("file", std::string(kBytes, 'x'));
  const auto mapped = map(path);
  EXPECT_TRUE(mapped->health().ok());
  EXPECT_EQ(mapped->bytes().back(), 'x');
  ASSERT_EQ(::truncate(path.c_str(), 8192), 0);
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i)
    readers.emplace_back([&] {
      EXPECT_EQ(mapped->bytes()[8191], 'x');
      for (size_t at = 8192; at < kBytes; at += 512) EXPECT_EQ(mapped->bytes()[at], '\0');
    });
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(
      mapped->health().error().message,
      "the model file '" + path + "' went from 1048576 to 8192 bytes while it was loaded; load it again");
  // The file may grow again: what was read in between was still wrong.
  ASSERT_EQ(::truncate(path.c_str(), kBytes), 0);
  EXPECT_EQ(mapped->health().error().message,
            "the model file '" + path + "' could not be read in part while it was loaded; load it again");
}

TEST(MappedFile, AFileThatIsWrittenToIsToldOf) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("file", std::string(10000, 'x'));
  const auto mapped = map(path);
  const auto other = map(path);
  std::filesystem::remove(path);
  EXPECT_TRUE(mapped->health().ok()) << "deleted, but whole";
  const std::string second = directory.write("second", "1234");
  const auto written = map(second);
  std::filesystem::last_write_time(second,
                                   std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_EQ(written->health().error().message,
            "the model file '" + second + "' was written to while it was loaded; load it again");
}

// A file whose first half has a checksum.
class KnownContent : public ::testing::Test {
 protected:
  KnownContent() {
    auto file = std::make_shared<const File>(File::open_for_reading(path_).value());
    mapped_ = MappedFile::map(path_, file).value();
    mapped_->know_content({{0, 2'000'000, crc32_continue(0, std::string(2'000'000, 'x'))}});
    EXPECT_TRUE(mapped_->health().ok());
  }
  void write(size_t at, char c) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(c);
  }
  void set_time(int seconds) const {
    std::filesystem::last_write_time(path_, written_ + std::chrono::seconds(seconds));
  }
  std::string written_to() const {
    return "the model file '" + path_ + "' was written to while it was loaded; load it again";
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_.write("file", std::string(4'000'000, 'x'));
  std::filesystem::file_time_type written_ = std::filesystem::last_write_time(path_);
  std::shared_ptr<MappedFile> mapped_;
};

TEST_F(KnownContent, AChangedTimeAloneIsNoChange) {
  for (int i = 1; i < 4; ++i) {
    set_time(100 * i);
    EXPECT_TRUE(mapped_->health().ok());
    EXPECT_TRUE(mapped_->health().ok());
  }
  std::filesystem::permissions(path_,
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_TRUE(mapped_->health().ok());
  std::filesystem::rename(path_, directory_.path("renamed"));
  EXPECT_TRUE(mapped_->health().ok());
  std::filesystem::remove(directory_.path("renamed"));
  EXPECT_TRUE(mapped_->health().ok());
}

TEST_F(KnownContent, AWriteIsAChangeWhateverTimeTheFileShows) {
  write(1'999'999, 'y');
  EXPECT_EQ(mapped_->health().error().message, written_to());
  EXPECT_EQ(mapped_->health().error().message, written_to());
  set_time(0);  // as a copy that preserves times does
  EXPECT_EQ(mapped_->health().error().message, written_to());
  set_time(100);
  EXPECT_EQ(mapped_->health().error().message, written_to());
  write(1'999'999, 'x');
  EXPECT_TRUE(mapped_->health().ok()) << "the same bytes again";
  write(3'000'000, 'y');
  EXPECT_TRUE(mapped_->health().ok()) << "bytes that nobody reads";
}

TEST_F(KnownContent, AnInterruptStopsTheReadAndDecidesNothing) {
  set_time(100);
  int asked = 0;
  const auto interrupted = [&asked] { return ++asked > 0; };
  EXPECT_EQ(mapped_->health(interrupted).error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(mapped_->health([] { return false; }).ok());
  EXPECT_TRUE(mapped_->health(interrupted).ok()) << "nothing is left to read";
  EXPECT_EQ(asked, 1);
  write(1'000'000, 'y');
  EXPECT_EQ(mapped_->health(interrupted).error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(mapped_->health().error().message, written_to());
}

TEST_F(KnownContent, ManyThreadsAskAtOnce) {
  std::vector<std::thread> threads;
  set_time(100);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 100; ++j) EXPECT_TRUE(mapped_->health().ok());
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(MappedFile, TheTableOfMapsIsReused) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("file", "x");
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(map(path)->health().ok());
  std::vector<std::shared_ptr<const MappedFile>> maps;
  const auto file = std::make_shared<const File>(File::open_for_reading(path).value());
  while (true) {
    auto mapped = MappedFile::map(path, file);
    if (!mapped.ok()) {
      EXPECT_EQ(mapped.error().code, ErrorCode::kUnavailable);
      break;
    }
    maps.push_back(std::move(mapped).value());
    ASSERT_LE(maps.size(), 1024u);
  }
}

}  // namespace
}  // namespace glove
