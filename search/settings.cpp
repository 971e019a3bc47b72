#include "search/settings.h"

#include <cstdlib>

#include "base/concat.h"
#include "base/file_calls.h"
#include "base/float_from_chars.h"

namespace glove {
namespace {

// Stands for a value that has not been read from the environment yet.
constexpr int64_t kUnread = -1;

// 0 is auto; i + 1 is the backend that was added as number i.
Result<int64_t> parse_backend(std::string_view value, const Backends& backends) {
  if (value == "auto") return int64_t{0};
  int64_t number = 0;
  for (const auto& backend : backends.all()) {
    ++number;
    if (backend->name() == value) return number;
  }
  return Error{ErrorCode::kInvalidArgument, "one of (" + backends.choices() + ")"};
}

std::string spell_backend(int64_t value, const Backends& backends) {
  return value == 0 ? "auto" : std::string(backends.all()[static_cast<size_t>(value - 1)]->name());
}

// Parses a non-negative integer without a sign.
std::optional<int64_t> parse_count(std::string_view value) {
  return value.starts_with('-') ? std::nullopt : number_from<int64_t>(value);
}

// `of_zero` is what 0 means.
Result<int64_t> parse_bytes(std::string_view value, const char* of_zero) {
  int shift = 0;
  if (!value.empty()) {
    const char unit = value.back();
    shift = unit == 'K' || unit == 'k'   ? 10
            : unit == 'M' || unit == 'm' ? 20
            : unit == 'G' || unit == 'g' ? 30
                                         : 0;
    if (shift) value.remove_suffix(1);
  }
  const std::optional<int64_t> number = parse_count(value);
  if (!number || *number > (INT64_MAX >> shift))
    return invalid_argument("a number of bytes such as 1000000, 512M or 4G, or 0 for ", of_zero);
  return *number << shift;
}

// `of_zero` is what 0 means, if that is not clear.
Result<int64_t> parse_up_to(int64_t most, std::string_view value, const char* of_zero = "") {
  const std::optional<int64_t> number = parse_count(value);
  if (!number || *number > most) return invalid_argument("an integer from 0", of_zero, " to ", most);
  return *number;
}

Result<int64_t> parse_provider(std::string_view value, const Backends&) {
  if (value != "cpu" && value != "cuda") return Error{ErrorCode::kInvalidArgument, "cpu or cuda"};
  return int64_t{value == "cuda"};
}

// 0 is all; otherwise bit i is device i.
Result<int64_t> parse_devices(std::string_view value, const Backends&) {
  constexpr int64_t kMostNumber = 62;
  if (value == "all") return int64_t{0};
  int64_t devices = 0;
  for (std::string_view left = value;;) {
    const size_t comma = left.find(',');
    const std::optional<int64_t> number = parse_count(left.substr(0, comma));
    if (!number || *number > kMostNumber)
      return Error{ErrorCode::kInvalidArgument, "all, or numbers of devices such as 0 or 0,1"};
    devices |= int64_t{1} << *number;
    if (comma == std::string_view::npos) return devices;
    left.remove_prefix(comma + 1);
  }
}

std::string spell_devices(int64_t value, const Backends&) {
  if (value == 0) return "all";
  std::string text;
  for (int number = 0; value >> number != 0; ++number)
    if ((value >> number & 1) != 0) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

std::string spell_number(int64_t value, const Backends&) {
  return std::to_string(value);
}

// `name` is a setting or an environment variable, `values` the error of Settings::Row::parse.
Error bad_value(const std::string& name, const Error& values, std::string_view text) {
  return {ErrorCode::kInvalidArgument, name + " must be " + values.message + ", not " + quoted_value(text)};
}

}  // namespace

// Every value is stored as a number from 0 on.
struct Settings::Row {
  const char* key;
  const char* environment;
  Result<int64_t> (*parse)(std::string_view text, const Backends& backends);  // error: the valid values
  int64_t usual = 0;                                                          // the default
  std::string (*spell)(int64_t value, const Backends& backends) = spell_number;
};

const std::array<Settings::Row, Settings::kKeys> Settings::kRows{{
    {"backend", "GLOVE_BACKEND", parse_backend, 0, spell_backend},
    {"threads", "GLOVE_THREADS",
     [](std::string_view value, const Backends&) { return parse_up_to(1024, value, " (all cores)"); }},
    {"gpu_memory", "GLOVE_GPU_MEMORY",
     [](std::string_view value, const Backends&) { return parse_bytes(value, "all free memory"); }},
    {"devices", "GLOVE_DEVICES", parse_devices, 0, spell_devices},
    {"index_memory", "GLOVE_INDEX_MEMORY",
     [](std::string_view value, const Backends&) { return parse_bytes(value, "no limit"); }},
    {"audits", "GLOVE_AUDITS",
     [](std::string_view value, const Backends&) { return parse_up_to(1'000'000, value, " (no audits)"); },
     256},
    {"encode_limit", "GLOVE_ENCODE_LIMIT",
     [](std::string_view value, const Backends&) { return parse_up_to(1'000'000'000, value); }, 1000},
    {"onnxruntime_provider", "GLOVE_ONNXRUNTIME_PROVIDER", parse_provider, 0,
     [](int64_t value, const Backends&) { return std::string(value == 0 ? "cpu" : "cuda"); }},
}};

Settings::Settings(const Backends& backends) : backends_(backends) {
  for (auto& value : values_) value = kUnread;
}

Result<Settings::Key> Settings::find_key(std::string_view key) {
  std::string names;
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (key == kRows[i].key) return static_cast<Key>(i);
    names += std::string(kRows[i].key) + ", ";
  }
  return invalid_argument("there is no setting ", quoted_value(key), "; the settings are: ", names,
                          kOnnxRuntime);
}

Result<int64_t> Settings::value(Key key) {
  const int64_t known = values_[key].load(std::memory_order_acquire);
  if (known != kUnread) return known;
  return read_environment(key);
}

// Keeps a valid value, because a host may change its environment while other threads run.
Result<int64_t> Settings::read_environment(Key key) {
  const Lock lock(mutex_);
  if (const int64_t known = values_[key]; known != kUnread) return known;
  const Row& row = kRows[key];
  const char* text = std::getenv(row.environment);
  int64_t number = row.usual;
  if (text != nullptr && *text != '\0') {
    const Result<int64_t> parsed = row.parse(text, backends_);
    if (!parsed.ok())
      return bad_value("the environment variable " + std::string(row.environment), parsed.error(), text);
    number = parsed.value();
  }
  values_[key].store(number, std::memory_order_release);
  return number;
}

Result<std::string> Settings::get(std::string_view key) {
  if (key == kOnnxRuntime) return onnxruntime();
  GLOVE_ASSIGN_OR_RETURN(const Key index, find_key(key));
  GLOVE_ASSIGN_OR_RETURN(const int64_t number, value(index));
  return kRows[index].spell(number, backends_);
}

Status Settings::set(std::string_view key, std::string_view text) {
  if (key == kOnnxRuntime) {
    const Lock lock(mutex_);
    onnxruntime_.emplace(text);
    return {};
  }
  GLOVE_ASSIGN_OR_RETURN(const Key index, find_key(key));
  const Result<int64_t> number = kRows[index].parse(text, backends_);
  if (!number.ok()) return bad_value("the setting '" + std::string(key) + "'", number.error(), text);
  const Lock lock(mutex_);
  values_[index].store(number.value(), std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_release);
  return {};
}

Result<Backend*> Settings::backend() {
  GLOVE_ASSIGN_OR_RETURN(const int64_t number, value(kBackend));
  return number == 0 ? nullptr : backends_.all()[static_cast<size_t>(number - 1)].get();
}

Result<int> Settings::threads() {
  GLOVE_ASSIGN_OR_RETURN(const int64_t number, value(kThreads));
  return static_cast<int>(number);
}

std::string Settings::onnxruntime() {
  const Lock lock(mutex_);
  if (!onnxruntime_) onnxruntime_ = system_calls::environment("GLOVE_ONNXRUNTIME");
  return onnxruntime_.value_or("");
}

Result<uint64_t> Settings::devices() {
  GLOVE_ASSIGN_OR_RETURN(const int64_t devices, value(kDevices));
  return static_cast<uint64_t>(devices);
}

}  // namespace glove
