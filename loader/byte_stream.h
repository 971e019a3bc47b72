// Bytes in order: a range of a file, unchanged or decompressed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/file.h"
#include "base/status.h"

namespace glove {

// One thread at a time may use it.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills `into`. Returns fewer bytes only at the end. Errors name the file and, for compressed data, the
  // file offset at which decompression stopped.
  virtual Result<size_t> read(std::span<char> into) = 0;
  // Returns how far the file on disk has been read, for progress.
  virtual int64_t file_position() const = 0;
};

// Returns bytes [begin, end) of the file unchanged.
std::unique_ptr<ByteStream> plain_stream(std::shared_ptr<const File> file, int64_t begin, int64_t end);

// Returns the decompressed content of the consecutive gzip members in bytes [begin, end).
std::unique_ptr<ByteStream> gzip_stream(std::shared_ptr<const File> file, int64_t begin, int64_t end);

// The length and CRC-32 that the result of raw deflate data must have.
struct DeflateTrailer {
  int64_t bytes;
  uint32_t crc;
};
std::unique_ptr<ByteStream> deflate_stream(std::shared_ptr<const File> file, int64_t begin, int64_t end,
                                           DeflateTrailer trailer);

}  // namespace glove
