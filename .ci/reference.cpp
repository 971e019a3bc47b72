#include <map>
#include <regex>
#include <string>
#include <unordered_map>

int matches(const std::string& text) {
  static const std::regex words("[a-z]+|[0-9]+(\\.[0-9]*)?");
  std::map<std::string, int> counts;
  std::unordered_map<std::string, std::string> last;
  for (std::sregex_iterator match(text.begin(), text.end(), words), end; match != end; ++match) {
    ++counts[match->str()];
    last[match->str()] = match->prefix();
  }
  return static_cast<int>(counts.size() + last.size());
}
