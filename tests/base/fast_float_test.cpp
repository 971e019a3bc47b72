// fast_float_from_chars against std::from_chars: the same position, error and bits for any text. Built where
// both exist.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#if defined(__cpp_lib_to_chars) && __has_include(<fast_float/fast_float.h>)
#include "base/fast_float_from_chars.h"
#include "tests/loader/random.h"

namespace glove {
namespace {

template <class Float>
void expect_same(const std::string& text) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  Float expected = 0, value = 0;
  const auto [expected_rest, expected_error] = std::from_chars(begin, end, expected);
  const auto [rest, error] = fast_float_from_chars(begin, end, value);
  ASSERT_EQ(error, expected_error) << "'" << text << "'";
  ASSERT_EQ(rest - begin, expected_rest - begin) << "'" << text << "'";
  if (error != std::errc()) return;
  using Bits = std::conditional_t<sizeof(Float) == 4, uint32_t, uint64_t>;
  ASSERT_EQ(std::bit_cast<Bits>(value), std::bit_cast<Bits>(expected)) << "'" << text << "'";
}

void expect_same_of_both(const std::string& text) {
  expect_same<float>(text);
  expect_same<double>(text);
}

TEST(FastFloat, ReadsWhatStdFromCharsReads) {
  for (const char* text : {"",
                           " 1",
                           "+1",
                           "-",
                           "-.",
                           ".",
                           ".5",
                           "5.",
                           "1e",
                           "1e+",
                           "1e-5x",
                           "1E5",
                           "1e400",
                           "-1e400",
                           "1e-400",
                           "-1e-400",
                           "1e39",
                           "1e-46",
                           "7e-46",
                           "1.4e-45",
                           "7.006492321624085e-46",
                           "7.006492321624086e-46",
                           "3.4028235e38",
                           "3.4028235677973366e38",
                           "3.4028235677973367e38",
                           "1.7976931348623157e308",
                           "1.7976931348623159e308",
                           "4.9e-324",
                           "2.4703282292062327e-324",
                           "2.4703282292062328e-324",
                           "0e999999999999",
                           "-0.0e-99999",
                           "1e99999999999999999999",
                           "1e-99999999999999999999",
                           "0x1p3",
                           "inf",
                           "-inf",
                           "INFINITY",
                           "infinit",
                           "nan",
                           "-nan",
                           "NaN(12)",
                           "nan(",
                           "1,5",
                           "1.5e3.2",
                           "00000000000000000000001",
                           "0.000000000000000000000000000000000000000000000000001",
                           "9007199254740993",
                           "16777217",
                           "16777219"})
    expect_same_of_both(text);
}

TEST(FastFloat, RoundsRandomNumbersAndMidpoints) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = testing::random_source();
  std::array<char, 1200> text{};
  for (int i = 0; i < 5'000 && !::testing::Test::HasFatalFailure(); ++i) {
    const auto value = std::bit_cast<double>(random());
    const auto narrow = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!std::isfinite(value) || !std::isfinite(narrow)) continue;
    // Between a number and the next one, which is where rounding errs.
    const double middle =
        (static_cast<double>(narrow) + static_cast<double>(std::nextafter(narrow, 0.0f))) / 2;
    for (const double number : {value, static_cast<double>(narrow), middle, std::nextafter(middle, 0.0),
                                std::nextafter(middle, 1e300)})
      for (const int digits : {3, 8, 16, 17, 40, 800}) {
        std::snprintf(text.data(), text.size(), "%.*e", digits, number);
        expect_same_of_both(text.data());
      }
  }
}

TEST(FastFloat, AcceptsAndRejectsRandomText) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = testing::random_source();
  constexpr std::string_view kCharacters = "0123456789012345678900000..--+eEEinfaINFtyx() ";
  for (int i = 0; i < 100'000 && !::testing::Test::HasFatalFailure(); ++i) {
    std::string text;
    for (uint64_t length = random() % 24; length > 0; --length)
      text += kCharacters[random() % kCharacters.size()];
    expect_same_of_both(text);
  }
}

}  // namespace
}  // namespace glove

#else

TEST(FastFloat, ReadsWhatStdFromCharsReads) {
  GTEST_SKIP() << "fast_float is not installed, or std::from_chars reads only integers";
}

#endif
