#include "steps/steps.h"

#include <bit>
#include <cmath>

namespace glove::verify {
namespace {

using Result64 = std::optional<uint64_t>;  // nullopt: it is not computed

template <class Float>
Float float_of(uint64_t bits) {
  if constexpr (sizeof(Float) == 4)
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  else
    return std::bit_cast<double>(bits);
}

uint64_t bits_of_float(float value) {
  return std::bit_cast<uint32_t>(value);
}
uint64_t bits_of_float(double value) {
  return std::bit_cast<uint64_t>(value);
}

template <class Number>
bool compare(const CompareForm& how, Number a, Number b) {
  if (std::is_floating_point_v<Number> && (a != a || b != b))
    return how.kind == Compare::kNan || how.unordered;
  const bool holds[] = {a == b, a != b, a<b, a <= b, a> b, a >= b, true, false};  // in the order of Compare
  return holds[static_cast<size_t>(how.kind)];
}

bool compare_numbers(const Instruction& in, uint64_t a, uint64_t b) {
  const unsigned bits = bits_of(in.from);
  if (in.from == Type::kF64) return compare(in.comparison, float_of<double>(a), float_of<double>(b));
  if (in.from == Type::kF32) return compare(in.comparison, float_of<float>(a), float_of<float>(b));
  if (is_signed(in.from)) return compare(in.comparison, sign_extend(a, bits), sign_extend(b, bits));
  return compare(in.comparison, mask_bits(a, bits), mask_bits(b, bits));
}

template <class Float>
Result64 compute_float(Op op, const uint64_t* x) {
  const Float a = float_of<Float>(x[0]), b = float_of<Float>(x[1]);
  switch (op) {
    case Op::kAdd:
      return bits_of_float(a + b);
    case Op::kSub:
      return bits_of_float(a - b);
    case Op::kMul:
      return bits_of_float(a * b);
    case Op::kFma:
    case Op::kMad:
      return bits_of_float(std::fma(a, b, float_of<Float>(x[2])));
    case Op::kNeg:
      return bits_of_float(-a);
    case Op::kAbs:
      return bits_of_float(std::fabs(a));
    case Op::kMin:
      return bits_of_float(std::fmin(a, b));
    case Op::kMax:
      return bits_of_float(std::fmax(a, b));
    default:
      return std::nullopt;
  }
}

// Whether the result is the nearest float, and what else modifiers may change of it is not asked for.
bool is_nearest(const Instruction& in) {
  for (const char* word : {".rz.", ".rm.", ".rp.", ".NaN.", ".xorsign"})
    if (in.text.find(word) != std::string::npos) return false;
  return true;
}

Result64 compute_conversion(const Instruction& in, uint64_t x) {
  const unsigned to = bits_of(in.type), from = bits_of(in.from);
  const uint64_t wide = extend(x, in.from);
  const bool makes_float = in.type == Type::kF32 || in.type == Type::kF64;
  if (!is_float(in.type) && !is_float(in.from)) return mask_bits(wide, to);
  if (makes_float && !is_float(in.from)) {
    if (from > 32) return std::nullopt;  // rounds
    const double number =
        is_signed(in.from) ? static_cast<double>(static_cast<int64_t>(wide)) : static_cast<double>(wide);
    return in.type == Type::kF64 ? bits_of_float(number) : bits_of_float(static_cast<float>(number));
  }
  if (!is_float(in.type) && in.wide && (in.from == Type::kF32 || in.from == Type::kF64)) {
    const double number = in.from == Type::kF64 ? float_of<double>(x) : float_of<float>(x);
    if (!(std::fabs(number) < 1e9) || (number < 0 && !is_signed(in.type))) return std::nullopt;
    return mask_bits(static_cast<uint64_t>(static_cast<int64_t>(number)), to);
  }
  return std::nullopt;
}

uint64_t high_product(uint64_t a, uint64_t b, unsigned bits, bool as_signed) {
  const Wide left = as_signed ? Wide{sign_extend(a, bits)} : static_cast<Wide>(mask_bits(a, bits));
  const Wide right = as_signed ? Wide{sign_extend(b, bits)} : static_cast<Wide>(mask_bits(b, bits));
  if (bits == 64 && !as_signed)
    return static_cast<uint64_t>((static_cast<WideUnsigned>(a) * static_cast<WideUnsigned>(b)) >> 64);
  return static_cast<uint64_t>((left * right) >> bits);
}

uint64_t divide(const Instruction& in, uint64_t a, uint64_t b, unsigned bits) {
  if (mask_bits(b, bits) == 0) return ~uint64_t{0};
  if (is_signed(in.type)) {
    const Wide left = sign_extend(a, bits), right = sign_extend(b, bits);
    return static_cast<uint64_t>(in.op == Op::kDiv ? left / right : left % right);
  }
  const uint64_t left = mask_bits(a, bits), right = mask_bits(b, bits);
  return in.op == Op::kDiv ? left / right : left % right;
}

uint64_t shift_right(const Instruction& in, uint64_t a, uint64_t by, unsigned bits) {
  by = mask_bits(by, 32);
  if (is_signed(in.type))
    return static_cast<uint64_t>(sign_extend(a, bits) >> std::min<uint64_t>(by, bits - 1));
  return by >= bits ? 0 : mask_bits(a, bits) >> by;
}

uint64_t bit_field(const Instruction& in, const uint64_t* x, unsigned bits) {
  const uint64_t at = x[1] & 0xff, length = x[2] & 0xff;
  if (length == 0) return 0;
  const uint64_t a = mask_bits(x[0], bits);
  if (!is_signed(in.type))
    return at >= bits ? 0 : mask_bits(a >> at, static_cast<unsigned>(std::min<uint64_t>(length, 64)));
  const uint64_t top = std::min<uint64_t>(at + length - 1, bits - 1);
  uint64_t result = 0;
  for (unsigned i = 0; i < bits; ++i) {
    const uint64_t from = std::min<uint64_t>(at + i, top);
    result |= (a >> (i < length && at + i < bits ? at + i : from) & 1) << i;
  }
  return result;
}

uint64_t insert_bits(const uint64_t* x, unsigned bits) {
  const uint64_t at = x[2] & 0xff, length = x[3] & 0xff;
  uint64_t result = mask_bits(x[1], bits);
  for (uint64_t i = 0; i < length && at + i < bits; ++i) {
    result &= ~(uint64_t{1} << (at + i));
    result |= (x[0] >> i & 1) << (at + i);
  }
  return result;
}

uint64_t permute(const uint64_t* x) {
  const uint64_t bytes = mask_bits(x[0], 32) | x[1] << 32;
  uint64_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const uint64_t selector = x[2] >> (4 * i) & 0xf;
    uint64_t byte = bytes >> (8 * (selector & 7)) & 0xff;
    if ((selector & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}

uint64_t logic3(const uint64_t* x) {
  uint64_t result = 0;
  for (unsigned bit = 0; bit < 32; ++bit) {
    const unsigned row =
        static_cast<unsigned>((x[0] >> bit & 1) << 2 | (x[1] >> bit & 1) << 1 | (x[2] >> bit & 1));
    result |= (x[3] >> row & 1) << bit;
  }
  return result;
}

// The sum, product, quotient and the like.
Result64 compute_number(const Instruction& in, const uint64_t* x) {
  const unsigned bits = bits_of(in.type);
  const auto below = [&](uint64_t a, uint64_t b) {
    return is_signed(in.type) ? sign_extend(a, bits) < sign_extend(b, bits)
                              : mask_bits(a, bits) < mask_bits(b, bits);
  };
  switch (in.op) {
    case Op::kMove:
      return x[0];
    case Op::kAdd:
      return x[0] + x[1];
    case Op::kSub:
      return x[0] - x[1];
    case Op::kMul:
    case Op::kMad: {
      const uint64_t product = in.part == MulPart::kHigh ? high_product(x[0], x[1], bits, is_signed(in.type))
                               : in.part == MulPart::kWide ? extend(x[0], in.type) * extend(x[1], in.type)
                                                           : x[0] * x[1];
      return product + (in.op == Op::kMad ? x[2] : 0);
    }
    case Op::kDiv:
    case Op::kRem:
      return divide(in, x[0], x[1], bits);
    case Op::kMin:
      return below(x[0], x[1]) ? x[0] : x[1];
    case Op::kMax:
      return below(x[1], x[0]) ? x[0] : x[1];
    case Op::kNeg:
      return 0 - x[0];
    case Op::kAbs:
      return sign_extend(x[0], bits) < 0 ? 0 - x[0] : x[0];
    default:
      return std::nullopt;
  }
}

uint64_t reverse_bits(uint64_t value, unsigned bits) {
  uint64_t reversed = 0;
  for (unsigned i = 0; i < bits; ++i) reversed |= (value >> i & 1) << (bits - 1 - i);
  return reversed;
}

uint64_t find_bit(const Instruction& in, uint64_t a, unsigned bits) {
  if (is_signed(in.type) && sign_extend(a, bits) < 0) a = mask_bits(~a, bits);
  const auto place = 63 - static_cast<uint64_t>(std::countl_zero(a));
  return a == 0 ? 0xffffffff : in.wide ? bits - 1 - place : place;
}

// Logic, shifts and fields of bits.
Result64 compute_bits(const Instruction& in, const uint64_t* x) {
  const unsigned bits = bits_of(in.type);
  const uint64_t a = mask_bits(x[0], bits);
  switch (in.op) {
    case Op::kAnd:
      return x[0] & x[1];
    case Op::kOr:
      return x[0] | x[1];
    case Op::kXor:
      return x[0] ^ x[1];
    case Op::kNot:
      return in.type == Type::kPred ? x[0] ^ 1 : ~x[0];
    case Op::kCnot:
      return a == 0 ? 1 : 0;
    case Op::kShl:
      return mask_bits(x[1], 32) >= bits ? 0 : x[0] << mask_bits(x[1], 32);
    case Op::kShr:
      return shift_right(in, x[0], x[1], bits);
    case Op::kBitExtract:
      return bit_field(in, x, bits);
    case Op::kBitInsert:
      return insert_bits(x, bits);
    case Op::kBitReverse:
      return reverse_bits(x[0], bits);
    case Op::kPopCount:
      return std::popcount(a);
    case Op::kCountLeadingZeros:
      return static_cast<unsigned>(std::countl_zero(a)) - (64 - bits);
    case Op::kFindBit:
      return find_bit(in, a, bits);
    case Op::kPermute:
      return in.text == "prmt.b32" ? Result64(permute(x)) : std::nullopt;
    case Op::kLogic3:
      return logic3(x);
    case Op::kSelect:
      return x[2] != 0 ? x[0] : x[1];
    default:
      return std::nullopt;
  }
}

}  // namespace

Result64 compute(const Instruction& in, const uint64_t* x) {
  if (in.op == Op::kSetPredicate) return compare_numbers(in, x[0], x[1]);
  if (in.op == Op::kConvert) return is_nearest(in) ? compute_conversion(in, x[0]) : std::nullopt;
  unsigned bits = bits_of(in.type);
  if (in.part == MulPart::kWide && (in.op == Op::kMul || in.op == Op::kMad)) bits *= 2;
  if (in.op == Op::kPopCount || in.op == Op::kCountLeadingZeros || in.op == Op::kFindBit) bits = 32;
  if (is_float(in.type) && in.op != Op::kMove && in.op != Op::kSelect)
    return !is_nearest(in)         ? std::nullopt
           : in.type == Type::kF32 ? compute_float<float>(in.op, x)
           : in.type == Type::kF64 ? compute_float<double>(in.op, x)
                                   : std::nullopt;
  if (bits == 0 || bits > 64) return std::nullopt;
  Result64 result = compute_number(in, x);
  if (!result) result = compute_bits(in, x);
  if (result) result = mask_bits(*result, bits);
  return result;
}

}  // namespace glove::verify
