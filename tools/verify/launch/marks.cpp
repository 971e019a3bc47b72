#include "launch/marks.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

namespace glove::verify {
namespace {

constexpr std::string_view kMark = "// verify: ";
constexpr std::string_view kNameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

std::optional<std::string> contents_of(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) return std::nullopt;
  return text;
}

// "lemma NAME" or "range NAME" if the comment is a mark, else nothing.
std::string mark_of(std::string_view comment) {
  if (!comment.starts_with(kMark)) return "";
  comment.remove_prefix(kMark.size());
  for (const std::string_view kind : {"lemma ", "range "}) {
    if (!comment.starts_with(kind)) continue;
    const size_t end = std::min(comment.find_first_not_of(kNameLetters, kind.size()), comment.size());
    if (end > kind.size()) return std::string(comment.substr(0, end));
  }
  return "";
}

}  // namespace

Marks::Marks(const Program& program) {
  const std::filesystem::path folder = std::filesystem::path(program.path).parent_path();
  for (const std::string& file : program.files) {
    std::optional<std::string> text = contents_of(file);
    if (!text) text = contents_of(folder / std::filesystem::path(file).filename());
    if (text)
      read(file, *text);
    else
      unread_.push_back(file);
  }
}

void Marks::read(const std::string& source, const std::string& text) {
  std::vector<std::string> waiting;  // marks that stand above their line
  int number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    ++number;
    begin = end + 1;
    const size_t comment = std::min(line.find("//"), line.size());
    const size_t mark_place = std::min(line.find(kMark), line.size());
    if (const std::string mark = mark_of(line.substr(mark_place)); !mark.empty()) waiting.push_back(mark);
    const bool is_code = line.find_first_not_of(" \t\r") < comment;
    if (!is_code) continue;
    for (const std::string& mark : waiting) lines_[mark].push_back({"", source, number, 0});
    waiting.clear();
  }
}

template <class Fact>
Status Marks::place_all(std::vector<Fact>* facts, const std::string& kind,
                        const std::string& launch_file) const {
  std::vector<Fact> placed;
  for (const Fact& fact : *facts) {
    if (fact.at.name.empty()) {
      placed.push_back(fact);
      continue;
    }
    const std::string mark = kind + " " + fact.at.name;
    const auto found = lines_.find(mark);
    if (found == lines_.end())
      return Error{
          ErrorCode::kLaunchFile,
          launch_file + ":" + std::to_string(fact.at.declared_at) +
              ": no line of the sources that the PTX names has " + "the comment '" + std::string(kMark) +
              mark + "'; add it, or correct the name" +
              (unread_.empty() ? ""
                               : "; " + unread_[0] + " cannot be read, nor one of that name beside the PTX")};
    for (const MarkedLine& line : found->second) {
      placed.push_back(fact);
      placed.back().at = line;
    }
  }
  *facts = std::move(placed);
  return {};
}

Status Marks::place(Launch* launch) const {
  if (const Status status = place_all(&launch->lemmas, "lemma", launch->file); !status.ok()) return status;
  return place_all(&launch->ranges, "range", launch->file);
}

}  // namespace glove::verify
