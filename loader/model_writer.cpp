#include "loader/model_writer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "loader/crc32.h"
#include "loader/file.h"
#include "loader/model_format.h"
#include "loader/quantize.h"

namespace glove {
namespace {

// A stretch of a file that grows at its end, with its checksum.
class FileSink final : public ByteSink {
 public:
  FileSink(File& file, int64_t begin) : file_(file), begin_(begin), end_(begin) {}

  Status append(std::span<const char> bytes) override {
    crc_ = crc32_continue(crc_, bytes);
    // Small pieces (a tile of codes) are gathered.
    if (buffer_.size() + bytes.size() > kBufferBytes) GLOVE_RETURN_IF_ERROR(flush());
    if (bytes.size() >= kBufferBytes) {
      GLOVE_RETURN_IF_ERROR(file_.write_at(end_, bytes));
      end_ += static_cast<int64_t>(bytes.size());
      return {};
    }
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    return {};
  }
  Status flush() {
    GLOVE_RETURN_IF_ERROR(file_.write_at(end_, buffer_));
    end_ += static_cast<int64_t>(buffer_.size());
    buffer_.clear();
    return {};
  }

  int64_t begin() const { return begin_; }
  int64_t bytes() const { return end_ + static_cast<int64_t>(buffer_.size()) - begin_; }
  uint32_t crc() const { return crc_; }

 private:
  static constexpr size_t kBufferBytes = size_t{1} << 18;
  File& file_;
  int64_t begin_;
  int64_t end_;
  uint32_t crc_ = 0;
  std::vector<char> buffer_;
};

template <class T>
std::span<const char> bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

std::string shape_text(std::initializer_list<int64_t> shape) {
  std::string text = "[";
  for (const int64_t extent : shape) text += (text.size() > 1 ? "," : "") + std::to_string(extent);
  return text + "]";
}

// The header's JSON as it grows, and the place in the file where the next tensor goes.
class Layout {
 public:
  int64_t end() const { return end_; }

  // A tensor of `bytes` at the end. REQUIRES: after pad() for all but the first.
  void add(std::string_view name, std::string_view dtype, const std::string& shape, int64_t bytes,
           uint32_t crc) {
    const int64_t begin = end_ - kModelHeaderBytes;
    tensors_ += ",\"" + std::string(name) + "\":{\"dtype\":\"" + std::string(dtype) +
                "\",\"shape\":" + shape + ",\"data_offsets\":[" + std::to_string(begin) + "," +
                std::to_string(begin + bytes) + "]}";
    if (!name.starts_with(kPaddingPrefix))
      checksums_ += ",\"" + std::string(kTensorChecksumPrefix) + std::string(name) + "\":\"" +
                    checksum_text(crc) + "\"";
    end_ += bytes;
  }

  // Zeros up to the next aligned place, as a tensor of their own: the container allows no holes.
  Status pad(File& file) {
    const int64_t count = (kTensorAlignment - end_ % kTensorAlignment) % kTensorAlignment;
    if (count == 0) return {};
    const std::array<char, kTensorAlignment> zeros{};
    GLOVE_RETURN_IF_ERROR(file.write_at(end_, std::span(zeros).first(static_cast<size_t>(count))));
    add(std::string(kPaddingPrefix) + std::to_string(paddings_++), "U8", shape_text({count}), count, 0);
    return {};
  }

  // The whole header: length, JSON, spaces.
  std::string header() const {
    std::string text(8, '\0');
    const uint64_t length = kModelHeaderBytes - 8;
    for (size_t i = 0; i < 8; ++i) text[i] = static_cast<char>(length >> (8 * i) & 0xFF);
    text += "{\"__metadata__\":{\"" + std::string(kVersionKey) + "\":\"" + std::to_string(kFormatMajor) +
            "." + std::to_string(kFormatMinor) + "\",\"" + std::string(kHeaderChecksumKey) +
            "\":\"00000000\"" + checksums_ + "}" + tensors_ + "}";
    text.resize(kModelHeaderBytes, ' ');
    const std::string checksum = header_checksum(text);
    return text.replace(text.find("00000000"), 8, checksum);
  }

 private:
  std::string tensors_;
  std::string checksums_;
  int64_t end_ = kModelHeaderBytes;
  int paddings_ = 0;
};

}  // namespace

struct ModelWriter::State {
  std::string path;
  std::string temporary_path;
  File file;
  File spill;  // codes wait here: how long `vectors` gets is not known before the last row
  FileSink vectors;
  FileSink codes;
  ModelAssembler assembler;
  Layout layout;

