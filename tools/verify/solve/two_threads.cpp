#include "solve/two_threads.h"

#include "solve/thread_model.h"
#include "state/block_pair.h"

namespace glove::verify {
namespace {

constexpr size_t kMostQuestions = 400;
constexpr size_t kMostOpen = 8;  // races that may be none, before it looks no further for one that is
constexpr int kMostNumbers = 6;  // that a witness names

// Two threads, of one block or of two.
class Pair {
 public:
  Pair(const Setup& setup, bool every_grid, Budget& budget) : setup_(setup), budget_(budget) {
    for (size_t axis = 0; axis < 3; ++axis) {
      const uint32_t blocks = setup.launch.grid[axis];
      const bool open = every_grid && blocks > 1;
      inputs_.grid[axis] = open ? formulas_.unknown(32) : formulas_.number(blocks, 32);
      const uint64_t most = axis == 0 ? BlockPair::kMostThreads / setup.launch.block[axis] : 65535;
      if (open) require(formulas_.below(formulas_.number(0, 32), inputs_.grid[axis], false));
      if (open) require(formulas_.below(inputs_.grid[axis], formulas_.number(most + 1, 32), false));
      block_[0][axis] = index_below(inputs_.grid[axis]);
      block_[1][axis] = index_below(inputs_.grid[axis]);
      for (auto& thread : thread_) thread[axis] = index_below(formulas_.number(setup.launch.block[axis], 32));
    }
  }

  TwoThreads decide() {
    for (const Relation& relation : setup_.launch.relations) relations_.push_back(formula(relation));
    ThreadModel survey(setup_, formulas_, inputs_, {thread_[0], block_[0]});
    if (!survey.run()) return undecided(survey.why());
    ThreadModel one(setup_, formulas_, inputs_, {thread_[0], block_[0]});
    ThreadModel beside(setup_, formulas_, inputs_, {thread_[1], block_[0]});
    ThreadModel elsewhere(setup_, formulas_, inputs_, {thread_[1], block_[1]});
    if (!one.run() || !beside.run() || !elsewhere.run()) return undecided(one.why());
    TwoThreads found = compare(one, beside, true);
    if (found.answer == TwoThreads::Answer::kNever && setup_.check_global && setup_.blocks > 1)
      found = compare(one, elsewhere, false);
    if (formulas_.failed()) return undecided("Z3 has failed");
    if (one.uses_objects())
      found.assumptions.emplace_back("different pointer parameters point to different buffers");
    if (needs_relations_)
      for (const Relation& relation : setup_.launch.relations)
        found.assumptions.push_back(as_assumption(relation));
    if (one.loops()) found.assumptions.emplace_back("loop counters do not wrap");
    return found;
  }

 private:
  static TwoThreads undecided(std::string why) { return {.text = std::move(why)}; }
  void require(Term condition) { required_.push_back(condition); }
  Term index_below(Term size) {
    if (formulas_.known(size) == 1) return formulas_.number(0, 32);
    const Term index = formulas_.unknown(32);
    require(formulas_.below(index, size, false));
    return index;
  }
  Term differ(const std::array<Term, 3>& a, const std::array<Term, 3>& b) const {
    Term same = formulas_.truth(true);
    for (size_t axis = 0; axis < 3; ++axis) same = formulas_.both(same, formulas_.equal(a[axis], b[axis]));
    return formulas_.negation(same);
  }

  // Whether the two touch a common byte.
  Term overlap(const ModelAccess& a, const ModelAccess& b) const {
    const auto behind = [&](Term x, Term y, uint32_t bytes) {
      return formulas_.below(formulas_.subtract(x, y), formulas_.number(bytes, formulas_.bits_of(x)), false);
    };
    Term x = a.offset, y = b.offset;
    if (a.space == Space::kShared)  // its addresses have 32 bits
      x = formulas_.resized(x, 32, false), y = formulas_.resized(y, 32, false);
    return formulas_.either(behind(x, y, b.record.bytes), behind(y, x, a.record.bytes));
  }

  // The first race of the two, or that there is none.
  TwoThreads compare(const ThreadModel& one, const ThreadModel& other, bool one_block) {
    TwoThreads open = {.answer = TwoThreads::Answer::kNever};
    const Term apart = one_block ? differ(thread_[0], thread_[1]) : differ(block_[0], block_[1]);
    for (size_t i = 0; i < one.accesses().size(); ++i)
      for (size_t j = i; j < other.accesses().size(); ++j) {
        ModelAccess a = one.accesses()[i], b = other.accesses()[j];
        b.record.home.block = one_block ? 0 : 1;
        if (!conflict(a.record, b.record) || a.space != b.space || a.object != b.object) continue;
        if (one_block ? a.phase != b.phase : a.space == Space::kShared) continue;
        if (++asked_ > kMostQuestions) return undecided("there are too many accesses");
        if (budget_.out_of_time()) return undecided("the time limit ended the search");
        const Term meet = overlap(a, b);
        const Answer3 answer = ask({apart, a.condition, b.condition, meet});
        if (answer == Answer3::kNo) continue;
        if (answer == Answer3::kYes && a.exact && b.exact) return witness(a, b, one_block, {apart, meet});
        if (answer == Answer3::kUnknown) return undecided("Z3's limit ended the search");
        open = undecided("Z3 sees a race, but not all conditions of it are modelled");
        if (++open_pairs_ > kMostOpen) return open;
      }
    return open;
  }

