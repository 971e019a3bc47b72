#include "text/tokenizers/json.h"

#include <utility>

#include "base/concat.h"
#include "base/float_from_chars.h"
#include "base/json.h"

namespace glove::tokenizers {
namespace {

constexpr size_t kMostBytes = size_t{256} << 20;  // the largest known file has 33 MB
constexpr size_t kMostDepth = 64;                 // the deepest known one has 7

// Makes the tree of a file. The parts of an array or object do not move before it ends.
class TreeBuilder : public JsonHandler {
 public:
  bool value(JsonValue& read) override {
    const bool opens = read.kind == JsonKind::kArray || read.kind == JsonKind::kObject;
    is_too_deep = is_too_deep || (opens && open_.size() == kMostDepth);
    if (is_too_deep) return false;
    Json& made = add(tree(read));
    if (opens) open_.push_back(&made);
    return true;
  }
  void key(std::string& name) override { name_ = std::move(name); }
  void end() override { open_.pop_back(); }
  void malformed(size_t position, bool too_large) override {
    error_position = position;
    is_too_large = too_large;
  }

  Json root;
  size_t error_position = 0;
  bool is_too_large = false;
  bool is_too_deep = false;

 private:
  static Json tree(JsonValue& read) {
    if (read.kind == JsonKind::kNull) return {};
    if (read.kind == JsonKind::kBoolean) return {read.flag};
    if (read.kind == JsonKind::kInteger && read.integer >= 0) return {static_cast<uint64_t>(read.integer)};
    if (read.kind == JsonKind::kReal)  // an integer that only uint64_t holds
      if (const auto whole = number_from<uint64_t>(read.text)) return {*whole};
    if (read.is_number()) return {read.number};
    if (read.kind == JsonKind::kText) return {std::move(read.text)};
    if (read.kind == JsonKind::kArray) return {JsonArray()};
    return {JsonObject()};
  }

  Json& add(Json made) {
    if (open_.empty()) return root = std::move(made);
    if (auto* array = std::get_if<JsonArray>(&open_.back()->value))
      return array->emplace_back(std::move(made));
    auto& object = *std::get_if<JsonObject>(&open_.back()->value);
    return object.insert_or_assign(std::move(name_), std::move(made)).first->second;
  }

  std::vector<Json*> open_;  // the arrays and objects that have not ended, the innermost last
  std::string name_;
};

// Appends the value as JSON; of a long one only more than a message shows.
void append_json(const Json& json, std::string& text) {
  constexpr size_t kMostShown = 1000;
  const auto append_all = [&](const auto& members, char begin, char end, const auto& append) {
    text += begin;
    for (const auto& member : members) {
      if (text.size() > kMostShown) break;
      append(member);
      text += ',';
    }
    if (text.back() == ',') text.pop_back();
    text += end;
  };
  if (json.as<std::nullptr_t>() != nullptr) text += "null";
  if (const auto* flag = json.as<bool>()) text += *flag ? "true" : "false";
  if (const auto* whole = json.as<uint64_t>()) text += std::to_string(*whole);
  if (const auto* number = json.as<double>()) text += number_text(*number);
  if (const auto* string = json.as<std::string>()) text += json_text(*string);
  if (const auto* array = json.as<JsonArray>())
    append_all(*array, '[', ']', [&](const Json& element) { append_json(element, text); });
  if (const auto* object = json.as<JsonObject>())
    append_all(*object, '{', '}', [&](const auto& member) {
      text += json_text(member.first) + ":";
      append_json(member.second, text);
    });
}

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonSource& source) {
  const std::string& file = source.file;
  if (text.size() > kMostBytes)
    return corrupt_file(file, "a tokenizer.json of ", text.size(), " bytes is too long: at most ", kMostBytes,
                        " are read");
  TreeBuilder builder;
  GLOVE_ASSIGN_OR_RETURN(const bool is_json, read_json(text, builder, [&] { return source.poll.stop(); }));
  if (builder.is_too_deep)
    return corrupt_file(file, "the JSON is nested deeper than ", kMostDepth,
                        " levels, so it is no tokenizer.json");
  if (is_json) return std::move(builder.root);
  if (builder.is_too_large)
    return corrupt_file(file,
                        "the JSON has a number beyond the range of a double: download tokenizer.json again");
  const size_t position = builder.error_position > 0 ? builder.error_position : text.find('\0') + 1;
  return corrupt_file(file, "malformed JSON at byte ", position, ": download tokenizer.json again");
}

std::optional<double> Json::number() const {
  if (const auto* whole = as<uint64_t>()) return static_cast<double>(*whole);
  if (const auto* real = as<double>()) return *real;
  return std::nullopt;
}

const Json* Json::pair() const {
  const auto* array = as<JsonArray>();
  return array != nullptr && array->size() == 2 ? array->data() : nullptr;
}

Error JsonField::error(ErrorCode code, std::string_view what) const {
  return {code,
          source_->file + ": " + (path_.empty() ? std::string("the file") : path_) + " " + std::string(what)};
}

Error JsonField::must_be(std::string_view what) const {
  std::string shown;
  append_json(*value_, shown);
  return corrupt("must be " + std::string(what) + ", and not " + quoted_value(shown));
}

std::optional<JsonField> JsonField::find(const char* name) const {
  const auto* object = value_->as<JsonObject>();
  if (object == nullptr) return std::nullopt;
  const auto found = object->find(name);
  if (found == object->end() || found->second.as<std::nullptr_t>() != nullptr) return std::nullopt;
  return member(name, found->second);
}

Result<JsonField> JsonField::at(const char* name) const {
  if (value_->as<JsonObject>() == nullptr) return must_be("an object");
  if (auto found = find(name)) return *std::move(found);
  return corrupt("lacks '" + std::string(name) + "'");
}

Status JsonField::each(const std::function<Status(const JsonField&)>& use) const {
  const auto* array = value_->as<JsonArray>();
  if (array == nullptr) return must_be("an array");
  for (size_t i = 0; i < array->size(); ++i) {
    GLOVE_RETURN_IF_ERROR(poll().check());
    GLOVE_RETURN_IF_ERROR(use({(*array)[i], path_ + "[" + std::to_string(i) + "]", *source_}));
  }
  return {};
}

Status JsonField::each_step(const char* list, const UseStep& use) const {
  GLOVE_ASSIGN_OR_RETURN(const std::string type, string("type"));
  if (type != "Sequence") return use(*this, type);
  GLOVE_ASSIGN_OR_RETURN(const JsonField steps, at(list));
  return steps.each([&](const JsonField& step) { return step.each_step(list, use); });
}

Result<uint32_t> JsonField::id(const char* name) const {
  GLOVE_ASSIGN_OR_RETURN(const JsonField field, at(name));
  return field.id();
}

Result<uint32_t> JsonField::id() const {
  constexpr uint64_t kMost = UINT32_MAX - 2;  // the larger numbers mean that there is none
  const auto* whole = value_->as<uint64_t>();
  if (whole != nullptr && *whole <= kMost) return static_cast<uint32_t>(*whole);
  return must_be("an id, a whole number up to " + std::to_string(kMost));
}

}  // namespace glove::tokenizers