  State(std::string final_path, std::string temporary, File output, File codes_file)
      : path(std::move(final_path)),
        temporary_path(std::move(temporary)),
        file(std::move(output)),
        spill(std::move(codes_file)),
        vectors(file, kModelHeaderBytes),
        codes(spill, 0),
        assembler(vectors, codes) {}

  Status add_tensor(std::string_view name, std::string_view dtype, int64_t length,
                    std::span<const char> bytes) {
    GLOVE_RETURN_IF_ERROR(layout.pad(file));
    FileSink sink(file, layout.end());
    GLOVE_RETURN_IF_ERROR(sink.append(bytes));
    GLOVE_RETURN_IF_ERROR(sink.flush());
    layout.add(name, dtype, shape_text({length}), sink.bytes(), sink.crc());
    return {};
  }

  Status add_codes(int64_t rows, int64_t dims) {
    GLOVE_RETURN_IF_ERROR(layout.pad(file));
    GLOVE_RETURN_IF_ERROR(file.copy_from(spill, 0, layout.end(), codes.bytes()));
    layout.add(kCodes, "I8",
               shape_text({tile_count(rows), component_groups(dims), kTileRows, kTileComponents}),
               codes.bytes(), codes.crc());
    return {};
  }
};

ModelWriter::ModelWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}

ModelWriter::~ModelWriter() {
  if (!state_->temporary_path.empty()) ::unlink(state_->temporary_path.c_str());
}

Result<std::unique_ptr<ModelWriter>> ModelWriter::create(const std::string& path) {
  const std::string directory = directory_of(path);
  std::string temporary = path + "." + std::to_string(::getpid()) + ".tmp";
  ::unlink(temporary.c_str());  // of an earlier process of this number that was killed
  GLOVE_ASSIGN_OR_RETURN(File file, File::create(temporary));
  auto spill = File::create_unnamed(directory);
  if (!spill.ok()) {
    ::unlink(temporary.c_str());
    return spill.error();
  }
  return std::unique_ptr<ModelWriter>(new ModelWriter(
      std::make_unique<State>(path, std::move(temporary), std::move(file), std::move(spill).value())));
}

ModelAssembler& ModelWriter::assembler() {
  return state_->assembler;
}

int64_t ModelWriter::bytes_written() const {
  return state_->layout.end();
}

Status ModelWriter::commit() {
  State& state = *state_;
  const ModelAssembler& rows = state.assembler;
  const int64_t count = rows.rows();
  if (count == 0) return {ErrorCode::kCorrupt, "there is no row to write to '" + state.path + "'"};
  GLOVE_RETURN_IF_ERROR(state.assembler.finish());
  GLOVE_RETURN_IF_ERROR(state.vectors.flush());
  GLOVE_RETURN_IF_ERROR(state.codes.flush());
  state.layout.add(kVectors, "F32", shape_text({count, rows.dims()}), state.vectors.bytes(),
                   state.vectors.crc());
  GLOVE_RETURN_IF_ERROR(state.add_tensor(kNormsSquared, "F64", count, bytes_of(rows.norms_squared())));
  GLOVE_RETURN_IF_ERROR(state.add_codes(count, rows.dims()));
  GLOVE_RETURN_IF_ERROR(state.add_tensor(kScales, "F32", count, bytes_of(rows.scales())));
  GLOVE_RETURN_IF_ERROR(state.add_tensor(kResiduals, "F32", count, bytes_of(rows.residuals())));
  const WordSet& words = rows.words();
  const std::vector<int32_t> sorted = words.sorted_ids();
  GLOVE_RETURN_IF_ERROR(
      state.add_tensor(kWordBytes, "U8", static_cast<int64_t>(words.bytes().size()), words.bytes()));
  GLOVE_RETURN_IF_ERROR(state.add_tensor(kWordOffsets, "I64", count + 1, bytes_of(words.offsets())));
  GLOVE_RETURN_IF_ERROR(
      state.add_tensor(kSortedIds, "I32", count, bytes_of(std::span<const int32_t>(sorted))));
  GLOVE_RETURN_IF_ERROR(state.file.write_at(0, state.layout.header()));
  GLOVE_RETURN_IF_ERROR(state.file.flush_to_disk());
  if (std::rename(state.temporary_path.c_str(), state.path.c_str()) != 0)
    return system_error("rename '" + state.temporary_path + "' to", state.path);
  state.temporary_path.clear();
  return flush_directory(directory_of(state.path));
}

}  // namespace glove
