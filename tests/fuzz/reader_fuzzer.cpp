// Reads any bytes as a file of one format (kFuzzedFormat): the result is an error, or a model whose rows
// are then all read. "wrapped" detects the format by content, and so tests compressed data
// (of bzip2, xz and zstd if their libraries are there). An input of
// "text-matrix" is its word list, NUL, and the matrix.
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "loader/byte_stream.h"
#include "loader/format.h"
#include "loader/model_format.h"
#include "loader/open.h"
#include "model/model.h"

extern const char* const kFuzzedFormat;  // CMakeLists.txt defines it in each program

namespace {

// A file in memory with a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (descriptor_ < 0 ||
        ::write(descriptor_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      std::abort();
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// Whether a file may ask for a large window, which is not touched, but only "wrapped" may allocate.
bool has_window(std::string_view bytes) {
  const auto compression = glove::compression_of(bytes);
  return compression == glove::Compression::kXz || compression == glove::Compression::kZstd;
}

// Puts the right checksum into a model file's header, because a fuzzer would hardly find it.
std::string with_header_checksum(std::string bytes) {
  if (bytes.size() < 8) return bytes;
  uint64_t length = 0;
  for (size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  if (length > bytes.size() - 8) return bytes;
  const std::string header = bytes.substr(0, 8 + length);
  const std::string checksum = glove::header_checksum(header);
  const std::string key = "\"" + std::string(glove::kHeaderChecksumKey) + "\":\"";
  if (!checksum.empty()) bytes.replace(header.find(key) + key.size(), 8, checksum);
  return bytes;
}

// Reads everything; the sum prevents the compiler from removing the reads.
double read_all(const glove::Model& model) {
  double sum = 0;
  for (int64_t id = 0; id < model.words(); ++id) {
    sum += static_cast<double>(model.vector(id)[model.dims() - 1]) + model.norm_squared(id);
    const std::string_view word = model.vocabulary().word(id);
    sum += static_cast<double>(model.vocabulary().find(word).value_or(0)) + (word.empty() ? 0 : word.back());
  }
  std::vector<float> made;
  for (const std::string_view word : {"unknown", "\xE6\x97\xA5\x80"})
    sum += find_word(model, word, made).norm_squared;
  for (const glove::ModelPart& part : model.parts())
    for (const glove::CodeLevel& level : part.levels) {
      for (int64_t row = 0; row < part.rows; ++row)
        sum += static_cast<double>(level.scales[static_cast<size_t>(row)] +
                                   level.residuals[static_cast<size_t>(row)]);
      for (const int8_t code : level.codes) sum += code;
    }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view fuzzed = kFuzzedFormat;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (fuzzed == "glove-model") bytes = with_header_checksum(std::move(bytes));
  const size_t end_of_list = fuzzed == "text-matrix" ? bytes.find('\0') : std::string::npos;
  const std::string_view listed = std::string_view(bytes).substr(0, end_of_list);
  const std::string_view content =
      std::string_view(bytes).substr(end_of_list == std::string::npos ? 0 : end_of_list + 1);
  if (fuzzed != "wrapped" && (has_window(listed) || has_window(content))) return 0;
  const MemoryFile list(listed);
  const MemoryFile file(content);
  // As many words as the samples have rows; formats that need no list ignore them.
  static const MemoryFile words("the\nof\nnew york\n");
  glove::OpenOptions options;
  options.threads = 1;
  options.verify = fuzzed == "glove-model" && size % 2 == 0;
  for (const glove::Format& format : glove::formats())
    if (fuzzed == format.name && format.takes_words) options.read.words_path = words.path();
  if (fuzzed != "wrapped") options.read.format = fuzzed;
  if (fuzzed == "text-matrix") options.read.words_path = list.path();
  options.read.skip_invalid = size % 3 == 1;
  if (size % 5 == 1) options.read.encoding = "gbk";
  const auto model = glove::open_model(file.path(), options);
  if (model.ok()) {
    static volatile double sink;
    sink = read_all(*model.value());
  } else if (model.error().message.empty()) {
    std::abort();
  }
  return 0;
}
