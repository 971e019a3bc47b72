// PTX text to kernels.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "glove_verify/status.h"
#include "ptx/program.h"

namespace glove::verify {

// Everything that nvcc emits for compute capability 5.0 to 12.x. Calls of functions are inlined; those
// through pointers, of functions that call themselves or that the text does not define become kUnsupported.
// file: how an error names the text.
Result<Program> parse_program(std::string_view source, const std::string& file);

// What follows is for parser.cpp and body_parser.cpp alone.

// A word, a number, a string or a sign.
struct PtxToken {
  enum Kind : unsigned char { kWord, kNumber, kString, kPunctuation, kEnd };
  Kind kind = kEnd;
  std::string_view text;  // into the source; a string's without its quotes
  int line = 0;
};

// Splits PTX into tokens. Never fails: a character that PTX does not have becomes a token of its own. The
// last token is kEnd. REQUIRES: `source` outlives the tokens.
std::vector<PtxToken> tokenize(std::string_view source);

// The first thing that is wrong in a text.
struct SyntaxError {
  int line = 0;
  std::string message;
};

// Walks over the tokens. The first error stays; after it every token is kEnd, so that all loops end.
class Cursor {
 public:
  explicit Cursor(std::vector<PtxToken> tokens) : tokens_(std::move(tokens)) {}

  const PtxToken& peek(size_t ahead = 0) const {
    return failed() ? tokens_.back() : tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  PtxToken take() {
    const PtxToken token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool at_end() const { return peek().kind == PtxToken::kEnd; }
  bool is(std::string_view text) const { return peek().kind != PtxToken::kString && peek().text == text; }
  bool accept(std::string_view text) {
    if (at_end() || !is(text)) return false;
    take();
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text))
      fail("expected '" + std::string(text) + "' instead of '" + std::string(peek().text) + "'");
  }
  void fail(std::string message) {
    if (!error_) error_ = SyntaxError{tokens_[at_].line, std::move(message)};
  }
  bool failed() const { return error_.has_value(); }
  const std::optional<SyntaxError>& error() const { return error_; }
  // Where the next token stands; the reverse goes there.
  size_t place() const { return at_; }
  void go_to(size_t place) { at_ = place; }
  // Skips to behind the brace that closes the one that comes next.
  void skip_braces();
  void skip_to(std::string_view text) {
    while (!at_end() && !accept(text)) take();
  }
  // A number with its sign; 0fXXXXXXXX and 0dXXXXXXXXXXXXXXXX are the bits of floats.
  std::optional<uint64_t> number();

 private:
  std::vector<PtxToken> tokens_;
  size_t at_ = 0;
  std::optional<SyntaxError> error_;
};

// .file and .loc.
class LineTable {
 public:
  void file(Cursor& in);
  // Returns the chain of the .loc whose first word was taken already.
  std::vector<SourceLine> location(Cursor& in);
  // Files stand behind the code, so chains hold "#number" until then.
  void resolve(Program* program) const;

 private:
  std::map<std::tuple<int, int, int>, std::vector<SourceLine>> chains_;
  std::map<int, std::string> files_;
};

// The labels of a kernel, and the branches to them.
class Labels {
 public:
  void define(std::string name, size_t at) { labels_[std::move(name)] = static_cast<int>(at); }
  // The labels of an indexed branch; the label of this list stands here, too.
  void list(std::vector<std::string> names, size_t at);
  // The branch goes to a label or, if it is indexed, to one of a list.
  void jump(size_t index, std::string name) { jumps_[index] = std::move(name); }
  // At the end: sets the branches' targets. Returns what is wrong.
  std::optional<std::string> resolve(Kernel& kernel) const;

 private:
  std::map<std::string, int> labels_;
  std::map<std::string, std::vector<std::string>> lists_;
  std::map<size_t, std::string> jumps_;
};

// The variables that a kernel passes to and from the functions that are inlined: registers in their place.
class PassedParameters {
 public:
  explicit PassedParameters(Kernel& kernel) : kernel_(kernel) {}

  uint32_t add(uint64_t size);  // returns its number
  bool has(uint32_t number, uint64_t size) const;
  // Adds the moves to the kernel's code that a load or store of the variables amounts to; any other
  // instruction becomes kUnsupported. Returns false if a register is too small.
  bool pass(Instruction& in, const std::vector<uint32_t>& variables);
  // At the end: of parts that are not loaded as they were stored nothing is known.
  void forget_torn_parts();

 private:
  struct Part {
    uint64_t offset = 0;
    unsigned bits = 0;
    uint32_t reg = 0;
    bool stored = false;
    std::vector<size_t> loads = {};  // instructions
  };
  struct Variable {
    uint64_t size = 0;
    std::vector<Part> parts;
  };
  Part& part(uint32_t number, uint64_t offset, unsigned bits);

  Kernel& kernel_;
  std::vector<Variable> variables_;
};

// A declaration such as `.shared .align 16 .b8 name[1024]`. `space` was taken already.
std::vector<Variable> parse_variables(Cursor& in, Space space, bool is_extern);

// The parameters behind an opening parenthesis, up to the closing one.
std::vector<Parameter> parse_parameters(Cursor& in);

// The functions of a text, by their names: the place of what follows .func, 0 if it does not define them.
using Functions = std::map<std::string, size_t, std::less<>>;

// The body of a kernel, from its opening brace on; fills code, registers, variables and sites.
void parse_body(Cursor& in, LineTable& lines, const Functions& functions, Kernel& kernel);

}  // namespace glove::verify
