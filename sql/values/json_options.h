// Options that a function or table takes as a JSON object, such as those of glove_kmeans.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/status.h"
#include "sql/adapter/boundary.h"

namespace glove::sql {

// No upper limit of an integer.
constexpr int64_t kAnyWhole = std::numeric_limits<int64_t>::max();

// Each stores the value and returns true, or returns false if it is not of this kind.
bool take_flag(const JsonValue& value, bool& flag);
bool take_whole(const JsonValue& value, int64_t least, int64_t& number, int64_t most = kAnyWhole);
bool take_number(const JsonValue& value, double least, double most, double& number);
template <class Choices, class Choice>
bool take_choice(const JsonValue& value, const Choices& choices, Choice& choice) {  // pairs of a name and one
  if (value.kind != JsonKind::kText) return false;
  for (const auto& [name, meaning] : choices)
    if (value.text == name) {
      choice = meaning;
      return true;
    }
  return false;
}
// The same as a function for JsonOption, which stores the choice in a member.
template <auto kMember, const auto& kChoices, class Options>
bool store_choice(const JsonValue& value, Options& options) {
  return take_choice(value, kChoices, options.*kMember);
}

// What messages call such an integer: "a positive integer", "an integer from 1 to 20".
std::string expected_whole(int64_t least, int64_t most);

// One of the options that Options has: its name, where its value is kept, and what that must be.
template <class Options>
class JsonOption {
 public:
  constexpr JsonOption(const char* name, bool Options::*flag) : name_(name), flag_(flag) {}
  constexpr JsonOption(const char* name, int64_t Options::*whole, int64_t least, int64_t most = kAnyWhole)
      : name_(name), whole_(whole), least_whole_(least), most_whole_(most) {}
  // `expects` says what the value must be, for messages.
  constexpr JsonOption(const char* name, const char* expects, double Options::*number, double least,
                       double most)
      : name_(name), expects_(expects), number_(number), least_(least), most_(most) {}
  // `store` keeps the value, or returns false if it is invalid.
  constexpr JsonOption(const char* name, const char* expects, bool (*store)(const JsonValue&, Options&))
      : name_(name), expects_(expects), take_(store) {}

  const char* name() const { return name_; }
  std::string expects() const {
    return whole_ != nullptr ? expected_whole(least_whole_, most_whole_) : expects_;
  }
  // Stores the value. False: it is invalid.
  bool take(const JsonValue& value, Options& options) const {
    if (flag_ != nullptr) return take_flag(value, options.*flag_);
    if (whole_ != nullptr) return take_whole(value, least_whole_, options.*whole_, most_whole_);
    return number_ != nullptr ? take_number(value, least_, most_, options.*number_) : take_(value, options);
  }

 private:
  const char* name_;
  const char* expects_ = "true or false";
  bool Options::*flag_ = nullptr;
  int64_t Options::*whole_ = nullptr;
  double Options::*number_ = nullptr;
  bool (*take_)(const JsonValue&, Options&) = nullptr;
  int64_t least_whole_ = 0, most_whole_ = 0;
  double least_ = 0, most_ = 0;
};

// Returns a value as messages show it: only the kind of an array or object, and the beginning of long text.
std::string shown_json(const JsonValue& value);

// Returns the text of an options input; "{}" if it is NULL or absent (nullptr). `object`, the name of the
// function or table, begins the messages.
Result<std::string_view> options_text(sqlite3_value* value, std::string_view object);

// The members of an object. If a name occurs twice, its last value counts. Arrays have their elements, but of
// arrays and objects inside them only the kind is kept.
using JsonMembers = std::map<std::string, JsonValue>;

// Reads a JSON object. `example` is one, for the message.
Result<JsonMembers> read_json_object(std::string_view json, std::string_view object, std::string_view example,
                                     const InterruptCheck& interrupted);

// "<object>: unknown option ..." and "<object>: option ... is ..., but must be ...".
Error unknown_option(std::string_view object, const std::string& name, const std::string& names);
Error wrong_option(std::string_view object, const std::string& name, const JsonValue& value,
                   const std::string& expects);

// Returns the options with the members that the JSON object names set; without one, all have their defaults.
// An unknown option or an invalid value is an error that lists what is allowed. `given`, unless it is null,
// receives the number of members.
template <class Options>
Result<Options> parse_options(std::optional<std::string_view> json, std::string_view object,
                              std::string_view example, std::span<const JsonOption<Options>> known,
                              const InterruptCheck& interrupted = {}, size_t* given = nullptr) {
  Options options;
  if (!json) return options;
  GLOVE_ASSIGN_OR_RETURN(const JsonMembers members, read_json_object(*json, object, example, interrupted));
  if (given != nullptr) *given = members.size();
  for (const auto& [name, value] : members) {
    const JsonOption<Options>* option = nullptr;
    std::string names;
    for (const JsonOption<Options>& each : known) {
      if (name == each.name()) option = &each;
      names += (names.empty() ? "" : ", ") + std::string(each.name());
    }
    if (option == nullptr) return unknown_option(object, name, names);
    if (!option->take(value, options)) return wrong_option(object, name, value, option->expects());
  }
  return options;
}

// The same for the text of an options input, as options_text() reads it.
template <class Options>
Result<Options> read_options(sqlite3_value* value, std::string_view object, std::string_view example,
                             std::span<const JsonOption<Options>> known) {
  GLOVE_ASSIGN_OR_RETURN(const std::string_view json, options_text(value, object));
  return parse_options<Options>(json, object, example, known);
}

}  // namespace glove::sql
