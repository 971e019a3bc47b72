#include "solve/formulas.h"

#include <unordered_set>

namespace glove::verify {

thread_local bool z3_failed = false;  // since this thread made its last Formulas; Z3's handlers get no more

Formulas::Formulas() {
  z3_failed = false;
  Z3_config config = Z3_mk_config();
  context_ = Z3_mk_context(config);
  Z3_del_config(config);
  Z3_set_error_handler(context_, [](Z3_context, Z3_error_code) { z3_failed = true; });
  how_ = Z3_mk_params(context_);
  Z3_params_inc_ref(context_, how_);
  Z3_params_set_bool(context_, how_, Z3_mk_string_symbol(context_, "elim_sign_ext"), false);
  tactic_ = Z3_mk_tactic(context_, "qfufbv");
  Z3_tactic_inc_ref(context_, tactic_);
}

Formulas::~Formulas() {
  if (model_ != nullptr) Z3_model_dec_ref(context_, model_);
  Z3_tactic_dec_ref(context_, tactic_);
  Z3_params_dec_ref(context_, how_);
  Z3_del_context(context_);
}

bool Formulas::failed() const {
  return z3_failed;
}

Term Formulas::number(uint64_t value, unsigned bits) const {
  return Z3_mk_unsigned_int64(context_, bits < 64 ? value & ((uint64_t{1} << bits) - 1) : value,
                              Z3_mk_bv_sort(context_, bits));
}

Term Formulas::unknown(unsigned bits) {
  const Z3_sort sort = bits == 0 ? Z3_mk_bool_sort(context_) : Z3_mk_bv_sort(context_, bits);
  unknowns_.push_back(Z3_mk_fresh_const(context_, "u", sort));
  return unknowns_.back();
}

Term Formulas::applied(const std::string& name, Term argument, unsigned bits) const {
  Z3_sort from = Z3_mk_bv_sort(context_, 64);
  Z3_func_decl function = Z3_mk_func_decl(context_, Z3_mk_string_symbol(context_, name.c_str()), 1, &from,
                                          Z3_mk_bv_sort(context_, bits));
  return Z3_mk_app(context_, function, 1, &argument);
}

Term Formulas::both(Term a, Term b) const {
  const Term parts[] = {a, b};
  return simple(Z3_mk_and(context_, 2, parts));
}

Term Formulas::either(Term a, Term b) const {
  const Term parts[] = {a, b};
  return simple(Z3_mk_or(context_, 2, parts));
}

Term Formulas::choose(Term condition, Term yes, Term no) const {
  return yes == no ? yes : simple(Z3_mk_ite(context_, condition, yes, no));
}

Term Formulas::resized(Term a, unsigned bits, bool as_signed) const {
  const unsigned from = bits_of(a);
  if (bits == from) return a;
  if (bits < from) return part(a, 0, bits);
  const Term wide =
      as_signed ? Z3_mk_sign_ext(context_, bits - from, a) : Z3_mk_zero_ext(context_, bits - from, a);
  return Z3_is_numeral_ast(context_, a) ? simple(wide) : wide;
}

Term Formulas::part(Term a, unsigned from, unsigned bits) const {
  return simple(Z3_mk_extract(context_, from + bits - 1, from, a));
}

std::optional<uint64_t> Formulas::known(Term a) const {
  uint64_t value = 0;
  if (Z3_get_ast_kind(context_, a) != Z3_NUMERAL_AST || !Z3_get_numeral_uint64(context_, a, &value))
    return std::nullopt;
  return value;
}

bool Formulas::mentions_since(Term a, size_t count) const {
  const std::unordered_set<Term> wanted(unknowns_.begin() + static_cast<std::ptrdiff_t>(count),
                                        unknowns_.end());
  std::unordered_set<Term> seen;
  std::vector<Term> open = {a};
  while (!open.empty()) {
    const Term term = open.back();
    open.pop_back();
    if (wanted.count(term) > 0) return true;
    if (!seen.insert(term).second) continue;
    if (Z3_get_ast_kind(context_, term) != Z3_APP_AST) continue;
    Z3_app app = Z3_to_app(context_, term);
    for (unsigned i = 0; i < Z3_get_app_num_args(context_, app); ++i)
      open.push_back(Z3_get_app_arg(context_, app, i));
  }
  return false;
}

Answer3 Formulas::can_hold(const std::vector<Term>& conditions) {
  Z3_solver solver = Z3_mk_solver_from_tactic(context_, tactic_);
  Z3_solver_inc_ref(context_, solver);
  Z3_params limits = Z3_mk_params(context_);
  Z3_params_inc_ref(context_, limits);
  Z3_params_set_uint(context_, limits, Z3_mk_string_symbol(context_, "rlimit"), kMostWork);
  Z3_solver_set_params(context_, solver, limits);
  Z3_params_dec_ref(context_, limits);
  for (const Term condition : conditions) Z3_solver_assert(context_, solver, condition);
  const Z3_lbool answer = Z3_solver_check(context_, solver);
  if (answer == Z3_L_TRUE) {
    if (model_ != nullptr) Z3_model_dec_ref(context_, model_);
    model_ = Z3_solver_get_model(context_, solver);
    if (model_ != nullptr) Z3_model_inc_ref(context_, model_);
  }
  Z3_solver_dec_ref(context_, solver);
  if (failed() || answer == Z3_L_UNDEF) return Answer3::kUnknown;
  return answer == Z3_L_TRUE ? Answer3::kYes : Answer3::kNo;
}

uint64_t Formulas::example(Term a) const {
  Z3_ast value = nullptr;
  uint64_t number = 0;
  if (model_ != nullptr && Z3_model_eval(context_, model_, a, true, &value))
    (void)Z3_get_numeral_uint64(context_, value, &number);
  return number;
}

}  // namespace glove::verify
