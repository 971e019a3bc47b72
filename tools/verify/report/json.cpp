#include "glove_verify/verify.h"

#include <cstdio>
#include <set>

namespace glove::verify {
namespace {

std::string quoted(std::string_view text) {
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
  return array_of(lines, [](const std::string& line) { return quoted(line); });
}

std::string site_of(const Site& site) {
  if (site.ptx_line == 0) return "null";
  return "{\"ptx_line\": " + std::to_string(site.ptx_line) + ", \"source\": " +
         array_of(site.chain,
                  [](const SourceLine& line) {
                    return "{\"file\": " + quoted(line.file) + ", \"line\": " + std::to_string(line.line) +
                           ", \"column\": " + std::to_string(line.column) + "}";
                  }) +
         "}";
}

std::string finding_of(const Finding& finding) {
  return "{\"kind\": " + quoted(name_of(finding.kind)) +
         ", \"defect\": " + (is_defect(finding.kind) ? "true" : "false") +
         ", \"definite\": " + (finding.definite ? "true" : "false") +
         ", \"message\": " + quoted(finding.message) + ", \"site\": " + site_of(finding.site) +
         ", \"other_site\": " + site_of(finding.other) +
         ", \"explanation\": " + strings(finding.explanation) + "}";
}

std::string verdict_of(const Verdict& verdict) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.3f", verdict.seconds);
  return "  {\"file\": " + quoted(verdict.file) + ", \"kernel\": " + quoted(verdict.kernel) +
         ", \"verdict\": " + quoted(verdict.name()) +
         ", \"exit_code\": " + std::to_string(verdict.exit_code()) + ", \"shape\": " + quoted(verdict.shape) +
         ", \"seconds\": " + seconds + ", \"warp_instructions\": " + std::to_string(verdict.steps) +
         ", \"paths\": " + std::to_string(verdict.paths) +
         ",\n   \"findings\": " + array_of(verdict.findings, finding_of) +
         ",\n   \"assumptions\": " + strings(verdict.assumptions) +
         ",\n   \"not_reached\": " + strings(verdict.uncovered) + "}";
}

// "unsafe recycling" -> "unsafe-recycling".
std::string rule_of(FindingKind kind) {
  std::string name(name_of(kind));
  for (char& c : name) c = c == ' ' ? '-' : c;
  return name;
}

std::string location_of(const std::string& ptx, const SourceLine* line, int ptx_line,
                        const std::string& message) {
  const std::string file = line != nullptr ? line->file : ptx;
  std::string region = "{\"startLine\": " + std::to_string(line != nullptr ? line->line : ptx_line);
  if (line != nullptr && line->column > 0) region += ", \"startColumn\": " + std::to_string(line->column);
  return "{\"physicalLocation\": {\"artifactLocation\": {\"uri\": " + quoted(file) +
         "}, \"region\": " + region + "}}" +
         (message.empty() ? "" : ", \"message\": {\"text\": " + quoted(message) + "}") + "}";
}

// The lines of a site, the innermost first; without source lines that of the PTX file.
std::vector<std::string> locations_of(const Verdict& verdict, const Site& site, const std::string& message) {
  std::vector<std::string> locations;
  for (const SourceLine& line : site.chain)
    if (line.line > 0) locations.push_back(location_of(verdict.file, &line, site.ptx_line, message));
  if (locations.empty() && site.ptx_line > 0)
    locations.push_back(location_of(verdict.file, nullptr, site.ptx_line, message));
  return locations;
}

std::string result_of(const Verdict& verdict, const Finding& finding) {
  std::vector<std::string> places = locations_of(verdict, finding.site, "");
  std::vector<std::string> related;
  for (size_t i = 1; i < places.size(); ++i) related.push_back(places[i]);
  for (const std::string& place : locations_of(verdict, finding.other, "the other thread"))
    related.push_back(place);
  places.resize(std::min<size_t>(places.size(), 1));
  const auto as_is = [](const std::string& text) { return text; };
  return "    {\"ruleId\": " + quoted(rule_of(finding.kind)) +
         ", \"level\": " + (is_defect(finding.kind) ? "\"error\"" : "\"warning\"") +
         ", \"message\": {\"text\": " + quoted(verdict.kernel + ": " + finding.message) +
         "}, \"locations\": " + array_of(places, as_is) +
         ", \"relatedLocations\": " + array_of(related, as_is) + "}";
}

}  // namespace

std::string json_of(const std::vector<Verdict>& verdicts) {
  std::string out = "{\"verdicts\": [";
  for (const Verdict& verdict : verdicts) out += (out.back() == '[' ? "\n" : ",\n") + verdict_of(verdict);
  return out + "\n]}\n";
}

std::string sarif_of(const std::vector<Verdict>& verdicts, bool all_read) {
  std::set<std::string> rules;
  std::string results;
  for (const Verdict& verdict : verdicts)
    for (const Finding& finding : verdict.findings) {
      rules.insert(rule_of(finding.kind));
      results += (results.empty() ? "\n" : ",\n") + result_of(verdict, finding);
    }
  return "{\"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\", \"version\": \"2.1.0\",\n"
         "  \"runs\": [{\"tool\": {\"driver\": {\"name\": \"glove-verify\", \"rules\": " +
         array_of(rules, [](const std::string& rule) { return "{\"id\": " + quoted(rule) + "}"; }) +
         "}},\n   \"invocations\": [{\"executionSuccessful\": " + (all_read ? "true" : "false") +
         "}],\n   \"results\": [" + results + "]}]}\n";
}

}  // namespace glove::verify
