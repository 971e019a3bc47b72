// Bit vectors and conditions as Z3 holds them.
#pragma once

#include <z3.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace glove::verify {

using Term = Z3_ast;  // a bit vector, or a condition; lives as long as its Formulas

// Whether something can be.
enum class Answer3 : uint8_t { kNo, kYes, kUnknown };

// Makes terms, and asks whether conditions can hold together. A thread has one at a time.
class Formulas {
 public:
  Formulas();
  ~Formulas();
  Formulas(const Formulas&) = delete;
  Formulas& operator=(const Formulas&) = delete;

  Z3_context context() const { return context_; }
  Term number(uint64_t value, unsigned bits) const;
  Term truth(bool value) const { return value ? Z3_mk_true(context_) : Z3_mk_false(context_); }
  // A new unknown; of 0 bits: a condition.
  Term unknown(unsigned bits);
  // What a function, the same for equal names, makes of a number of 64 bits.
  Term applied(const std::string& name, Term argument, unsigned bits) const;

  Term both(Term a, Term b) const;
  Term either(Term a, Term b) const;
  Term negation(Term a) const { return simple(Z3_mk_not(context_, a)); }
  Term choose(Term condition, Term yes, Term no) const;
  Term equal(Term a, Term b) const { return simple(Z3_mk_eq(context_, a, b)); }
  Term below(Term a, Term b, bool as_signed) const {
    return simple(as_signed ? Z3_mk_bvslt(context_, a, b) : Z3_mk_bvult(context_, a, b));
  }
  Term add(Term a, Term b) const { return folded(Z3_mk_bvadd(context_, a, b), a, b); }
  Term subtract(Term a, Term b) const { return simple(Z3_mk_bvsub(context_, a, b)); }
  Term multiply(Term a, Term b) const { return folded(Z3_mk_bvmul(context_, a, b), a, b); }
  // To so many bits: cut, or extended with its sign or zeros.
  Term resized(Term a, unsigned bits, bool as_signed) const;
  Term part(Term a, unsigned from, unsigned bits) const;
  unsigned bits_of(Term a) const { return Z3_get_bv_sort_size(context_, Z3_get_sort(context_, a)); }
  Term simple(Term a) const { return Z3_simplify_ex(context_, a, how_); }
  bool is(Term a, bool value) const { return a == truth(value); }
  // The number that a term is, if it is one.
  std::optional<uint64_t> known(Term a) const;
  // How many unknowns there are, and whether one made since then occurs in the term.
  size_t count() const { return unknowns_.size(); }
  bool mentions_since(Term a, size_t count) const;

  // Whether all conditions can hold at once. The search ends after so much work, counted by Z3 alone.
  Answer3 can_hold(const std::vector<Term>& conditions);
  // What a term is in the example of the last kYes.
  uint64_t example(Term a) const;
  // Something went wrong in Z3; then no answer counts.
  bool failed() const;

  static constexpr unsigned kMostWork = 1'000'000;  // Z3's resource limit for one question

 private:
  Term folded(Term result, Term a, Term b) const {
    return Z3_is_numeral_ast(context_, a) || Z3_is_numeral_ast(context_, b) ? simple(result) : result;
  }

  Z3_context context_;
  Z3_params how_;  // to simplify
  Z3_tactic tactic_;
  Z3_model model_ = nullptr;
  std::vector<Term> unknowns_;
};

}  // namespace glove::verify
