#include "gpu/kernels/launches/launch_file.h"

#include <algorithm>

namespace glove::gpu::launches {
namespace {

std::string quoted(const std::string& text) {
  return '"' + text + '"';
}

// [a, b], each as `write` does it.
template <class Item, class Write>
std::string array_of(const std::vector<Item>& items, const Write& write) {
  std::string text;
  for (const Item& item : items) text += (text.empty() ? "" : ", ") + write(item);
  return '[' + text + ']';
}

// "dims 16, blocks 2" as { dims = "16", blocks = "2" }.
std::string table_of(const std::string& choices) {
  std::string text;
  for (size_t begin = 0; begin < choices.size();) {
    const size_t end = std::min(choices.find(", ", begin), choices.size());
    const size_t space = choices.find(' ', begin);
    text += text.empty() ? "{ " : ", ";
    text += choices.substr(begin, space - begin) + " = " + quoted(choices.substr(space + 1, end - space - 1));
    begin = end + 2;
  }
  return text + " }";
}

// The keys of some settings with their values.
std::vector<std::string> keys_of(const LaunchSettings& settings) {
  std::vector<std::string> keys;
  if (!settings.name.empty()) keys.push_back("name = " + quoted(settings.name));
  if (!settings.kernel.empty()) keys.push_back("kernel = " + quoted(settings.kernel));
  if (!settings.with.empty()) keys.push_back("with = " + table_of(settings.with));
  if (settings.block > 0) keys.push_back("block = " + std::to_string(settings.block));
  if (const auto [x, y] = settings.grid; x > 0)
    keys.push_back("grid = [" + std::to_string(x) + ", " + std::to_string(y) + "]");
  if (settings.dynamic_shared) keys.push_back("dynamic_shared = " + std::to_string(*settings.dynamic_shared));
  if (!settings.parameters.empty())
    keys.push_back("parameters = " + array_of(settings.parameters, [](const LaunchParameter& parameter) {
                     return "{ at = " + std::to_string(parameter.offset) + ", " + parameter.value + " }";
                   }));
  if (!settings.lemmas.empty())
    keys.push_back("lemmas = " + array_of(settings.lemmas, [](const LaunchLemma& lemma) {
                     return "{ name = " + quoted(lemma.name) + ", reason = " + quoted(lemma.reason) + " }";
                   }));
  if (!settings.ranges.empty())
    keys.push_back("ranges = " + array_of(settings.ranges, [](const LaunchRange& range) {
                     return "{ name = " + quoted(range.name) + ", least = " + std::to_string(range.least) +
                            ", most = " + std::to_string(range.most) + ", reason = " + quoted(range.reason) +
                            " }";
                   }));
  return keys;
}

std::string inline_table(const LaunchSettings& settings) {
  std::string text;
  for (const std::string& key : keys_of(settings)) text += (text.empty() ? "{ " : ", ") + key;
  return text + " }";
}

}  // namespace

void LaunchFile::add(const LaunchSettings& like, std::initializer_list<std::array<const char*, 2>> named) {
  for (const auto& [name, with] : named) {
    launches.push_back(like);
    launches.back().name = name;
    launches.back().with = with;
  }
}

void LaunchFile::add_unnamed(const LaunchSettings& like, std::initializer_list<const char*> choices_of_each) {
  for (const char* with : choices_of_each) add(like, {{"", with}});
}

void LaunchFile::add_rest(const LaunchSettings& like, const std::vector<std::string>& names) {
  std::vector<std::string> all_values = {""};
  for (const std::string& name : names) {
    const auto choice = std::find_if(choices.begin(), choices.end(),
                                     [&](const LaunchChoice& candidate) { return candidate.name == name; });
    std::vector<std::string> longer;
    for (const std::string& with : all_values)
      for (const LaunchSettings& value : choice->values)
        longer.push_back(with + (with.empty() ? "" : ", ") + name + " " + value.name);
    all_values = std::move(longer);
  }
  for (const std::string& with : all_values) {
    const auto is_it = [&](const LaunchSettings& launch) {
      return launch.kernel == like.kernel && launch.with == with;
    };
    if (std::none_of(launches.begin(), launches.end(), is_it)) add_unnamed(like, {with.c_str()});
  }
}

std::string toml_of(const LaunchFile& file) {
  std::string text;
  for (const std::string& key : keys_of(file.all)) text += key + "\n";
  if (!file.never.empty()) text += "x-never = " + array_of(file.never, table_of) + "\n";
  if (!file.when_run.empty()) text += "x-when-run = " + array_of(file.when_run, inline_table) + "\n";
  text += "launch = [\n";
  for (const LaunchSettings& launch : file.launches) text += "  " + inline_table(launch) + ",\n";
  text += "]\n";
  for (const LaunchChoice& choice : file.choices) {
    text += "\n[choices." + choice.name + "]\n";
    for (const LaunchSettings& value : choice.values) {
      LaunchSettings unnamed = value;
      unnamed.name.clear();
      text += value.name + " = " + inline_table(unnamed) + "\n";
    }
  }
  return text;
}

}  // namespace glove::gpu::launches
