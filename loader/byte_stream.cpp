#include "loader/byte_stream.h"

#include <algorithm>
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

class UnpackedStream final : public ByteStream {
 public:
  UnpackedStream(std::shared_ptr<const File> file, int64_t begin, int64_t end, Compression compression,
                 DeflateTrailer trailer)
      : file_(std::move(file)),
        position_(begin),
        end_(end),
        compression_(compression),
        trailer_(trailer),
        buffer_(static_cast<size_t>(std::clamp<int64_t>(end - begin, 1, kBufferBytes))) {}

  Result<size_t> read(std::span<char> into) override {
    size_t done = 0;
    while (done < into.size() && !finished_) {
      if (in_.empty()) GLOVE_RETURN_IF_ERROR(refill());
      if (codec_ == nullptr) {
        GLOVE_RETURN_IF_ERROR(begin_member());
        continue;
      }
      GLOVE_ASSIGN_OR_RETURN(const size_t count, unpack_some(into.subspan(done)));
      done += count;
    }
    return done;
  }
  int64_t file_position() const override { return position_ - static_cast<int64_t>(in_.size()); }

 private:
  static constexpr int64_t kBufferBytes = 1 << 18;
  static constexpr int kMostEmptyMembers = 10000;  // in a row, because read() cannot be stopped

  Status refill() {
    const auto left = static_cast<size_t>(std::max<int64_t>(0, end_ - position_));
    const std::span<char> space(buffer_.data(), std::min(buffer_.size(), left));
    GLOVE_ASSIGN_OR_RETURN(const size_t count, file_->read_at(position_, space));
    position_ += static_cast<int64_t>(count);
    in_ = space.first(count);
    return {};
  }

  // After a member comes the end, zeros that pad a tape block or an xz stream, or another member.
  Status begin_member() {
    while (first_ >= 0 && !in_.empty() && in_.front() == 0) in_ = in_.subspan(1);
    if (first_ >= 0 && in_.empty()) {
      finished_ = position_ >= end_;
      return {};
    }
    const int next = in_.empty() ? 0 : static_cast<unsigned char>(in_.front());
    // zstd also has frames that are to be skipped.
    const bool begins =
        compression_ == Compression::kZstd ? next == 0x28 || (next & 0xF0) == 0x50 : next == first_;
    if (first_ >= 0 && !begins) return corrupt("is followed by other data");
    first_ = next;
    GLOVE_ASSIGN_OR_RETURN(codec_, make_codec(compression_, file_->path()));
    return {};
  }

  Result<size_t> unpack_some(std::span<char> into) {
    const bool starved = in_.empty();
    into = into.first(std::min<size_t>(into.size(), size_t{1} << 30));
    CodecStep step{in_, into};
    codec_(step);
    in_ = step.in;
    const size_t count = into.size() - step.out.size();
    if (compression_ == Compression::kDeflate) crc_ = crc32_continue(crc_, into.first(count));
    produced_ += static_cast<int64_t>(count);
    if (!step.fault.empty()) return corrupt("is damaged (" + step.fault + ")");
    if (step.ended) GLOVE_RETURN_IF_ERROR(end_member());
    if (!step.ended && starved && count == 0) return corrupt("ends early");
    return count;
  }

  Status end_member() {
    codec_ = nullptr;
    if (compression_ != Compression::kDeflate) {
      empty_members_ = produced_ == 0 ? empty_members_ + 1 : 0;
      produced_ = 0;
      return empty_members_ > kMostEmptyMembers ? corrupt("has too many empty parts") : Status();
    }
    finished_ = true;
    if (produced_ != trailer_.bytes) return corrupt("has another length than the archive's directory says");
    if (crc_ != trailer_.crc) return corrupt("is damaged (its CRC-32 is wrong)");
    return {};
  }

  Error corrupt(const std::string& what) const {
    return corrupt_file(file_->path(), "offset ", file_position(), ": the compressed data ", what);
  }

  std::shared_ptr<const File> file_;
  int64_t position_;
  int64_t end_;
  Compression compression_;
  DeflateTrailer trailer_;
  std::vector<char> buffer_;
  std::span<const char> in_;  // what is left of the buffer
  Codec codec_;               // null between members
  int first_ = -1;            // the first byte of the members; -1 before them
  uint32_t crc_ = 0;
  int64_t produced_ = 0;   // by the member
  int empty_members_ = 0;  // the last ones
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> plain_stream(std::shared_ptr<const File> file, int64_t begin, int64_t end) {
  return std::make_unique<PlainStream>(std::move(file), begin, end);
}
std::unique_ptr<ByteStream> unpacked_stream(std::shared_ptr<const File> file, int64_t begin, int64_t end,
                                            Compression compression, DeflateTrailer trailer) {
  return std::make_unique<UnpackedStream>(std::move(file), begin, end, compression, trailer);
}

}  // namespace glove
