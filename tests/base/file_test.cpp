// Files: paths, kinds that are refused, copies that overlap or end early, and files that replace others.
#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <tuple>

#include "base/file_calls.h"
#include "base/replacement_file.h"
#include "tests/loader/temporary_directory.h"

namespace glove {
namespace {

using testing::TemporaryDirectory;

std::string content_of(const File& file) {
  std::string content(static_cast<size_t>(file.size().value()), '?');
  EXPECT_EQ(file.read_at(0, content).value(), content.size());
  return content;
}

TEST(Paths, AreSplitAtTheLastSeparator) {
  for (const auto& [path, folder, name] : {std::tuple{"a", ".", "a"},
                                           {"", ".", ""},
                                           {"/a", "/", "a"},
                                           {"/", "/", ""},
                                           {"a/b", "a", "b"},
                                           {"/a/b", "/a", "b"},
                                           {"a/b/", "a/b", ""},
                                           {"a//b", "a/", "b"}}) {
    EXPECT_EQ(directory_of(path), folder) << path;
    EXPECT_EQ(file_name_of(path), name) << path;
  }
}

TEST(Files, OnlyRegularOnesAreOpened) {
  const TemporaryDirectory directory;
  const auto error = [](const std::string& path) {
    return File::open_for_reading(path).status().error().message;
  };
  const std::string pipe = directory.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error(pipe),
            "cannot read '" + pipe + "': it is a pipe; save what comes through it to a file first");
  EXPECT_EQ(error("/dev/null"), "cannot read '/dev/null': it is not a regular file");
  EXPECT_EQ(error(directory.path("")),
            "cannot read '" + directory.path("") + "': it is a directory, not an embedding file");
  EXPECT_EQ(error(std::string("a\0b", 3)), "a path holds a NUL byte: 'a'");
  const std::string path = directory.write("file", "");
  EXPECT_TRUE(File::open_for_reading(path).ok());
  // A path in a message is cut.
  const std::string long_path(10000, 'p');
  EXPECT_EQ(error(long_path), "cannot open '" + long_path.substr(0, 4096) + "...': File name too long");
}

TEST(Files, WithoutANameAreSeenByNobody) {
  const TemporaryDirectory directory;
  auto created = File::create_unnamed(directory.path(""), "label");
  ASSERT_TRUE(created.ok());
  File file = std::move(created).value();
  ASSERT_TRUE(file.write_at(3, std::string_view("abc")).ok());
  EXPECT_EQ(content_of(file), std::string("\0\0\0abc", 6));
  EXPECT_TRUE(directory.entries().empty());
  ASSERT_TRUE(file.resize(4).ok());
  EXPECT_EQ(content_of(file), std::string("\0\0\0a", 4));
  ASSERT_TRUE(file.flush_to_disk().ok());
  EXPECT_EQ(File::create_unnamed("/nonexistent", "label").status().error().message,
            "cannot create 'label': No such file or directory");
}

TEST(Files, ThatAreOnlyForReadingCannotBeWritten) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("file", "abc");
  File file = File::open_for_reading(path).value();
  EXPECT_EQ(file.write_at(0, std::string_view("x")).error().message,
            "cannot write '" + path + "': Bad file descriptor");
  EXPECT_EQ(file.resize(1).error().message, "cannot write '" + path + "': Invalid argument");
  std::string more(10, '?');
  EXPECT_EQ(file.read_at(1, more).value(), 2u);
  EXPECT_EQ(more, "bc????????");
  EXPECT_EQ(file.read_at(3, more).value(), 0u);
  const File nothing;
  EXPECT_FALSE(nothing.is_open());
  EXPECT_FALSE(nothing.size().ok());
  EXPECT_FALSE(nothing.read_at(0, more).ok());
}

TEST(Files, CopiesOverlapAndEndEarly) {
  const TemporaryDirectory directory;
  std::string content;
  for (int i = 0; i < 3000000; ++i) content += static_cast<char>('a' + i % 23);
  const std::string path = directory.write("from", content);
  const File from = File::open_for_reading(path).value();
  File to = File::create_unnamed(directory.path(""), "to").value();
  ASSERT_TRUE(to.copy_from(from, 5, 7, 2500000).ok());
  EXPECT_TRUE(content_of(to) == std::string(7, '\0') + content.substr(5, 2500000));
  // Towards the beginning of the same file, by less than the bytes that are moved.
  ASSERT_TRUE(to.copy_from(to, 7, 0, 2500000).ok());
  EXPECT_TRUE(content_of(to).substr(0, 2500000) == content.substr(5, 2500000));
  const Status beyond = to.copy_from(from, 2999990, 0, 20);
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().message, "'" + path + "' became shorter while it was read");
}

TEST(ReplacementFiles, AppearAsAWhole) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("file", "before");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  {
    ReplacementFile file = ReplacementFile::create(path).value();
    EXPECT_TRUE(file.replaces());
    ASSERT_TRUE(file.file().write_at(0, std::string_view("after")).ok());
    EXPECT_EQ(TemporaryDirectory::read(path), "before");
    ASSERT_TRUE(file.flush_to_disk().ok());
    ASSERT_TRUE(file.commit().ok());
  }
  EXPECT_EQ(TemporaryDirectory::read(path), "after");
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777u, 0640u);
  { const ReplacementFile abandoned = ReplacementFile::create(path).value(); }
  EXPECT_EQ(TemporaryDirectory::read(path), "after");
  EXPECT_EQ(directory.entries(), std::vector<std::string>{"file"});
}

TEST(ReplacementFiles, KeepLinksAndRefuseOtherKinds) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("file", "before"), link = directory.path("link"),
                    none = directory.path("none");
  std::filesystem::create_symlink("file", link);
  std::filesystem::create_symlink("nowhere", none);
  ReplacementFile file = ReplacementFile::create(link).value();
  EXPECT_TRUE(std::filesystem::equivalent(file.path(), path));
  ASSERT_TRUE(file.file().write_at(0, std::string_view("after!")).ok());
  ASSERT_TRUE(file.commit().ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(TemporaryDirectory::read(path), "after!");
  EXPECT_EQ(ReplacementFile::create(none).status().error().message,
            "cannot follow the link '" + none + "': No such file or directory");
  EXPECT_EQ(ReplacementFile::create(directory.path("")).status().error().message,
            "cannot write '" + directory.path("") + "': it is not a regular file");
}

// The folder has gone, or something stands at the place, when the file is to appear.
TEST(ReplacementFiles, ThatCannotAppearLeaveNothing) {
  const TemporaryDirectory directory;
  const std::string folder = directory.path("folder"), path = folder + "/file";
  std::filesystem::create_directory(folder);
  {
    ReplacementFile file = ReplacementFile::create(path).value();
    std::filesystem::create_directories(path + "/full");
    EXPECT_EQ(file.commit().error().message, "cannot replace '" + path + "': Is a directory");
  }
  std::filesystem::remove_all(path);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  ReplacementFile file = ReplacementFile::create(path).value();
  EXPECT_FALSE(file.replaces());
  std::filesystem::remove_all(folder);
  EXPECT_FALSE(file.commit().ok());
  EXPECT_TRUE(directory.entries().empty());
}

}  // namespace
}  // namespace glove
