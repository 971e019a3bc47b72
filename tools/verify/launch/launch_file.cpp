#include "launch/launch_file.h"

#include <algorithm>
#include <climits>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <span>
#include <string>
#include <string_view>

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace glove::verify {
namespace {

using Keys = std::span<const std::string_view>;

// The keys that each kind of table may have; a launch and a file have those of a set, too.
constexpr std::string_view kSetKeys[] = {"name",    "kernel",         "block",      "grid",
                                         "cluster", "dynamic_shared", "parameters", "lemmas",
                                         "ranges",  "constants",      "assume"};
constexpr std::string_view kLaunchKeys[] = {"with"};
constexpr std::string_view kFileKeys[] = {"launch", "choices"};
constexpr std::string_view kParameterKeys[] = {
    "at",       "index", "buffer", "bytes", "zeroed", "distinct", "every",
    "pointers", "u32",   "u64",    "s32",   "s64",    "sorted",   "strictly_increasing"};
constexpr std::string_view kRangeKeys[] = {"name", "file", "line", "least", "most", "reason"};
constexpr std::string_view kLemmaKeys[] = {"name", "file", "line", "reason"};

// Reads the tables of a file. Keeps the first thing that is wrong in them.
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  const std::string& error() const { return error_; }

  void fail(const toml::source_region& source, const std::string& what) {
    if (!error_.empty()) return;
    error_ = path_ + ":" + std::to_string(source.begin.line) + ": " + what;
  }
  void fail(const toml::node& node, const std::string& what) { fail(node.source(), what); }

  // Whether the table has none but these keys, and those of other programs, which begin with "x-". `what`:
  // what the table is, with its article.
  bool check_keys(const toml::table& table, const std::string& what, Keys own, Keys shared = {}) {
    std::vector<std::string_view> known(own.begin(), own.end());
    known.insert(known.end(), shared.begin(), shared.end());
    for (const auto& [key, node] : table) {
      if (std::ranges::find(known, key.str()) != known.end() || key.str().starts_with("x-")) continue;
      std::string keys;
      for (const std::string_view name : known) keys += (keys.empty() ? "" : ", ") + std::string(name);
      fail(key.source(), what + " has no key '" + std::string(key.str()) + "'; its keys are " + keys);
      return false;
    }
    return true;
  }

  // What a launch, a set of [choices] or the file itself says of a launch. own: see ParameterValue.
  void shape(const toml::table& table, bool own, Launch* out) {
    text(table, "name", &out->name);
    if (text(table, "kernel", &out->kernel)) pattern(table);
    size(table, "block", 1024, "a block has at most 1024 threads", &out->block);
    size(table, "grid", 65536, "a grid has at most 65536 blocks here", &out->grid);
    size(table, "cluster", kMostClusterBlocks, "a cluster has at most 16 blocks", &out->cluster);
    if (uint64_t bytes = 0; number(table, "dynamic_shared", 0, kMostBlockShared, &bytes))
      out->dynamic_shared = bytes;
    if (std::string word; text(table, "constants", &word)) {
      if (word != "initial") fail(*table.get("constants"), "constants must be \"initial\"");
      out->constants = true;
    }
    each(table, "parameters", [&](const toml::table& entry) { parameter(entry, own, out); });
    each(table, "ranges", [&](const toml::table& entry) { range(entry, out); });
    each(table, "lemmas", [&](const toml::table& entry) { lemma(entry, out); });
    if (const toml::node* node = table.get("assume")) relations(*node, out);
  }

  // Once all parameters of a launch are known.
  void check_relations(const Launch& launch) {
    for (Relation relation : launch.relations)
      if (const auto wrong = read_relation(&relation, launch); wrong && error_.empty())
        error_ = path_ + ":" + std::to_string(relation.line) + ":" +
                 std::to_string(relation.column + static_cast<int>(wrong->at)) + ": assume = \"" +
                 relation.text + "\": " + wrong->what;
  }

  // The tables of an array, if there is one with this key.
  template <typename Use>
  void each(const toml::table& table, const char* key, const Use& use) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return;
    const toml::array* array = node->as_array();
    if (array == nullptr) return fail(*node, std::string(key) + " must be an array of tables");
    for (const toml::node& item : *array) {
      if (const toml::table* entry = item.as_table())
        use(*entry);
      else
        fail(item, std::string(key) + " must be an array of tables");
    }
  }

 private:
  // Each returns whether the table has the key, with a value that can be used.
  bool text(const toml::table& table, const char* key, std::string* out) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return false;
    const toml::value<std::string>* value = node->as_string();
    if (value == nullptr) return fail(*node, std::string(key) + " must be a string"), false;
    *out = value->get();
    return true;
  }

  template <typename Number>
  bool number(const toml::table& table, const char* key, int64_t least, int64_t most, Number* out) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return false;
    const toml::value<int64_t>* value = node->as_integer();
    if (value == nullptr || value->get() < least || value->get() > most) {
      fail(*node, std::string(key) + " must be an integer from " + std::to_string(least) + " to " +
                      std::to_string(most));
      return false;
    }
    *out = static_cast<Number>(value->get());
    return true;
  }

  void pattern(const toml::table& table) {
    const std::string text = table["kernel"].value_or<std::string>("");
    try {
      static_cast<void>(std::regex(text));
    } catch (const std::regex_error&) {
      fail(*table.get("kernel"), "kernel = '" + text + "' is not a regular expression");
    }
  }

  void size(const toml::table& table, const char* key, uint64_t most, const char* limit,
            std::array<uint32_t, 3>* out) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return;
    const std::string wanted =
        std::string(key) + " must be an integer from 1 to 65535, or an array of at most three";
    const auto part = [&](const toml::node& item) -> uint32_t {
      const toml::value<int64_t>* value = item.as_integer();
      if (value != nullptr && value->get() >= 1 && value->get() <= 65535)
        return static_cast<uint32_t>(value->get());
      fail(item, wanted);
      return 1;
    };
    *out = {1, 1, 1};
    if (const toml::array* array = node->as_array()) {
      if (array->empty() || array->size() > 3) return fail(*node, wanted);
      for (size_t i = 0; i < array->size(); ++i) (*out)[i] = part((*array)[i]);
    } else {
      (*out)[0] = part(*node);
    }
    const uint64_t product = uint64_t{(*out)[0]} * (*out)[1] * (*out)[2];
    if (product > most)
      fail(*node, std::string(limit) + ", and this " + key + " has " + std::to_string(product));
  }

  void parameter(const toml::table& table, bool own, Launch* launch) {
    if (!check_keys(table, "a parameter", kParameterKeys)) return;
    ParameterValue value;
    value.line = static_cast<int>(table.source().begin.line);
    value.own = own;
    if (size_t index = 0; number(table, "index", 0, 65535, &index)) value.index = index;
    if (!number(table, "at", 0, 65535, &value.offset) && !value.index)
      return fail(table, "a parameter needs its offset or its index; add at = ... or index = ...");
    value.is_buffer = text(table, "buffer", &value.buffer);
    int kinds = int{value.is_buffer};
    value.bytes = 8;
    for (const char* key : {"u32", "s32", "u64", "s64"}) {
      if (!table.contains(key)) continue;
      ++kinds;
      value.is_signed = key[0] == 's';
      value.bytes = key[1] == '3' ? 4 : 8;
      const int64_t most = value.bytes == 8 ? INT64_MAX : value.is_signed ? INT32_MAX : UINT32_MAX;
      if (table.get(key)->is_string())
        text(table, key, &value.name);
      else
        number(table, key, value.is_signed ? -most - 1 : 0, most, &value.value);
    }
    if (kinds != 1) return fail(table, "a parameter must have one of the keys buffer, u32, s32, u64 and s64");
    if (const auto other = std::ranges::find(launch->parameters, value.name, &ParameterValue::name);
        !value.name.empty() && other != launch->parameters.end())
      return fail(table, "the parameter of line " + std::to_string(other->line) + " is called '" +
                             value.name + "', too; give one of them another name");
    if (value.offset % value.bytes != 0)
      return fail(table, "at = " + std::to_string(value.offset) + " must be a multiple of " +
                             std::to_string(value.bytes) + ", which are the bytes of this parameter");
    number(table, "bytes", 1, INT64_MAX, &value.buffer_bytes);
    for (const auto& [key, flag] : {std::pair("zeroed", &value.zeroed), std::pair("sorted", &value.sorted),
                                    std::pair("strictly_increasing", &value.increasing)})
      if (const toml::node* node = table.get(key)) {
        if (!node->is_boolean()) return fail(*node, std::string(key) + " must be true or false");
        if (!value.is_buffer)
          return fail(table, std::string(key) + " belongs to a buffer; add buffer = \"NAME\" or remove it");
        *flag = table[key].value_or(false);
      }
    text(table, "distinct", &value.distinct);
    const bool of_numbers = !value.distinct.empty() || value.sorted || value.increasing;
    if (number(table, "every", 4, 65536, &value.every) && (value.every % 4 != 0 || !of_numbers))
      return fail(table, "every must be a multiple of 4, beside distinct, sorted or strictly_increasing");
    if (std::string word; text(table, "pointers", &word)) {
      if (word != "distinct" || !value.is_buffer)
        return fail(table, "pointers must be \"distinct\", beside buffer");
      value.distinct_pointers = true;
    }
    if (!value.is_buffer && table.contains("bytes"))
      return fail(table, "bytes belongs to a buffer; add buffer = \"NAME\" or remove it");
    if (!value.is_buffer && table.contains("distinct"))
      return fail(table, "distinct belongs to a buffer; add buffer = \"NAME\" or remove it");
    for (const ParameterValue& other : launch->parameters)
      if (value.index == other.index && value.offset < other.offset + other.bytes &&
          other.offset < value.offset + value.bytes)
        return fail(table, "at = " + std::to_string(value.offset) + " lies in the parameter of line " +
                               std::to_string(other.line) + "; remove one of them");
    launch->parameters.push_back(value);
  }

  // Whether the table has a name, or a file and a line.
  bool marked_line(const toml::table& table, MarkedLine* at) {
    at->declared_at = static_cast<int>(table.source().begin.line);
    if (table.contains("name") == table.contains("file")) return false;
    if (table.contains("name")) return !table.contains("line") && text(table, "name", &at->name);
    return text(table, "file", &at->file) && number(table, "line", 1, INT_MAX, &at->line);
  }

  void range(const toml::table& table, Launch* launch) {
    if (!check_keys(table, "a range", kRangeKeys)) return;
    DataRange range;
    const bool whole =
        marked_line(table, &range.at) && number(table, "least", INT64_MIN, INT64_MAX, &range.least) &&
        number(table, "most", INT64_MIN, INT64_MAX, &range.most) && text(table, "reason", &range.reason);
    if (!whole)
      return fail(table,
                  "a range has a name, or a file and a line; the least and the most number; and a reason");
    if (range.least > range.most)
      return fail(table, "least = " + std::to_string(range.least) +
                             " must not be above most = " + std::to_string(range.most));
    launch->ranges.push_back(range);
  }

  void lemma(const toml::table& table, Launch* launch) {
    if (!check_keys(table, "a lemma", kLemmaKeys)) return;
    Lemma lemma;
    if (!marked_line(table, &lemma.at) || !text(table, "reason", &lemma.reason))
      return fail(table, "a lemma has a name, or a file and a line; and a reason");
    launch->lemmas.push_back(lemma);
  }

  void relations(const toml::node& node, Launch* launch) {
    if (const toml::array* array = node.as_array()) {
      for (const toml::node& item : *array) relations(item, launch);
    } else if (const toml::value<std::string>* text = node.as_string()) {
      const auto at = node.source().begin;
      launch->relations.push_back({.text = text->get(),
                                   .line = static_cast<int>(at.line),
                                   .column = static_cast<int>(at.column) + 1});
    } else {
      fail(node, "assume must be a string, or an array of strings");
    }
  }

  std::string path_;
  std::string error_;
};

