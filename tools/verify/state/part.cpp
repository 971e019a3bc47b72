#include "state/part.h"

#include <algorithm>

namespace glove::verify {

namespace {

constexpr size_t kManyPaths = 64;  // what is open may decide about each anew

// The lines of the source, which copies of an instruction that the compiler made have in common.
std::string lines_of(const Site& site) {
  std::string lines;
  for (const SourceLine& line : site.chain)
    lines += line.file + ":" + std::to_string(line.line) + ":" + std::to_string(line.column) + " ";
  return lines;
}

}  // namespace

Finding* Reporter::find(FindingKind kind, bool definite, const Instruction& in, const Instruction* other,
                        std::string message, const BlockState* state) {
  if (ended()) return nullptr;
  Finding finding = {.kind = kind,
                     .definite = definite,
                     .message = std::move(message),
                     .site = setup_.kernel.sites[in.site]};
  finding.allowed = std::ranges::find(setup_.options.allowed, kind) != setup_.options.allowed.end();
  if (other != nullptr) finding.other = setup_.kernel.sites[other->site];
  const auto place = [](const Site& site) {
    return site.chain.empty() ? std::to_string(site.ptx_line) : lines_of(site);
  };
  std::string a = place(finding.site), b = place(finding.other);
  if (b < a) std::swap(a, b);
  if (!found_.insert(std::to_string(static_cast<int>(kind)) + ":" + a + ":" + b).second) return nullptr;
  if (state != nullptr && state->path != nullptr) {
    std::string conditions;
    int shown = 0;
    for (const Path* path = state->path.get(); path != nullptr && shown < 8;
         path = path->parent.get(), ++shown) {
      const Site& site = setup_.kernel.sites[setup_.kernel.code[path->site].site];
      conditions += (shown > 0 ? ", " : "") +
                    (site.chain.empty() ? "PTX line " + std::to_string(site.ptx_line)
                                        : site.chain[0].file + ":" + std::to_string(site.chain[0].line));
    }
    finding.explanation.push_back("on a path that is decided at " + conditions);
  }
  findings_.push_back(std::move(finding));
  if (findings_.size() >= setup_.options.most_findings) ended_ = Ended::kRun;
  return &findings_.back();
}

void Reporter::end_path(bool covered) {
  if (!ended()) ended_ = covered ? Ended::kCovered : Ended::kPath;
}

void Reporter::begin_again() {
  if (!ended()) ended_ = Ended::kAgain;
}

void Reporter::assume(const std::string& what) {
  if (!ended()) assumptions_.insert(what);
}

void Reporter::assume_written(const Instruction& in) {
  if (ended() || assumes_written(in)) return;
  assumed_written_.resize(setup_.kernel.sites.size());
  assumed_written_[in.site] = true;
  assume("what is read at " + setup_.source_line(in) + " from shared memory was written");
}

bool Reporter::assumes_written(const Instruction& in) const {
  return !assumed_written_.empty() && assumed_written_[in.site];
}

void Reporter::unsupported(const Instruction& in, const std::string& reason) {
  find(FindingKind::kUnsupported, true, in, nullptr, "'" + in.text + "': " + reason, nullptr);
  ended_ = Ended::kRun;
}

void Reporter::unproved(const Instruction& in, const std::string& reason, const BlockState* state) {
  find(FindingKind::kUnproved, false, in, nullptr, reason, state);
  end_path();
}

bool Reporter::tick() {
  if (ended()) return false;
  if (effort_.steps >= open_until_ && effort_.paths >= kManyPaths) {
    effort_.stopped = std::ranges::any_of(
        findings_, [](const Finding& finding) { return finding.kind == FindingKind::kUnproved; });
    if (effort_.stopped) return ended_ = Ended::kRun, false;
  }
  ++effort_.steps;
  if (effort_.steps >= setup_.options.most_steps)
    give_up("the limit of steps");
  else if ((effort_.steps & 0xf) == 0 && effort_.budget.out_of_time())
    give_up("the time limit");
  else if ((effort_.steps & 0x3fff) == 0 && effort_.budget.out_of_memory())
    give_up("the memory limit");
  return !ended();
}

void Reporter::give_up(const std::string& limit) {
  out_of_time_ = true;
  findings_.push_back(
      {.message = limit + " ended the search after " + std::to_string(effort_.steps) + " warp instructions"});
  ended_ = Ended::kRun;
}

// Memory and synchronising instructions that were not reached, but for copies of a source line (of an
// unrolled loop, say) of which another was.
void Reporter::add_uncovered(Verdict& verdict) const {
  const auto name = [&](const Instruction& in) {
    const std::string lines = lines_of(setup_.kernel.sites[in.site]);
    return lines.empty() ? "" : in.text + " " + lines;
  };
  std::set<std::string> reached;
  for (size_t i = 0; i < effort_.executed.size(); ++i)
    if (effort_.executed[i]) reached.insert(name(setup_.kernel.code[i]));
  reached.erase("");
  for (size_t i = 0; i < effort_.executed.size(); ++i) {
    const Instruction& in = setup_.kernel.code[i];
    const bool matters = in.op == Op::kBarrier || in.op == Op::kClusterBarrier ||
                         kWarpSynchronisation.has(in.op) || in.op == Op::kStore || in.op == Op::kAtomic ||
                         in.op == Op::kCopy || kOfMbarriers.has(in.op) ||
                         (in.op == Op::kLoad && in.space != Space::kParam);
    if (matters && !effort_.executed[i] && reached.count(name(in)) == 0)
      verdict.uncovered.push_back(in.text + " at PTX line " +
                                  std::to_string(setup_.kernel.sites[in.site].ptx_line) + ", " +
                                  setup_.source_line(in));
  }
}

Verdict Reporter::verdict() const {
  Verdict verdict;
  verdict.findings = findings_;
  verdict.assumptions.assign(assumptions_.begin(), assumptions_.end());
  verdict.out_of_time = out_of_time_;
  verdict.paths = effort_.paths;
  verdict.steps = effort_.steps;
  add_uncovered(verdict);
  return verdict;
}

void declare_relations(const Setup& setup, Learned& learned) {
  SymbolTable& table = learned.table;
  struct Sum {
    Value narrow, wide;  // in 32 and in 64 bits
    Interval range = Interval::exactly(0);
  };
  for (const Relation& relation : setup.launch.relations) {
    bool linear = true;
    const auto sum = [&](const std::vector<Relation::Product>& side) {
      Sum total;
      for (const auto& [given, unknowns] : side) {
        int64_t factor = given;
        Value narrow = {1, 0}, wide = narrow;
        Interval range = Interval::exactly(1);
        for (const Relation::Unknown& unknown : unknowns) {
          const auto size = static_cast<Special>(BlockPair::kFirst + 3 + unknown.axis.value_or(0));
          if (unknown.axis && !learned.pair) {
            factor *= setup.launch.grid[*unknown.axis];
            continue;
          }
          linear = linear && wide.known();
          const unsigned bits = unknown.bytes * 8;
          narrow = wide = unknown.axis
                              ? *learned.pair->value(0, size)
                              : table.input(SymbolKind::kInput, static_cast<uint32_t>(unknown.offset), bits,
                                            Scope::kGrid);
          range = unknown.axis        ? table.base_range(narrow, 32, false)
                  : unknown.is_signed ? Interval::of_signed(bits)
                                      : Interval::of_unsigned(bits);
          if (!unknown.axis && bits == 32 && !unknown.is_signed)
            wide = table.operation(Op::kConvert, Type::kU64, 32, 64, {narrow, {}, {}});
        }
        total.narrow = table.add(total.narrow, table.scale(narrow, factor, 32), 32);
        total.wide = table.add(total.wide, table.scale(wide, factor, 64), 64);
        total.range = total.range.plus(range.times(factor));
      }
      return total;
    };
    const Sum a = sum(relation.left), b = sum(relation.right);
    const Interval both = a.range.hull(b.range);
    const bool narrow = Interval::of_unsigned(32).contains(both) || Interval::of_signed(32).contains(both);
    const unsigned bits = narrow ? 32 : 64;
    const bool as_signed = Interval::of_signed(bits).contains(both);
    if (!linear || !(as_signed || Interval::of_unsigned(bits).contains(both))) continue;
    const Value left = narrow ? a.narrow : a.wide, right = narrow ? b.narrow : b.wide;
    const bool swapped = relation.compare[0] == '>',
               equal = relation.compare[0] == '=' || relation.compare[0] == '!';
    const CompareKind kind = equal                          ? CompareKind::kEq
                             : relation.compare.size() == 2 ? CompareKind::kLe
                                                            : CompareKind::kLt;
    const Value holds =
        table.compare(kind, false, as_signed, bits, swapped ? right : left, swapped ? left : right);
    const bool negated = relation.compare == "!=";
    table.declared.push_back(
        {(negated ? SymbolTable::logical_not(holds) : holds).form, as_assumption(relation)});
  }
}

void Part::add_parameters(Value value, bool predicate, std::map<uint64_t, unsigned>& parameters) const {
  ValueInputs inputs(table_, 0, false);
  const auto look = [&](SymbolId id) {
    const Symbol& symbol = table_.symbol(id);
    if (symbol.kind == SymbolKind::kInput) parameters[symbol.detail] = symbol.bits;
    return true;
  };
  const auto any = [](PredicateId) { return true; };
  if (predicate)
    inputs.all(0, value.form, look, any);
  else
    for (const LinearTerm& term : table_.terms(value.form)) inputs.all(term.symbol, 0, look, any);
}

void Part::add_parameters_on_way(Position position, std::map<uint64_t, unsigned>& parameters) const {
  Reasoner(table_, position).any_fact([&](PredicateId fact) {
    return add_parameters({0, fact}, true, parameters), false;
  });
}

bool Part::data_decide(Position position) const {
  return !Reasoner(table_, position).any_fact([&](PredicateId fact) {
    const Predicate& predicate = table_.predicate(fact);
    return predicate.kind == PredicateKind::kCompare && !predicate.data;
  });
}

uint64_t Part::special_of_cluster(const BlockState& state, const Warp& warp, Special name) const {
  const uint32_t rank = setup_.cluster.rank_of(warp.index);
  if (setup_.launch.cluster[0] == 0) report_.assume("the launch has no clusters");
  if (name == Special::kClusterRank) return rank;
  if (name == Special::kClusterSize) return setup_.cluster.blocks;
  if (name == Special::kIsExplicitCluster) return setup_.launch.cluster[0] != 0 ? 1 : 0;
  const size_t place = static_cast<size_t>(name) - static_cast<size_t>(Special::kClusterIdX),
               axis = place % 3;
  const uint32_t size = setup_.cluster.size[axis], index = setup_.block_index(state.block, rank)[axis];
  return place < 3   ? index / size
         : place < 6 ? setup_.launch.grid[axis] / size
         : place < 9 ? index % size
                     : size;
}

uint64_t Part::special(const BlockState& state, const Warp& warp, Special name, int lane) const {
  const uint32_t thread = setup_.cluster.in_block(warp.thread(lane));
  const auto& block = setup_.launch.block;
  const std::array<std::array<uint32_t, 3>, 4> sizes = {
      // from %tid.x to %nctaid.z
      {{thread % block[0], thread / block[0] % block[1], thread / block[0] / block[1]},
       block,
       setup_.block_index(state.block, setup_.cluster.rank_of(warp.index)),
       setup_.launch.grid}};
  if (name >= Special::kClusterIdX) return special_of_cluster(state, warp, name);
  if (name < Special::kLaneId) return sizes[static_cast<size_t>(name) / 3][static_cast<size_t>(name) % 3];
  switch (name) {
    case Special::kLaneId:
      return static_cast<uint64_t>(lane);
    case Special::kWarpId:
      return warp.index % setup_.cluster.warps;
    case Special::kNwarpId:
      return setup_.cluster.warps;
    case Special::kLaneMaskEq:
      return uint64_t{1} << lane;
    case Special::kLaneMaskLt:
      return (uint64_t{1} << lane) - 1;
    case Special::kLaneMaskLe:
      return (uint64_t{2} << lane) - 1;
    case Special::kLaneMaskGt:
      return mask_bits(~((uint64_t{2} << lane) - 1), 32);
    case Special::kLaneMaskGe:
      return mask_bits(~((uint64_t{1} << lane) - 1), 32);
    case Special::kDynamicSharedSize:
      return setup_.launch.dynamic_shared.value_or(0);
    default:
      return 0;
  }
}

// The memory in which the blocks of a cooperative launch meet: a buffer of its own. Its address is taken to
// have no high half, which is not 0 in a cooperative launch.
Value Part::workspace() {
  const Value address = table_.input(SymbolKind::kObject, kWorkspace, 64, Scope::kGrid);
  Symbol& symbol = table_.change(table_.single(address));
  symbol.range = symbol.unsigned_range = {1, (Wide{1} << 31) - 1};
  report_.assume("the launch is cooperative");
  return address;
}

Value Part::read(const BlockState& state, const Warp& warp, const PtxOperand& operand, int lane) {
  switch (operand.kind) {
    case OperandKind::kRegister: {
      Value value = warp.registers[operand.index].get(lane);
      if (value.form == kUnnamed && setup_.kernel.registers[operand.index].type != Type::kPred) {
        value = table_.fresh(register_bits(setup_.kernel.registers[operand.index].type), Scope::kThread);
        warp.registers.change(operand.index).set(lane, value);
      }
      if (operand.negated) value = SymbolTable::logical_not(value);
      if (operand.immediate != 0)
        value = table_.add(value, {operand.immediate, 0}, setup_.register_bits(operand));
      return value;
    }
    case OperandKind::kImmediate:
      return {operand.negated ? operand.immediate ^ 1 : operand.immediate, 0};
    case OperandKind::kSpecial:
      if (operand.special == Special::kUnknown ||
          (operand.special == Special::kDynamicSharedSize && !setup_.launch.dynamic_shared))
        return table_.fresh(64, Scope::kThread);
      if (operand.special == Special::kWorkspaceLow) return workspace();
      if (learned_.pair)
        if (const auto value = learned_.pair->value(state.block, operand.special)) return *value;
      return {special(state, warp, operand.special, lane), 0};
    case OperandKind::kVariable: {
      const Variable& variable = setup_.kernel.variables[operand.index];
      if (variable.space == Space::kShared || variable.space == Space::kLocal)
        return {variable.offset + operand.immediate, 0};
      Value base = table_.input(SymbolKind::kObject, 0x80000000u + operand.index, 64, Scope::kGrid);
      table_.change(table_.single(base)).range = {0, (Wide{1} << 62)};
      base.constant = operand.immediate;
      return base;
    }
    case OperandKind::kNone:
      break;
  }
  return operand.is_predicate ? table_.fresh_predicate(Scope::kThread, false)
                              : table_.fresh(64, Scope::kThread);
}

void Part::write(const BlockState& state, Warp& warp, const PtxOperand& result, int lane, Value value,
                 PredicateId condition) {
  if (result.kind != OperandKind::kRegister) return;
  const Type type = setup_.kernel.registers[result.index].type;
  WarpRegister& target = warp.registers.change(result.index);
  if (condition != 0) {  // under a guard that is not known
    PtxOperand old = result;
    old.negated = false, old.immediate = 0;
    const Value before = read(state, warp, old, lane);
    if (value.form == kUnnamed && type != Type::kPred)
      value = table_.fresh(register_bits(type), Scope::kThread);
    if (!(before == value)) value = table_.choose(condition, value, before, type);
  }
  target.set(lane, value);
}

void Part::write_unknown(const BlockState& state, Warp& warp, const Instruction& in, int lane) {
  for (const PtxOperand& result : in.results)
    if (result.kind == OperandKind::kRegister)
      write(state, warp, result, lane,
            table_.fresh_of(setup_.kernel.registers[result.index].type, Scope::kThread), 0);
}

std::optional<Value> Part::comes_if(const Warp& warp, int lane, PredicateId condition) {
  Value all = condition == 0 ? Value{1, 0} : Value{0, condition};
  const Path* before = warp.path.get();
  for (const Context* open = open_.innermost; open != nullptr; open = open->outer) {
    if (open->loops || open->running == nullptr || !open->running->exact) return std::nullopt;
    before = open->before.get();
  }
  for (const Path* path = warp.path.get(); path != before; path = path->parent.get()) {
    if (path == nullptr) return std::nullopt;
    if (const PredicateId fact = path->of(lane); fact > 1) all = table_.logical_and(all, {0, fact});
  }
  return all;
}

Guarded Part::guard_of(const BlockState& state, const Warp& warp, Lanes lanes, const Instruction& in) {
  Guarded guard;
  if (!in.guard) {
    guard.certain = lanes;
    return guard;
  }
  each_lane(lanes, [&](int lane) {
    const Value value = read(state, warp, *in.guard, lane);
    const auto truth = Reasoner(table_, position(state, warp, lane)).truth(value);
    if (!truth) {
      guard.possible |= 1u << lane;
      guard.condition[lane] = value.form;
    } else if (*truth) {
      guard.certain |= 1u << lane;
    }
  });
  return guard;
}

}  // namespace glove::verify
