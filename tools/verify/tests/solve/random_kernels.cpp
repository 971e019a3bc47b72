// Compares glove-verify with a model of two threads in Z3: random_kernels [COUNT [SEED [- [FIRST]]]]
//
// Makes random kernels without loops: expressions over thread, block and parameters, guards, stores, loads
// and additions, barriers. For each it asks Z3, by formulas that are made from the kernel's tree and not from
// its PTX, whether two threads can race. Fails if a kernel that can race is called proved, if one that cannot
// is said to have a race, or if too many are undecided.
#include <z3++.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "glove_verify/verify.h"
#include "random_kernel.h"

namespace {

constexpr unsigned kMostWork = 20'000'000;  // of Z3 for one kernel

enum class Race { kNever, kPossible, kUnknown };

// The kernel's two threads as formulas.
class Model {
 public:
  Model(const RandomKernel& kernel, bool every_grid, bool no_wrap)
      : kernel_(kernel), no_wrap_(no_wrap), solver_(z3_, "QF_BV") {
    z3::params limits(z3_);
    limits.set("rlimit", kMostWork);
    solver_.set(limits);
    for (int i = 0; i < kParameters; ++i) parameters_.push_back(unknown("p" + std::to_string(i)));
    for (int i = 0; i < 2; ++i) {
      threads_.push_back(unknown("t" + std::to_string(i)));
      blocks_.push_back(unknown("b" + std::to_string(i)));
      solver_.add(z3::ult(threads_[i], number(kThreads)));
      solver_.add(z3::ult(
          blocks_[i], every_grid ? number((1 << 29) / kThreads) : number(static_cast<int32_t>(kernel.grid))));
    }
  }

  Race decide() {
    Race found = Race::kNever;
    for (size_t i = 0; i < kernel_.statements.size(); ++i)
      for (size_t j = i; j < kernel_.statements.size(); ++j)
        for (const bool one_block : {true, false}) {
          const Race race = decide(i, j, one_block);
          if (race == Race::kPossible) return race;
          if (race == Race::kUnknown) found = race;
        }
    return found;
  }

 private:
  z3::expr unknown(const std::string& name) { return z3_.bv_const(name.c_str(), 32); }
  z3::expr number(int32_t value) { return z3_.bv_val(value, 32); }

  z3::expr value(const Expression& e, int side, z3::expr& sound) {
    switch (e.kind) {
      case Expression::kThread:
        return threads_[side];
      case Expression::kBlock:
        return blocks_[side];
      case Expression::kParameter:
        return parameters_[e.number];
      case Expression::kGrid:
      case Expression::kNumber:
        return number(e.number);
      default:
        break;
    }
    const z3::expr a = value(*e.a, side, sound), b = value(*e.b, side, sound);
    const auto checked = [&](const z3::expr& result, const z3::expr& wide) {
      if (no_wrap_) sound = sound && z3::sext(result, 32) == wide;
      return result;
    };
    const z3::expr x = z3::sext(a, 32), y = z3::sext(b, 32);
    switch (e.kind) {
      case Expression::kAdd:
        return checked(a + b, x + y);
      case Expression::kSub:
        return checked(a - b, x - y);
      case Expression::kMul:
        return checked(a * b, x * y);
      case Expression::kShl:
        return checked(z3::shl(a, b), z3::shl(x, y));
      case Expression::kShr:
        return z3::ashr(a, b);
      case Expression::kAnd:
        return a & b;
      case Expression::kRem:
        return z3::urem(a, b);
      case Expression::kMin:
        return z3::ite(a < b, a, b);
      default:
        return z3::ite(b < a, a, b);
    }
  }

  z3::expr holds(const Guard& guard, int side, z3::expr& sound) {
    const z3::expr a = value(*guard.a, side, sound), b = value(*guard.b, side, sound);
    switch (guard.compare) {
      case 0:
        return a < b;
      case 1:
        return a <= b;
      case 2:
        return a == b;
      case 3:
        return a != b;
      case 4:
        return z3::ult(a, b);
      default:
        return a >= b;
    }
  }

  bool barrier_between(size_t i, size_t j) const {
    for (size_t k = i; k < j; ++k)
      if (kernel_.statements[k].kind == Statement::kBarrier) return true;
    return false;
  }