// Checks the choices, those too that no launch takes.
void check_choices(const toml::table& root, Reader* reader) {
  const toml::node* node = root.get("choices");
  if (node == nullptr) return;
  if (!node->is_table()) return reader->fail(*node, "choices must be a table of tables");
  for (const auto& [factor, sets] : *node->as_table()) {
    if (!sets.is_table()) return reader->fail(sets, "a choice must be a table of named sets");
    for (const auto& [value, set] : *sets.as_table()) {
      if (!set.is_table()) return reader->fail(set, "a set of a choice must be a table");
      Launch unused;
      if (reader->check_keys(*set.as_table(), "a set of a choice", kSetKeys))
        reader->shape(*set.as_table(), false, &unused);
    }
  }
}

// A launch from what the file, the choices that `with` names and the launch itself say of it; later ones
// replace what earlier ones say, and add lemmas and ranges. A launch without a name is called after its
// choices.
void read_launch(const toml::table& root, const toml::table& own, Reader* reader,
                 std::vector<Launch>* launches) {
  reader->check_keys(own, "a launch", kLaunchKeys, kSetKeys);
  Launch launch;
  const auto add = [&](const toml::table& table) {
    std::vector<ParameterValue> before;
    std::swap(before, launch.parameters);
    reader->shape(table, &table == &own, &launch);
    for (const ParameterValue& value : before)
      if (std::ranges::none_of(launch.parameters, [&](const ParameterValue& later) {
            return later.offset == value.offset && later.index == value.index;
          }))
        launch.parameters.push_back(value);
  };
  add(root);
  std::string names;
  if (const toml::node* with = own.get("with")) {
    const toml::table* choices = root["choices"].as_table();
    if (choices == nullptr || !with->is_table())
      return reader->fail(own, "`with` is a table of names from [choices]");
    for (const auto& [factor, wanted] : *with->as_table()) {
      const std::string value = wanted.is_integer() ? std::to_string(wanted.value_or<int64_t>(0))
                                                    : wanted.value_or<std::string>("");
      const toml::table* choice = (*choices)[factor.str()][value].as_table();
      if (choice == nullptr)
        return reader->fail(wanted, "there is no [choices." + std::string(factor.str()) + "." + value + "]");
      add(*choice);
      names += (names.empty() ? "" : ", ") + std::string(factor.str()) + " " + value;
    }
  }
  add(own);
  if (launch.name.empty()) launch.name = names;
  reader->check_relations(launch);
  launches->push_back(std::move(launch));
}

}  // namespace

