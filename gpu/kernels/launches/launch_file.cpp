#include "gpu/kernels/launches/launch_file.h"

#include <algorithm>
#include <map>
#include <set>

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

using Choices = std::map<std::string, std::string>;

// The choices of "dims 16, blocks 2", with their values.
Choices choices_of(const std::string& text) {
  Choices choices;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(", ", begin), text.size());
    const size_t space = text.find(' ', begin);
    choices[text.substr(begin, space - begin)] = text.substr(space + 1, end - space - 1);
    begin = end + 2;
  }
  return choices;
}

// "dims 16, blocks 2" as { blocks = "2", dims = "16" }.
std::string table_of(const std::string& text) {
  std::string table;
  for (const auto& [name, value] : choices_of(text))
    table += (table.empty() ? "{ " : ", ") + name + " = " + quoted(value);
  return table + " }";
}

// The pairs of choices that a launch takes together; each choice is one with itself.
std::set<std::array<std::string, 2>> pairs_of(const std::string& text) {
  std::set<std::array<std::string, 2>> pairs;
  const Choices choices = choices_of(text);
  for (const auto& [name, value] : choices)
    for (const auto& [other, other_value] : choices)
      if (name <= other) pairs.insert({name + " " + value, other + " " + other_value});
  return pairs;
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

void LaunchFile::cover(const LaunchSettings& like, const std::vector<std::array<std::string, 2>>& named) {
  std::vector<std::string> possible = {""};  // all combinations
  for (const auto& [name, unused] : choices_of(named.front()[1])) {
    const auto choice = std::ranges::find(choices, name, &LaunchChoice::name);
    std::vector<std::string> longer;
    for (const std::string& with : possible)
      for (const LaunchSettings& value : choice->values)
        longer.push_back(with + (with.empty() ? "" : ", ") + name + " " + value.name);
    possible = std::move(longer);
  }
  std::erase_if(possible, [this](const std::string& with) {
    return std::ranges::any_of(never, [whole = choices_of(with)](const std::string& rule) {
      return std::ranges::includes(whole, choices_of(rule));
    });
  });
  std::set<std::array<std::string, 2>> left;
  for (const std::string& with : possible) left.merge(pairs_of(with));
  const auto add = [&](const std::string& name, const std::string& with) {
    launches.push_back(like);
    launches.back().name = name;
    launches.back().with = with;
    for (const auto& pair : pairs_of(with)) left.erase(pair);
  };
  for (const auto& [name, with] : named) add(name, with);
  const auto gain = [&](const std::string& with) {
    return std::ranges::count_if(pairs_of(with), [&](const auto& pair) { return left.contains(pair); });
  };
  while (!left.empty()) add("", *std::ranges::max_element(possible, {}, gain));
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
