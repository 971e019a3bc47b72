#include "glove_verify/verify.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <set>

namespace glove::verify {
namespace {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += code;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// [a, b, ...]: `text_of_item` of each item.
template <class Items, class Text>
std::string array_of(const Items& items, Text text_of_item) {
  std::string out = "[";
  for (const auto& item : items) out += (out.size() > 1 ? ", " : "") + text_of_item(item);
  return out + "]";
}

std::string strings(const std::vector<std::string>& lines) {
  return array_of(lines, [](const std::string& line) { return json_string(line); });
}

std::string site_of(const Site& site) {
  if (site.ptx_line == 0) return "null";
  return "{\"ptx_line\": " + std::to_string(site.ptx_line) + ", \"source\": " +
         array_of(site.chain,
                  [](const SourceLine& line) {
                    return "{\"file\": " + json_string(line.file) +
                           ", \"line\": " + std::to_string(line.line) +
                           ", \"column\": " + std::to_string(line.column) + "}";
                  }) +
         "}";
}

std::string finding_of(const Finding& finding) {
  return "{\"kind\": " + json_string(name_of(finding.kind)) +
         ", \"defect\": " + (is_defect(finding) ? "true" : "false") +
         ", \"definite\": " + (finding.definite ? "true" : "false") +
         ", \"message\": " + json_string(finding.message) + ", \"site\": " + site_of(finding.site) +
         ", \"other_site\": " + site_of(finding.other) +
         ", \"explanation\": " + strings(finding.explanation) + "}";
}

std::string verdict_of(const Verdict& verdict) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.3f", verdict.seconds);
  return "  {\"file\": " + json_string(verdict.file) + ", \"kernel\": " + json_string(verdict.kernel) +
         ", \"verdict\": " + json_string(verdict.name()) +
         ", \"exit_code\": " + std::to_string(verdict.exit_code()) +
         ", \"shape\": " + json_string(verdict.shape) + ", \"seconds\": " + seconds +
         ", \"warp_instructions\": " + std::to_string(verdict.steps) +
         ", \"paths\": " + std::to_string(verdict.paths) +
         ", \"every_grid\": " + (verdict.every_grid ? "true" : "false") +
         ",\n   \"findings\": " + array_of(verdict.findings, finding_of) +
         ",\n   \"assumptions\": " + strings(verdict.assumptions) +
         ",\n   \"not_reached\": " + strings(verdict.uncovered) + "}";
}

// The path from the present folder on, if the file lies below it.
std::string relative(const std::string& file) {
  std::error_code ignored;
  const std::string here = std::filesystem::current_path(ignored).string() + "/";
  return file.starts_with(here) ? file.substr(here.size()) : file;
}

std::string location_of(const std::string& file, int line, int column, const std::string& message) {
  const std::string path = relative(file);
  std::string region = "{\"startLine\": " + std::to_string(std::max(line, 1));
  if (column > 0) region += ", \"startColumn\": " + std::to_string(column);
  return "{\"physicalLocation\": {\"artifactLocation\": {\"uri\": " + json_string(path) +
         (path.starts_with("/") ? "" : ", \"uriBaseId\": \"%SRCROOT%\"") + "}, \"region\": " + region + "}}" +
         (message.empty() ? "" : ", \"message\": {\"text\": " + json_string(message) + "}") + "}";
}

// The lines of a site, the user's own first; without source lines that of the PTX file.
std::vector<std::string> locations_of(const Verdict& verdict, const Site& site, const std::string& message) {
  std::vector<std::string> locations;
  if (!site.chain.empty()) {
    std::vector<SourceLine> lines = site.chain;
    std::rotate(lines.begin(), lines.begin() + static_cast<long>(own_line(site)), lines.end());
    for (const SourceLine& line : lines)
      if (line.line > 0) locations.push_back(location_of(line.file, line.line, line.column, message));
  }
  if (locations.empty()) locations.push_back(location_of(verdict.file, site.ptx_line, 0, message));
  return locations;
}

// What viewers tell one result from another by, from one version of the sources to the next.
std::string fingerprint_of(const Verdict& verdict, const Finding& finding) {
  std::string text = rule_of(finding.kind) + " " + verdict.kernel;
  for (const Site* site : {&finding.site, &finding.other})
    for (const SourceLine& line : site->chain) text += " " + relative(line.file);
  uint64_t hash = 1469598103934665603u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char digits[24];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

std::string_view level_of(const Finding& finding) {
  if (finding.allowed) return "note";
  return is_defect(finding.kind) && !may_be_allowed(finding.kind) ? "error" : "warning";
}

std::string result_of(const Verdict& verdict, const Finding& finding) {
  std::vector<std::string> places = locations_of(verdict, finding.site, "");
  std::vector<std::string> related(places.begin() + 1, places.end());
  if (finding.other.ptx_line > 0)
    for (const std::string& place : locations_of(verdict, finding.other, "the other thread"))
      related.push_back(place);
  places.resize(1);
  const auto as_is = [](const std::string& text) { return text; };
  return "    {\"ruleId\": " + json_string(rule_of(finding.kind)) +
         ", \"level\": " + json_string(level_of(finding)) +
         ", \"message\": {\"text\": " + json_string(verdict.kernel + ": " + finding.message) +
         "}, \"locations\": " + array_of(places, as_is) +
         ", \"relatedLocations\": " + array_of(related, as_is) +
         ", \"partialFingerprints\": {\"gloveVerify/v1\": " + json_string(fingerprint_of(verdict, finding)) +
         "}" +
         (finding.allowed ? ", \"suppressions\": [{\"kind\": \"external\", \"justification\": \"--allow\"}]"
                          : "") +
         "}";
}

// What a rule is about, as viewers show it beside a result.
std::string rule_text(FindingKind kind) {
  static constexpr std::string_view kTexts[] = {
      "Two threads access the same bytes, one of them writes, and nothing orders the two.",
      "Two threads store the same number in the same place, and nothing orders the two.",
      "A thread has seen a counter or flag, and reads what was written before without a fence in between.",
      "A thread waits for ever.",
      "A barrier is used with a number or a count that does not fit.",
      "A thread arrives at a barrier again without having waited for the end of its phase before.",
      "All threads arrive at a barrier and none waits.",
      "Threads that must come to a barrier together do not.",
      "A thread reads shared memory that nobody has written.",
      "A thread accesses memory outside of its array, or at an address that is not aligned.",
      "This could not be proved, and is not known to be wrong.",
      "The kernel has an instruction that the verifier does not know."};
  static_assert(std::size(kTexts) == static_cast<size_t>(FindingKind::kUnsupported) + 1);
  return std::string(kTexts[static_cast<size_t>(kind)]);
}

std::string rule_object(FindingKind kind) {
  return "{\"id\": " + json_string(rule_of(kind)) +
         ", \"shortDescription\": {\"text\": " + json_string(name_of(kind)) +
         "}, \"fullDescription\": {\"text\": " + json_string(rule_text(kind)) +
         "}, \"defaultConfiguration\": {\"level\": " + json_string(level_of({.kind = kind})) + "}}";
}

}  // namespace

std::string json_of(const std::vector<Verdict>& verdicts) {
  std::string out = "{\"verdicts\": [";
  for (const Verdict& verdict : verdicts) out += (out.back() == '[' ? "\n" : ",\n") + verdict_of(verdict);
  return out + "\n]}\n";
}

std::string sarif_of(const std::vector<Verdict>& verdicts, bool all_read) {
  std::set<FindingKind> rules;
  std::string results;
  for (const Verdict& verdict : verdicts)
    for (const Finding& finding : verdict.findings) {
      rules.insert(finding.kind);
      results += (results.empty() ? "\n" : ",\n") + result_of(verdict, finding);
    }
  return "{\"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\", \"version\": \"2.1.0\",\n"
         "  \"runs\": [{\"tool\": {\"driver\": {\"name\": \"glove-verify\", \"rules\": " +
         array_of(rules, rule_object) +
         "}},\n   \"invocations\": [{\"executionSuccessful\": " + (all_read ? "true" : "false") +
         "}],\n   \"results\": [" + results + "]}]}\n";
}

}  // namespace glove::verify
