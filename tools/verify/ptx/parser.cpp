#include "ptx/parser.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "ptx/opcode.h"

namespace glove::verify {
namespace {

bool starts_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || c == '.';
}

bool continues_word(char c) {
  return starts_word(c) || std::isdigit(static_cast<unsigned char>(c));
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<PtxToken> run() {
    while (skip_space(), at_ < source_.size()) next();
    emit(PtxToken::kEnd, at_, at_);
    return std::move(tokens_);
  }

 private:
  void emit(PtxToken::Kind kind, size_t begin, size_t end) {
    tokens_.push_back({kind, source_.substr(begin, end - begin), line_});
  }

  bool looking_at(std::string_view text) const { return source_.substr(at_, text.size()) == text; }

  void advance_to(size_t end) {
    for (; at_ < end && at_ < source_.size(); ++at_) line_ += source_[at_] == '\n';
  }

  void skip_space() {
    while (at_ < source_.size()) {
      if (std::isspace(static_cast<unsigned char>(source_[at_]))) {
        advance_to(at_ + 1);
      } else if (looking_at("//")) {
        advance_to(std::min(source_.find('\n', at_), source_.size()));
      } else if (looking_at("/*")) {
        const size_t end = source_.find("*/", at_ + 2);
        advance_to(end == std::string_view::npos ? source_.size() : end + 2);
      } else {
        return;
      }
    }
  }

  // A word may hold "::", as in .shared::cta and .L2::128B.
  size_t word_end(size_t end) const {
    while (end < source_.size()) {
      if (continues_word(source_[end])) {
        ++end;
      } else if (source_.substr(end, 2) == "::" && end + 2 < source_.size() &&
                 continues_word(source_[end + 2])) {
        end += 2;
      } else {
        break;
      }
    }
    return end;
  }

  void next() {
    const char c = source_[at_];
    size_t end = at_ + 1;
    if (starts_word(c)) {
      end = word_end(end);
      emit(PtxToken::kWord, at_, end);
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      while (end < source_.size() &&
             (std::isalnum(static_cast<unsigned char>(source_[end])) || source_[end] == '.'))
        ++end;
      emit(PtxToken::kNumber, at_, end);
    } else if (c == '"') {
      end = std::min(source_.find('"', at_ + 1), source_.size());
      emit(PtxToken::kString, at_ + 1, end);
      end = std::min(end + 1, source_.size());
    } else {
      emit(PtxToken::kPunctuation, at_, end);
    }
    advance_to(end);
  }

  std::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
  std::vector<PtxToken> tokens_;
};

constexpr uint64_t kLargestVariable = uint64_t{1} << 40;

uint64_t aligned(uint64_t offset, uint64_t align) {
  return align < 2 ? offset : (offset + align - 1) / align * align;
}

std::optional<Space> space_of(std::string_view word) {
  if (word == ".shared") return Space::kShared;
  if (word == ".global") return Space::kGlobal;
  if (word == ".const") return Space::kConst;
  if (word == ".local") return Space::kLocal;
  return std::nullopt;
}

// Shared and local variables get their places; dynamic shared memory lies behind the static one.
void place_variables(Cursor& in, Kernel& kernel) {
  uint64_t local = 0;
  for (Variable& variable : kernel.variables) {
    if (variable.is_extern) continue;
    if (variable.space != Space::kShared && variable.space != Space::kLocal) continue;
    uint64_t& end = variable.space == Space::kShared ? kernel.shared_bytes : local;
    variable.offset = aligned(end, variable.align);
    end = variable.offset + variable.size;
    if (end > (uint64_t{1} << 30)) return in.fail("variables of an impossible size");
  }
  for (Variable& variable : kernel.variables)
    if (variable.space == Space::kShared && variable.is_extern)
      variable.offset = aligned(kernel.shared_bytes, std::max<uint64_t>(variable.align, 16));
}

class ProgramParser {
 public:
  explicit ProgramParser(std::string_view source) : in_(tokenize(source)) {}

  Result<Program> run(const std::string& file) {
    if (!in_.is(".version")) in_.fail("PTX begins with .version");
    find_functions();
    while (!in_.at_end()) directive();
    if (!in_.failed() && program_.target.empty()) in_.fail("no .target");
    if (in_.failed())
      return Error{ErrorCode::kPtx,
                   file + ":" + std::to_string(in_.error()->line) + ": " + in_.error()->message};
    lines_.resolve(&program_);
    return std::move(program_);
  }

