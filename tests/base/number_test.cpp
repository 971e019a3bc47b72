// Numbers of text models: the nearest float32 to every notation, and what is no number.
#include "base/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/float_environment.h"

namespace glove {
namespace {

// The number, and how many bytes it takes; -1 if there is none.
std::pair<float, int> parsed(const std::string& text) {
  const ScopedFloatEnvironment environment;
  float value = 77;
  const char* const end = parse_float(text.data(), text.data() + text.size(), value);
  return {value, end == nullptr ? -1 : static_cast<int>(end - text.data())};
}

TEST(ParseFloat, EndsWhereTheNumberEnds) {
  for (const auto& [text, value, bytes] :
       std::vector<std::tuple<std::string, float, int>>{{"1", 1, 1},
                                                        {"-1.5 x", -1.5f, 4},
                                                        {"+2", 2, 2},
                                                        {"1.", 1, 2},
                                                        {".5", 0.5f, 2},
                                                        {"-.5", -0.5f, 3},
                                                        {"1e2", 100, 3},
                                                        {"1E-2", 0.01f, 4},
                                                        {"1e", 1, 1},
                                                        {"0.1e1", 1, 5},
                                                        {"00012", 12, 5},
                                                        {"1,5", 1, 1},
                                                        {"1.5.5", 1.5f, 3},
                                                        {"-0", -0.0f, 2},
                                                        {"12345678901234567890", 12345678901234567890.0f, 20},
                                                        {"9007199254740993", 9007199254740993.0f, 16},
                                                        {"0.00000000000000000000001", 1e-23f, 25},
                                                        {"1.5e", 1.5f, 3}}) {
    const auto [got, end] = parsed(text);
    EXPECT_EQ(got, value) << text;
    EXPECT_EQ(std::signbit(got), std::signbit(value)) << text;
    EXPECT_EQ(end, bytes) << text;
  }
  for (const char* text : {"", "-", "+", "+-1", "--1", ".", "-.", "e5", "x", " 1"})
    EXPECT_EQ(parsed(text).second, -1) << text;
}

TEST(ParseFloat, GoesToZeroAndInfinityOutsideItsRange) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto& [text, value] :
       std::vector<std::pair<std::string, float>>{{"1e39", kInfinity},
                                                  {"-1e39", -kInfinity},
                                                  {"1e-60", 0.0f},
                                                  {"-1e-60", -0.0f},
                                                  {"1e999", kInfinity},
                                                  {"-1E999", -kInfinity},
                                                  {"1e-999", 0.0f},
                                                  {"-1E-999", -0.0f},
                                                  {"+1e999", kInfinity},
                                                  {"3.4028235e38", 3.4028235e38f},
                                                  {"1e-45", std::numeric_limits<float>::denorm_min()},
                                                  {std::string(400, '9'), kInfinity}}) {
    const auto [got, end] = parsed(text);
    EXPECT_EQ(got, value) << text;
    EXPECT_EQ(std::signbit(got), std::signbit(value)) << text;
    EXPECT_EQ(end, static_cast<int>(text.size())) << text;
  }
}

// Where rounding to double first would go the wrong way: next to the middle of two floats.
TEST(ParseFloat, RoundsOnce) {
  EXPECT_EQ(parsed("1.00000005960464477539").first, 1.0f);                  // a hair below
  EXPECT_EQ(parsed("1.000000059604644775390625").first, 1.0f);              // the middle: to the even one
  EXPECT_EQ(parsed("1.00000005960464477539062500001").first, 1.00000012f);  // a hair above
  EXPECT_EQ(parsed("16777217.0000001").first, 16777218.0f);
  EXPECT_EQ(parsed("16777217").first, 16777216.0f);
}

}  // namespace
}  // namespace glove
