// The directory of a zip archive, as far as needed to read one stored or deflated member.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace glove {

struct ZipMember {
  std::string name;
  int64_t offset = 0;  // of its data within the archive
  int64_t compressed_bytes = 0;
  int64_t bytes = 0;
  uint32_t crc = 0;
  bool deflated = false;
};

// Returns the files (not the directories) in the archive, in its order, with zip64 sizes. Offsets are those
// of the local headers until locate_zip_member() has been called.
Result<std::vector<ZipMember>> list_zip_members(const File& file);

// Sets `member.offset` to the member's data, and checks that the data is inside the file.
Status locate_zip_member(const File& file, ZipMember& member);

}  // namespace glove
