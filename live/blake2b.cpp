#include "live/blake2b.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

namespace glove {
namespace {

constexpr size_t kBlockBytes = 128;
constexpr size_t kRounds = 12;

constexpr std::array<uint64_t, 8> kInitial = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                              0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                              0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

// The order in which a round takes the 16 words of the message; rounds 10 and 11 are rounds 0 and 1 again.
constexpr uint8_t kOrder[10][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

static_assert(std::endian::native == std::endian::little, "the words of a message are little-endian");

using State = std::array<uint64_t, 8>;
using Words = std::array<uint64_t, 16>;

void mix(Words& v, size_t a, size_t b, size_t c, size_t d, uint64_t x, uint64_t y) {
  v[a] += v[b] + x;
  v[d] = std::rotr(v[d] ^ v[a], 32);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 24);
  v[a] += v[b] + y;
  v[d] = std::rotr(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 63);
}

void mix_round(Words& v, const Words& message, const uint8_t* s) {
  mix(v, 0, 4, 8, 12, message[s[0]], message[s[1]]);
  mix(v, 1, 5, 9, 13, message[s[2]], message[s[3]]);
  mix(v, 2, 6, 10, 14, message[s[4]], message[s[5]]);
  mix(v, 3, 7, 11, 15, message[s[6]], message[s[7]]);
  mix(v, 0, 5, 10, 15, message[s[8]], message[s[9]]);
  mix(v, 1, 6, 11, 12, message[s[10]], message[s[11]]);
  mix(v, 2, 7, 8, 13, message[s[12]], message[s[13]]);
  mix(v, 3, 4, 9, 14, message[s[14]], message[s[15]]);
}

// `counted`: the bytes of the message up to the end of this block.
void compress(State& state, const char* block, uint64_t counted, bool is_last) {
  Words message;
  std::memcpy(message.data(), block, kBlockBytes);
  Words v;
  std::copy(state.begin(), state.end(), v.begin());
  std::copy(kInitial.begin(), kInitial.end(), v.begin() + 8);
  v[12] ^= counted;
  if (is_last) v[14] = ~v[14];
#pragma GCC unroll 12  // so that the order of a round is constant
  for (size_t round = 0; round < kRounds; ++round) mix_round(v, message, kOrder[round % 10]);
  for (size_t i = 0; i < state.size(); ++i) state[i] ^= v[i] ^ v[i + 8];
}

}  // namespace

Digest128 blake2b_128(std::string_view text) {
  State state = kInitial;
  state[0] ^= 0x01010000 ^ Digest128().size();
  uint64_t counted = 0;
  while (text.size() > kBlockBytes) {
    compress(state, text.data(), counted += kBlockBytes, false);
    text.remove_prefix(kBlockBytes);
  }
  std::array<char, kBlockBytes> last{};
  std::copy(text.begin(), text.end(), last.begin());
  compress(state, last.data(), counted + text.size(), true);
  Digest128 digest;
  std::memcpy(digest.data(), state.data(), digest.size());
  return digest;
}

}  // namespace glove
