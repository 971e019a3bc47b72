// The parts of a tokenizer.json, each with its place in the file for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"

namespace glove::tokenizers {

// The file that is read: its name, for messages, and what may stop the reading.
struct JsonSource {
  const std::string& file;
  InterruptPoll& poll;
};

struct Json;
// The elements of an array, in their order.
using JsonArray = std::vector<Json>;
// The members of an object by name; of those with one name, the last.
using JsonObject = std::map<std::string, Json>;

// A value with all that is in it. A number is a uint64_t if it is one, else a double.
struct Json {
  std::variant<std::nullptr_t, bool, uint64_t, double, std::string, JsonArray, JsonObject> value;

  // Null if it is of another type.
  template <class T>
  const T* as() const {
    return std::get_if<T>(&value);
  }
  std::optional<double> number() const;
  // The elements of an array of two, or null.
  const Json* pair() const;
};

// Parses a whole file. Fails with kCorrupt if it is larger or nested deeper than any tokenizer.
[[gnu::cold]] Result<Json> parse_json(std::string_view text, const JsonSource& source);

// A value of the file. The document and the source must outlive it.
class JsonField {
 public:
  JsonField(const Json& value, std::string path, const JsonSource& source)
      : value_(&value), path_(std::move(path)), source_(&source) {}

  const Json& value() const { return *value_; }
  InterruptPoll& poll() const { return source_->poll; }

  // "tokenizer.json: model.vocab WHAT"
  [[gnu::cold]] Error corrupt(std::string_view what) const { return error(ErrorCode::kCorrupt, what); }
  [[gnu::cold]] Error unsupported(std::string_view what) const {
    return error(ErrorCode::kInvalidArgument, what);
  }
  // "tokenizer.json: model.unk_token must be WHAT, and not '7'"
  [[gnu::cold]] Error must_be(std::string_view what) const;

  // A member; of the other functions, the first fails if it is missing, and the second takes null for
  // missing.
  [[gnu::cold]] bool has(const char* name) const { return find(name).has_value(); }
  [[gnu::cold]] Result<JsonField> at(const char* name) const;
  [[gnu::cold]] std::optional<JsonField> find(const char* name) const;

  // The member of this object that has the name and the value.
  [[gnu::cold]] JsonField member(const std::string& name, const Json& value) const {
    return {value, path_.empty() ? name : path_ + "." + name, *source_};
  }

  // Calls use() with the elements of an array, until it fails or the poll stops.
  [[gnu::cold]] Status each(const std::function<Status(const JsonField&)>& use) const;
  // Calls use() with this object and its "type", or with each object of a Sequence, which `list` names.
  using UseStep = std::function<Status(const JsonField& step, const std::string& type)>;
  [[gnu::cold]] Status each_step(const char* list, const UseStep& use) const;

  // Members of a type. With a default, they may be missing.
  Result<std::string> string(const char* name) const { return member_as<std::string>(name, "a string"); }
  [[gnu::cold]] Result<std::string> string(const char* name, std::string otherwise) const {
    return has(name) ? string(name) : Result<std::string>(std::move(otherwise));
  }
  Result<bool> boolean(const char* name) const { return member_as<bool>(name, "true or false"); }
  [[gnu::cold]] Result<bool> boolean(const char* name, bool otherwise) const {
    return has(name) ? boolean(name) : Result<bool>(otherwise);
  }
  [[gnu::cold]] Result<uint32_t> id(const char* name) const;
  Result<uint64_t> number(const char* name) const {
    return member_as<uint64_t>(name, "a whole number that is not negative");
  }

  // The value itself as an id.
  [[gnu::cold]] Result<uint32_t> id() const;

 private:
  [[gnu::cold]] Error error(ErrorCode code, std::string_view what) const;
  template <class T>
  [[gnu::cold]] Result<T> member_as(const char* name, std::string_view what) const {
    GLOVE_ASSIGN_OR_RETURN(const JsonField field, at(name));
    if (const T* const found = field.value().as<T>()) return *found;
    return field.must_be(what);
  }

  const Json* value_;
  std::string path_;
  const JsonSource* source_;
};

}  // namespace glove::tokenizers
