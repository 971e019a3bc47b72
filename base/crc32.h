// The CRC-32 of zlib, PNG and gzip: the checksum of model files (docs/format.md).
#pragma once

#include <cstdint>
#include <span>

namespace glove {

// The checksum of the bytes that `crc` is the checksum of (0: of none), followed by these. As zlib's crc32_z,
// which it calls where the processor cannot multiply polynomials.
uint32_t crc32_continue(uint32_t crc, std::span<const char> bytes);

}  // namespace glove
