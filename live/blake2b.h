// BLAKE2b (RFC 7693) with a digest of 128 bits, to know texts again.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace glove {

using Digest128 = std::array<uint8_t, 16>;

// Nobody can find two texts with the same digest in less than about 2^64 steps.
Digest128 blake2b_128(std::string_view text);

}  // namespace glove
