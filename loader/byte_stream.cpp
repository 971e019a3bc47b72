#include "loader/byte_stream.h"

#include <zlib.h>

#include <algorithm>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "base/crc32.h"

namespace glove {
namespace {

class PlainStream final : public ByteStream {
 public:
  PlainStream(std::shared_ptr<const File> file, int64_t begin, int64_t end)
      : file_(std::move(file)), position_(begin), end_(end) {}

  Result<size_t> read(std::span<char> into) override {
    const auto left = static_cast<size_t>(std::max<int64_t>(0, end_ - position_));
    GLOVE_ASSIGN_OR_RETURN(const size_t count,
                           file_->read_at(position_, into.first(std::min(into.size(), left))));
    position_ += static_cast<int64_t>(count);
    return count;
  }
  int64_t file_position() const override { return position_; }

 private:
  std::shared_ptr<const File> file_;
  int64_t position_;
  int64_t end_;
};

class InflateStream final : public ByteStream {
 public:
  // With `trailer`: one raw deflate stream. Without it: gzip members.
  InflateStream(std::shared_ptr<const File> file, int64_t begin, int64_t end,
                std::optional<DeflateTrailer> trailer)
      : file_(std::move(file)), position_(begin), end_(end), trailer_(trailer) {
    if (inflateInit2(&zlib_, trailer_ ? -MAX_WBITS : 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
    buffer_.resize(static_cast<size_t>(std::clamp<int64_t>(end - begin, 1, kBufferBytes)));
  }
  ~InflateStream() override { inflateEnd(&zlib_); }
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;

  Result<size_t> read(std::span<char> into) override {
    size_t done = 0;
    while (done < into.size() && !finished_) {
      if (zlib_.avail_in == 0) GLOVE_RETURN_IF_ERROR(refill());
      if (between_members_) {
        GLOVE_RETURN_IF_ERROR(begin_member());
        continue;
      }
      GLOVE_ASSIGN_OR_RETURN(const size_t count, inflate_some(into.subspan(done)));
      done += count;
    }
    return done;
  }
  int64_t file_position() const override { return position_ - static_cast<int64_t>(zlib_.avail_in); }

 private:
  static constexpr int64_t kBufferBytes = 1 << 18;

  Status refill() {
    const auto left = static_cast<size_t>(std::max<int64_t>(0, end_ - position_));
    const std::span<char> space(buffer_.data(), std::min(buffer_.size(), left));
    GLOVE_ASSIGN_OR_RETURN(const size_t count, file_->read_at(position_, space));
    position_ += static_cast<int64_t>(count);
    zlib_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    zlib_.avail_in = static_cast<uInt>(count);
    return {};
  }

  // After a gzip member comes the end, zeros that pad a tape block, or another member.
  Status begin_member() {
    while (zlib_.avail_in > 0 && *zlib_.next_in == 0) {
      ++zlib_.next_in;
      --zlib_.avail_in;
    }
    if (zlib_.avail_in > 0) {
      if (*zlib_.next_in != 0x1F) return corrupt("is followed by bytes that are not gzip data");
      inflateReset(&zlib_);
      between_members_ = false;
    } else if (position_ >= end_) {
      finished_ = true;
    }
    return {};
  }

  Result<size_t> inflate_some(std::span<char> into) {
    const bool starved = zlib_.avail_in == 0;
    const auto room = static_cast<uInt>(std::min<size_t>(into.size(), size_t{1} << 30));
    zlib_.next_out = reinterpret_cast<Bytef*>(into.data());
    zlib_.avail_out = room;
    const int result = inflate(&zlib_, Z_NO_FLUSH);
    const size_t count = room - zlib_.avail_out;
    if (trailer_) crc_ = crc32_continue(crc_, into.first(count));
    produced_ += static_cast<int64_t>(count);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result == Z_STREAM_END) {
      GLOVE_RETURN_IF_ERROR(end_member());
    } else if (result == Z_OK || result == Z_BUF_ERROR) {
      if (starved && count == 0) return corrupt("ends early");
    } else {
      return corrupt(std::string("is damaged (") + (zlib_.msg != nullptr ? zlib_.msg : "zlib error") + ")");
    }
    return count;
  }

  Status end_member() {
    if (!trailer_) {
      between_members_ = true;
      return {};
    }
    finished_ = true;
    if (produced_ != trailer_->bytes) return corrupt("has another length than the archive's directory says");
    if (crc_ != trailer_->crc) return corrupt("is damaged (its CRC-32 is wrong)");
    return {};
  }

  Error corrupt(const std::string& what) const {
    return {ErrorCode::kCorrupt,
            concat(file_->path(), ": offset ", file_position(), ": the compressed data ", what)};
  }

  std::shared_ptr<const File> file_;
  int64_t position_;
  int64_t end_;
  std::optional<DeflateTrailer> trailer_;
  std::vector<char> buffer_;
  z_stream zlib_{};
  uint32_t crc_ = 0;
  int64_t produced_ = 0;
  bool between_members_ = false;
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> plain_stream(std::shared_ptr<const File> file, int64_t begin, int64_t end) {
  return std::make_unique<PlainStream>(std::move(file), begin, end);
}
std::unique_ptr<ByteStream> gzip_stream(std::shared_ptr<const File> file, int64_t begin, int64_t end) {
  return std::make_unique<InflateStream>(std::move(file), begin, end, std::nullopt);
}
std::unique_ptr<ByteStream> deflate_stream(std::shared_ptr<const File> file, int64_t begin, int64_t end,
                                           DeflateTrailer trailer) {
  return std::make_unique<InflateStream>(std::move(file), begin, end, trailer);
}

}  // namespace glove