  Race decide(size_t i, size_t j, bool one_block) {
    const Statement &s = kernel_.statements[i], &t = kernel_.statements[j];
    if (s.kind == Statement::kBarrier || t.kind == Statement::kBarrier || s.array != t.array)
      return Race::kNever;
    if (s.kind == t.kind && s.kind != Statement::kStore) return Race::kNever;
    if (one_block ? barrier_between(i, j) : s.array == 2) return Race::kNever;
    solver_.push();
    z3::expr sound = z3_.bool_val(true);
    for (const Guard& guard : s.guards) solver_.add(holds(guard, 0, sound));
    for (const Guard& guard : t.guards) solver_.add(holds(guard, 1, sound));
    const z3::expr a = value(*s.index, 0, sound), b = value(*t.index, 1, sound);
    solver_.add(a == b);
    solver_.add(sound);
    solver_.add(one_block ? blocks_[0] == blocks_[1] && threads_[0] != threads_[1]
                          : blocks_[0] != blocks_[1]);
    const z3::check_result found = solver_.check();
    solver_.pop();
    return found == z3::unsat ? Race::kNever : found == z3::sat ? Race::kPossible : Race::kUnknown;
  }

  const RandomKernel& kernel_;
  const bool no_wrap_;
  z3::context z3_;
  z3::solver solver_;
  std::vector<z3::expr> parameters_, threads_, blocks_;
};

struct Counts {
  int free = 0, racing = 0, unknown = 0, proved = 0, every_grid = 0, found = 0, missed = 0, alarms = 0,
      undecided = 0;
};

bool assumes(const glove::verify::Verdict& verdict, const std::string& what) {
  for (const std::string& line : verdict.assumptions)
    if (line.find(what) != std::string::npos) return true;
  return false;
}

void complain(const char* what, uint64_t number, const std::string& ptx,
              const glove::verify::Verdict& verdict) {
  std::printf("kernel %llu: %s\n%s%s", static_cast<unsigned long long>(number), what, ptx.c_str(),
              glove::verify::text_of(verdict, false).c_str());
}

void check(uint64_t seed, int number, bool solver, bool verbose, Counts& counts) {
  const RandomKernel kernel = Generator(seed * 1'000'003 + static_cast<uint64_t>(number)).kernel();
  const std::string ptx = ".version 8.0\n.target sm_90\n.address_size 64\n" + Writer::ptx(kernel, "k");
  const auto module = glove::verify::parse(ptx, "random.ptx");
  if (!module.ok()) std::printf("%s\n%s", module.error().message.c_str(), ptx.c_str()), std::exit(1);
  glove::verify::Launch launch;
  launch.grid = {kernel.grid, 1, 1};
  glove::verify::Options options;
  options.allow_undefined = true;
  options.solver = solver;
  options.every_grid = true;
  const auto result = glove::verify::verify(module.value(), 0, launch, options);
  if (!result.ok()) std::printf("%s\n%s", result.error().message.c_str(), ptx.c_str()), std::exit(1);
  const glove::verify::Verdict& verdict = result.value();
  const Race race = Model(kernel, verdict.every_grid, assumes(verdict, "does not wrap")).decide();
  counts.free += race == Race::kNever;
  counts.racing += race == Race::kPossible;
  counts.unknown += race == Race::kUnknown;
  const int code = verdict.exit_code();
  counts.proved += code == 0;
  counts.every_grid += code == 0 && verdict.every_grid;
  counts.found += code == 1;
  if (code == 0 && race == Race::kPossible) {
    ++counts.missed;
    complain("a race that was missed", static_cast<uint64_t>(number), ptx, verdict);
  }
  bool witness = false;
  for (const glove::verify::Finding& finding : verdict.findings)
    witness |= finding.message.find("race for ") != std::string::npos;
  if ((code == 1 || witness) && race == Race::kNever) {
    ++counts.alarms;
    if (verbose) complain("a false alarm", static_cast<uint64_t>(number), ptx, verdict);
  } else if (code > 1 && !witness) {
    ++counts.undecided;
    if (verbose) complain("undecided", static_cast<uint64_t>(number), ptx, verdict);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 300;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const bool solver = argc <= 3 || argv[3][0] != '-';
  const int first = argc > 4 ? std::atoi(argv[4]) : 0;
  Counts counts;
  for (int i = first; i < first + count; ++i) check(seed, i, solver, argc > 3, counts);
  std::printf(
      "seed %llu, %d kernels: %d cannot race, %d can, %d are beyond the model's limit\n"
      "proved %d (%d of them for all grids), races found %d, missed %d, false alarms %d, undecided %d\n",
      static_cast<unsigned long long>(seed), count, counts.free, counts.racing, counts.unknown, counts.proved,
      counts.every_grid, counts.found, counts.missed, counts.alarms, counts.undecided);
  const bool within =
      counts.missed == 0 && counts.alarms * 200 <= counts.free && counts.undecided * 20 <= count;
  return within ? 0 : 1;
}
