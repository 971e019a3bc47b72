// A line of the output: a JSON object.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>

namespace glove::bench {

// Prints the line when it is destroyed, so that a run that is cut off leaves all lines before.
class Line {
 public:
  explicit Line(const std::string& what) { add("what", what); }
  ~Line() {
    std::printf("{%s}\n", text_.c_str());
    std::fflush(stdout);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  template <class Number>
  requires std::is_arithmetic_v<Number> Line& add(const std::string& key, Number value) {
    char number[32];
    if constexpr (std::is_integral_v<Number>)
      std::snprintf(number, sizeof(number), "%lld", static_cast<long long>(value));
    else
      std::snprintf(number, sizeof(number), "%.6g", static_cast<double>(value));
    return put(key, number);
  }
  Line& add(const std::string& key, const std::string& value) {
    std::string quoted = "\"";
    for (const char c : value) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c == '\n' ? ' ' : c;
    }
    return put(key, quoted + "\"");
  }

 private:
  Line& put(const std::string& key, const std::string& value) {
    text_ += (text_.empty() ? "\"" : ", \"") + key + "\": " + value;
    return *this;
  }

  std::string text_;
};

}  // namespace glove::bench
