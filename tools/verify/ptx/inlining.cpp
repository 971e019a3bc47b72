// The labels of a kernel into which functions are inlined, and what it passes to them.
#include <algorithm>

#include "ptx/opcode.h"
#include "ptx/parser.h"

namespace glove::verify {

void Labels::list(std::vector<std::string> names, size_t at) {
  for (const auto& [name, place] : labels_)
    if (place == static_cast<int>(at)) lists_.emplace(name, names);
}

std::optional<std::string> Labels::resolve(Kernel& kernel) const {
  for (const auto& [index, name] : jumps_) {
    Instruction& out = kernel.code[index];
    std::vector<std::string> names = {name};
    if (out.op == Op::kBranchIndexed) {
      const auto list = lists_.find(name);
      if (list == lists_.end()) return "the branch targets '" + name + "' are not declared";
      names = list->second;
    }
    for (const std::string& label : names) {
      const auto found = labels_.find(label);
      if (found == labels_.end()) return "the label '" + label + "' is not declared";
      out.targets.push_back(found->second);
    }
  }
  return std::nullopt;
}

uint32_t PassedParameters::add(uint64_t size) {
  variables_.push_back({size, {}});
  return static_cast<uint32_t>(variables_.size() - 1);
}

bool PassedParameters::has(uint32_t number, uint64_t size) const {
  return number < variables_.size() && variables_[number].size == size;
}

PassedParameters::Part& PassedParameters::part(uint32_t number, uint64_t offset, unsigned bits) {
  auto& parts = variables_[number].parts;
  for (Part& known : parts)
    if (known.offset == offset && known.bits == bits) return known;
  const Type type = bits <= 16 ? Type::kB16 : bits == 32 ? Type::kB32 : Type::kB64;
  parts.push_back({offset, bits, static_cast<uint32_t>(kernel_.registers.size())});
  kernel_.registers.push_back({type});
  return parts.back();
}

bool PassedParameters::pass(Instruction& in, const std::vector<uint32_t>& variables) {
  const unsigned bits = bits_of(in.type);
  const bool loads = in.op == Op::kLoad, direct = in.address.kind == OperandKind::kNone;
  auto& registers = loads ? in.results : in.operands;
  if (variables.size() != 1 || !direct || !(loads || in.op == Op::kStore) || bits < 8 || bits > 64) {
    in.operands.clear();
    in.address = {};
    reject(in, "a use of a call's parameters that is not modelled");
    kernel_.code.push_back(std::move(in));
    return true;
  }
  bool fits = true;
  for (size_t i = 0; i < registers.size() && fits; ++i) {
    const PtxOperand& given = registers[i];
    Part& passed = part(variables[0], in.address.immediate + i * bits / 8, bits);
    const PtxOperand slot = {.kind = OperandKind::kRegister, .index = passed.reg};
    const bool is_register = given.kind == OperandKind::kRegister;
    const unsigned has = is_register ? bits_of(kernel_.registers[given.index].type) : bits;
    const unsigned from = loads || bits == 8 ? bits : has;
    const unsigned to = loads ? has : std::max(bits, 16u);
    const std::string sign = loads && is_signed(in.type) ? ".s" : ".u";
    DecodedOpcode move = decode(from == to ? "mov.b" + std::to_string(to)
                                           : "cvt" + sign + std::to_string(to) + sign + std::to_string(from));
    move.in.text = in.text;
    move.in.site = in.site;
    move.in.guard = in.guard;
    move.in.results = {loads ? given : slot};
    move.in.operands = {loads ? slot : given};
    fits = has >= bits && has_right_classes(move, kernel_.registers);
    if (loads)
      passed.loads.push_back(kernel_.code.size());
    else
      passed.stored = true;
    kernel_.code.push_back(std::move(move.in));
  }
  return fits;
}

void PassedParameters::forget_torn_parts() {
  for (const Variable& variable : variables_)
    for (const Part& loaded : variable.parts) {
      const bool whole = loaded.stored && std::ranges::none_of(variable.parts, [&](const Part& other) {
                           return other.stored && &other != &loaded &&
                                  other.offset < loaded.offset + loaded.bits / 8 &&
                                  loaded.offset < other.offset + other.bits / 8;
                         });
      for (const size_t load : whole ? std::vector<size_t>{} : loaded.loads) {
        kernel_.code[load].op = Op::kPure;
        kernel_.code[load].operands.clear();
      }
    }
}

}  // namespace glove::verify