 private:
  void directive() {
    const PtxToken token = in_.take();
    if (token.text == ".visible" || token.text == ".weak" || token.text == ".common") return;
    if (token.text == ".extern") {
      is_extern_ = true;
      return;
    }
    if (token.text == ".version" || token.text == ".address_size") {
      in_.take();
    } else if (token.text == ".target") {
      program_.target = std::string(in_.take().text);
      while (in_.accept(",")) in_.take();
    } else if (token.text == ".file") {
      lines_.file(in_);
    } else if (token.text == ".loc") {
      lines_.location(in_);
    } else if (token.text == ".section") {
      in_.take();
      in_.skip_braces();
    } else if (token.text == ".entry") {
      entry();
    } else if (token.text == ".func" || token.text == ".alias" || token.text == ".pragma") {
      skip_declaration();
    } else if (const auto space = space_of(token.text)) {
      auto variables = parse_variables(in_, *space, is_extern_);
      program_variables_.insert(program_variables_.end(), variables.begin(), variables.end());
    } else {
      in_.fail("'" + std::string(token.text) + "' is no directive of PTX");
    }
    is_extern_ = false;
  }

  // A function may be defined behind what calls it.
  void find_functions() {
    const size_t begin = in_.place();
    while (!in_.at_end()) {
      if (in_.is("{")) in_.skip_braces();
      if (in_.take().text != ".func") continue;
      const size_t place = in_.place();
      if (in_.accept("(")) in_.skip_to(")");
      const std::string name(in_.take().text);
      while (!in_.at_end() && !in_.is(";") && !in_.is("{")) in_.take();
      functions_[name] = std::max(functions_[name], in_.is("{") ? place : 0);
    }
    in_.go_to(begin);
  }

  // A function's declaration ends with ';', its definition with a brace.
  void skip_declaration() {
    while (!in_.at_end() && !in_.is(";") && !in_.is("{")) in_.take();
    if (in_.is("{"))
      in_.skip_braces();
    else
      in_.accept(";");
  }

  // X[, Y[, Z]]
  std::array<uint32_t, 3> sizes() {
    std::array<uint32_t, 3> read = {1, 1, 1};
    for (uint32_t& size : read) {
      size = static_cast<uint32_t>(std::min<uint64_t>(in_.number().value_or(1), 1024));
      if (!in_.accept(",")) break;
    }
    return read;
  }

  void entry() {
    Kernel kernel;
    kernel.name = std::string(in_.take().text);
    if (in_.accept("(")) kernel.parameters = parse_parameters(in_);
    while (!in_.at_end() && !in_.is("{")) {
      const PtxToken word = in_.take();
      if (word.text == ";") return;  // a declaration
      kernel.needs_cluster |= word.text == ".explicitcluster";
      kernel.counts_clusters |= word.text == ".blocksareclusters";
      if (word.text == ".maxntid" || word.text == ".reqntid") {
        kernel.max_threads = sizes();
        kernel.exact_threads = word.text == ".reqntid";
      } else if (word.text == ".reqnctapercluster") {
        kernel.cluster = sizes();
      }
    }
    kernel.variables = program_variables_;
    parse_body(in_, lines_, functions_, kernel);
    place_variables(in_, kernel);
    if (!in_.failed()) program_.kernels.push_back(std::move(kernel));
  }

  Cursor in_;
  Program program_;
  LineTable lines_;
  Functions functions_;
  std::vector<Variable> program_variables_;
  bool is_extern_ = false;
};

// The elements of `= {1, 2, ...}`; empty if they are no plain numbers.
std::vector<uint8_t> initializer(Cursor& in, uint64_t unit, uint64_t size) {
  std::vector<uint8_t> bytes;
  bool plain = true;
  const bool braces = in.is("{");
  while (!in.at_end() && !in.is(";") && !(!braces && in.is(","))) {
    if (in.is("{") || in.is("}") || in.is(",")) {
      in.take();
    } else if (const bool negative = in.accept("-"); in.peek().kind == PtxToken::kNumber) {
      const uint64_t magnitude = in.number().value_or(0);
      const uint64_t value = negative ? 0 - magnitude : magnitude;
      for (uint64_t i = 0; i < unit && bytes.size() < size; ++i)
        bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
    } else {
      plain = false;  // an address
      in.take();
    }
  }
  if (!plain) return {};
  bytes.resize(std::min<uint64_t>(size, 1 << 20));
  return bytes;
}

}  // namespace

std::vector<PtxToken> tokenize(std::string_view source) {
  return Lexer(source).run();
}

