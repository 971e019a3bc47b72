#include "base/crc32.h"

#include <zlib.h>

#include <cstring>

// Clang provides the intrinsics only when compiling for such processors
#if defined(__aarch64__) && !defined(__clang__)
#define GLOVE_CRC32_INSTRUCTIONS 1
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "base/x86_features.h"

namespace glove {
namespace {

uint32_t crc32_zlib(uint32_t crc, std::span<const char> bytes) {
  return static_cast<uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

#if defined(__x86_64__)

// x^n modulo the polynomial, shifted up by one bit because a product of two reflected numbers is one bit
// short. Bits are reflected: the lowest bit of the first byte is the highest power of x.
constexpr int64_t power_of_x(int n) {
  uint32_t value = 0x80000000u;  // x^0
  for (int i = 0; i < n; ++i) value = value >> 1 ^ ((value & 1) != 0 ? 0xEDB88320u : 0u);
  return static_cast<int64_t>(uint64_t{value} << 1);
}

#define GLOVE_CLMUL __attribute__((target("pclmul")))

// 128 bits of the message, moved `distance` bits towards its end to be added there. The first 64 bits, which
// are the higher powers, and the last 64 bits are each multiplied by x to the power of their distance, modulo
// the polynomial.
template <int distance>
GLOVE_CLMUL inline __m128i fold(__m128i bits) {
  const __m128i powers = _mm_set_epi64x(power_of_x(distance - 32), power_of_x(distance + 32));
  return _mm_xor_si128(_mm_clmulepi64_si128(bits, powers, 0x00), _mm_clmulepi64_si128(bits, powers, 0x11));
}

GLOVE_CLMUL uint32_t crc32_clmul(uint32_t crc, std::span<const char> bytes) {
  constexpr size_t kStride = 64;
  if (bytes.size() < 2 * kStride) return crc32_zlib(crc, bytes);
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  const auto load = [&](int i)
                        GLOVE_CLMUL { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at) + i); };
  // The checksum so far is added to the first 32 bits, inverted as always.
  __m128i sums[4] = {_mm_xor_si128(load(0), _mm_cvtsi32_si128(static_cast<int>(~crc))), load(1), load(2),
                     load(3)};
  for (at += kStride; end - at >= static_cast<ptrdiff_t>(kStride); at += kStride)
    for (int i = 0; i < 4; ++i) sums[i] = _mm_xor_si128(fold<512>(sums[i]), load(i));
  __m128i sum = sums[0];
  for (int i = 1; i < 4; ++i) sum = _mm_xor_si128(fold<128>(sum), sums[i]);
  // These 16 bytes have the same remainder as everything that went into them. ~0 cancels zlib's own
  // inversion.
  char rest[16];
  std::memcpy(rest, &sum, sizeof rest);
  return crc32_zlib(crc32_zlib(~uint32_t{0}, rest), {at, end});
}

#undef GLOVE_CLMUL

#elif defined(GLOVE_CRC32_INSTRUCTIONS)

// Uses the instructions for exactly this polynomial. zlib uses them only if it was compiled exclusively for
// processors that have them.
__attribute__((target("+crc"))) uint32_t crc32_instructions(uint32_t crc, std::span<const char> bytes) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  crc = ~crc;
  for (; end - at >= 8; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    crc = __crc32d(crc, word);
  }
  for (; at != end; ++at) crc = __crc32b(crc, static_cast<uint8_t>(*at));
  return ~crc;
}

#endif

using Crc32 = uint32_t (*)(uint32_t crc, std::span<const char> bytes);

Crc32 fastest() {
#if defined(__x86_64__)
  if (x86_features().pclmul) return crc32_clmul;
#elif defined(GLOVE_CRC32_INSTRUCTIONS)
  if ((getauxval(AT_HWCAP) & HWCAP_CRC32) != 0) return crc32_instructions;
#endif
  return crc32_zlib;
}

}  // namespace

uint32_t crc32_continue(uint32_t crc, std::span<const char> bytes) {
  if (bytes.empty()) return crc;  // crc32_z() would begin anew if the address is null
  static const Crc32 function = fastest();
  return function(crc, bytes);
}

}  // namespace glove
