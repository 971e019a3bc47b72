#include "loader/input.h"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/concat.h"
#include "base/file_calls.h"
#include "loader/static_model.h"

namespace glove {
namespace {

constexpr std::string_view kZipMagic = "PK\3\4";
constexpr std::string_view kEmptyZipMagic = "PK\5\6";

// Splits "dir/archive.zip/member" after the first part that is a regular file. The member is empty if there
// is none.
std::pair<std::string, std::string> split_member(const std::string& path) {
  const auto next = [&path](size_t from) { return path.find_first_of(system_calls::kPathSeparators, from); };
  for (size_t slash = next(1); slash != std::string::npos; slash = next(slash + 1)) {
    std::string archive = path.substr(0, slash);
    if (File::open_for_reading(archive).ok()) return {std::move(archive), path.substr(slash + 1)};
  }
  return {path, ""};
}

}  // namespace

struct Input::Watch {
  ProgressCallback progress;
  InterruptCheck interrupted;
  int64_t total = 0;
};

// Reports progress, and can be stopped between any two reads.
class Input::WatchedStream final : public ByteStream {
 public:
  WatchedStream(std::unique_ptr<ByteStream> stream, std::shared_ptr<Watch> watch)
      : stream_(std::move(stream)), watch_(std::move(watch)) {}

  Result<size_t> read(std::span<char> into) override {
    constexpr size_t kReadBytes = size_t{1} << 20;
    size_t done = 0;
    while (done < into.size()) {
      GLOVE_RETURN_IF_ERROR(check_interrupt(watch_->interrupted));
      if (watch_->progress) watch_->progress(stream_->file_position(), watch_->total);
      const std::span<char> next = into.subspan(done, std::min(kReadBytes, into.size() - done));
      GLOVE_ASSIGN_OR_RETURN(const size_t count, stream_->read(next));
      done += count;
      if (count < next.size()) break;
    }
    return done;
  }
  int64_t file_position() const override { return stream_->file_position(); }

