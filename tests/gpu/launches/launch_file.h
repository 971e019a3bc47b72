// Describes the launches of kernels that glove-verify proves (tools/verify/README.md, "Launch files") as
// tables. Parameters are named by the fields of the structs that the kernels take, so the compiler knows
// their offsets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace glove::gpu::launches {

// What a file says of all its launches, a choice of those that take it, or a launch of itself: keys of a
// launch file with their values, as TOML has them. The values of a key in the plural are the elements of a
// list; of another key, the last value counts.
struct LaunchSettings {
  LaunchSettings() = default;
  LaunchSettings(std::initializer_list<LaunchSettings> parts) {
    for (const LaunchSettings& part : parts) keys.insert(keys.end(), part.keys.begin(), part.keys.end());
  }

  std::vector<std::array<std::string, 2>> keys;
};

// Returns a string of TOML. REQUIRES: the text has neither quotes nor backslashes.
inline std::string quoted(const std::string& text) {
  return '"' + text + '"';
}
// Settings with one key.
inline LaunchSettings key(const char* name, const std::string& value) {
  LaunchSettings settings;
  settings.keys = {{name, value}};
  return settings;
}
inline LaunchSettings name(const std::string& text) {
  return text.empty() ? LaunchSettings() : key("name", quoted(text));
}
inline LaunchSettings kernel(const std::string& expression) {  // a regular expression
  return key("kernel", quoted(expression));
}
inline LaunchSettings block(int threads) {
  return key("block", std::to_string(threads));
}
inline LaunchSettings grid(int x, int y = 1) {
  return key("grid", "[" + std::to_string(x) + ", " + std::to_string(y) + "]");
}
inline LaunchSettings shared(int64_t bytes) {  // dynamic shared memory
  return key("dynamic_shared", std::to_string(bytes));
}
inline LaunchSettings parameter(size_t offset, const std::string& value) {
  return key("parameters", "{ at = " + std::to_string(offset) + ", " + value + " }");
}
// Accesses in the lines that `// verify: lemma NAME` marks do not meet.
inline LaunchSettings lemma(const char* name, const char* reason) {
  return key("lemmas", "{ name = " + quoted(name) + ", reason = " + quoted(reason) + " }");
}
// The loads of the lines that `// verify: range NAME` marks return numbers in this range.
inline LaunchSettings range(const char* name, int64_t least, int64_t most, const char* reason) {
  return key("ranges", "{ name = " + quoted(name) + ", least = " + std::to_string(least) +
                           ", most = " + std::to_string(most) + ", reason = " + quoted(reason) + " }");
}
LaunchSettings with(const std::string& choices);  // "dims 16, blocks 2": the choices of a launch

// The memory in which arguments() places its objects.
inline std::byte* parameter_space() {
  alignas(256) static std::byte space[32768];  // more than any kernel takes
  return space;
}

// Returns objects at the offsets that a kernel's parameters of these types have. They only name places: pass
// their fields to the functions below. Each call places its objects over those of the last.
template <class... Types>
std::tuple<Types&...> arguments() {
  size_t end = 0;
  const auto place = [&]<class Type>(std::type_identity<Type>) -> Type& {
    const size_t begin = (end + alignof(Type) - 1) / alignof(Type) * alignof(Type);
    end = begin + sizeof(Type);
    return *new (parameter_space() + begin) Type{};
  };
  return std::tuple<Types&...>{place(std::type_identity<Types>{})...};
}

// The offset of a field of these objects, or of one of them.
template <class Field>
size_t offset_of(const Field& field) {
  return static_cast<size_t>(reinterpret_cast<const std::byte*>(&field) - parameter_space());
}

// A parameter with a known number. A bool is written with its three bytes of padding.
template <class Field>
LaunchSettings number(const Field& field, std::type_identity_t<Field> value) {
  return parameter(offset_of(field),
                   (sizeof(Field) == 8 ? "u64 = " : "u32 = ") + std::to_string(static_cast<uint64_t>(value)));
}
// A null pointer.
template <class Element>
LaunchSettings null(Element* const& field) {
  return parameter(offset_of(field), "u64 = 0");
}
// Pointers to buffers. fields: their offsets; names: the fields separated by ", ", of which each gives its
// buffer its name, without the object in front; more: what else a launch file says of them.
LaunchSettings buffers(const std::string& names, const std::vector<size_t>& fields,
                       const std::string& more = "");
template <class... Elements>
std::vector<size_t> offsets_of(Elements* const&... fields) {
  return {offset_of(fields)...};
}
#define GLOVE_BUFFERS(...) buffers(#__VA_ARGS__, offsets_of(__VA_ARGS__))
// Their contents are zero before the launch.
#define GLOVE_ZEROED(field) buffers(#field, {offset_of(field)}, ", zeroed = true")
// The first 32 bits of each of its elements are distinct from those of all others, also from those of other
// buffers of distinct rows.
#define GLOVE_DISTINCT_ROWS(field) \
  buffers(#field, {offset_of(field)}, ", distinct = \"rows\", every = " + std::to_string(sizeof(*(field))))

// Named settings of which a launch takes one.
struct LaunchChoice {
  std::string name;
  std::vector<std::pair<std::string, LaunchSettings>> values;
};
// A choice of numbers. settings: what a number stands for.
template <class Use>
LaunchChoice choice_of(const std::string& name, const std::vector<int>& numbers, const Use& settings) {
  LaunchChoice choice = {name, {}};
  for (const int number : numbers) choice.values.emplace_back(std::to_string(number), settings(number));
  return choice;
}
template <class Use>
LaunchChoice dims_choice(const Use& settings) {
  return choice_of("dims", {1, 3, 16, 300}, settings);
}
// "off" and "on", with these settings.
inline LaunchChoice on_off(const std::string& name, const LaunchSettings& off, const LaunchSettings& on) {
  return {name, {{"off", off}, {"on", on}}};
}
// A null pointer or a buffer.
#define GLOVE_OPTIONAL(name, field) on_off(name, null(field), GLOVE_BUFFERS(field))
inline LaunchChoice blocks() {
  return choice_of("blocks", {1, 2, 3}, [](int count) { return grid(count); });
}

// A launch with the settings of `like` or, with names, several: the named ones, each with its choices, and
// then as many unnamed ones as it takes until every two values of these choices that may go together do so in
// one.
struct LaunchRow {
  LaunchSettings like;
  std::vector<std::string> named = {};
};

// The launches of the kernels of one source file.
struct LaunchFile {
  std::string source;  // its name without .cu
  LaunchSettings all;
  std::vector<LaunchChoice> choices;
  std::vector<LaunchRow> launches;
  std::vector<std::string> never = {};  // choices that do not go together, as in with()
  // Per kernel, what parameters that proofs leave open hold where tests run it on a GPU.
  std::vector<LaunchSettings> when_run = {};
};

// The text of the launch file (TOML).
std::string toml_of(const LaunchFile& file);

// The launches of all kernels.
std::vector<LaunchFile> search_launches();
std::vector<LaunchFile> kmeans_launches();
std::vector<LaunchFile> row_launches();

}  // namespace glove::gpu::launches
