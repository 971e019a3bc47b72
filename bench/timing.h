// Numbers of the benchmarks: their spread, and the JSON object that they are printed as.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace glove::bench {

using Clock = std::chrono::steady_clock;

inline double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

struct Spread {
  double median, low, high;
};

inline Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values[values.size() / 10], values[values.size() * 9 / 10]};
}

inline bool first_field = true;

inline void put(const std::string& key, double value) {
  std::printf("%s\n  \"%s\": %.6g", first_field ? "" : ",", key.c_str(), value);
  std::fflush(stdout);
  first_field = false;
}

inline void put(const std::string& key, const std::string& value) {
  std::printf("%s\n  \"%s\": \"%s\"", first_field ? "" : ",", key.c_str(), value.c_str());
  first_field = false;
}

inline void put(const std::string& key, const std::vector<double>& values) {
  const Spread spread = spread_of(values);
  put(key + "_median", spread.median);
  put(key + "_p10", spread.low);
  put(key + "_p90", spread.high);
}

}  // namespace glove::bench
