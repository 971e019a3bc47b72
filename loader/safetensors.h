// The safetensors container: eight bytes with the header's length, a JSON header, and the tensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "loader/byte_stream.h"

namespace glove {

struct Tensor {
  std::string dtype;  // "F32", "I8", ...
  std::vector<int64_t> shape;
  int64_t offset = 0;  // in the file
  int64_t bytes = 0;
};

// What a file states about its tensors, checked against its length.
struct SafetensorsHeader {
  std::map<std::string, Tensor, std::less<>> tensors;
  std::map<std::string, std::string, std::less<>> metadata;
  int64_t data_offset = 0;  // offset of the first tensor, which is also the length of the whole header
  int64_t end = 0;  // end of the last tensor, which is also the length of the file that the header describes

  const Tensor* find(std::string_view name) const;
  // Returns the metadata's value, or an empty string.
  std::string_view metadata_value(std::string_view key) const;
};

// Returns the bytes per element of this type; 0 for a type that this project does not support.
int64_t safetensors_type_bytes(std::string_view dtype);

// Whether a file with these first bytes can be a safetensors file: a possible length, then '{'.
bool looks_like_safetensors(std::string_view head);

// Whether such a file could have been one before it was damaged or truncated: the high bytes of the length
// are 0, and at most one of them is wrong.
bool may_have_been_safetensors(std::string_view head);

// Reads and checks the header: JSON of the right form, every tensor's length consistent with its type and
// shape, and the tensors covering the rest of the file without holes or overlaps. `raw_header`, if given,
// receives the bytes of the whole header, including the length. `source` begins the messages.
Result<SafetensorsHeader> read_safetensors_header(const std::string& source, const File& file,
                                                  std::string* raw_header = nullptr);

// The same from a stream that is positioned at its first byte. `file_bytes` is the length of the content, or
// -1 if it is unknown; the header is then not compared with it.
Result<SafetensorsHeader> read_safetensors_header(const std::string& source, ByteStream& stream,
                                                  int64_t file_bytes, std::string* raw_header = nullptr);

}  // namespace glove
