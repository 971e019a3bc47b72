#include "loader/open.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

#include "loader/float_environment.h"
#include "loader/model_builder.h"

namespace glove {
namespace {

Error line_error(const std::string& path, int64_t line, const std::string& what) {
  return {ErrorCode::kCorrupt, path + ": line " + std::to_string(line) + ": " + what};
}

}  // namespace

Result<ModelPtr> open_model(const std::string& path, const OpenOptions& options) {
  const ScopedFloatEnvironment environment;
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kIo, "cannot open '" + path + "': " + std::strerror(errno)};
  ModelBuilder builder(path);
  std::string line;
  std::vector<float> row;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    const size_t space = line.find(' ');
    if (space == std::string::npos) return line_error(path, number, "a word without numbers");
    row.clear();
    const char* const end = line.data() + line.size();
    for (const char* at = line.data() + space; at < end;) {
      float value = 0;
      const auto [rest, error] = std::from_chars(at + 1, end, value);
      if (error != std::errc() || (rest < end && *rest != ' '))
        return line_error(path, number,
                          "a number was expected at '" + std::string(at + 1, end).substr(0, 20) + "'");
      row.push_back(value);
      at = rest;
    }
    GLOVE_RETURN_IF_ERROR(builder.add(std::string_view(line).substr(0, space), row));
  }
  return builder.finish(options.threads);
}

}  // namespace glove
