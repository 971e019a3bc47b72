// Registers, labels and instructions of a kernel.
#include <algorithm>
#include <unordered_map>

#include "ptx/opcode.h"
#include "ptx/parser.h"

namespace glove::verify {
namespace {

constexpr size_t kMostRegisters = 4'000'000;

class BodyParser {
 public:
  BodyParser(Cursor& in, LineTable& lines, Kernel& kernel) : in_(in), lines_(lines), kernel_(kernel) {}

  void run() {
    in_.expect("{");
    scopes_.emplace_back();
    for (uint32_t i = 0; i < kernel_.variables.size(); ++i)
      scopes_[0].variables[kernel_.variables[i].name] = i;
    while (!in_.at_end() && !scopes_.empty()) statement();
    if (!scopes_.empty()) in_.fail("the kernel's body does not end");
    resolve_targets();
    place_variables();
    // Falling off the end is a return.
    kernel_.code.push_back(decode("ret").in);
    kernel_.code.back().site = site();
  }

 private:
  void statement() {
    if (in_.accept("{")) {
      scopes_.emplace_back();
    } else if (in_.accept("}")) {
      scopes_.pop_back();
    } else if (in_.accept(";")) {
    } else if (in_.peek().kind == PtxToken::kWord && in_.peek(1).text == ":") {
      labels_[std::string(in_.take().text)] = static_cast<int>(kernel_.code.size());
      in_.take();
      if (in_.is(".branchtargets"))
        branch_targets();
      else if (in_.is(".callprototype"))
        in_.skip_to(";");
    } else if (in_.peek().kind == PtxToken::kWord && in_.peek().text[0] == '.') {
      directive();
    } else {
      instruction();
    }
  }

  void branch_targets() {
    in_.take();
    std::vector<std::string> names;
    while (!in_.at_end() && !in_.is(";")) {
      names.emplace_back(in_.take().text);
      in_.accept(",");
    }
    in_.accept(";");
    // The label that names the table is the last one seen.
    for (const auto& [name, at] : labels_)
      if (at == static_cast<int>(kernel_.code.size())) named_tables_.emplace(name, names);
  }

  void directive() {
    const PtxToken word = in_.take();
    if (word.text == ".reg") {
      declare_registers();
    } else if (word.text == ".loc") {
      chain_ = lines_.location(in_);
      site_is_stale_ = true;
    } else if (word.text == ".shared" || word.text == ".local") {
      for (auto& variable :
           parse_variables(in_, word.text == ".shared" ? Space::kShared : Space::kLocal, false)) {
        scopes_.back().variables[variable.name] = static_cast<uint32_t>(kernel_.variables.size());
        kernel_.variables.push_back(std::move(variable));
      }
    } else if (word.text == ".param") {
      for (const auto& variable : parse_variables(in_, Space::kParam, false))
        scopes_.back().call_parameters[variable.name] = 0;
    } else if (word.text == ".pragma" || word.text == ".branchtargets" || word.text == ".callprototype") {
      in_.skip_to(";");
    } else {
      in_.fail("'" + std::string(word.text) + "' is no directive of a kernel's body");
    }
  }

  void add_register(std::string name, Type type) {
    if (kernel_.registers.size() >= kMostRegisters) return in_.fail("more registers than anybody needs");
    scopes_.back().registers[std::move(name)] = static_cast<uint32_t>(kernel_.registers.size());
    kernel_.registers.push_back({type});
  }

  void declare_registers() {
    while (in_.is(".v2") || in_.is(".v4")) in_.take();
    const PtxToken type_word = in_.take();
    const Type type = type_of(type_word.text);
    if (type == Type::kNone) return in_.fail("'" + std::string(type_word.text) + "' is no type");
    do {
      const std::string name(in_.take().text);
      if (!in_.accept("<")) {
        add_register(name, type);
        continue;
      }
      const uint64_t count = in_.number().value_or(0);
      if (count > kMostRegisters) return in_.fail("no kernel has " + std::to_string(count) + " registers");
      in_.expect(">");
      for (uint64_t i = 0; i < count && !in_.failed(); ++i) add_register(name + std::to_string(i), type);
    } while (in_.accept(","));
    in_.expect(";");
  }

