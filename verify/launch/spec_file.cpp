#include "verify/launch/spec_file.h"

#include <algorithm>

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace glove::verify {
namespace {

struct Reader {
  std::string path;
  std::string error;

  void fail(const toml::node& node, const std::string& what) {
    if (error.empty()) error = path + ":" + std::to_string(node.source().begin.line) + ": " + what;
  }

  void size(const toml::table& table, const char* key, std::array<uint32_t, 3>* out) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return;
    *out = {1, 1, 1};
    if (const auto number = node->value<int64_t>(); number && *number > 0 && *number <= 65535) {
      (*out)[0] = static_cast<uint32_t>(*number);
    } else if (const toml::array* array = node->as_array();
               array != nullptr && !array->empty() && array->size() <= 3) {
      for (size_t i = 0; i < array->size(); ++i) {
        const auto part = (*array)[i].value<int64_t>();
        if (!part || *part < 1 || *part > 65535)
          return fail(*node, std::string(key) + " holds numbers from 1 to 65535");
        (*out)[i] = static_cast<uint32_t>(*part);
      }
    } else {
      fail(*node, std::string(key) + " is a number or an array of at most three");
    }
  }

  void parameter(const toml::table& table, Launch* launch) {
    ParameterValue value;
    value.offset = static_cast<uint64_t>(table["at"].value_or<int64_t>(-1));
    if (value.offset > 65536) return fail(table, "a parameter needs its offset: at = ...");
    if (const auto name = table["buffer"].value<std::string>()) {
      value.is_buffer = true;
      value.buffer = *name;
      value.bytes = 8;
      value.buffer_bytes = static_cast<uint64_t>(table["bytes"].value_or<int64_t>(0));
      value.zeroed = table["zeroed"].value_or(false);
    } else if (const auto small = table["u32"].value<int64_t>()) {
      value.bytes = 4;
      value.value = static_cast<uint32_t>(*small);
    } else if (const auto large = table["u64"].value<int64_t>()) {
      value.bytes = 8;
      value.value = static_cast<uint64_t>(*large);
    } else {
      return fail(table, "a parameter is a buffer, a u32 or a u64");
    }
    launch->parameters.push_back(value);
  }

  void range(const toml::node& node, Launch* launch) {
    const toml::table* entry = node.as_table();
    if (entry == nullptr || !(*entry)["file"].is_string() || !(*entry)["line"].is_integer() ||
        !(*entry)["least"].is_integer() || !(*entry)["most"].is_integer() || !(*entry)["reason"].is_string())
      return fail(node, "a range has a file, a line, the least and the most number, and a reason");
    launch->ranges.push_back({(*entry)["file"].value_or<std::string>(""),
                              static_cast<int>((*entry)["line"].value_or<int64_t>(0)),
                              (*entry)["least"].value_or<int64_t>(0), (*entry)["most"].value_or<int64_t>(0),
                              (*entry)["reason"].value_or<std::string>("")});
  }

  void launch(const toml::table& table, Launch* out) {
    if (const auto name = table["name"].value<std::string>()) out->name = *name;
    if (const auto kernel = table["kernel"].value<std::string>()) out->kernel = *kernel;
    size(table, "block", &out->block);
    size(table, "grid", &out->grid);
    if (const auto bytes = table["dynamic_shared"].value<int64_t>())
      out->dynamic_shared = static_cast<uint64_t>(*bytes);
    if (const toml::array* parameters = table["parameters"].as_array())
      for (const toml::node& node : *parameters) {
        if (const toml::table* entry = node.as_table())
          parameter(*entry, out);
        else
          fail(node, "a parameter is a table");
      }
    if (const toml::array* ranges = table["ranges"].as_array())
      for (const toml::node& node : *ranges) range(node, out);
    if (const toml::array* lemmas = table["lemmas"].as_array())
      for (const toml::node& node : *lemmas) {
        const toml::table* entry = node.as_table();
        if (entry == nullptr || !(*entry)["file"].is_string() || !(*entry)["line"].is_integer() ||
            !(*entry)["reason"].is_string()) {
          fail(node, "a lemma has a file, a line and a reason");
          continue;
        }
        out->lemmas.push_back({(*entry)["file"].value_or<std::string>(""),
                               static_cast<int>((*entry)["line"].value_or<int64_t>(0)),
                               (*entry)["reason"].value_or<std::string>("")});
      }
  }
};

// A launch from what several tables say of it; later ones replace what earlier ones say, and add lemmas and
// ranges.
class Layers {
 public:
  explicit Layers(Reader* reader) : reader_(reader) {}

  void add(const toml::table& table) {
    std::vector<ParameterValue> before;
    std::swap(before, launch_.parameters);
    reader_->launch(table, &launch_);
    for (const ParameterValue& value : before) {
      const auto replaces = [&](const ParameterValue& other) { return other.offset == value.offset; };
      if (std::none_of(launch_.parameters.begin(), launch_.parameters.end(), replaces))
        launch_.parameters.push_back(value);
    }
  }

  // Adds the choices that `with` names. A launch without a name is called after them.
  void choose(const toml::table& choices, const toml::table& with) {
    for (const auto& [factor, wanted] : with) {
      const std::string value = wanted.is_integer() ? std::to_string(wanted.value_or<int64_t>(0))
                                                    : wanted.value_or<std::string>("");
      const toml::table* choice = choices[factor.str()][value].as_table();
      if (choice == nullptr)
        return reader_->fail(wanted, "there is no [choices." + std::string(factor.str()) + "." + value + "]");
      add(*choice);
      names_ += (names_.empty() ? "" : ", ") + std::string(factor.str()) + " " + value;
    }
  }

  Launch take() {
    if (launch_.name.empty()) launch_.name = names_;
    return std::move(launch_);
  }

 private:
  Reader* reader_;
  Launch launch_;
  std::string names_;
};

}  // namespace

bool read_spec(const std::string& path, SpecFile* spec, std::string* error) {
  const toml::parse_result parsed = toml::parse_file(path);
  if (!parsed) {
    *error = path + ":" + std::to_string(parsed.error().source().begin.line) + ": " +
             std::string(parsed.error().description());
    return false;
  }
  const toml::table& root = parsed.table();
  Reader reader{path, ""};
  const toml::array* launches = root["launch"].as_array();
  const toml::table* choices = root["choices"].as_table();
  for (size_t i = 0; i < (launches != nullptr ? launches->size() : 1); ++i) {
    const toml::table* own = launches != nullptr ? (*launches)[i].as_table() : nullptr;
    Layers layers(&reader);
    layers.add(root);
    if (own != nullptr && own->contains("with")) {
      const toml::table* with = (*own)["with"].as_table();
      if (choices != nullptr && with != nullptr)
        layers.choose(*choices, *with);
      else
        reader.fail(*own, "`with` is a table of names from [choices]");
    }
    if (own != nullptr) layers.add(*own);
    spec->launches.push_back(layers.take());
  }
  *error = reader.error;
  return reader.error.empty();
}

}  // namespace glove::verify
