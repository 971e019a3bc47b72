#include "loader/formats/elements.h"

#include <algorithm>
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

}  // namespace

std::optional<ElementType> element_type(std::string_view dtype) {
  if (dtype == "I8") return ElementType::kInt8;
  if (dtype == "F16") return ElementType::kFloat16;
  if (dtype == "BF16") return ElementType::kBFloat16;
  if (dtype == "F32") return ElementType::kFloat32;
  if (dtype == "F64") return ElementType::kFloat64;
  return std::nullopt;
}

int64_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::kInt8:
    case ElementType::kBits:
      return 1;
    case ElementType::kFloat32:
      return 4;
    case ElementType::kFloat64:
      return 8;
    default:
      return 2;
  }
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
  if (type == ElementType::kBFloat16) {
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
    const uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
    return (rounded & 0x7FFFu) < 0x7F80u && store(static_cast<uint16_t>(rounded), to);
  }
  // Halves of one exponent are multiples of a power of two, and the bits of all halves count on.
  int exponent = 0;
  std::frexp(value, &exponent);
  const int field = value == 0 ? 1 : std::max(exponent + 14, 1);
  const double steps = std::nearbyint(std::ldexp(std::fabs(value), 25 - field));
  const int64_t bits = (int64_t{field - 1} << 10) + static_cast<int64_t>(steps);
  return bits < kHalfInfinity && store(static_cast<uint16_t>((std::signbit(value) ? 0x8000 : 0) | bits), to);
}

}  // namespace glove