  // With the relations if it can hold without.
  Answer3 ask(std::vector<Term> conditions) {
    conditions.insert(conditions.end(), required_.begin(), required_.end());
    const Answer3 answer = formulas_.can_hold(conditions);
    if (answer == Answer3::kNo || relations_.empty()) return answer;
    conditions.insert(conditions.end(), relations_.begin(), relations_.end());
    const Answer3 related = formulas_.can_hold(conditions);
    needs_relations_ |= related == Answer3::kNo;
    return related;
  }

  Term sum(const std::vector<Relation::Product>& side) {
    constexpr unsigned kBits = 112;  // products have at most 96 with their factor
    Term total = formulas_.number(0, kBits);
    for (const Relation::Product& product : side) {
      Term number =
          formulas_.resized(formulas_.number(static_cast<uint64_t>(product.factor), 64), kBits, true);
      for (const Relation::Unknown& unknown : product.unknowns) {
        Term value = unknown.axis ? inputs_.grid[*unknown.axis] : nullptr;
        for (unsigned i = 0; i < unknown.bytes && !unknown.axis; ++i) {
          const Term byte = open_byte(formulas_, inputs_, unknown.offset + i);
          value = value == nullptr ? byte : Z3_mk_concat(formulas_.context(), byte, value);
        }
        number = formulas_.multiply(number, formulas_.resized(value, kBits, unknown.is_signed));
      }
      total = formulas_.add(total, number);
    }
    return total;
  }

  Term formula(const Relation& relation) {
    const Term a = sum(relation.left), b = sum(relation.right);
    const Term equal = formulas_.equal(a, b), less = formulas_.below(a, b, true);
    if (relation.compare == "==") return equal;
    if (relation.compare == "!=") return formulas_.negation(equal);
    if (relation.compare == "<") return less;
    if (relation.compare == ">=") return formulas_.negation(less);
    const Term at_most = formulas_.either(less, equal);
    return relation.compare == "<=" ? at_most : formulas_.negation(at_most);
  }

  // The 4-byte parameters that the launch leaves open, by offset. What is a pointer has no number to show.
  std::vector<std::pair<uint64_t, Term>> open_numbers() const {
    std::vector<std::pair<uint64_t, Term>> numbers;
    for (const Parameter& parameter : setup_.kernel.parameters) {
      if (parameter.size != 4 && parameter.size != 2 && parameter.size != 1) continue;
      Term whole = nullptr;
      for (uint64_t i = 0; i < parameter.size; ++i) {
        const auto byte = inputs_.parameters.find(parameter.offset + i);
        if (byte == inputs_.parameters.end()) break;
        whole = whole == nullptr ? byte->second
                                 : formulas_.simple(Z3_mk_concat(formulas_.context(), byte->second, whole));
        if (i + 1 == parameter.size) numbers.emplace_back(parameter.offset, whole);
      }
    }
    return numbers;
  }

  // An example in small numbers, if there is one.
  TwoThreads witness(const ModelAccess& a, const ModelAccess& b, bool one_block,
                     std::vector<Term> conditions) {
    conditions.push_back(a.condition);
    conditions.push_back(b.condition);
    for (const uint64_t most : {uint64_t{64}, uint64_t{4096}, uint64_t{0}}) {
      std::vector<Term> small = conditions;
      for (const auto& [offset, number] : open_numbers())
        if (most != 0 && formulas_.bits_of(number) == 32)
          small.push_back(formulas_.below(number, formulas_.number(most, 32), false));
      if (ask(small) != Answer3::kYes) continue;
      TwoThreads found = {.answer = TwoThreads::Answer::kWitness, .text = "race for "};
      int named = 0;
      for (const auto& [offset, number] : open_numbers())
        if (named++ < kMostNumbers)
          found.text += setup_.parameter_at(offset) + " = " +
                        std::to_string(static_cast<int32_t>(formulas_.example(number))) + ", ";
      const auto number = [&](const std::array<Term, 3>& at, const std::array<uint32_t, 3>& size) {
        return static_cast<uint32_t>(formulas_.example(at[0]) +
                                     size[0] *
                                         (formulas_.example(at[1]) + size[1] * formulas_.example(at[2])));
      };
      for (const size_t i : {0u, 1u}) {
        std::optional<uint32_t> block;
        if (!one_block) block = number(block_[i], setup_.launch.grid);
        found.text +=
            (i == 0 ? "" : " and ") + setup_.name_of_thread(number(thread_[i], setup_.launch.block), block);
      }
      found.first = a.record.instruction;
      found.second = b.record.instruction;
      return found;
    }
    return undecided("Z3's limit ended the search");
  }

  const Setup& setup_;
  Budget& budget_;
  Formulas formulas_;
  SharedInputs inputs_;
  std::array<std::array<Term, 3>, 2> thread_{}, block_{};
  std::vector<Term> required_, relations_;
  bool needs_relations_ = false;
  size_t asked_ = 0, open_pairs_ = 0;
};

}  // namespace

bool has_solver() {
  return true;
}

TwoThreads decide_two_threads(const Setup& setup, bool every_grid, Budget& budget) {
  return Pair(setup, every_grid, budget).decide();
}

}  // namespace glove::verify
