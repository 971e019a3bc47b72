#include "tests/gpu/launches/launch_file.h"

#include <algorithm>
#include <map>
#include <set>

namespace glove::gpu::launches {
namespace {

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  return text;
}

// The pieces of a text that ", " separates.
std::vector<std::string> pieces_of(const std::string& text) {
  std::vector<std::string> pieces;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 2) {
    end = std::min(text.find(", ", begin), text.size());
    pieces.push_back(text.substr(begin, end - begin));
  }
  return pieces;
}

// Choices with their values: "dims 16, blocks 2".
using Choices = std::map<std::string, std::string>;

Choices choices_of(const std::string& text) {
  Choices choices;
  for (const std::string& piece : pieces_of(text))
    choices[piece.substr(0, piece.find(' '))] = piece.substr(piece.find(' ') + 1);
  return choices;
}

std::string table_of(const Choices& choices) {
  std::vector<std::string> items;
  for (const auto& [name, value] : choices) items.push_back(name + " = " + quoted(value));
  return "{ " + joined(items) + " }";
}

// The pairs of choices that a launch takes together; each choice is one with itself.
std::set<std::array<std::string, 2>> pairs_of(const Choices& choices) {
  std::set<std::array<std::string, 2>> pairs;
  for (const auto& [name, value] : choices)
    for (const auto& [other, other_value] : choices)
      if (name <= other) pairs.insert({name + " " + value, other + " " + other_value});
  return pairs;
}

// Returns all combinations of these choices that may go together.
std::vector<Choices> combinations(const LaunchFile& file, const Choices& names) {
  std::vector<Choices> possible = {{}};
  for (const auto& [name, unused] : names) {
    std::vector<Choices> longer;
    for (const Choices& choices : possible)
      for (const auto& [value, settings] :
           std::ranges::find(file.choices, name, &LaunchChoice::name)->values) {
        longer.push_back(choices);
        longer.back()[name] = value;
      }
    possible = std::move(longer);
  }
  std::erase_if(possible, [&](const Choices& choices) {
    return std::ranges::any_of(file.never, [&](const std::string& rule) {
      return std::ranges::includes(choices, choices_of(rule));
    });
  });
  return possible;
}

std::string after_bar(const std::string& named) {
  return named.substr(named.find(" | ") + 3);
}

std::vector<LaunchSettings> launches_of(const LaunchFile& file, const LaunchRow& row) {
  if (row.named.empty()) return {row.like};
  const std::vector<Choices> possible = combinations(file, choices_of(after_bar(row.named.front())));
  std::set<std::array<std::string, 2>> left;
  for (const Choices& choices : possible) left.merge(pairs_of(choices));
  std::vector<LaunchSettings> launches;
  const auto add = [&](const std::string& own_name, const Choices& choices) {
    launches.push_back({name(own_name), row.like, key("with", table_of(choices))});
    for (const auto& pair : pairs_of(choices)) left.erase(pair);
  };
  for (const std::string& text : row.named)
    add(text.substr(0, text.find(" | ")), choices_of(after_bar(text)));
  const auto gain = [&](const Choices& choices) {
    return std::ranges::count_if(pairs_of(choices), [&](const auto& pair) { return left.contains(pair); });
  };
  while (!left.empty()) add("", *std::ranges::max_element(possible, {}, gain));
  return launches;
}

// The lines of a table.
std::vector<std::string> lines_of(const LaunchSettings& settings) {
  std::map<std::string, std::vector<std::string>> values;
  for (const auto& [name, value] : settings.keys) values[name].push_back(value);
  std::vector<std::string> lines;
  for (const auto& [name, each] : values)
    lines.push_back(name + " = " + (name.ends_with('s') ? '[' + joined(each) + ']' : each.back()));
  return lines;
}

std::string inline_table(const LaunchSettings& settings) {
  return "{ " + joined(lines_of(settings)) + " }";
}

}  // namespace

LaunchSettings with(const std::string& choices) {
  return key("with", table_of(choices_of(choices)));
}
LaunchSettings buffers(const std::string& names, const std::vector<size_t>& fields, const std::string& more) {
  LaunchSettings all;
  for (size_t i = 0; const std::string& field : pieces_of(names))
    all = {all, parameter(fields[i++], "buffer = " + quoted(field.substr(field.find('.') + 1)) + more)};
  return all;
}

std::string toml_of(const LaunchFile& file) {
  std::string text;
  for (const std::string& line : lines_of(file.all)) text += line + "\n";
  std::vector<std::string> never, when_run;
  for (const std::string& rule : file.never) never.push_back(table_of(choices_of(rule)));
  for (const LaunchSettings& settings : file.when_run) when_run.push_back(inline_table(settings));
  text += "x-never = [" + joined(never) + "]\nx-when-run = [" + joined(when_run) + "]\nlaunch = [\n";
  for (const LaunchRow& row : file.launches)
    for (const LaunchSettings& launch : launches_of(file, row)) text += "  " + inline_table(launch) + ",\n";
  text += "]\n";
  for (const auto& [name, values] : file.choices) {
    text += "\n[choices." + name + "]\n";
    for (const auto& [value, settings] : values) text += value + " = " + inline_table(settings) + "\n";
  }
  return text;
}

}  // namespace glove::gpu::launches
