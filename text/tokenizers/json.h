// The parts of a tokenizer.json, each with its place in the file for messages.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace glove::tokenizers {

// Parses a whole file. Fails with kCorrupt if it is larger or nested deeper than any tokenizer.
[[gnu::cold]] Result<nlohmann::json> parse_json(std::string_view text, const std::string& file);

// A value of the file. The document must outlive it.
class JsonField {
 public:
  JsonField(const nlohmann::json& value, std::string path, const std::string& file)
      : value_(&value), path_(std::move(path)), file_(&file) {}

  const nlohmann::json& value() const { return *value_; }

  // "tokenizer.json: model.vocab WHAT"
  [[gnu::cold]] Error corrupt(std::string_view what) const { return error(ErrorCode::kCorrupt, what); }
  [[gnu::cold]] Error unsupported(std::string_view what) const {
    return error(ErrorCode::kInvalidArgument, what);
  }

  // A member; of the other functions, the first fails if it is missing, and the second takes null for
  // missing.
  [[gnu::cold]] bool has(const char* name) const;
  [[gnu::cold]] Result<JsonField> at(const char* name) const;
  [[gnu::cold]] std::optional<JsonField> find(const char* name) const;

  // The elements of an array.
  [[gnu::cold]] Result<std::vector<JsonField>> elements() const;

  // Members of a type. With a default, they may be missing.
  [[gnu::cold]] Result<std::string> string(const char* name) const;
  [[gnu::cold]] Result<std::string> string(const char* name, std::string otherwise) const;
  [[gnu::cold]] Result<bool> boolean(const char* name) const;
  [[gnu::cold]] Result<bool> boolean(const char* name, bool otherwise) const;
  [[gnu::cold]] Result<uint32_t> id(const char* name) const;
  [[gnu::cold]] Result<uint64_t> number(const char* name) const;

  // The value itself as an id.
  [[gnu::cold]] Result<uint32_t> id() const;

 private:
  [[gnu::cold]] Error error(ErrorCode code, std::string_view what) const;

  const nlohmann::json* value_;
  std::string path_;
  const std::string* file_;
};

}  // namespace glove::tokenizers