std::vector<Parameter> parse_parameters(Cursor& in) {
  std::vector<Parameter> parameters;
  uint64_t offset = 0;
  while (!in.at_end() && !in.is(")")) {
    Parameter parameter;
    uint64_t align = 0, unit = 0;
    while (in.peek().kind == PtxToken::kWord && in.peek().text[0] == '.') {
      const PtxToken word = in.take();
      if (word.text == ".align")
        align = in.number().value_or(1);
      else if (word.text == ".ptr")
        parameter.is_pointer = true, in.accept(".global") || in.accept(".shared") || in.accept(".const");
      else if (const Type type = type_of(word.text); type != Type::kNone)
        unit = bits_of(type) / 8, parameter.type = word.text.substr(1);
    }
    parameter.name = std::string(in.take().text);
    parameter.size = unit;
    if (in.accept("[")) {
      parameter.size = unit * in.number().value_or(0);
      in.expect("]");
    }
    if (parameter.size > 65536 || align > 65536) in.fail("a parameter of an impossible size");
    offset = aligned(offset, align > 0 ? align : unit);
    parameter.offset = offset;
    offset += parameter.size;
    parameters.push_back(parameter);
    if (!in.accept(",")) break;
  }
  in.expect(")");
  return parameters;
}

std::vector<Variable> parse_variables(Cursor& in, Space space, bool is_extern) {
  Variable common;
  common.space = space;
  common.is_extern = is_extern;
  uint64_t unit = 1;
  while (in.peek().kind == PtxToken::kWord && in.peek().text[0] == '.') {
    const PtxToken word = in.take();
    if (word.text == ".align")
      common.align = in.number().value_or(1);
    else if (word.text == ".v2")
      unit *= 2;
    else if (word.text == ".v4")
      unit *= 4;
    else if (word.text == ".attribute")
      in.skip_to(")");
    else if (const Type type = type_of(word.text); type != Type::kNone)
      unit *= bits_of(type) / 8;
  }
  if (common.align > 65536) in.fail("an impossible alignment");
  std::vector<Variable> variables;
  do {
    Variable variable = common;
    variable.name = std::string(in.take().text);
    variable.align = std::max<uint64_t>(variable.align, 1);
    uint64_t count = 1;
    while (in.accept("[")) {
      count *= in.is("]") ? 0 : in.number().value_or(0);
      in.expect("]");
      if (count > kLargestVariable) in.fail("a variable of an impossible size");
    }
    variable.size = unit * count;
    if (in.accept("=")) variable.initial = initializer(in, unit, variable.size);
    variables.push_back(std::move(variable));
  } while (in.accept(","));
  in.expect(";");
  return variables;
}

void Cursor::skip_braces() {
  expect("{");
  for (int depth = 1; depth > 0 && !at_end();) {
    const PtxToken token = take();
    if (token.kind == PtxToken::kString) continue;
    depth += token.text == "{" ? 1 : token.text == "}" ? -1 : 0;
  }
}

std::optional<uint64_t> Cursor::number() {
  const bool negative = accept("-");
  if (peek().kind != PtxToken::kNumber) {
    fail("expected a number instead of '" + std::string(peek().text) + "'");
    return std::nullopt;
  }
  std::string_view text = take().text;
  int base = text.size() > 1 && text[0] == '0' ? 8 : 10;
  if (text.size() > 2 && text[0] == '0' &&
      std::string_view("xXfFdDbB").find(text[1]) != std::string_view::npos) {
    base = text[1] == 'b' || text[1] == 'B' ? 2 : 16;
    text.remove_prefix(2);
  }
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return negative ? 0 - value : value;
}

void LineTable::file(Cursor& in) {
  const auto number = in.number();
  if (number) files_[static_cast<int>(*number)] = std::string(in.take().text);
  while (in.accept(",")) in.take();
}

std::vector<SourceLine> LineTable::location(Cursor& in) {
  const int line = in.peek().line;
  int place[3] = {0, 0, 0};
  for (int& number : place) number = static_cast<int>(in.number().value_or(0));
  std::vector<SourceLine> chain = {{"#" + std::to_string(place[0]), place[1], place[2]}};
  while (in.peek().line == line && in.accept(",")) {
    if (in.accept("inlined_at")) {
      int at[3] = {0, 0, 0};
      for (int& number : at) number = static_cast<int>(in.number().value_or(0));
      const auto outer = chains_.find({at[0], at[1], at[2]});
      if (outer != chains_.end() && outer->second.size() < 64)
        chain.insert(chain.end(), outer->second.begin(), outer->second.end());
    } else {
      in.take();  // function_name
      in.take();
      while (in.peek().line == line && in.accept("+")) in.take();
    }
  }
  chains_[{place[0], place[1], place[2]}] = chain;
  return chain;
}

void LineTable::resolve(Program* program) const {
  for (const auto& [number, file] : files_) program->files.push_back(file);
  for (Kernel& kernel : program->kernels)
    for (Site& site : kernel.sites)
      for (SourceLine& line : site.chain) {
        int number = 0;
        std::from_chars(line.file.data() + 1, line.file.data() + line.file.size(), number);
        const auto found = files_.find(number);
        line.file = found == files_.end() ? "?" : found->second;
      }
}

Result<Program> parse_program(std::string_view source, const std::string& file) {
  return ProgramParser(source).run(file);
}

}  // namespace glove::verify
