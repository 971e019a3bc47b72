// The libraries that decompress files.
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <vector>

#include "base/concat.h"
#include "base/system_calls.h"
#include "loader/byte_stream.h"

namespace glove {
namespace {

// In the order of Compression.
struct CompressionKind {
  const char* name;
  std::string_view extension;
  std::string_view magic;
  const char* library;
  const char* other_library;  // the same by another name
  const char* program;        // that decompresses a file
};

constexpr CompressionKind kCompressions[] = {
    {"", "", "", "", "", ""},
    {"gzip", ".gz", "\x1F\x8B", "", "", ""},
    {"bzip2", ".bz2", "BZh", "libbz2.so.1.0", "libbz2.so.1", "bunzip2"},
    {"xz", ".xz", "\xFD\x37zXZ", "liblzma.so.5", "/usr/lib/liblzma.5.dylib", "unxz"},
    {"zstd", ".zst", "\x28\xB5\x2F\xFD", "libzstd.so.1", "/opt/homebrew/lib/libzstd.1.dylib", "unzstd"}};

// What bzlib.h declares as bz_stream, and the beginning of lzma_stream.
struct Bzip2Stream {
  char* next_in;
  unsigned avail_in, total_in_low, total_in_high;
  char* next_out;
  unsigned avail_out, total_out_low, total_out_high;
  void *state, *allocate, *free, *opaque;
};
struct XzStream {
  const uint8_t* next_in;
  size_t avail_in;
  uint64_t total_in;
  uint8_t* next_out;
  size_t avail_out;
  uint64_t total_out;
  void* others[16];  // at least as long as the rest
};
// ZSTD_inBuffer and ZSTD_outBuffer.
template <class Bytes>
struct ZstdBuffer {
  Bytes* data;
  size_t size;
  size_t position;
};

// Opens the library and returns its functions of these names.
Result<std::vector<void*>> functions_of(const CompressionKind& kind, const std::string& path,
                                        std::initializer_list<const char*> names) {
  for (const char* const library : {kind.library, kind.other_library}) {
    std::vector<void*> functions;
    for (const char* const name : names)
      if (const auto found = system_calls::library_function(library, name); found.ok())
        functions.push_back(found.value());
    if (functions.size() == names.size()) return functions;
  }
  return make_error(ErrorCode::kCorrupt, path, ": the file is compressed with ", kind.name,
                    "; unpack it with ", kind.program, ", or on Linux install ", kind.library);
}

// The results of a library's functions; 0 is success.
struct CodecResults {
  int ended, no_memory, no_progress;
};

// Returns a codec of a library that works like zlib. `started`: what the function that begins has returned.
template <class Stream, class Run>
Codec stream_codec(std::shared_ptr<Stream> stream, int started, Run run, CodecResults results) {
  if (started != 0) throw std::bad_alloc();
  return [stream, run, results](CodecStep& step) {
    stream->next_in = reinterpret_cast<decltype(stream->next_in)>(const_cast<char*>(step.in.data()));
    stream->avail_in = static_cast<decltype(stream->avail_in)>(step.in.size());
    stream->next_out = reinterpret_cast<decltype(stream->next_out)>(step.out.data());
    stream->avail_out = static_cast<decltype(stream->avail_out)>(step.out.size());
    const int result = run(stream.get());
    if (result == results.no_memory) throw std::bad_alloc();
    step.in = step.in.last(stream->avail_in);
    step.out = step.out.last(stream->avail_out);
    step.ended = result == results.ended;
    if (result == 0 || step.ended || result == results.no_progress) return;
    step.fault = concat("error ", result);
    if constexpr (requires { stream->msg; }) step.fault = stream->msg != nullptr ? stream->msg : "zlib error";
  };
}

// Returns the stream of a library, all zeros; `end` frees what the library allocates for it.
template <class Stream, class End>
std::shared_ptr<Stream> make_stream(End end) {
  return {new Stream{}, [end](Stream* stream) {
            end(stream);
            delete stream;
          }};
}

Codec zlib_codec(int window_bits) {
  const auto stream = make_stream<z_stream>(inflateEnd);
  const auto run = [](z_stream* running) { return inflate(running, Z_NO_FLUSH); };
  return stream_codec(stream, inflateInit2(stream.get(), window_bits), run,
                      {Z_STREAM_END, Z_MEM_ERROR, Z_BUF_ERROR});
}

Result<Codec> bzip2_codec(const CompressionKind& kind, const std::string& path) {
  GLOVE_ASSIGN_OR_RETURN(
      const auto found,
      functions_of(kind, path, {"BZ2_bzDecompressInit", "BZ2_bzDecompress", "BZ2_bzDecompressEnd"}));
  const auto start = reinterpret_cast<int (*)(Bzip2Stream*, int, int)>(found[0]);
  const auto run = reinterpret_cast<int (*)(Bzip2Stream*)>(found[1]);
  const auto stream = make_stream<Bzip2Stream>(reinterpret_cast<int (*)(Bzip2Stream*)>(found[2]));
  return stream_codec(stream, start(stream.get(), 0, 0), run, {4, -3, 0});
}

Result<Codec> xz_codec(const CompressionKind& kind, const std::string& path) {
  GLOVE_ASSIGN_OR_RETURN(const auto found,
                         functions_of(kind, path, {"lzma_stream_decoder", "lzma_code", "lzma_end"}));
  const auto start = reinterpret_cast<int (*)(XzStream*, uint64_t, uint32_t)>(found[0]);
  const auto code = reinterpret_cast<int (*)(XzStream*, int)>(found[1]);
  const auto stream = make_stream<XzStream>(reinterpret_cast<void (*)(XzStream*)>(found[2]));
  const auto run = [code](XzStream* running) { return code(running, 0); };
  return stream_codec(stream, start(stream.get(), UINT64_MAX, 0), run, {1, 5, 10});
}

// Accepts windows of up to 2 GiB (zstd --long=31), of which only what the content fills is used.
Result<Codec> zstd_codec(const CompressionKind& kind, const std::string& path) {
  constexpr int kWindowLogMax = 100;  // the parameter
  constexpr size_t kNoMemory = size_t{0} - 64;
  GLOVE_ASSIGN_OR_RETURN(const auto found,
                         functions_of(kind, path,
                                      {"ZSTD_createDCtx", "ZSTD_freeDCtx", "ZSTD_DCtx_setParameter",
                                       "ZSTD_decompressStream", "ZSTD_isError", "ZSTD_getErrorName"}));
  const std::shared_ptr<void> context(reinterpret_cast<void* (*)()>(found[0])(),
                                      reinterpret_cast<size_t (*)(void*)>(found[1]));
  if (context == nullptr) throw std::bad_alloc();
  reinterpret_cast<size_t (*)(void*, int, int)>(found[2])(context.get(), kWindowLogMax, 31);
  const auto run = reinterpret_cast<size_t (*)(void*, ZstdBuffer<char>*, ZstdBuffer<const char>*)>(found[3]);
  const auto is_error = reinterpret_cast<unsigned (*)(size_t)>(found[4]);
  const auto error_name = reinterpret_cast<const char* (*)(size_t)>(found[5]);
  return Codec([=](CodecStep& step) {
    ZstdBuffer<char> out = {step.out.data(), step.out.size(), 0};
    ZstdBuffer<const char> in = {step.in.data(), step.in.size(), 0};
    const size_t result = run(context.get(), &out, &in);
    if (result == kNoMemory) throw std::bad_alloc();
    step.in = step.in.subspan(in.position);
    step.out = step.out.subspan(out.position);
    step.ended = result == 0;
    if (is_error(result) != 0) step.fault = error_name(result);
  });
}

}  // namespace

std::optional<Compression> compression_of(std::string_view head) {
  // What may precede zstd's own frames.
  if (head.size() > 4 && (head[0] & 0xF0) == 0x50 && head.substr(1, 3) == "\x2A\x4D\x18")
    return Compression::kZstd;
  // Words may begin with BZh, but not with a block or an end after it.
  const std::string_view after = head.substr(std::min<size_t>(head.size(), 5), 4);
  for (size_t i = 1; i < std::size(kCompressions); ++i)
    if (head.starts_with(kCompressions[i].magic) &&
        (static_cast<Compression>(i) != Compression::kBzip2 || after == "AY&S" || after == "rE8P"))
      return static_cast<Compression>(i);
  return std::nullopt;
}

std::string_view without_compression(std::string_view path) {
  for (const CompressionKind& kind : kCompressions)
    if (path.size() > kind.extension.size() && path.ends_with(kind.extension) && !kind.extension.empty())
      return path.substr(0, path.size() - kind.extension.size());
  return path;
}

Result<Codec> make_codec(Compression compression, const std::string& path) {
  const CompressionKind& kind = kCompressions[static_cast<size_t>(compression)];
  switch (compression) {
    case Compression::kBzip2:
      return bzip2_codec(kind, path);
    case Compression::kXz:
      return xz_codec(kind, path);
    case Compression::kZstd:
      return zstd_codec(kind, path);
    default:
      return zlib_codec(compression == Compression::kGzip ? 16 + MAX_WBITS : -MAX_WBITS);
  }
}

}  // namespace glove
