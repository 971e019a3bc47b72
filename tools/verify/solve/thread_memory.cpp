// Addresses, parameters and accesses of a thread, and the barriers that order them.
#include <algorithm>

#include "solve/thread_model.h"

namespace glove::verify {

// cvta: global addresses stay what they are; shared ones move into the window.
void ThreadModel::step_address(const Instruction& in, Term active) {
  if (in.results.size() != 1 || in.operands.size() != 1) return refuse("an address is converted oddly");
  Number value = read(in.operands[0], Type::kU64);
  if (in.space == Space::kShared && !in.wide) {
    value = {formulas_.unknown(64), kSharedWindow, formulas_.resized(value.bits, 64, false), false};
  } else if (in.space == Space::kShared) {
    value =
        value.object == kSharedWindow ? Number{value.offset, 0, nullptr, value.exact} : unknown(Type::kU64);
  } else if (in.space != Space::kGlobal) {
    value = unknown(Type::kU64);
  }
  write(in.results[0], value, active, false);
}

Term open_byte(Formulas& formulas, SharedInputs& inputs, uint64_t offset) {
  Term& open = inputs.parameters[offset];
  if (open == nullptr) open = formulas.unknown(8);
  return open;
}

Number ThreadModel::parameter(uint64_t offset, unsigned bytes) {
  const Z3_context z3 = formulas_.context();
  Term whole = nullptr;
  bool given = true;
  for (unsigned i = 0; i < bytes; ++i) {
    const uint64_t at = offset + i;
    const auto value = std::ranges::find_if(setup_.launch.parameters, [&](const ParameterValue& parameter) {
      return !parameter.is_buffer && parameter.name.empty() && at >= parameter.offset &&
             at < parameter.offset + parameter.bytes;
    });
    Term byte = nullptr;
    if (value != setup_.launch.parameters.end()) {
      byte = formulas_.number(value->value >> (8 * (at - value->offset)) & 0xff, 8);
    } else {
      given = false;
      byte = open_byte(formulas_, inputs_, at);
    }
    whole = whole == nullptr ? byte : Z3_mk_concat(z3, byte, whole);
  }
  Number number = {formulas_.simple(whole), 0, nullptr, true};
  if (bytes == 8 && !given) {
    number.object = kFirstParameter + static_cast<uint32_t>(offset);
    number.offset = formulas_.number(0, 64);
  }
  return number;
}

void ThreadModel::step_parameter(const Instruction& in, Term active) {
  const unsigned bytes = bytes_of(in.type);
  const bool known = in.address.kind == OperandKind::kImmediate && bytes <= 8 && in.type != Type::kPred;
  if (!known) return write_unknown(in, active);
  for (size_t i = 0; i < in.results.size(); ++i)
    write(in.results[i], parameter(in.address.immediate + i * bytes, bytes), active, is_signed(in.type));
}

void ThreadModel::step_memory(const Instruction& in, Term active, bool exact) {
  if (in.space == Space::kParam && in.op == Op::kLoad) return step_parameter(in, active);
  if (in.space == Space::kLocal || (in.space == Space::kConst && in.op == Op::kLoad))
    return write_unknown(in, active);
  if (in.address.kind == OperandKind::kNone || verify::bits_of(in.type) < 8)
    return refuse("an address is not understood");
  const bool shared = in.space == Space::kShared;
  Number address = read(in.address, shared ? Type::kU32 : Type::kU64);
  ModelAccess access;
  access.space = shared || address.object == kSharedWindow ? Space::kShared : Space::kGlobal;
  access.object = shared ? 0 : address.object;
  access.offset = shared ? formulas_.resized(address.bits, 64, false) : address.offset;
  if (access.space == Space::kGlobal && (access.offset == nullptr || access.object <= kMixed))
    return refuse("an address is not understood");
  if (access.space == Space::kShared) access.object = 0;
  if (access.space == Space::kGlobal && !setup_.check_global) return write_unknown(in, active);
  const bool is_volatile =
      in.order.is_volatile && (access.space == Space::kShared ? setup_.options.volatile_shared_strong
                                                              : setup_.options.volatile_global_strong);
  access.record.kind = in.op == Op::kLoad    ? AccessKind::kRead
                       : in.op == Op::kStore ? AccessKind::kWrite
                                             : AccessKind::kAtomic;
  access.record.strong = in.order.strong || in.order.acquire || in.order.release || is_volatile;
  if (is_narrow(in.order.scope) && !in.order.is_volatile) access.record.scope = StrongFor::kBlock;
  access.record.instruction = setup_.number_of(in);
  access.record.bytes = bytes_of(in.type) * in.vector;
  access.record.element = bytes_of(in.type) / (in.type == Type::kF16x2 ? 2 : 1);
  access.condition = active;
  access.phase = phase_;
  access.exact = exact && address.exact && !warps_meet_;
  accesses_.push_back(access);
  if (access.space == Space::kGlobal) objects_.insert(access.object);
  if (access.space == Space::kGlobal && in.op != Op::kLoad) inputs_.written.insert(access.object);
  const bool constant = in.op == Op::kLoad && access.space == Space::kGlobal && !in.order.is_volatile &&
                        !access.record.strong && inputs_.written.count(access.object) == 0 &&
                        verify::bits_of(in.type) <= 64;
  if (!constant) return write_unknown(in, active);
  for (size_t i = 0; i < in.results.size(); ++i) {
    const unsigned bits = verify::bits_of(in.type);
    const Term at = formulas_.add(access.offset, formulas_.number(i * bytes_of(in.type), 64));
    const std::string name = "memory " + std::to_string(access.object) + " " + std::to_string(bits);
    write(in.results[i],
          {formulas_.applied(name, at, bits), 0, nullptr, setup_.launch.ranges.empty() && address.exact},
          active, is_signed(in.type));
  }
}

// A barrier that every thread of the block executes once orders what lies on its two sides.
void ThreadModel::step_barrier(const Instruction& in, bool guarded) {
  const bool whole = in.collective.barrier != BarrierOp::kArrive && barrier_numbers(in) == 1 &&
                     in.operands[0].kind == OperandKind::kImmediate;
  if (whole && !guarded && on_chain_[static_cast<size_t>(block_)])
    ++phase_;
  else
    warps_meet_ = true;
}

}  // namespace glove::verify
