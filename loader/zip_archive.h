// The directory of a zip archive: enough of it to read one stored or deflated member.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace glove {

struct ZipMember {
  std::string name;
  int64_t offset = 0;  // of its data in the archive
  int64_t compressed_bytes = 0;
  int64_t bytes = 0;
  uint32_t crc = 0;
  bool deflated = false;
};

// The files (not the folders) in the archive, in its order, with zip64 sizes. Offsets are those of the local
// headers until locate_zip_member() has followed them.
Result<std::vector<ZipMember>> list_zip_members(const File& file);

// Sets `member.offset` to its data and checks that it lies in the file.
Status locate_zip_member(const File& file, ZipMember& member);

}  // namespace glove
