#include "text/tokenizers/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/polled_bytes.h"
#include "base/utf8.h"

namespace glove::tokenizers {
namespace {

using nlohmann::json;

constexpr size_t kMostBytes = size_t{256} << 20;  // the largest known file has 33 MB
constexpr int kMostDepth = 64;                    // the deepest known one has 7

// Returns how deep the arrays and objects are nested; brackets in strings do not count.
int depth_of(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\')
      ++i;
    else if (c == '"')
      in_string = !in_string;
    else if (!in_string && (c == '[' || c == '{'))
      deepest = std::max(deepest, ++depth);
    else if (!in_string && (c == ']' || c == '}'))
      --depth;
  }
  return deepest;
}

}  // namespace

Result<json> parse_json(std::string_view text, const JsonSource& source) {
  const std::string& file = source.file;
  if (text.size() > kMostBytes) {
    return Error{ErrorCode::kCorrupt, file + ": a tokenizer.json of " + std::to_string(text.size()) +
                                          " bytes is too long: at most " + std::to_string(kMostBytes) +
                                          " are read"};
  }
  if (depth_of(text) > kMostDepth)
    return Error{ErrorCode::kCorrupt, file + ": the JSON is nested deeper than " +
                                          std::to_string(kMostDepth) + " levels, so it is no tokenizer.json"};
  try {
    return json::parse(PolledBytes(text.data(), source.poll),
                       PolledBytes(text.data() + text.size(), source.poll));
  } catch (const PolledBytes::Interrupted&) {
    return interrupted_error();
  } catch (const json::parse_error& problem) {
    return Error{ErrorCode::kCorrupt, file + ": malformed JSON at byte " + std::to_string(problem.byte) +
                                          ": download tokenizer.json again"};
  } catch (const json::out_of_range&) {
    return Error{
        ErrorCode::kCorrupt,
        file + ": the JSON has a number beyond the range of a double: download tokenizer.json again"};
  }
}

Error JsonField::error(ErrorCode code, std::string_view what) const {
  return {code,
          source_->file + ": " + (path_.empty() ? std::string("the file") : path_) + " " + std::string(what)};
}

Error JsonField::must_be(std::string_view what) const {
  return corrupt("must be " + std::string(what) + ", and not " +
                 quoted_value(value_->dump(-1, ' ', false, json::error_handler_t::replace)));
}

bool JsonField::has(const char* name) const {
  return find(name).has_value();
}

std::optional<JsonField> JsonField::find(const char* name) const {
  if (!value_->is_object()) return std::nullopt;
  const auto found = value_->find(name);
  if (found == value_->end() || found->is_null()) return std::nullopt;
  return member(name, *found);
}

Result<JsonField> JsonField::at(const char* name) const {
  if (!value_->is_object()) return must_be("an object");
  if (auto found = find(name)) return *std::move(found);
  return corrupt("lacks '" + std::string(name) + "'");
}

Status JsonField::each(const std::function<Status(const JsonField&)>& use) const {
  if (!value_->is_array()) return must_be("an array");
  for (size_t i = 0; i < value_->size(); ++i) {
    GLOVE_RETURN_IF_ERROR(poll().check());
    GLOVE_RETURN_IF_ERROR(use({(*value_)[i], path_ + "[" + std::to_string(i) + "]", *source_}));
  }
  return {};
}

Result<std::string> JsonField::string(const char* name) const {
  GLOVE_ASSIGN_OR_RETURN(const JsonField field, at(name));
  if (!field.value().is_string()) return field.must_be("a string");
  return field.value().get<std::string>();
}

Result<std::string> JsonField::string(const char* name, std::string otherwise) const {
  return has(name) ? string(name) : Result<std::string>(std::move(otherwise));
}

Result<bool> JsonField::boolean(const char* name) const {
  GLOVE_ASSIGN_OR_RETURN(const JsonField field, at(name));
  if (!field.value().is_boolean()) return field.must_be("true or false");
  return field.value().get<bool>();
}

Result<bool> JsonField::boolean(const char* name, bool otherwise) const {
  return has(name) ? boolean(name) : Result<bool>(otherwise);
}

Result<uint64_t> JsonField::number(const char* name) const {
  GLOVE_ASSIGN_OR_RETURN(const JsonField field, at(name));
  if (!field.value().is_number_unsigned()) return field.must_be("a whole number that is not negative");
  return field.value().get<uint64_t>();
}

Result<uint32_t> JsonField::id(const char* name) const {
  GLOVE_ASSIGN_OR_RETURN(const JsonField field, at(name));
  return field.id();
}

Result<uint32_t> JsonField::id() const {
  constexpr uint64_t kMost = UINT32_MAX - 2;  // the larger numbers mean that there is none
  if (!value_->is_number_unsigned() || value_->get<uint64_t>() > kMost) {
    return must_be("an id, a whole number up to " + std::to_string(kMost));
  }
  return value_->get<uint32_t>();
}

}  // namespace glove::tokenizers