Result<std::vector<Launch>> read_spec(const std::string& path) {
  const auto wrong = [](std::string message) { return Error{ErrorCode::kLaunchFile, std::move(message)}; };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return wrong(path + " is a directory; give --launch a file");
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) return wrong(path + ": cannot be read");
  // The TOML library's tables of letters have gaps that it takes for impossible.
  const auto foreign = std::ranges::find_if(text, [](char c) { return (c & 0x80) != 0; });
  if (foreign != text.end())
    return wrong(path + ":" + std::to_string(1 + std::count(text.begin(), foreign, '\n')) +
                 ": a launch file has ASCII characters only");
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    const auto line = parsed.error().source().begin.line;
    return wrong(path + (line == 0 ? "" : ":" + std::to_string(line)) + ": " +
                 std::string(parsed.error().description()));
  }
  const toml::table& root = parsed.table();
  Reader reader(path);
  reader.check_keys(root, "a launch file", kFileKeys, kSetKeys);
  check_choices(root, &reader);
  std::vector<Launch> launches;
  reader.each(root, "launch", [&](const toml::table& own) { read_launch(root, own, &reader, &launches); });
  if (!reader.error().empty()) return wrong(reader.error());
  if (launches.empty())
    return wrong(path + ": there is no launch in this file; add one, which begins with [[launch]]");
  for (Launch& launch : launches) launch.file = path;
  return launches;
}

}  // namespace glove::verify
