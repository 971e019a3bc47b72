// Describes the launches of kernels that glove-verify proves (tools/verify/README.md, "Launch files").
// Parameters are named by the fields of the structs that the kernels take, so the compiler knows their
// offsets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace glove::gpu::launches {

// A value for one parameter, or for a field of one.
struct LaunchParameter {
  size_t offset = 0;
  std::string value;  // as a launch file has it, such as "u32 = 16"
};

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
LaunchParameter number(const Field& field, std::type_identity_t<Field> value) {
  return {offset_of(field),
          (sizeof(Field) == 8 ? "u64 = " : "u32 = ") + std::to_string(static_cast<uint64_t>(value))};
}

// A pointer to a buffer.
template <class Element>
LaunchParameter buffer(Element* const& field, const std::string& name, const std::string& more = "") {
  return {offset_of(field), "buffer = \"" + name + "\"" + more};
}
// Some of them: buffers("codes", params.codes, "sums", params.sums).
inline std::vector<LaunchParameter> buffers() {
  return {};
}
template <class Element, class... Rest>
std::vector<LaunchParameter> buffers(const char* name, Element* const& field, const Rest&... rest) {
  std::vector<LaunchParameter> all = buffers(rest...);
  all.insert(all.begin(), buffer(field, name));
  return all;
}
inline std::vector<LaunchParameter> operator+(std::vector<LaunchParameter> left,
                                              const std::vector<LaunchParameter>& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}
// Its contents are zero before the launch.
template <class Element>
LaunchParameter zeroed(Element* const& field, const std::string& name) {
  return buffer(field, name, ", zeroed = true");
}
// The first 32 bits of each of its elements are distinct from those of all others, also from those of other
// buffers of distinct `things`.
template <class Element>
LaunchParameter distinct(Element* const& field, const std::string& name, const std::string& things) {
  return buffer(field, name, ", distinct = \"" + things + "\", every = " + std::to_string(sizeof(Element)));
}
// A null pointer.
template <class Element>
LaunchParameter null(Element* const& field) {
  return {offset_of(field), "u64 = 0"};
}

// Accesses in the lines that `// verify: lemma NAME` marks do not meet.
struct LaunchLemma {
  std::string name;
  std::string reason;
};

// What the loads of the lines that `// verify: range NAME` marks return.
struct LaunchRange {
  std::string name;
  int64_t least = 0;
  int64_t most = 0;
  std::string reason;
};

// What a file says of all its launches, a choice of those that take it, or a launch of itself.
struct LaunchSettings {
  std::string name = {};
  std::string kernel = {};  // a regular expression
  std::string with = {};    // of a launch, the choices that it takes: "dims 16, blocks 2"
  int block = 0;            // 0: not said
  std::array<int, 2> grid = {0, 0};
  std::optional<int> dynamic_shared = {};
  std::vector<LaunchParameter> parameters = {};
  std::vector<LaunchLemma> lemmas = {};
  std::vector<LaunchRange> ranges = {};
};

// Named settings of which a launch takes one.
struct LaunchChoice {
  std::string name;
  std::vector<LaunchSettings> values;
};

// Why block_threshold() writes its result once (gpu/primitives/block/threshold.cuh).
inline LaunchLemma one_thread_reaches_rank() {
  return {"one-thread-reaches-rank", "the running sums reach the rank at one thread"};
}

// A choice of numbers. settings: what a number stands for.
template <class Use>
LaunchChoice choice_of(const std::string& name, const std::vector<int>& numbers, const Use& settings) {
  LaunchChoice choice = {name, {}};
  for (const int number : numbers) {
    choice.values.push_back(settings(number));
    choice.values.back().name = std::to_string(number);
  }
  return choice;
}
// Those of one field.
template <class Field>
LaunchChoice choice_of(const std::string& name, const std::vector<int>& numbers,
                       const Field& field) requires std::is_integral_v<Field> {
  return choice_of(name, numbers, [&](int value) {
    return LaunchSettings{.parameters = {number(field, static_cast<Field>(value))}};
  });
}
// A choice of two, each with its parameters.
inline LaunchChoice choice_of(const std::string& name, const char* first,
                              std::vector<LaunchParameter> of_first, const char* second,
                              std::vector<LaunchParameter> of_second) {
  return {name,
          {{.name = first, .parameters = std::move(of_first)},
           {.name = second, .parameters = std::move(of_second)}}};
}
// Whether a search returns the rows of a mask only. Mask: that of the part (DeviceMask).
template <class Mask>
LaunchChoice masks(const Mask& mask) {
  return choice_of("mask", "off", {null(mask.words)}, "on", {buffer(mask.words, "mask")});
}
inline LaunchChoice blocks() {
  return choice_of("blocks", {1, 2, 3}, [](int count) { return LaunchSettings{.grid = {count, 1}}; });
}

// The launches of the kernels of one source file.
struct LaunchFile {
  std::string source;  // its name without .cu
  LaunchSettings all = {};
  std::vector<LaunchChoice> choices = {};
  std::vector<std::string> never = {};  // choices that do not go together, as in LaunchSettings::with
  // Per kernel, what parameters that proofs leave open hold where tests run it on a GPU.
  std::vector<LaunchSettings> when_run = {};
  std::vector<LaunchSettings> launches = {};

  // Adds launches with the settings of `like`: the named ones, each with its choices, and then as many
  // unnamed ones as it takes until every two values of these choices that may go together do so in a launch.
  void cover(const LaunchSettings& like, const std::vector<std::array<std::string, 2>>& named);
};

// The text of the launch file (TOML).
std::string toml_of(const LaunchFile& file);

// The launches of all kernels.
LaunchFile batch_answers();
LaunchFile batch_scan();
LaunchFile batch_wgmma();
LaunchFile kmeans_resolve();
LaunchFile kmeans_rows();
LaunchFile kmeans_scan();
LaunchFile kmeans_sums();
LaunchFile kmeans_update();
LaunchFile kmeans_wgmma();
LaunchFile moments();
LaunchFile packed_rows();
LaunchFile score_all();
LaunchFile single_scan();

}  // namespace glove::gpu::launches