  using Names = std::unordered_map<std::string, uint32_t>;
  struct Scope {
    Names registers, variables, call_parameters;
  };

  // What the name stands for in the innermost scope that has it.
  std::optional<uint32_t> find(std::string_view name, Names Scope::*kind) const {
    const std::string key(name);
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto found = ((*scope).*kind).find(key); found != ((*scope).*kind).end())
        return found->second;
    return std::nullopt;
  }

  PtxOperand named(std::string_view name) {
    if (name == "_") return {};
    if (const auto found = find(name, &Scope::registers))
      return {.kind = OperandKind::kRegister, .index = *found};
    if (name == "WARP_SZ") return {.kind = OperandKind::kImmediate, .immediate = 32};
    if (name[0] == '%') return {.kind = OperandKind::kSpecial, .special = find_special(name)};
    for (const Parameter& parameter : kernel_.parameters)
      if (parameter.name == name) return {.kind = OperandKind::kImmediate, .immediate = parameter.offset};
    if (const auto found = find(name, &Scope::variables))
      return {.kind = OperandKind::kVariable, .index = *found};
    if (find(name, &Scope::call_parameters))
      touches_call_ = true;
    else
      in_.fail("'" + std::string(name) + "' is not declared");
    return {};
  }

  bool may_be_negated(const PtxOperand& operand) const {
    if (operand.kind == OperandKind::kRegister) return kernel_.registers[operand.index].type == Type::kPred;
    return operand.kind == OperandKind::kImmediate || operand.kind == OperandKind::kNone;
  }

  PtxOperand scalar() {
    const bool negated = in_.accept("!");
    PtxOperand operand;
    if (in_.is("-") || in_.peek().kind == PtxToken::kNumber) {
      operand.kind = OperandKind::kImmediate;
      operand.immediate = in_.number().value_or(0);
    } else if (in_.peek().kind == PtxToken::kWord) {
      operand = named(in_.take().text);
      if (operand.kind == OperandKind::kVariable && (in_.is("+") || in_.is("-"))) {
        in_.accept("+");
        operand.immediate = in_.number().value_or(0);
      }
    } else {
      in_.fail("'" + std::string(in_.peek().text) + "' is no operand");
    }
    if (negated && !may_be_negated(operand)) in_.fail("'!' belongs to a predicate");
    operand.negated = negated;
    return operand;
  }

  PtxOperand address() {
    in_.expect("[");
    PtxOperand operand = scalar();
    while (in_.is("+") || in_.is("-")) {
      in_.accept("+");
      operand.immediate += in_.number().value_or(0);
    }
    if (in_.accept(",")) {  // coordinates of a texture
      while (!in_.at_end() && !in_.is("]")) in_.take();
    }
    in_.expect("]");
    return operand;
  }

  // One operand as it is written: {a, b}, a|b, [a] or a.
  void group(Instruction& out, bool is_result) {
    auto& list = is_result ? out.results : out.operands;
    if (in_.is("[")) {
      (out.op == Op::kCopy && out.address.kind != OperandKind::kNone ? out.source : out.address) = address();
    } else if (in_.accept("{")) {
      while (!in_.at_end() && !in_.is("}")) {
        list.push_back(scalar());
        in_.accept(",");
      }
      in_.expect("}");
    } else {
      list.push_back(scalar());
      if (in_.accept("|")) list.push_back(scalar());
    }
  }

  uint32_t site() {
    const int line = in_.peek().line;
    if (site_is_stale_ || kernel_.sites.empty() || kernel_.sites.back().ptx_line != line) {
      kernel_.sites.push_back({line, chain_});
      site_is_stale_ = false;
    }
    return static_cast<uint32_t>(kernel_.sites.size() - 1);
  }

  void instruction() {
    const uint32_t place = site();
    std::optional<PtxOperand> guard;
    if (in_.accept("@")) guard = scalar();
    if (in_.peek().kind != PtxToken::kWord)
      return in_.fail("'" + std::string(in_.peek().text) + "' is no instruction");
    const PtxToken opcode = in_.take();
    touches_call_ = false;
    uint32_t groups = 0;
    DecodedOpcode decoded;
    Instruction& out = decoded.in;
    if (opcode.text.starts_with("call")) {
      out = call();
    } else {
      decoded = decode(opcode.text);
      groups = operands(decoded);
    }
    if (touches_call_) {  // the arguments and the result of a call
      out.op = out.op == Op::kLoad ? Op::kPure : Op::kNothing;
      decoded.form = {};
      out.operands.clear();
      out.address = {};
    }
    out.site = place;
    out.guard = guard;
    check_counts(decoded, groups);
    if (in_.is(";") && !has_right_classes(decoded, kernel_.registers))
      in_.fail("'" + out.text + "' has a predicate where a number belongs, or a number for a predicate");
    in_.expect(";");
    kernel_.code.push_back(std::move(out));
  }

