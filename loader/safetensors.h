// The safetensors container: eight bytes of header length, a JSON header, the tensors.
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

// What a file says about its tensors, checked against its length.
struct SafetensorsHeader {
  std::map<std::string, Tensor, std::less<>> tensors;
  std::map<std::string, std::string, std::less<>> metadata;
  int64_t data_offset = 0;  // where the first tensor begins; also the length of the whole header
  int64_t end = 0;          // where the last tensor ends; also the length of the file that it describes

  const Tensor* find(std::string_view name) const;
  // The metadata's value, or an empty string.
  std::string_view metadata_value(std::string_view key) const;
};

// Bytes an element of this type takes; 0 for a type that this project does not know.
int64_t safetensors_type_bytes(std::string_view dtype);

// Whether the first bytes of a file may begin a safetensors file: a possible length, then '{'.
bool looks_like_safetensors(std::string_view head);

// Whether they may have begun one before it was damaged or cut: the high bytes of the length are 0, one of
// them may be wrong.
bool may_have_been_safetensors(std::string_view head);

// Reads and checks the header: JSON of the right shape, every tensor's length right for its type and shape,
// the tensors covering the rest of the file without holes or overlaps. `raw_header`, if given, gets the bytes
// of the whole header, length included. `source` begins the messages.
Result<SafetensorsHeader> read_safetensors_header(const std::string& source, const File& file,
                                                  std::string* raw_header = nullptr);

// The same from a stream that stands at its first byte. `file_bytes`: how many it has, or -1 if that is not
// known; what the header describes is not compared with it then.
Result<SafetensorsHeader> read_safetensors_header(const std::string& source, ByteStream& stream,
                                                  int64_t file_bytes, std::string* raw_header = nullptr);

}  // namespace glove
