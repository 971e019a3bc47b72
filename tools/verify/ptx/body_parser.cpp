// Registers, labels and instructions of a kernel.
#include <algorithm>
#include <unordered_map>

#include "ptx/opcode.h"
#include "ptx/parser.h"

namespace glove::verify {
namespace {

constexpr size_t kMostRegisters = 4'000'000;
constexpr size_t kMostInlined = 200'000;  // instructions; from here on calls are not inlined
constexpr size_t kMostCallsDeep = 64;     // calls

class BodyParser {
 public:
  BodyParser(Cursor& in, LineTable& lines, const Functions& functions, Kernel& kernel)
      : in_(in), lines_(lines), functions_(functions), kernel_(kernel), passed_(kernel) {}

  void run() {
    scopes_.emplace_back();
    for (uint32_t i = 0; i < kernel_.variables.size(); ++i)
      scopes_[0].variables[kernel_.variables[i].name] = i;
    body();
    passed_.forget_torn_parts();
    if (const auto wrong = labels_.resolve(kernel_)) in_.fail(*wrong);
    // Falling off the end is a return.
    kernel_.code.push_back(decode("ret").in);
    kernel_.code.back().site = site();
  }

 private:
  void body() {
    const size_t outside = scopes_.size();
    in_.expect("{");
    scopes_.emplace_back();
    while (!in_.at_end() && scopes_.size() > outside) statement();
    if (scopes_.size() > outside) in_.fail("the kernel's body does not end");
  }

