// Each kind of damage to a zip archive leads to one error that names the file, the place and the damage.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <string>

#include "loader/open.h"
#include "tests/loader/bad_input.h"

namespace glove {
namespace {

using testing::BadInput;

constexpr const char* kText = "a 1 2\nb 3 4\nc 5 6\n";

std::string number_of_bytes(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string deflated(const std::string& content) {
  z_stream stream{};
  deflateInit2(&stream, 1, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string bytes(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  deflate(&stream, Z_FINISH);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

// An archive of one member, every field of which a test may set wrongly.
struct Archive {
  std::string name = "m";
  std::string content = kText;
  uint64_t method = 0;  // 0: stored, 8: deflated
  uint64_t flags = 0;
  uint64_t crc =
      crc32(0, reinterpret_cast<const Bytef*>(kText), static_cast<uInt>(std::string(kText).size()));
  uint64_t bytes = std::string(kText).size();
  uint64_t compressed_bytes = content.size();
  uint64_t offset = 0;
  std::string extra{};   // of the directory's entry
  std::string before{};  // between the directory and its end record

  std::string local() const { return "PK\3\4" + shared(0) + name + content; }

  std::string entry() const {
    return "PK\1\2" + number_of_bytes(20, 2) + shared(extra.size()) + std::string(10, '\0') +
           number_of_bytes(offset, 4) + name + extra;
  }

  std::string text() const { return with_directory(entry()); }

  std::string with_directory(const std::string& directory) const {
    return local() + directory + before + end(directory.size(), local().size());
  }

  static std::string end(size_t directory_bytes, size_t directory_offset) {
    return "PK\5\6" + number_of_bytes(0, 4) + number_of_bytes(1, 2) + number_of_bytes(1, 2) +
           number_of_bytes(directory_bytes, 4) + number_of_bytes(directory_offset, 4) + number_of_bytes(0, 2);
  }

  // The end record of 64 bits and its locator, which says that the record is at `place`.
  static std::string end64(uint64_t directory_bytes, uint64_t directory_offset, uint64_t place) {
    return "PK\6\6" + number_of_bytes(44, 8) + number_of_bytes(45, 2) + number_of_bytes(45, 2) +
           number_of_bytes(0, 8) + number_of_bytes(1, 8) + number_of_bytes(1, 8) +
           number_of_bytes(directory_bytes, 8) + number_of_bytes(directory_offset, 8) + "PK\6\7" +
           number_of_bytes(0, 4) + number_of_bytes(place, 8) + number_of_bytes(1, 4);
  }

 private:
  std::string shared(size_t extra_bytes) const {
    return number_of_bytes(20, 2) + number_of_bytes(flags, 2) + number_of_bytes(method, 2) +
           number_of_bytes(0, 4) + number_of_bytes(crc, 4) + number_of_bytes(compressed_bytes, 4) +
           number_of_bytes(bytes, 4) + number_of_bytes(name.size(), 2) + number_of_bytes(extra_bytes, 2);
  }
};

class BadArchive : public BadInput {
 protected:
  int64_t words_of(const std::string& content) const {
    const auto opened = open_model(directory_.write("in", content));
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    return opened.ok() ? opened.value()->words() : 0;
  }
};

TEST_F(BadArchive, SoundArchivesAreRead) {
  EXPECT_EQ(words_of(Archive{}.text()), 3);
  Archive packed{.content = deflated(kText), .method = 8};
  EXPECT_EQ(words_of(packed.text()), 3);
  // Folders are no members.
  const Archive folder{.name = "folder/", .content = ""};
  const Archive file{.offset = folder.local().size()};
  const std::string directory = folder.entry() + file.entry();
  const std::string members = folder.local() + file.local();
  EXPECT_EQ(words_of(members + directory + Archive::end(directory.size(), members.size())), 3);
}

// Of 64 bits: what does not fit 32 bits is in the end record and in fields of the entry.
TEST_F(BadArchive, SizesOf64Bits) {
  constexpr uint64_t kElsewhere = 0xFFFFFFFF;
  Archive archive{.bytes = kElsewhere, .compressed_bytes = kElsewhere, .offset = kElsewhere};
  const uint64_t size = std::string(kText).size();
  archive.extra = number_of_bytes(9, 2) + number_of_bytes(1, 2) + "x" + number_of_bytes(1, 2) +
                  number_of_bytes(24, 2) + number_of_bytes(size, 8) + number_of_bytes(size, 8) +
                  number_of_bytes(0, 8);
  const uint64_t offset = archive.local().size(), bytes = archive.entry().size();
  archive.before = Archive::end64(bytes, offset, offset + bytes);
  const std::string whole = archive.text();
  EXPECT_EQ(words_of(whole), 3);
  const std::string end = std::to_string(whole.size() - 22);

  archive.before = Archive::end64(bytes, offset, whole.size());
  expect_error(archive.text(), "offset " + end + ": zip archive: a zip64 offset is wrong");
  archive.before = Archive::end64(bytes, offset, uint64_t{1} << 63);
  expect_error(archive.text(), "offset " + end + ": zip archive: a zip64 offset is wrong");
  archive.before = Archive::end64(bytes, offset, 1);
  expect_error(archive.text(), "offset 1: zip archive: the zip64 end record is damaged");
  for (const auto& [directory_bytes, directory_offset] :
       {std::pair(uint64_t{1} << 63, offset), {bytes, uint64_t{1} << 63}, {uint64_t{1} << 27, uint64_t{0}}}) {
    archive.before = Archive::end64(directory_bytes, directory_offset, offset + bytes);
    expect_error(archive.text(), "offset " + end + ": zip archive: the place of its directory is wrong");
  }
  // A field that is too short leaves the sizes as they are.
  archive.before.clear();
  archive.extra = number_of_bytes(1, 2) + number_of_bytes(4, 2) + number_of_bytes(0, 4);
  expect_error(archive.text(), "offset 4294967295: zip archive: member 'm' begins outside the file");
}

TEST_F(BadArchive, Directories) {
  const Archive archive;
  const std::string local = archive.local(), entry = archive.entry();
  const std::string at_entry = "offset " + std::to_string(local.size()) + ": zip archive: ";
  expect_error(local + Archive::end(0, local.size()), "the zip archive holds no file");
  expect_error(Archive::end(0, 0), "the zip archive holds no file");
  expect_error(archive.with_directory("PK\1\1" + entry.substr(4)),
               at_entry + "an entry of its directory is damaged");
  expect_error(archive.with_directory(entry.substr(0, 45)),
               at_entry + "an entry of its directory is damaged");
  expect_error(archive.with_directory(entry.substr(0, entry.size() - 1)),
               at_entry + "an entry of its directory is cut off");
  expect_error(local + entry + Archive::end(entry.size() + 1, local.size() + 22),
               "offset " + std::to_string(local.size() + entry.size()) +
                   ": zip archive: the place of its directory is wrong");
  // An end record that is cut is none.
  const std::string whole = archive.text();
  expect_error(whole.substr(0, whole.size() - 1),
               "offset " + std::to_string(whole.size() - 1) +
                   ": zip archive: its directory is missing; the file ends early");
}

TEST_F(BadArchive, Members) {
  const std::string at_entry =
      "offset " + std::to_string(Archive{}.local().size()) + ": zip archive: member 'm' ";
  const std::string start = "offset 0: zip archive: member 'm' ";
  expect_error(Archive{.flags = 1}.text(), at_entry + "is encrypted");
  expect_error(Archive{.method = 14}.text(),
               at_entry + "is compressed by method 14; only 0 (stored) and 8 (deflated) are known");
  expect_error(Archive{.offset = 5000}.text(),
               "offset 5000: zip archive: member 'm' begins outside the file");
  expect_error(Archive{.offset = 1}.text(), "offset 1: zip archive: member 'm' has a damaged header");
  expect_error(Archive{.bytes = 5000, .compressed_bytes = 5000}.text(), start + "reaches beyond the file");
  expect_error(Archive{.bytes = 5}.text(), start + "reaches beyond the file");
  const std::string path = directory_.path("in");
  directory_.write("in", Archive{}.text());
  EXPECT_EQ(open_model(path + "/n").error().message, path + "/n: the zip archive has no such member, but: m");
  EXPECT_EQ(open_model(path + "/m").value()->words(), 3);
}

TEST_F(BadArchive, ContentsThatAreOthers) {
  const Archive packed{.content = deflated(kText), .method = 8};
  const std::string after = "offset " + std::to_string(31 + packed.content.size()) + ": the compressed data ";
  Archive other = packed;
  other.crc ^= 1;
  expect_error(other.text(), after + "is damaged (its CRC-32 is wrong)");
  for (const uint64_t bytes : {packed.bytes + 1, packed.bytes - 1}) {
    other = packed;
    other.bytes = bytes;
    expect_error(other.text(), after + "has another length than the archive's directory says");
  }
  other = packed;
  other.compressed_bytes -= 3;
  expect_error(other.text(),
               "offset " + std::to_string(28 + packed.content.size()) + ": the compressed data ends early");
  other = packed;
  other.content[0] |= 6;  // a block of a type that does not exist
  expect_error(other.text(), "offset 32: the compressed data is damaged (invalid block type)");
}

// Zeros that pad a tape block, and more members, are part of a gzip file.
TEST_F(BadArchive, MembersOfAGzipFile) {
  const std::string first = testing::gzipped(directory_, "a 1 2\nb 3 4\n"),
                    second = testing::gzipped(directory_, "c 5 6\n");
  EXPECT_EQ(words_of(first + second), 3);
  EXPECT_EQ(words_of(first + std::string(300000, '\0') + second), 3);
  EXPECT_EQ(words_of(first + std::string(300000, '\0')), 2);
  expect_error(first + std::string(7, '\0') + "x", "offset " + std::to_string(first.size() + 7) +
                                                       ": the compressed data is followed by other data");
}

}  // namespace
}  // namespace glove
