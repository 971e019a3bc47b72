// Numbers of matrices in files and of vectors in BLOBs, little-endian, as float32.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/model.h"

namespace glove {

// "float32", "float16", "bfloat16", "int8" or "bits": the types that a column of vectors may have.
std::string_view vector_type_name(ElementType type);
// Returns none for "bits", which is for indexes only.
std::optional<ElementType> vector_type_named(std::string_view name);

// Returns the type that a safetensors file calls `dtype`, or nullopt if it is none of them.
std::optional<ElementType> element_type(std::string_view dtype);
// Returns what a safetensors file calls the type. REQUIRES: it is not kBits.
std::string_view element_dtype(ElementType type);

// Returns the bytes per element.
int64_t element_bytes(ElementType type);

// Returns how many dimensions a vector of so many elements has.
constexpr int64_t dims_of(ElementType type, int64_t elements) {
  return type == ElementType::kBits ? 8 * elements : elements;
}

// Converts `count` elements to float32, rounded to nearest. `from` need not be aligned.
void convert_elements(ElementType type, const char* from, int64_t count, float* to);

// Writes the element that is nearest to `value`, of two the even one, to element_bytes(type) bytes. Returns
// false if there is none, because `value` is not finite or beyond the type's range. REQUIRES: the type is
// kInt8, kFloat16 or kBFloat16; `value` is a float32 unless the type is kInt8.
bool round_element(ElementType type, double value, char* to);

}  // namespace glove
