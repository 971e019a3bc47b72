// What opcodes mean that move matrices or copy, and those of mbarriers.
#include <algorithm>
#include <iterator>

#include "ptx/opcode.h"

namespace glove::verify {

bool has(const OpcodeParts& parts, std::string_view word) {
  return std::ranges::find(parts, word) != parts.end();
}

bool find_space(Instruction& out, Family family, const OpcodeParts& parts) {
  bool known = false;
  for (const auto part : parts)
    if (const Modifier* modifier = find_modifier(part, family)) {
      modifier->set(out, part);
      known = true;
    }
  return known;
}

void decode_tile(Instruction& out, const OpcodeParts& parts) {
  struct Shape {
    std::string_view name;
    uint16_t m, n, k;
  };
  constexpr Shape kShapes[] = {{"m16n16k16", 16, 16, 16}, {"m8n32k16", 8, 32, 16}, {"m32n8k16", 32, 8, 16},
                               {"m16n16k8", 16, 16, 8},   {"m8n8k4", 8, 8, 4},     {"m8n8k32", 8, 8, 32},
                               {"m8n8k128", 8, 8, 128}};
  const auto shape = std::ranges::find_if(kShapes, [&](const Shape& one) { return has(parts, one.name); });
  const std::string_view which = parts.size() > 2 ? parts[2] : "", type = parts.back();
  const bool by_rows = has(parts, "row"), loads = has(parts, "load");
  if (shape == std::end(kShapes) || by_rows == has(parts, "col") || loads == has(parts, "store"))
    return reject(out, "an unknown form of wmma");
  const bool known = which == "a" || which == "b" || which == "c" || which == "d";
  out.type = type == "s4" || type == "u4" || type == "b1" ? Type::kB8 : type_of(type);
  if (!known || out.type == Type::kNone) return reject(out, "an unknown form of wmma");
  const uint16_t rows = which == "b" ? shape->k : shape->m, columns = which == "a" ? shape->k : shape->n;
  out.op = loads ? Op::kMatrixLoad : Op::kMatrixStore;
  out.collective.tile.lines = by_rows ? rows : columns;
  out.collective.tile.elements = by_rows ? columns : rows;
  out.collective.tile.bits = type == "b1"                   ? 1
                             : type == "s4" || type == "u4" ? 4
                                                            : static_cast<uint8_t>(bits_of(out.type));
  find_space(out, Family::kMatrix, parts);
}

void decode_mbarrier(Instruction& out, const OpcodeParts& parts) {
  using Form = std::pair<std::string_view, MbarrierOp>;
  constexpr Form kForms[] = {{"init", MbarrierOp::kInit},     {"inval", MbarrierOp::kInvalidate},
                             {"arrive", MbarrierOp::kArrive}, {"expect_tx", MbarrierOp::kExpect},
                             {"try_wait", MbarrierOp::kWait}, {"test_wait", MbarrierOp::kWait}};
  const auto found = std::ranges::find(kForms, parts.size() > 1 ? parts[1] : "", &Form::first);
  if (found == std::end(kForms)) return reject(out, "an operation on mbarriers that is not modelled");
  out.collective.mbarrier = found->second;
  out.type = Type::kB64;
  constexpr std::string_view kNoted[] = {"b64",     "shared",  "shared::cta", "shared::cluster",
                                         "release", "acquire", "cta",         "cluster"};
  for (size_t i = 2; i < parts.size(); ++i) {
    const bool pays = parts[i] == "expect_tx" && out.collective.mbarrier == MbarrierOp::kArrive;
    const bool parity = parts[i] == "parity" && out.collective.mbarrier == MbarrierOp::kWait;
    const bool orders_nothing = parts[i] == "relaxed" && out.collective.mbarrier == MbarrierOp::kExpect;
    out.wide |= pays || parity;
    if (parts[i].starts_with("shared")) out.space = Space::kShared;
    if (!pays && !parity && !orders_nothing && std::ranges::find(kNoted, parts[i]) == std::end(kNoted))
      return reject(out, "modifier ." + std::string(parts[i]));
  }
}

// cp.async.bulk
static void bulk_copy(Instruction& out, const OpcodeParts& parts) {
  const std::string_view kind = parts.size() > 3 ? parts[3] : "";
  out.wide = kind == "global";
  out.op = kind == "commit_group" ? Op::kBulkCommit : kind == "wait_group" ? Op::kBulkWait : Op::kBulkCopy;
  if (kind == "prefetch" && !has(parts, "tensor")) return void(out.op = Op::kNothing);
  if (out.op == Op::kBulkCommit) return;
  if (out.op == Op::kBulkWait) return void(out.wide = has(parts, "read"));
  const std::string_view from = parts.size() > 4 ? parts[4] : "", ends = parts.size() > 5 ? parts[5] : "";
  const bool in = kind.starts_with("shared") && from == "global" && ends == "mbarrier::complete_tx::bytes";
  const bool to_global = out.wide && from == "shared::cta" && ends == "bulk_group";
  for (size_t i = 6; i < parts.size(); ++i)
    if (parts[i] != "L2::cache_hint") return reject(out, "modifier ." + std::string(parts[i]));
  if (!in && !to_global)
    return reject(out, "only bulk copies between global memory and the block's shared memory are modelled");
}

void decode_copy(Instruction& out, const OpcodeParts& parts) {
  if (parts.size() < 3 || parts[1] != "async") return reject(out, "an unknown form of a copy");
  if (parts[2] == "bulk" && !has(parts, "tensor")) return bulk_copy(out, parts);
  if (has(parts, "bulk")) return reject(out, "bulk copies of tensors (TMA) are not modelled");
  if (has(parts, "mbarrier")) return reject(out, "copies that arrive at an mbarrier are not modelled");
  if (parts[2] == "commit_group" || parts[2] == "wait_group" || parts[2] == "wait_all") {
    out.op = parts[2] == "commit_group" ? Op::kCopyCommit : Op::kCopyWait;
    out.wide = parts[2] == "wait_all";
    return;
  }
  const bool from_global = parts.size() > 4 && parts[4] == "global";
  if (!from_global || !(parts[3] == "shared" || parts[3] == "shared::cta"))
    return reject(out, "only copies from global memory to the block's shared memory are modelled");
  out.space = Space::kShared;
  for (size_t i = 2; i < parts.size(); ++i)
    if (i != 3 && i != 4 && find_modifier(parts[i], Family::kCopy) == nullptr)
      return reject(out, "modifier ." + std::string(parts[i]));
}

}  // namespace glove::verify