  // Returns how many there are as they are written.
  uint32_t operands(DecodedOpcode& decoded) {
    Instruction& out = decoded.in;
    const int index = static_cast<int>(kernel_.code.size());
    if (out.op == Op::kBranch) {
      jumps_[index] = std::string(in_.take().text);
      return 0;
    }
    if (out.op == Op::kBranchIndexed) {
      out.operands.push_back(scalar());
      in_.expect(",");
      jumps_[index] = std::string(in_.take().text);
      return 0;
    }
    if (out.op == Op::kUnsupported)  // its operands may have any form
      while (!in_.at_end() && !in_.is(";")) in_.take();
    uint32_t groups = 0;
    bool first = decoded.form.results.most > 0;
    while (!in_.at_end() && !in_.is(";")) {
      group(out, first);
      groups += first ? 0 : 1;
      first = false;
      if (!in_.accept(",")) break;
    }
    return groups;
  }

  // call.uni (result), name, (arguments);
  Instruction call() {
    std::string name;
    for (int depth = 0; !in_.at_end() && !in_.is(";");) {
      const PtxToken token = in_.take();
      depth += token.text == "(" ? 1 : token.text == ")" ? -1 : 0;
      if (depth == 0 && token.kind == PtxToken::kWord && name.empty()) name = std::string(token.text);
    }
    Instruction out;
    out.text = "call " + name;
    if (name == "__assertfail")
      out.op = Op::kAssertFail;
    else if (name == "vprintf")
      out.op = Op::kNothing;
    else
      out.reason = "the function " + name + " is called and not inlined";
    return out;
  }

  void resolve_targets() {
    const auto target = [&](const std::string& name, Instruction& out) {
      const auto found = labels_.find(name);
      if (found == labels_.end()) return in_.fail("the label '" + name + "' is not declared");
      out.targets.push_back(found->second);
    };
    for (const auto& [index, name] : jumps_) {
      Instruction& out = kernel_.code[index];
      if (out.op == Op::kBranch) {
        target(name, out);
      } else if (const auto table = named_tables_.find(name); table != named_tables_.end()) {
        for (const std::string& label : table->second) target(label, out);
      } else {
        in_.fail("the branch targets '" + name + "' are not declared");
      }
    }
  }

  // Shared and local variables get their places; dynamic shared memory lies behind the static one.
  void place_variables() {
    uint64_t local = 0;
    for (Variable& variable : kernel_.variables) {
      if (variable.is_extern) continue;
      if (variable.space != Space::kShared && variable.space != Space::kLocal) continue;
      uint64_t& end = variable.space == Space::kShared ? kernel_.shared_bytes : local;
      end = (end + variable.align - 1) / variable.align * variable.align;
      variable.offset = end;
      end += variable.size;
      if (end > (uint64_t{1} << 30)) return in_.fail("variables of an impossible size");
    }
    for (Variable& variable : kernel_.variables)
      if (variable.space == Space::kShared && variable.is_extern) {
        const uint64_t align = std::max<uint64_t>(variable.align, 16);
        variable.offset = (kernel_.shared_bytes + align - 1) / align * align;
      }
  }

  Cursor& in_;
  LineTable& lines_;
  Kernel& kernel_;
  std::vector<Scope> scopes_;
  std::map<std::string, int> labels_;
  std::map<std::string, std::vector<std::string>> named_tables_;
  std::map<int, std::string> jumps_;
  std::vector<SourceLine> chain_;
  bool site_is_stale_ = true;
  bool touches_call_ = false;
};

}  // namespace

void parse_body(Cursor& in, LineTable& lines, Kernel& kernel) {
  BodyParser(in, lines, kernel).run();
}

}  // namespace glove::verify