  void statement() {
    if (in_.accept("{")) {
      scopes_.emplace_back();
    } else if (in_.accept("}")) {
      scopes_.pop_back();
    } else if (in_.accept(";")) {
    } else if (in_.peek().kind == PtxToken::kWord && in_.peek(1).text == ":") {
      labels_.define(label(in_.take().text), kernel_.code.size());
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
    for (; !in_.at_end() && !in_.is(";"); in_.accept(",")) names.push_back(label(in_.take().text));
    in_.accept(";");
    labels_.list(std::move(names), kernel_.code.size());
  }

  void directive() {
    const PtxToken word = in_.take();
    if (word.text == ".reg") {
      declare_registers();
    } else if (word.text == ".loc") {
      chain_ = lines_.location(in_);
      if (!calls_.empty() && chain_.size() < 64)
        chain_.insert(chain_.end(), calls_.back().chain.begin(), calls_.back().chain.end());
      site_is_stale_ = true;
    } else if (word.text == ".shared" || word.text == ".local") {
      for (auto& variable :
           parse_variables(in_, word.text == ".shared" ? Space::kShared : Space::kLocal, false)) {
        uint32_t& index = scopes_.back().variables[variable.name];
        index = static_cast<uint32_t>(kernel_.variables.size());
        if (!calls_.empty() && variable.space == Space::kShared) {  // one for all calls
          const auto [known, added] = statics_.try_emplace({calls_.back().function, variable.name}, index);
          index = known->second;
          if (!added) continue;
        }
        kernel_.variables.push_back(std::move(variable));
      }
    } else if (word.text == ".param") {
      for (const auto& variable : parse_variables(in_, Space::kParam, false))
        scopes_.back().call_parameters[variable.name] = passed_.add(variable.size);
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
    if (const auto found = find(name, &Scope::call_parameters)) {
      touched_.push_back(*found);
      return {};
    }
    if (name == "WARP_SZ") return {.kind = OperandKind::kImmediate, .immediate = 32};
    if (name[0] == '%') return {.kind = OperandKind::kSpecial, .special = find_special(name)};
    for (const Parameter& parameter : kernel_.parameters)
      if (calls_.empty() && parameter.name == name)
        return {.kind = OperandKind::kImmediate, .immediate = parameter.offset};
    if (const auto found = find(name, &Scope::variables))
      return {.kind = OperandKind::kVariable, .index = *found};
    names_function_ = functions_.find(name) != functions_.end();
    if (!names_function_) in_.fail("'" + std::string(name) + "' is not declared");
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
      const bool copies = out.op == Op::kCopy || out.op == Op::kBulkCopy;
      const bool next = copies && out.address.kind != OperandKind::kNone;
      if (out.op == Op::kBulkCopy && out.source.kind != OperandKind::kNone)
        list.push_back(address());
      else
        (next ? out.source : out.address) = address();
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
    if (opcode.text.starts_with("call")) return call(place, guard);
    touched_.clear();
    names_function_ = false;
    DecodedOpcode decoded = decode(opcode.text);
    if (decoded.in.op == Op::kReturn && opcode.text.starts_with("ret") && !calls_.empty()) {
      decoded = decode("bra");
      labels_.jump(kernel_.code.size(), label(kBehindCall));
    } else {
      const uint32_t groups = operands(decoded);
      if (touched_.empty() && !names_function_) check_counts(decoded, groups);
    }
    Instruction& out = decoded.in;
    out.site = place;
    out.guard = guard;
    if (!touched_.empty()) {
      if (!passed_.pass(out, touched_)) in_.fail("'" + out.text + "' has a register that does not fit");
    } else {
      if (names_function_) take_function_address(decoded);
      if (in_.is(";") && !has_right_classes(decoded, kernel_.registers))
        in_.fail("'" + out.text + "' has a predicate where a number belongs, or a number for a predicate");
      kernel_.code.push_back(std::move(out));
    }
    in_.expect(";");
  }

  // Nobody knows which number it is.
  static void take_function_address(DecodedOpcode& decoded) {
    decoded.form = {};
    decoded.in.operands.clear();
    if (decoded.in.op == Op::kMove)
      decoded.in.op = Op::kPure;
    else
      reject(decoded.in, "it has the address of a function as an operand");
  }

  // Returns how many there are as they are written.
  uint32_t operands(DecodedOpcode& decoded) {
    Instruction& out = decoded.in;
    if (out.op == Op::kBranch) {
      labels_.jump(kernel_.code.size(), label(in_.take().text));
      return 0;
    }
    if (out.op == Op::kBranchIndexed) {
      out.operands.push_back(scalar());
      in_.expect(",");
      labels_.jump(kernel_.code.size(), label(in_.take().text));
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

  // In an inlined function, the label of this copy of it.
  std::string label(std::string_view name) const {
    return (calls_.empty() ? "" : calls_.back().prefix) + std::string(name);
  }

  // The names between parentheses, of which the first was taken, as call parameters; ~0: something else.
  std::vector<uint32_t> call_parameters() {
    std::vector<uint32_t> parameters;
    for (; !in_.at_end() && !in_.accept(")"); in_.accept(","))
      parameters.push_back(find(in_.take().text, &Scope::call_parameters).value_or(~0u));
    return parameters;
  }

  // call.uni (result), name, (arguments), prototype;
  void call(uint32_t place, const std::optional<PtxOperand>& guard) {
    std::vector<uint32_t> results, arguments;
    if (in_.accept("(")) results = call_parameters(), in_.accept(",");
    const std::string name(in_.take().text);
    in_.accept(",");
    if (in_.accept("(")) arguments = call_parameters();
    in_.skip_to(";");
    Instruction out;
    out.text = "call " + name;
    out.site = place;
    out.guard = guard;
    const auto function = functions_.find(name);
    const bool known = function != functions_.end() && function->second != 0;
    if (name == "__assertfail")
      out.op = Op::kAssertFail;
    else if (name == "vprintf" || name == "cudaGraphSetConditional")
      out.op = Op::kNothing;  // neither touches the program's memory
    else if (find(name, &Scope::registers))
      out.reason = "a function is called through a pointer";
    else if (!known)
      out.reason = "the function " + name + " is called, which the file does not define";
    else if (std::ranges::count(calls_, name, &Call::function) > 0)
      out.reason = "the function " + name + " calls itself";
    else if (calls_.size() >= kMostCallsDeep || kernel_.code.size() >= kMostInlined)
      out.reason = "the function " + name + " is called, and there is too much to inline";
    else if (inline_function(*function, results, arguments, guard))
      return;
    else
      out.reason = "the parameters of the function " + name + " are not those that it is called with";
    kernel_.code.push_back(std::move(out));
  }

  // Puts a function's body here. Returns false, and does nothing, if its parameters are not the call's.
  bool inline_function(const Functions::value_type& function, const std::vector<uint32_t>& results,
                       const std::vector<uint32_t>& arguments, const std::optional<PtxOperand>& guard) {
    const size_t back = in_.place();
    Scope formals;
    bool fits = true;
    const auto bind = [&](const std::vector<uint32_t>& actual) {
      std::vector<Parameter> names;
      if (in_.accept("(")) fits &= !in_.is(".reg"), names = parse_parameters(in_);
      fits &= names.size() == actual.size();
      for (size_t i = 0; i < names.size() && fits; ++i) {
        fits &= passed_.has(actual[i], names[i].size);
        formals.call_parameters[names[i].name] = actual[i];
      }
    };
    in_.go_to(function.second);
    bind(results);
    in_.take();  // the name
    bind(arguments);
    while (!in_.at_end() && !in_.is("{")) in_.take();
    if (fits) {
      calls_.push_back({function.first, std::to_string(++copies_) + ":", chain_});
      if (guard) {
        kernel_.code.push_back(decode("bra").in);
        kernel_.code.back().guard = guard;
        kernel_.code.back().guard->negated ^= true;
        kernel_.code.back().site = site();
        labels_.jump(kernel_.code.size() - 1, label(kBehindCall));
      }
      std::vector<Scope> outer;
      outer.swap(scopes_);
      scopes_.push_back(std::move(outer[0]));  // the module's
      scopes_.push_back(std::move(formals));
      site_is_stale_ = true;
      body();
      outer[0] = std::move(scopes_[0]);
      scopes_.swap(outer);
      labels_.define(label(kBehindCall), kernel_.code.size());
      chain_ = calls_.back().chain;
      calls_.pop_back();
      site_is_stale_ = true;
    }
    in_.go_to(back);
    return fits;
  }

  // A function that is being inlined.
  struct Call {
    std::string function;
    std::string prefix;             // of its labels
    std::vector<SourceLine> chain;  // of the call
  };
  static constexpr std::string_view kBehindCall = ")";  // a label, in place of a function's returns

  Cursor& in_;
  LineTable& lines_;
  const Functions& functions_;
  Kernel& kernel_;
  std::vector<Scope> scopes_;
  Labels labels_;
  std::vector<SourceLine> chain_;
  bool site_is_stale_ = true;
  std::vector<Call> calls_;
  size_t copies_ = 0;
  PassedParameters passed_;
  std::map<std::pair<std::string, std::string>, uint32_t> statics_;  // shared variables of functions
  std::vector<uint32_t> touched_;                                    // of passed_, by the present instruction
  bool names_function_ = false;                                      // the present instruction does
};

}  // namespace

void parse_body(Cursor& in, LineTable& lines, const Functions& functions, Kernel& kernel) {
  BodyParser(in, lines, functions, kernel).run();
}

}  // namespace glove::verify
