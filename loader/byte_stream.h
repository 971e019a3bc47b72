// Bytes in order: a range of a file, unchanged or decompressed: by zlib, or by libbz2, liblzma and libzstd
// where the system has them, which are opened when they are first needed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/status.h"

namespace glove {

// Returns the number of `width` bytes at an offset. REQUIRES: they are there.
inline uint64_t little_endian(std::string_view bytes, size_t offset, size_t width) {
  uint64_t value = 0;
  for (size_t i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[offset + i]);
  return value;
}

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

// How the bytes of a file are compressed; kDeflate only inside a zip archive.
enum class Compression { kDeflate, kGzip, kBzip2, kXz, kZstd };

// Returns how a file that begins with these bytes, at least 9 unless it has fewer, is compressed, if it is.
std::optional<Compression> compression_of(std::string_view head);

// Returns the path without the extension that says that a file is compressed as one stream: .gz, .bz2, .xz or
// .zst.
std::string_view without_compression(std::string_view path);

// What a codec has left to read and to write, fewer than 2^32 bytes each, and what it has found.
struct CodecStep {
  std::span<const char> in;
  std::span<char> out;
  bool ended = false;      // `in` begins after the end of the stream
  std::string fault = {};  // what is wrong with the data; empty: nothing
};

// Decompresses from `in` to `out` as far as it can, and removes from both what is done. Throws
// std::bad_alloc.
using Codec = std::function<void(CodecStep& step)>;

// Returns a codec at the beginning of a stream. The error for a missing library is about the file at `path`.
Result<Codec> make_codec(Compression compression, const std::string& path);

// The length and CRC-32 that the content of raw deflate data must have.
struct DeflateTrailer {
  int64_t bytes = 0;
  uint32_t crc = 0;
};

// Returns the content of bytes [begin, end): of consecutive gzip members, or streams or frames of another
// compression, or of one raw deflate stream with this trailer.
std::unique_ptr<ByteStream> unpacked_stream(std::shared_ptr<const File> file, int64_t begin, int64_t end,
                                            Compression compression, DeflateTrailer trailer = {});

}  // namespace glove
