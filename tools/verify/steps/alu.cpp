#include "steps/alu.h"

#include <bit>
#include <cmath>

namespace glove::verify {
namespace {

template <class Float>
bool compare_floats(const Instruction& in, Float a, Float b) {
  if (std::isnan(a) || std::isnan(b)) return in.compare == Compare::kNan || in.unordered;
  switch (in.compare) {
    case Compare::kEq:
      return a == b;
    case Compare::kNe:
      return a != b;
    case Compare::kLt:
      return a < b;
    case Compare::kLe:
      return a <= b;
    case Compare::kGt:
      return a > b;
    case Compare::kGe:
      return a >= b;
    case Compare::kNumber:
      return true;
    case Compare::kNan:
      return false;
  }
  return false;
}

template <class Integer>
bool compare_integers(Compare kind, Integer a, Integer b) {
  switch (kind) {
    case Compare::kEq:
      return a == b;
    case Compare::kNe:
      return a != b;
    case Compare::kLt:
      return a < b;
    case Compare::kLe:
      return a <= b;
    case Compare::kGt:
      return a > b;
    default:
      return a >= b;
  }
}

bool compare_numbers(const Instruction& in, uint64_t a, uint64_t b) {
  const unsigned bits = bits_of(in.from);
  if (in.from == Type::kF64) return compare_floats(in, std::bit_cast<double>(a), std::bit_cast<double>(b));
  if (in.from == Type::kF32)
    return compare_floats(in, std::bit_cast<float>(static_cast<uint32_t>(a)),
                          std::bit_cast<float>(static_cast<uint32_t>(b)));
  if (is_signed(in.from)) return compare_integers(in.compare, sign_extend(a, bits), sign_extend(b, bits));
  return compare_integers(in.compare, mask_bits(a, bits), mask_bits(b, bits));
}

bool compute_float(const Instruction& in, const uint64_t* x, uint64_t* result) {
  const auto run = [&](auto zero, auto pack) {
    using Float = decltype(zero);
    const auto get = [&](int i) {
      if constexpr (sizeof(Float) == 4)
        return std::bit_cast<float>(static_cast<uint32_t>(x[i]));
      else
        return std::bit_cast<double>(x[i]);
    };
    switch (in.op) {
      case Op::kAdd:
        *result = pack(get(0) + get(1));
        return true;
      case Op::kSub:
        *result = pack(get(0) - get(1));
        return true;
      case Op::kMul:
        *result = pack(get(0) * get(1));
        return true;
      case Op::kFma:
      case Op::kMad:
        *result = pack(std::fma(get(0), get(1), get(2)));
        return true;
      case Op::kNeg:
        *result = pack(-get(0));
        return true;
      case Op::kAbs:
        *result = pack(std::fabs(get(0)));
        return true;
      case Op::kMin:
        *result = pack(std::fmin(get(0), get(1)));
        return true;
      case Op::kMax:
        *result = pack(std::fmax(get(0), get(1)));
        return true;
      default:
        return false;
    }
  };
  if (in.type == Type::kF32) return run(0.0f, [](float v) { return uint64_t{std::bit_cast<uint32_t>(v)}; });
  if (in.type == Type::kF64) return run(0.0, [](double v) { return std::bit_cast<uint64_t>(v); });
  return false;
}

bool compute_conversion(const Instruction& in, const uint64_t* x, uint64_t* result) {
  const unsigned to = bits_of(in.type), from = bits_of(in.from);
  if (!is_float(in.type) && !is_float(in.from)) {
    const uint64_t wide =
        is_signed(in.from) ? static_cast<uint64_t>(sign_extend(x[0], from)) : mask_bits(x[0], from);
    *result = mask_bits(wide, to);
    return true;
  }
  if (is_float(in.type) && !is_float(in.from) && (in.type == Type::kF32 || in.type == Type::kF64)) {
    const double number = is_signed(in.from) ? static_cast<double>(sign_extend(x[0], from))
                                             : static_cast<double>(mask_bits(x[0], from));
    if (from > 32) return false;  // rounds
    *result = in.type == Type::kF64 ? std::bit_cast<uint64_t>(number)
                                    : uint64_t{std::bit_cast<uint32_t>(static_cast<float>(number))};
    return true;
  }
  if (!is_float(in.type) && in.wide && (in.from == Type::kF32 || in.from == Type::kF64)) {
    const double number = in.from == Type::kF64 ? std::bit_cast<double>(x[0])
                                                : std::bit_cast<float>(static_cast<uint32_t>(x[0]));
    if (!(std::fabs(number) < 1e9) || (number < 0 && !is_signed(in.type))) return false;
    *result = mask_bits(static_cast<uint64_t>(static_cast<int64_t>(number)), to);
    return true;
  }
  return false;
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

// The sum, product, quotient and the like; false for an operation that is none of them.
bool compute_number(const Instruction& in, const uint64_t* x, uint64_t* result) {
  const unsigned bits = bits_of(in.type);
  const bool as_signed = is_signed(in.type);
  const auto wide = [&](uint64_t value) {
    return as_signed ? static_cast<uint64_t>(sign_extend(value, bits)) : mask_bits(value, bits);
  };
  const auto below = [&](uint64_t a, uint64_t b) {
    return as_signed ? sign_extend(a, bits) < sign_extend(b, bits) : mask_bits(a, bits) < mask_bits(b, bits);
  };
  switch (in.op) {
    case Op::kMove:
      *result = x[0];
      return true;
    case Op::kAdd:
      *result = x[0] + x[1];
      return true;
    case Op::kSub:
      *result = x[0] - x[1];
      return true;
    case Op::kMul:
    case Op::kMad: {
      uint64_t product = x[0] * x[1];
      if (in.part == MulPart::kHigh) product = high_product(x[0], x[1], bits, as_signed);
      if (in.part == MulPart::kWide) product = wide(x[0]) * wide(x[1]);
      *result = product + (in.op == Op::kMad ? x[2] : 0);
      return true;
    }
    case Op::kDiv:
    case Op::kRem:
      *result = divide(in, x[0], x[1], bits);
      return true;
    case Op::kMin:
      *result = below(x[0], x[1]) ? x[0] : x[1];
      return true;
    case Op::kMax:
      *result = below(x[1], x[0]) ? x[0] : x[1];
      return true;
    case Op::kNeg:
      *result = 0 - x[0];
      return true;
    case Op::kAbs:
      *result = sign_extend(x[0], bits) < 0 ? 0 - x[0] : x[0];
      return true;
    default:
      return false;
  }
}

uint64_t reverse_bits(uint64_t value, unsigned bits) {
  uint64_t reversed = 0;
  for (unsigned i = 0; i < bits; ++i) reversed |= (value >> i & 1) << (bits - 1 - i);
  return reversed;
}

// Logic, shifts and fields of bits; false for an operation that is none of them.
bool compute_bits(const Instruction& in, const uint64_t* x, uint64_t* result) {
  const unsigned bits = bits_of(in.type);
  switch (in.op) {
    case Op::kAnd:
      *result = x[0] & x[1];
      return true;
    case Op::kOr:
      *result = x[0] | x[1];
      return true;
    case Op::kXor:
      *result = x[0] ^ x[1];
      return true;
    case Op::kNot:
      *result = in.type == Type::kPred ? x[0] ^ 1 : ~x[0];
      return true;
    case Op::kCnot:
      *result = mask_bits(x[0], bits) == 0 ? 1 : 0;
      return true;
    case Op::kShl:
      *result = mask_bits(x[1], 32) >= bits ? 0 : x[0] << mask_bits(x[1], 32);
      return true;
    case Op::kShr:
      *result = shift_right(in, x[0], x[1], bits);
      return true;
    case Op::kBitExtract:
      *result = bit_field(in, x, bits);
      return true;
    case Op::kBitInsert:
      *result = insert_bits(x, bits);
      return true;
    case Op::kBitReverse:
      *result = reverse_bits(x[0], bits);
      return true;
    case Op::kPopCount:
      *result = static_cast<uint64_t>(std::popcount(mask_bits(x[0], bits)));
      return true;
    case Op::kCountLeadingZeros:
      *result = static_cast<uint64_t>(std::countl_zero(mask_bits(x[0], bits))) - (64 - bits);
      return true;
    case Op::kFindBit: {
      uint64_t a = mask_bits(x[0], bits);
      if (is_signed(in.type) && sign_extend(a, bits) < 0) a = mask_bits(~a, bits);
      const auto place = 63 - static_cast<uint64_t>(std::countl_zero(a));
      *result = a == 0 ? 0xffffffff : in.wide ? bits - 1 - place : place;
      return true;
    }
    case Op::kPermute:
      *result = permute(x);
      return in.text == "prmt.b32";
    case Op::kLogic3:
      *result = logic3(x);
      return true;
    case Op::kSelect:
      *result = x[2] != 0 ? x[0] : x[1];
      return true;
    default:
      return false;
  }
}

}  // namespace

bool compute(const Instruction& in, const uint64_t* arguments, uint64_t* result) {
  if (in.op == Op::kSetPredicate) {
    *result = compare_numbers(in, arguments[0], arguments[1]);
    return true;
  }
  if (in.op == Op::kConvert) return compute_conversion(in, arguments, result);
  unsigned bits = bits_of(in.type);
  if (in.part == MulPart::kWide && (in.op == Op::kMul || in.op == Op::kMad)) bits *= 2;
  if (in.op == Op::kPopCount || in.op == Op::kCountLeadingZeros || in.op == Op::kFindBit) bits = 32;
  const bool moves = in.op == Op::kMove || in.op == Op::kSelect;
  if (is_float(in.type) && !moves) return compute_float(in, arguments, result);
  if (bits == 0 || bits > 64 ||
      (!compute_number(in, arguments, result) && !compute_bits(in, arguments, result)))
    return false;
  *result = mask_bits(*result, bits);
  return true;
}

}  // namespace glove::verify
