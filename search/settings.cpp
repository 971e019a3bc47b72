#include "search/settings.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <optional>

#include "search/backend.h"

namespace glove {
namespace {

// A value in its canonical spelling, or what is wrong with it ("must be ...").
Result<std::string> normalize_backend(std::string_view value) {
  std::string names = "auto";
  if (value == "auto") return std::string(value);
  for (const auto& backend : registered_backends()) {
    if (backend->name() == value) return std::string(value);
    names += ", " + std::string(backend->name());
  }
  return Error{ErrorCode::kInvalidArgument, "must be one of: " + names};
}

// A whole number from 0, without a sign.
std::optional<int64_t> parse_count(std::string_view value) {
  int64_t number = 0;
  if (value.empty() || value[0] == '-') return std::nullopt;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
  return number;
}

Result<std::string> normalize_threads(std::string_view value) {
  const std::optional<int64_t> threads = parse_count(value);
  if (!threads || *threads > 1024)
    return Error{ErrorCode::kInvalidArgument, "must be a whole number from 0 (all cores) to 1024"};
  return std::to_string(*threads);
}

Result<std::string> normalize_bytes(std::string_view value) {
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
    return Error{ErrorCode::kInvalidArgument,
                 "must be a whole number of bytes, or one with K, M or G, such as 4G; 0 means what is free"};
  return std::to_string(*number << shift);
}

struct Setting {
  const char* key;
  const char* environment;
  const char* fallback;
  Result<std::string> (*normalize)(std::string_view value);
};

constexpr std::array kSettings{
    Setting{"backend", "GLOVE_BACKEND", "auto", normalize_backend},
    Setting{"threads", "GLOVE_THREADS", "0", normalize_threads},
    Setting{"gpu_memory", "GLOVE_GPU_MEMORY", "0", normalize_bytes},
};

struct Values {
  std::mutex mutex;
  std::array<std::optional<std::string>, kSettings.size()> values;  // in kSettings' order
  uint64_t generation = 1;
};

Values& stored() {
  static Values* const instance = new Values;  // never freed: used by threads that outlive static destruction
  return *instance;
}

Result<size_t> find_key(std::string_view key) {
  std::string keys;
  for (size_t i = 0; i < kSettings.size(); ++i) {
    if (key == kSettings[i].key) return i;
    keys += (i ? ", " : "") + std::string(kSettings[i].key);
  }
  return Error{ErrorCode::kInvalidArgument,
               "there is no setting '" + std::string(key) + "'; the settings are: " + keys};
}

}  // namespace

Result<std::string> get_setting(std::string_view key) {
  GLOVE_ASSIGN_OR_RETURN(const size_t index, find_key(key));
  const Setting& setting = kSettings[index];
  Values& values = stored();
  const std::lock_guard lock(values.mutex);
  std::optional<std::string>& value = values.values[index];
  if (value) return *value;
  // Read once: a host may change its environment while our threads run.
  const char* environment = std::getenv(setting.environment);
  if (!environment || !*environment) {
    value = setting.fallback;
    return *value;
  }
  Result<std::string> normal = setting.normalize(environment);
  if (!normal.ok())
    return Error{ErrorCode::kInvalidArgument, "the environment variable " + std::string(setting.environment) +
                                                  " is '" + environment + "' but " + normal.error().message};
  value = normal.value();
  return *value;
}

Status set_setting(std::string_view key, std::string_view value) {
  GLOVE_ASSIGN_OR_RETURN(const size_t index, find_key(key));
  Result<std::string> normal = kSettings[index].normalize(value);
  if (!normal.ok())
    return Error{ErrorCode::kInvalidArgument, "the setting '" + std::string(key) + "' cannot be '" +
                                                  std::string(value) + "': it " + normal.error().message};
  Values& values = stored();
  const std::lock_guard lock(values.mutex);
  values.values[index] = normal.value();
  ++values.generation;
  return {};
}

std::vector<std::string> setting_keys() {
  std::vector<std::string> keys;
  for (const Setting& setting : kSettings) keys.emplace_back(setting.key);
  return keys;
}

uint64_t settings_generation() {
  Values& values = stored();
  const std::lock_guard lock(values.mutex);
  return values.generation;
}

}  // namespace glove
