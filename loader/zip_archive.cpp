#include "loader/zip_archive.h"

#include <algorithm>
#include <string_view>

#include "base/concat.h"
#include "loader/byte_stream.h"

namespace glove {
namespace {

constexpr size_t kEndRecordBytes = 22;
constexpr size_t kEntryBytes = 46;
constexpr size_t kLocalHeaderBytes = 30;
constexpr uint32_t kSaturated32 = 0xFFFFFFFFu;
constexpr int64_t kMaxDirectoryBytes = int64_t{1} << 26;

Error corrupt(const File& file, int64_t offset, const std::string& what) {
  return {ErrorCode::kCorrupt, concat(file.path(), ": offset ", offset, ": zip archive: ", what)};
}

Result<std::string> read_exactly(const File& file, int64_t offset, int64_t count) {
  std::string bytes(static_cast<size_t>(count), '\0');
  GLOVE_ASSIGN_OR_RETURN(const size_t got, file.read_at(offset, bytes));
  if (got != bytes.size()) return corrupt(file, offset, "the file ends early");
  return bytes;
}

struct Directory {
  int64_t offset;
  int64_t bytes;
};

Result<Directory> find_directory(const File& file) {
  GLOVE_ASSIGN_OR_RETURN(const int64_t size, file.size());
  const int64_t tail_bytes = std::min<int64_t>(size, static_cast<int64_t>(kEndRecordBytes) + 65535);
  GLOVE_ASSIGN_OR_RETURN(const std::string tail, read_exactly(file, size - tail_bytes, tail_bytes));
  const size_t at = tail.rfind("PK\5\6");
  if (at == std::string::npos || at + kEndRecordBytes > tail.size())
    return corrupt(file, size, "its directory is missing; the file ends early");
  const int64_t end_record = size - tail_bytes + static_cast<int64_t>(at);
  Directory directory{static_cast<int64_t>(little_endian(tail, at + 16, 4)),
                      static_cast<int64_t>(little_endian(tail, at + 12, 4))};
  constexpr int64_t kLocatorBytes = 20;
  constexpr int64_t kEnd64Bytes = 56;
  if (end_record >= kLocatorBytes) {
    GLOVE_ASSIGN_OR_RETURN(const std::string locator,
                           read_exactly(file, end_record - kLocatorBytes, kLocatorBytes));
    if (locator.starts_with("PK\6\7")) {
      const auto end64 = static_cast<int64_t>(little_endian(locator, 8, 8));
      if (end64 < 0 || end64 > size - kEnd64Bytes)
        return corrupt(file, end_record, "a zip64 offset is wrong");
      GLOVE_ASSIGN_OR_RETURN(const std::string record, read_exactly(file, end64, kEnd64Bytes));
      if (!record.starts_with("PK\6\6")) return corrupt(file, end64, "the zip64 end record is damaged");
      directory = {static_cast<int64_t>(little_endian(record, 48, 8)),
                   static_cast<int64_t>(little_endian(record, 40, 8))};
    }
  }
  if (directory.offset < 0 || directory.bytes < 0 || directory.bytes > kMaxDirectoryBytes ||
      directory.offset > size - directory.bytes)
    return corrupt(file, end_record, "the place of its directory is wrong");
  return directory;
}

// Replaces sizes that do not fit into 32 bits with those in the entry's zip64 field.
void apply_zip64(std::string_view extra, ZipMember& member) {
  while (extra.size() >= 4) {
    const uint64_t kind = little_endian(extra, 0, 2);
    const size_t length = std::min<size_t>(little_endian(extra, 2, 2), extra.size() - 4);
    std::string_view field = extra.substr(4, length);
    extra.remove_prefix(4 + length);
    if (kind != 1) continue;
    for (int64_t* value : {&member.bytes, &member.compressed_bytes, &member.offset}) {
      if (*value != kSaturated32 || field.size() < 8) continue;
      *value = static_cast<int64_t>(little_endian(field, 0, 8));
      field.remove_prefix(8);
    }
  }
}

}  // namespace

Result<std::vector<ZipMember>> list_zip_members(const File& file) {
  GLOVE_ASSIGN_OR_RETURN(const Directory directory, find_directory(file));
  GLOVE_ASSIGN_OR_RETURN(const std::string bytes, read_exactly(file, directory.offset, directory.bytes));
  std::vector<ZipMember> members;
  for (size_t at = 0; at < bytes.size();) {
    const int64_t place = directory.offset + static_cast<int64_t>(at);
    if (bytes.size() - at < kEntryBytes || bytes.compare(at, 4, "PK\1\2") != 0)
      return corrupt(file, place, "an entry of its directory is damaged");
    const size_t name_bytes = little_endian(bytes, at + 28, 2);
    const size_t extra_bytes = little_endian(bytes, at + 30, 2);
    const size_t entry_bytes = kEntryBytes + name_bytes + extra_bytes + little_endian(bytes, at + 32, 2);
    if (entry_bytes > bytes.size() - at) return corrupt(file, place, "an entry of its directory is cut off");
    ZipMember member;
    member.name = bytes.substr(at + kEntryBytes, name_bytes);
    member.crc = static_cast<uint32_t>(little_endian(bytes, at + 16, 4));
    member.compressed_bytes = static_cast<int64_t>(little_endian(bytes, at + 20, 4));
    member.bytes = static_cast<int64_t>(little_endian(bytes, at + 24, 4));
    member.offset = static_cast<int64_t>(little_endian(bytes, at + 42, 4));
    apply_zip64(std::string_view(bytes).substr(at + kEntryBytes + name_bytes, extra_bytes), member);
    const uint64_t flags = little_endian(bytes, at + 8, 2);
    const uint64_t method = little_endian(bytes, at + 10, 2);
    at += entry_bytes;
    if (member.name.ends_with('/')) continue;
    if ((flags & 1) != 0) return corrupt(file, place, "member '" + escaped(member.name) + "' is encrypted");
    if (method != 0 && method != 8)
      return corrupt(file, place,
                     concat("member '", escaped(member.name), "' is compressed by method ", method,
                            "; only 0 (stored) and 8 (deflated) are known"));
    member.deflated = method == 8;
    members.push_back(std::move(member));
  }
  return members;
}

Status locate_zip_member(const File& file, ZipMember& member) {
  GLOVE_ASSIGN_OR_RETURN(const int64_t size, file.size());
  if (member.offset < 0 || member.offset > size - static_cast<int64_t>(kLocalHeaderBytes))
    return corrupt(file, member.offset, "member '" + escaped(member.name) + "' begins outside the file");
  GLOVE_ASSIGN_OR_RETURN(const std::string header, read_exactly(file, member.offset, kLocalHeaderBytes));
  if (!header.starts_with("PK\3\4"))
    return corrupt(file, member.offset, "member '" + escaped(member.name) + "' has a damaged header");
  const int64_t data = member.offset + static_cast<int64_t>(kLocalHeaderBytes + little_endian(header, 26, 2) +
                                                            little_endian(header, 28, 2));
  if (member.compressed_bytes < 0 || member.bytes < 0 || data > size - member.compressed_bytes ||
      (!member.deflated && member.bytes != member.compressed_bytes))
    return corrupt(file, member.offset, "member '" + escaped(member.name) + "' reaches beyond the file");
  member.offset = data;
  return {};
}

}  // namespace glove
