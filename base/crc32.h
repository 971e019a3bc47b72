// The CRC-32 of zlib, PNG and gzip: the checksum of model files (docs/format.md).
#pragma once

#include <cstdint>
#include <span>

namespace glove {

// Returns the checksum of the bytes that `crc` covers (0 if none), followed by `bytes`. Same as zlib's
// crc32_z, which it calls on processors that cannot multiply polynomials.
uint32_t crc32_continue(uint32_t crc, std::span<const char> bytes);

}  // namespace glove