 private:
  std::unique_ptr<ByteStream> stream_;
  std::shared_ptr<Watch> watch_;
};

Result<Input> Input::open(const std::string& given, ProgressCallback progress, InterruptCheck interrupted) {
  GLOVE_ASSIGN_OR_RETURN(const std::string path, static_model_file(given));
  std::string member;
  auto opened = File::open_for_reading(path);
  if (!opened.ok() && errno == ENOTDIR) {
    auto [archive, inside] = split_member(path);
    member = std::move(inside);
    if (!member.empty()) opened = File::open_for_reading(archive);
  }
  GLOVE_RETURN_IF_ERROR(opened.status());
  Input input;
  input.path_ = path;
  input.file_ = std::make_shared<const File>(std::move(opened).value());
  GLOVE_ASSIGN_OR_RETURN(input.file_bytes_, input.file_->size());
  input.watch_ =
      std::make_shared<Watch>(Watch{std::move(progress), std::move(interrupted), input.file_bytes_});
  if (input.file_bytes_ == 0) return corrupt_file(path, "the file is empty");
  GLOVE_RETURN_IF_ERROR(input.find_wrapping(member));
  GLOVE_RETURN_IF_ERROR(input.longer_sample(kSampleBytes));
  if (input.sample_.empty()) return corrupt_file(path, "there is nothing inside the compressed file");
  return input;
}

Status Input::find_wrapping(const std::string& member) {
  char magic[9] = {};
  GLOVE_RETURN_IF_ERROR(file_->read_at(0, magic));
  const std::string_view head(magic, sizeof magic);
  is_zip_ = head.starts_with(kZipMagic) || head.starts_with(kEmptyZipMagic);
  if (!member.empty() && !is_zip_)
    return make_error(ErrorCode::kIo, "cannot open '", path_, "': '", file_->path(),
                      "' is neither a directory nor a zip archive");
  compression_ = compression_of(head);
  if (!is_zip_) return {};
  GLOVE_ASSIGN_OR_RETURN(std::vector<ZipMember> members, list_zip_members(*file_));
  if (member.empty())  // what macOS adds
    std::erase_if(members, [](const ZipMember& one) {
      return one.name.starts_with("__MACOSX/") || file_name_of(one.name) == ".DS_Store";
    });
  ShortList names;
  for (ZipMember& candidate : members) {
    if (candidate.name == member || (member.empty() && members.size() == 1)) {
      member_ = std::move(candidate);
      if (member_.deflated) compression_ = Compression::kDeflate;
      return locate_zip_member(*file_, member_);
    }
    names.add(candidate.name);
    if (member.empty() && candidate.name.ends_with("data.pkl"))
      return corrupt_file(
          path_,
          "the file is one of PyTorch's; save its matrix with safetensors.torch.save_file() or "
          "numpy.save(), and put the words beside it");
  }
  if (members.empty()) return corrupt_file(path_, "the zip archive holds no file");
  return invalid_argument(
      path_,
      member.empty() ? ": the zip archive holds several files; name one as '" + file_->path() + "/NAME': "
                     : ": the zip archive has no such member, but: ",
      names.text());
}

int64_t Input::content_bytes() const {
  if (is_zip_) return member_.bytes;
  return compression_ ? -1 : file_bytes_;
}

const InterruptCheck& Input::interrupt_check() const {
  return watch_->interrupted;
}

std::unique_ptr<ByteStream> Input::stream() const {
  auto stream = unwatched_stream();
  if (!watch_->progress && !watch_->interrupted) return stream;
  return std::make_unique<WatchedStream>(std::move(stream), watch_);
}

std::unique_ptr<ByteStream> Input::unwatched_stream() const {
  const int64_t end = is_zip_ ? member_.offset + member_.compressed_bytes : file_bytes_;
  if (!compression_) return plain_stream(file_, member_.offset, end);
  return unpacked_stream(file_, member_.offset, end, *compression_, {member_.bytes, member_.crc});
}

Result<bool> Input::read_beginning(size_t bytes, std::vector<char>& into) const {
  const auto reader = stream();
  if (is_plain()) bytes = std::min(bytes, static_cast<size_t>(file_bytes_));
  into.resize(bytes);
  GLOVE_ASSIGN_OR_RETURN(const size_t count, reader->read(into));
  into.resize(count);
  char next = 0;
  GLOVE_ASSIGN_OR_RETURN(const size_t more, reader->read(std::span(&next, 1)));
  return more == 0;
}

Result<Input::Sample> Input::longer_sample(size_t bytes) const {
  if (sample_.size() < bytes && !sample_is_whole_) {
    std::vector<char> longer;
    GLOVE_ASSIGN_OR_RETURN(sample_is_whole_, read_beginning(bytes, longer));
    sample_ = std::move(longer);
  }
  return Sample{std::span(sample_).first(std::min(bytes, sample_.size())),
                sample_is_whole_ && sample_.size() <= bytes};
}

Result<std::shared_ptr<const File>> Input::random_access(int64_t most_bytes, std::string_view limit) const {
  if (is_plain()) return file_;
  if (copy_ != nullptr) return copy_;
  const Error too_many = corrupt_file(path_, "there are more bytes inside the compressed file than the ",
                                      most_bytes, " that ", limit);
  if (content_bytes() > most_bytes) return too_many;
  const std::string directory = system_calls::temporary_folder();
  GLOVE_ASSIGN_OR_RETURN(File copy, File::create_unnamed(directory, directory));
  const auto reader = stream();
  std::vector<char> buffer(size_t{1} << 18);
  int64_t bytes = 0;
  while (true) {
    GLOVE_ASSIGN_OR_RETURN(const size_t count, reader->read(buffer));
    if (count == 0) break;
    if (static_cast<int64_t>(count) > most_bytes - bytes) return too_many;
    GLOVE_RETURN_IF_ERROR(copy.write_at(bytes, std::span(buffer).first(count)));
    bytes += static_cast<int64_t>(count);
  }
  copy_ = std::make_shared<const File>(std::move(copy));
  copy_bytes_ = bytes;
  return copy_;
}

}  // namespace glove
