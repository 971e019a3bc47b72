#include "loader/safetensors.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/concat.h"
#include "base/json.h"

namespace glove {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // a limit of the container format
constexpr std::string_view kMetadataKey = "__metadata__";

// Receives { name: { "dtype": s, "shape": [n...], "data_offsets": [a, b] }, "__metadata__": { key: value } }.
// Stores nothing else, so a malicious header costs no more memory than its own bytes.
class HeaderHandler final : public JsonHandler {
 public:
  struct Entry {
    Tensor tensor;
    std::vector<int64_t> data_offsets;
  };
  std::map<std::string, Entry, std::less<>> entries;
  std::map<std::string, std::string, std::less<>> metadata;
  std::string fault;  // the first one

  bool value(JsonValue& value) override {
    if (!fault.empty()) return false;
    if (value.kind == JsonKind::kObject) return begin_object();
    if (value.kind == JsonKind::kArray) return begin_array();
    if (value.kind == JsonKind::kText) return take_text(value.text);
    if (value.is_number()) return take_number(value);
    return fail(value.kind == JsonKind::kNull ? "null" : "a boolean");
  }
  void key(std::string& name) override {
    if (depth_ == 2 && !in_metadata_ && name != "dtype" && name != "shape" && name != "data_offsets")
      fail("the key '" + escaped(name) + "'");
    key_ = std::move(name);
  }
  void end() override {
    if (!in_array_) {
      --depth_;
      in_metadata_ = false;
    }
    in_array_ = false;
  }
  void malformed(size_t position, bool) override {
    if (fault.empty()) fault = "is not valid JSON at its byte " + std::to_string(position);
  }

 private:
  bool fail(const std::string& what) {
    if (fault.empty()) fault = "has " + what + " where the format has none";
    return false;
  }
  std::vector<int64_t>& numbers() { return key_ == "shape" ? entry_->tensor.shape : entry_->data_offsets; }

  bool begin_object() {
    if (depth_ > 1 || in_array_) return fail("an object");
    ++depth_;
    in_metadata_ = depth_ == 2 && key_ == kMetadataKey;
    if (depth_ == 1 || in_metadata_) return true;
    const auto [place, is_new] = entries.emplace(key_, Entry{});
    if (!is_new) return fail("the tensor '" + escaped(key_) + "' twice");
    entry_ = &place->second;
    return true;
  }
  bool begin_array() {
    if (depth_ != 2 || in_metadata_ || in_array_ || key_ == "dtype") return fail("an array");
    if (!numbers().empty()) return fail("the key '" + escaped(key_) + "' twice");
    return in_array_ = true;
  }
  bool take_number(const JsonValue& value) {
    if (value.kind == JsonKind::kReal && value.text.empty()) return fail("a fraction");
    if (value.number < 0) return fail("a negative number");
    if (!in_array_ || value.kind == JsonKind::kReal)
      return fail("number " + (value.text.empty() ? std::to_string(value.integer) : value.text));
    if (numbers().size() >= 16) return fail("more than 16 numbers");
    numbers().push_back(value.integer);
    return true;
  }
  bool take_text(const std::string& text) {
    if (depth_ == 2 && in_metadata_)
      return metadata.emplace(key_, text).second || fail("the key '" + escaped(key_) + "' twice");
    if (depth_ != 2 || in_array_ || key_ != "dtype" || !entry_->tensor.dtype.empty() || text.empty())
      return fail("a string");
    entry_->tensor.dtype = text;
    return true;
  }

  int depth_ = 0;
  bool in_metadata_ = false;
  bool in_array_ = false;
  std::string key_;
  Entry* entry_ = nullptr;
};

Error corrupt_header(const std::string& source, const std::string& what) {
  return corrupt_file(source, "the safetensors header ", what);
}

// Returns the product of the shape times the size of the type, or nullopt if it overflows or the type is
// unknown.
std::optional<int64_t> expected_bytes(const Tensor& tensor) {
  int64_t bytes = safetensors_type_bytes(tensor.dtype);
  if (bytes == 0) return std::nullopt;
  for (const int64_t extent : tensor.shape)
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  return bytes;
}

// Sets the tensors' offsets. They must cover [data_offset, file_bytes) exactly, if file_bytes is known.
Status place_tensors(const std::string& source, HeaderHandler& handler, int64_t file_bytes,
                     SafetensorsHeader& header) {
  const int64_t data_bytes =
      file_bytes < 0 ? INT64_MAX - header.data_offset : file_bytes - header.data_offset;
  std::vector<std::pair<int64_t, int64_t>> extents;
  for (auto& [name, entry] : handler.entries) {
    Tensor& tensor = entry.tensor;
    if (tensor.dtype.empty() || entry.data_offsets.size() != 2)
      return corrupt_header(source, "lacks the type or place of tensor '" + escaped(name) + "'");
    const int64_t begin = entry.data_offsets[0];
    const int64_t end = entry.data_offsets[1];
    if (begin > end)
      return corrupt_header(source,
                            "gives tensor '" + escaped(name) + "' a place that ends before it begins");
    tensor.offset = header.data_offset + std::min(begin, data_bytes);
    tensor.bytes = end - begin;
    const bool known = safetensors_type_bytes(tensor.dtype) != 0;
    if (known && expected_bytes(tensor) != tensor.bytes)
      return corrupt_header(source, "gives tensor '" + escaped(name) + "' " + std::to_string(tensor.bytes) +
                                        " bytes, which does not fit its type and shape");
    extents.emplace_back(begin, end);
  }
  std::sort(extents.begin(), extents.end());
  int64_t covered = 0;
  for (const auto& [begin, end] : extents) {
    if (begin != covered)
      return corrupt_header(source, "leaves a hole or an overlap at byte " +
                                        std::to_string(std::min(begin, covered)) + " of the data");
    covered = end;
  }
  if (covered > data_bytes)
    return corrupt_file(source, "the file ends early: its header describes ", covered,
                        " bytes of tensors, but ", data_bytes, " follow it");
  if (covered < data_bytes && file_bytes >= 0)
    return corrupt_file(source, "offset ", header.data_offset + covered, ": bytes after the last tensor");
  header.end = header.data_offset + covered;
  for (auto& [name, entry] : handler.entries) header.tensors.emplace(name, std::move(entry.tensor));
  return {};
}

}  // namespace

