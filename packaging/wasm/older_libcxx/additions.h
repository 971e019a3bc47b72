// What the C++20 sources use and the standard library of Debian's Emscripten (libc++ 13) lacks. The toolchain
// file includes it before every source; with a newer library it is empty.
#pragma once

#ifdef __cplusplus
#include <algorithm>
#include <bit>
#include <charconv>
#include <compare>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#if !defined(__cpp_lib_bit_cast)
namespace std {

template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

}  // namespace std
#endif

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 15000
namespace std::ranges {

template <class Range, class Test>
constexpr bool all_of(Range&& range, Test test) {
  for (auto&& value : range)
    if (!std::invoke(test, value)) return false;
  return true;
}
template <class Range, class Test>
constexpr bool any_of(Range&& range, Test test) {
  return !ranges::all_of(range, [&](auto&& value) { return !std::invoke(test, value); });
}
template <class Range, class Test>
constexpr bool none_of(Range&& range, Test test) {
  return !ranges::any_of(range, test);
}
template <class Range, class Value>
constexpr auto count(Range&& range, const Value& value) {
  return std::count(std::begin(range), std::end(range), value);
}
template <class Range, class Test>
constexpr auto count_if(Range&& range, Test test) {
  return std::count_if(std::begin(range), std::end(range), test);
}
template <class Range, class Value, class Projection>
constexpr auto find(Range&& range, const Value& value, Projection projection) {
  return std::find_if(std::begin(range), std::end(range),
                      [&](auto&& element) { return std::invoke(projection, element) == value; });
}
template <class Range, class Value>
constexpr auto find(Range&& range, const Value& value) {
  return std::find(std::begin(range), std::end(range), value);
}
template <class Range, class Test>
constexpr auto find_if(Range&& range, Test test) {
  return std::find_if(std::begin(range), std::end(range), test);
}
template <class Range, class Test>
constexpr auto find_if_not(Range&& range, Test test) {
  return std::find_if_not(std::begin(range), std::end(range), test);
}
template <class Range, class Out>
constexpr auto copy(Range&& range, Out out) {
  return std::copy(std::begin(range), std::end(range), out);
}
template <class Range, class Out, class Function>
constexpr auto transform(Range&& range, Out out, Function function) {
  return std::transform(std::begin(range), std::end(range), out, function);
}
template <class Range>
constexpr auto max_element(Range&& range) {
  return std::max_element(std::begin(range), std::end(range));
}
template <class Range>
constexpr auto minmax(Range&& range) {
  const auto [least, most] = std::minmax_element(std::begin(range), std::end(range));
  return std::pair{*least, *most};
}
template <class Range>
constexpr void nth_element(Range&& range, decltype(std::begin(range)) nth) {
  std::nth_element(std::begin(range), nth, std::end(range));
}
template <class Range>
constexpr void sort(Range&& range) {
  std::sort(std::begin(range), std::end(range));
}
template <class Range, class Less>
void stable_sort(Range&& range, Less less) {
  std::stable_sort(std::begin(range), std::end(range), less);
}
template <class Range, class Less>
constexpr void sort(Range&& range, Less less) {
  std::sort(std::begin(range), std::end(range), less);
}
template <class Range, class Less = std::less<>, class Projection>
constexpr void sort(Range&& range, Less less, Projection projection) {
  std::sort(std::begin(range), std::end(range), [&](const auto& a, const auto& b) {
    return less(std::invoke(projection, a), std::invoke(projection, b));
  });
}
template <class Range, class Value>
constexpr bool binary_search(Range&& range, const Value& value) {
  return std::binary_search(std::begin(range), std::end(range), value);
}
template <class Range, class Value>
constexpr auto lower_bound(Range&& range, const Value& value) {
  return std::lower_bound(std::begin(range), std::end(range), value);
}
template <class Range, class Value, class Less = std::less<>, class Projection>
constexpr auto lower_bound(Range&& range, const Value& value, Less less, Projection projection) {
  return std::lower_bound(
      std::begin(range), std::end(range), value,
      [&](const auto& element, const Value& bound) { return less(std::invoke(projection, element), bound); });
}
template <class Range, class Value, class Less = std::less<>, class Projection>
constexpr auto upper_bound(Range&& range, const Value& value, Less less, Projection projection) {
  return std::upper_bound(
      std::begin(range), std::end(range), value,
      [&](const Value& bound, const auto& element) { return less(bound, std::invoke(projection, element)); });
}
template <class Range, class Equal = std::equal_to<>, class Projection>
constexpr auto adjacent_find(Range&& range, Equal same, Projection projection) {
  return std::adjacent_find(std::begin(range), std::end(range), [&](const auto& a, const auto& b) {
    return same(std::invoke(projection, a), std::invoke(projection, b));
  });
}
template <class Range, class Other>
constexpr bool equal(Range&& range, Other&& other) {
  return std::equal(std::begin(range), std::end(range), std::begin(other), std::end(other));
}
template <class Range, class Other, class Out>
constexpr void set_intersection(Range&& range, Other&& other, Out out) {
  std::set_intersection(std::begin(range), std::end(range), std::begin(other), std::end(other), out);
}
template <class Range, class... Less>
constexpr bool is_sorted(Range&& range, Less... less) {
  return std::is_sorted(std::begin(range), std::end(range), less...);
}
template <class Range, class... Less>
constexpr void make_heap(Range&& range, Less... less) {
  std::make_heap(std::begin(range), std::end(range), less...);
}
template <class Range, class... Less>
constexpr void push_heap(Range&& range, Less... less) {
  std::push_heap(std::begin(range), std::end(range), less...);
}
template <class Range, class... Less>
constexpr void pop_heap(Range&& range, Less... less) {
  std::pop_heap(std::begin(range), std::end(range), less...);
}
template <class Range, class Projection>
void stable_sort(Range&& range, less by, Projection projection) {
  std::stable_sort(std::begin(range), std::end(range), [&](const auto& a, const auto& b) {
    return by(std::invoke(projection, a), std::invoke(projection, b));
  });
}

}  // namespace std::ranges

namespace std {

inline strong_ordering operator<=>(string_view a, string_view b) {
  return a.compare(b) <=> 0;
}
inline strong_ordering operator<=>(const string& a, const string& b) {
  return a.compare(b) <=> 0;
}

}  // namespace std
#endif
#endif
