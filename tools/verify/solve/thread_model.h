// One thread of a kernel as formulas: which accesses it makes under which conditions.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "solve/formulas.h"
#include "state/part.h"

namespace glove::verify {

// What all threads have in common.
struct SharedInputs {
  std::array<Term, 3> grid{};
  std::map<uint64_t, Term> parameters;  // that the launch leaves open: bytes by offset
  std::set<uint32_t> written;           // objects that some thread writes
};

// The byte of a parameter that the launch leaves open.
Term open_byte(Formulas& formulas, SharedInputs& inputs, uint64_t offset);

// What a register holds: a bit vector or, of a predicate, a condition.
struct Number {
  Term bits = nullptr;
  uint32_t object = 0;    // of global memory that it points into
  Term offset = nullptr;  // from there, 64 bits
  bool exact = true;      // any value of the unknowns in it may really occur
};

// An access that a thread may make.
struct ModelAccess {
  AccessRecord record;  // what it does
  Term condition = nullptr;
  Space space = Space::kGlobal;
  uint32_t object = 0;
  Term offset = nullptr;  // 64 bits
  unsigned phase = 0;     // how many barriers that all threads of the block execute lie before it
  bool exact = true;
};

// Where a thread stands.
struct ThreadPlace {
  std::array<Term, 3> thread{}, block{};
};

// Runs a kernel once, with all sides of its branches; a loop once, from a state that stands for all its
// rounds.
class ThreadModel {
 public:
  // REQUIRES: what it refers to outlives it.
  ThreadModel(const Setup& setup, Formulas& formulas, SharedInputs& inputs, ThreadPlace place);

  // Returns false if the kernel does something that is not modelled: see why().
  bool run();
  const std::vector<ModelAccess>& accesses() const { return accesses_; }
  const std::string& why() const { return why_; }
  bool loops() const { return loops_; }
  bool uses_objects() const { return objects_.size() > 1; }

 private:
  using Registers = std::vector<Number>;
  struct Edge {
    Term condition = nullptr;
    Registers registers;
  };
  static constexpr uint32_t kMixed = 1;               // points into one of several objects
  static constexpr uint32_t kSharedWindow = 2;        // a generic address of shared memory
  static constexpr uint32_t kFirstParameter = 16;     // and its offset: a pointer parameter
  static constexpr uint32_t kVariables = 0x80000000;  // and its index: a variable

  void refuse(const std::string& why) {
    if (why_.empty()) why_ = why;
  }
  void run_blocks(const std::vector<int>& blocks, int skip_loop_at);
  bool enter(int block);
  void prepare_loop(int head);
  Edge any_round(const Edge& start, int head, const std::set<uint32_t>& written);
  std::vector<Edge> trial(const Edge& any, int head, const std::vector<int>& members);
  Number grown(const Number& before, const Number& then, const std::vector<Edge>& ends, uint32_t r,
               Term rounds, size_t unknowns) const;
  void run_block(int block);
  void leave(int block, Term condition);
  void add_edge(int from, int to, Term condition);

  Number unknown(Type type) const;
  Number number(uint64_t value, unsigned bits) const {
    return {formulas_.number(value, bits), 0, nullptr, true};
  }
  Number resized(const Number& value, unsigned bits, bool as_signed) const;
  Number read(const PtxOperand& operand, Type type);
  Number special(Special name) const;
  void write(const PtxOperand& result, Number value, Term under, bool as_signed);
  // Nothing is known of what the instruction returns.
  void write_unknown(const Instruction& in, Term under);
  Number chosen(Term condition, bool exact, const Number& yes, const Number& no) const;
  Number sum(const Number& a, const Number& b, bool subtract) const;

  void step(const Instruction& in, Term active, bool exact);
  void step_arithmetic(const Instruction& in, Term active);
  Number integer(const Instruction& in, const std::array<Number, 4>& x) const;
  Number product(const Instruction& in, const Number& a, const Number& b) const;
  Number quotient(const Instruction& in, const Number& a, const Number& b) const;
  Number shifted(const Instruction& in, const Number& a, const Number& by) const;
  Number logic3(const std::array<Number, 4>& x) const;
  void step_comparison(const Instruction& in, Term active);
  void step_move(const Instruction& in, Term active);
  void step_address(const Instruction& in, Term active);
  void step_memory(const Instruction& in, Term active, bool exact);
  void step_parameter(const Instruction& in, Term active);
  Number parameter(uint64_t offset, unsigned bytes);
  void step_barrier(const Instruction& in, bool guarded);

  const Setup& setup_;
  Formulas& formulas_;
  SharedInputs& inputs_;
  const ThreadPlace place_;
  std::vector<int> order_;               // blocks
  std::vector<bool> on_chain_;           // blocks that every thread runs exactly once
  std::vector<std::vector<Edge>> into_;  // by block
  std::set<int> loop_heads_;
  Registers registers_;
  Term condition_ = nullptr;  // of the block that is run
  bool exact_ = true;         // that condition
  bool guard_exact_ = true;   // that of the instruction
  int block_ = 0;
  unsigned phase_ = 0;
  std::vector<ModelAccess> accesses_;
  std::set<uint32_t> objects_;  // of accesses
  bool loops_ = false, warps_meet_ = false;
  std::string why_;
};

}  // namespace glove::verify