const Tensor* SafetensorsHeader::find(std::string_view name) const {
  const auto place = tensors.find(name);
  return place == tensors.end() ? nullptr : &place->second;
}

std::string_view SafetensorsHeader::metadata_value(std::string_view key) const {
  const auto place = metadata.find(key);
  return place == metadata.end() ? std::string_view() : place->second;
}

int64_t safetensors_type_bytes(std::string_view dtype) {
  if (dtype == "F64" || dtype == "I64" || dtype == "U64") return 8;
  if (dtype == "F32" || dtype == "I32" || dtype == "U32") return 4;
  if (dtype == "F16" || dtype == "BF16" || dtype == "I16" || dtype == "U16") return 2;
  if (dtype == "I8" || dtype == "U8" || dtype == "BOOL") return 1;
  return 0;
}

bool looks_like_safetensors(std::string_view head) {
  if (head.size() <= kLengthBytes || head[kLengthBytes] != '{') return false;
  const uint64_t length = little_endian(head, 0, kLengthBytes);
  return 2 <= length && length <= kMaxHeaderBytes;
}

bool may_have_been_safetensors(std::string_view head) {
  if (head.size() < kLengthBytes) return head.find('\0') != std::string_view::npos;
  const std::string_view high = head.substr(kLengthBytes / 2, kLengthBytes / 2);
  return std::count(high.begin(), high.end(), '\0') >= 3;
}

Result<SafetensorsHeader> read_safetensors_header(const std::string& source, const File& file,
                                                  std::string* raw_header) {
  GLOVE_ASSIGN_OR_RETURN(const int64_t file_bytes, file.size());
  const std::shared_ptr<const File> borrowed(std::shared_ptr<const File>(), &file);
  const auto stream = plain_stream(borrowed, 0, file_bytes);
  return read_safetensors_header(source, *stream, file_bytes, raw_header);
}

Result<SafetensorsHeader> read_safetensors_header(const std::string& source, ByteStream& stream,
                                                  int64_t file_bytes, std::string* raw_header) {
  std::string bytes(kLengthBytes, '\0');
  GLOVE_ASSIGN_OR_RETURN(const size_t got, stream.read(bytes));
  if (got < kLengthBytes) return corrupt_file(source, "the file ends early: it has ", got, " bytes");
  const uint64_t length = little_endian(bytes, 0, kLengthBytes);
  if (length > kMaxHeaderBytes)
    return corrupt_header(source, "would have " + std::to_string(length) + " bytes; the most is " +
                                      std::to_string(kMaxHeaderBytes));
  const Error cut_off =
      corrupt_file(source, "the file ends early: its header of ", length, " bytes is cut off");
  if (file_bytes >= 0 && length > static_cast<uint64_t>(file_bytes) - kLengthBytes) return cut_off;
  bytes.resize(kLengthBytes + length);
  GLOVE_ASSIGN_OR_RETURN(const size_t count, stream.read(std::span(bytes).subspan(kLengthBytes)));
  if (count < length) return cut_off;

  HeaderHandler handler;
  std::string_view text = std::string_view(bytes).substr(kLengthBytes);
  text = text.substr(0, text.find('\0'));  // zeros may fill the rest
  const bool parsed = text.starts_with('{') && read_json(text, handler).value();
  if (!parsed || !handler.fault.empty())
    return corrupt_header(source, handler.fault.empty() ? "is not a JSON object" : handler.fault);
  SafetensorsHeader header;
  header.metadata = std::move(handler.metadata);
  header.data_offset = static_cast<int64_t>(bytes.size());
  GLOVE_RETURN_IF_ERROR(place_tensors(source, handler, file_bytes, header));
  if (raw_header != nullptr) *raw_header = std::move(bytes);
  return header;
}

}  // namespace glove
