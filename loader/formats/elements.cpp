#include "loader/formats/elements.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "lists/half.h"

namespace glove {
namespace {

template <class T>
T load(const char* from, int64_t index) {
  T value;
  std::memcpy(&value, from + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// Writes a number's bytes.
template <class T>
bool store(T value, char* to) {
  std::memcpy(to, &value, sizeof value);
  return true;
}

constexpr uint32_t kLeastNormalHalf = 0x38800000;          // 2^-14 as the bits of a float
constexpr uint32_t kExponentsBelow = uint32_t{112} << 23;  // of floats below those of halves

struct TypeFacts {
  std::string_view name, dtype;
  int64_t bytes;
};
constexpr TypeFacts kTypes[] = {{"float32", "F32", 4}, {"float16", "F16", 2}, {"bfloat16", "BF16", 2},
                                {"int8", "I8", 1},     {"float64", "F64", 8}, {"bits", "", 1}};

const TypeFacts& facts_of(ElementType type) {
  return kTypes[static_cast<size_t>(type)];
}

// Returns the type of which `member` is `text`, if that is one of the first ones up to `last`.
std::optional<ElementType> find_type(std::string_view TypeFacts::*member, std::string_view text,
                                     ElementType last) {
  for (size_t i = 0; i <= static_cast<size_t>(last); ++i)
    if (kTypes[i].*member == text) return static_cast<ElementType>(i);
  return std::nullopt;
}

}  // namespace

std::string_view vector_type_name(ElementType type) {
  return facts_of(type).name;
}

std::optional<ElementType> vector_type_named(std::string_view name) {
  return find_type(&TypeFacts::name, name, ElementType::kInt8);
}

std::optional<ElementType> element_type(std::string_view dtype) {
  return find_type(&TypeFacts::dtype, dtype, ElementType::kFloat64);
}

std::string_view element_dtype(ElementType type) {
  return facts_of(type).dtype;
}

int64_t element_bytes(ElementType type) {
  return facts_of(type).bytes;
}

void convert_elements(ElementType type, const char* from, int64_t count, float* to) {
  switch (type) {
    case ElementType::kInt8:
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(load<int8_t>(from, i));
      break;
    case ElementType::kBits:
      for (int64_t i = 0; i < count; ++i) to[i] = load<uint8_t>(from, i);
      break;
    case ElementType::kFloat32:
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
      break;
    case ElementType::kFloat64:
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(load<double>(from, i));
      break;
    case ElementType::kFloat16:
      for (int64_t i = 0; i < count; ++i) to[i] = half_value(load<uint16_t>(from, i));
      break;
    case ElementType::kBFloat16:
      for (int64_t i = 0; i < count; ++i)
        to[i] = std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(from, i)) << 16);
      break;
  }
}

bool round_element(ElementType type, double value, char* to) {
  if (!std::isfinite(value)) return false;
  if (type == ElementType::kInt8) {
    const double rounded = std::nearbyint(value);
    return rounded >= -128 && rounded <= 127 && store(static_cast<int8_t>(rounded), to);
  }
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  uint32_t rounded = 0;
  if (type == ElementType::kBFloat16) {
    rounded = (magnitude + 0x7FFFu + (magnitude >> 16 & 1u)) >> 16;
    if (rounded >= 0x7F80u) return false;
  } else if (magnitude < kLeastNormalHalf) {
    // Halves below have the distance that floats from 0.5 to 1 have.
    rounded = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - std::bit_cast<uint32_t>(0.5f);
  } else {
    rounded = (magnitude - kExponentsBelow + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
    if (rounded >= kHalfInfinity) return false;
  }
  return store(static_cast<uint16_t>(bits >> 31 << 15 | rounded), to);
}

}  // namespace glove
