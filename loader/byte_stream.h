// Bytes in order: a stretch of a file, as it lies there or decompressed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/file.h"
#include "base/status.h"

namespace glove {

// One thread at a time.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills `into`; fewer bytes only at the end. Errors name the file and, for compressed data, the
  // offset in the file at which decompression stopped.
  virtual Result<size_t> read(std::span<char> into) = 0;
  // How far the file on disk has been read: for progress.
  virtual int64_t file_position() const = 0;
};

// Bytes [begin, end) of the file as they are.
std::unique_ptr<ByteStream> plain_stream(std::shared_ptr<const File> file, int64_t begin, int64_t end);

// The gzip members, one after another, that bytes [begin, end) hold.
std::unique_ptr<ByteStream> gzip_stream(std::shared_ptr<const File> file, int64_t begin, int64_t end);

// Raw deflate data whose result must have this length and CRC-32.
struct DeflateTrailer {
  int64_t bytes;
  uint32_t crc;
};
std::unique_ptr<ByteStream> deflate_stream(std::shared_ptr<const File> file, int64_t begin, int64_t end,
                                           DeflateTrailer trailer);

}  // namespace glove
