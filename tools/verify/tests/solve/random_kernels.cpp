// Compares glove-verify with a model of two threads in Z3: random_kernels [COUNT [SEED [- [FIRST]]]]
//
// Makes random kernels without loops: expressions over thread, block and parameters, guards, stores, loads
// and additions, barriers. For each it asks Z3, by formulas that are made from the kernel's tree and not from
// its PTX, whether two threads can race. Fails if a kernel that can race is called proved, if one that cannot
// is said to have a race, or if too many are undecided.
#include <z3++.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "glove_verify/verify.h"

namespace {

constexpr uint32_t kThreads = 64;
constexpr int kParameters = 3;
constexpr unsigned kMostWork = 20'000'000;  // of Z3 for one kernel

// An expression of 32 bits.
struct Expression {
  enum Kind {
    kThread,
    kBlock,
    kGrid,
    kParameter,
    kNumber,
    kAdd,
    kSub,
    kMul,
    kShl,
    kShr,
    kAnd,
    kRem,
    kMin,
    kMax
  } kind;
  int32_t number = 0;
  std::unique_ptr<Expression> a = {}, b = {};
};
using Node = std::unique_ptr<Expression>;

struct Guard {
  int compare = 0;  // lt, le, eq, ne, lt.u, ge
  Node a, b;
};

struct Statement {
  enum Kind { kStore, kLoad, kAdd, kBarrier } kind;
  int array = 0;  // 0, 1: global; 2: shared
  std::vector<Guard> guards;
  Node index;
};

struct RandomKernel {
  std::vector<Statement> statements;
  uint32_t grid = 1;
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  RandomKernel kernel() {
    RandomKernel made;
    made.grid = static_cast<uint32_t>(1 + below(3));
    const int count = 1 + below(4);
    for (int i = 0; i < count; ++i) {
      Statement statement;
      statement.kind = static_cast<Statement::Kind>(below(10) < 5   ? 0
                                                    : below(10) < 6 ? 1
                                                    : below(10) < 5 ? 2
                                                                    : 3);
      statement.array = below(3);
      if (statement.kind != Statement::kBarrier) {
        const int guards = below(3);
        for (int g = 0; g < guards; ++g) statement.guards.push_back({below(6), index(), leaf()});
        statement.index = below(3) == 0 ? expression(3) : index();
        if (statement.array == 2)
          statement.index = node(Expression::kAnd, std::move(statement.index), number(127));
      }
      made.statements.push_back(std::move(statement));
    }
    return made;
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<uint64_t>(limit)); }
  static Node node(Expression::Kind kind, Node a, Node b) {
    auto made = std::make_unique<Expression>();
    made->kind = kind;
    made->a = std::move(a);
    made->b = std::move(b);
    return made;
  }
  static Node number(int32_t value, Expression::Kind kind = Expression::kNumber) {
    auto made = std::make_unique<Expression>();
    made->kind = kind;
    made->number = value;
    return made;
  }
  Node small() {
    static constexpr int32_t kNumbers[] = {0, 1, 2, 3, 4, 7, 16, 31, 32, 33, 63, 64, 65, 128};
    return number(kNumbers[below(14)]);
  }
  Node leaf() {
    const int kind = below(8);
    if (kind < 3) return number(0, Expression::kThread);
    if (kind < 4) return number(0, Expression::kBlock);
    if (kind < 6) return number(below(kParameters), Expression::kParameter);
    return small();
  }
  Node expression(int depth) {
    if (depth == 0 || below(4) == 0) return leaf();
    static constexpr Expression::Kind kKinds[] = {Expression::kAdd, Expression::kAdd, Expression::kSub,
                                                  Expression::kMul, Expression::kMul, Expression::kShl,
                                                  Expression::kShr, Expression::kAnd, Expression::kRem,
                                                  Expression::kMin, Expression::kMax};
    const Expression::Kind kind = kKinds[below(11)];
    if (kind == Expression::kMul) return node(kind, expression(depth - 1), below(6) == 0 ? leaf() : small());
    if (kind == Expression::kShl || kind == Expression::kShr)
      return node(kind, expression(depth - 1), number(below(7)));
    if (kind == Expression::kAnd) return node(kind, expression(depth - 1), number((1 << below(8)) - 1));
    if (kind == Expression::kRem) return node(kind, expression(depth - 1), number(1 + below(70)));
    return node(kind, expression(depth - 1), expression(depth - 1));
  }
  // Often what kernels use: block * size + thread, or thread + something.
  Node index() {
    Node thread = number(0, Expression::kThread);
    switch (below(6)) {
      case 0:
        return thread;
      case 1:
        return node(Expression::kAdd, std::move(thread), expression(1));
      case 2:
        return node(Expression::kAdd, node(Expression::kMul, number(0, Expression::kBlock), number(kThreads)),
                    std::move(thread));
      case 3:
        return node(Expression::kAdd, node(Expression::kMul, std::move(thread), small()), leaf());
      case 4:
        return node(Expression::kAdd,
                    node(Expression::kMul, number(below(kParameters), Expression::kParameter),
                         number(0, Expression::kBlock)),
                    std::move(thread));
      default:
        return expression(2);
    }
  }

  std::mt19937_64 random_;
};

// Writes a kernel as PTX.
class Writer {
 public:
  static std::string ptx(const RandomKernel& kernel, const std::string& name) {
    Writer writer;
    writer.name_ = name;
    for (const Statement& statement : kernel.statements) writer.statement(statement);
    std::string text = ".visible .entry " + name + "(.param .u64 " + name + "_a, .param .u64 " + name + "_b";
    for (int i = 0; i < kParameters; ++i) text += ", .param .u32 " + name + "_" + std::to_string(i);
    text += ")\n.maxntid " + std::to_string(kThreads) +
            ", 1, 1\n{\n.reg .pred %p<99>;\n.reg .b32 %r<999>;\n.reg .b64 %rd<99>;\n" +
            ".shared .align 4 .b8 cells_" + name + "[512];\n" + "ld.param.u64 %rd1, [" + name +
            "_a];\nld.param.u64 %rd2, [" + name +
            "_b];\ncvta.to.global.u64 %rd1, %rd1;\ncvta.to.global.u64 %rd2, %rd2;\n";
    for (int i = 0; i < kParameters; ++i)
      text += "ld.param.u32 %r" + std::to_string(i + 1) + ", [" + name + "_" + std::to_string(i) + "];\n";
    text += "mov.u32 %r4, %tid.x;\nmov.u32 %r5, %ctaid.x;\nmov.u32 %r6, %nctaid.x;\n";
    return text + writer.text_ + "ret;\n}\n";
  }

 private:
  std::string value(const Expression& e) {
    switch (e.kind) {
      case Expression::kThread:
        return "%r4";
      case Expression::kBlock:
        return "%r5";
      case Expression::kGrid:
        return "%r6";
      case Expression::kParameter:
        return "%r" + std::to_string(e.number + 1);
      case Expression::kNumber:
        return std::to_string(e.number);
      default:
        break;
    }
    static constexpr const char* kOps[] = {"add.s32", "sub.s32", "mul.lo.s32", "shl.b32", "shr.s32",
                                           "and.b32", "rem.u32", "min.s32",    "max.s32"};
    const std::string a = value(*e.a), b = value(*e.b), result = "%r" + std::to_string(next_++);
    text_ += std::string(kOps[e.kind - Expression::kAdd]) + " " + result + ", " + a + ", " + b + ";\n";
    return result;
  }
  void statement(const Statement& s) {
    if (s.kind == Statement::kBarrier) {
      text_ += "bar.sync 0;\n";
      return;
    }
    const std::string end = "$L_" + name_ + "_" + std::to_string(labels_++);
    static constexpr const char* kCompares[] = {"lt.s32", "le.s32", "eq.s32", "ne.s32", "lt.u32", "ge.s32"};
    for (const Guard& guard : s.guards) {
      const std::string a = value(*guard.a), b = value(*guard.b), p = "%p" + std::to_string(predicates_++);
      text_ += std::string("setp.") + kCompares[guard.compare] + " " + p + ", " + a + ", " + b + ";\n@!" + p +
               " bra " + end + ";\n";
    }
    const std::string index = value(*s.index);
    std::string address;
    const std::string space = s.array == 2 ? "shared" : "global";
    if (s.array == 2) {
      const std::string scaled = "%r" + std::to_string(next_++), base = "%r" + std::to_string(next_++);
      text_ += "shl.b32 " + scaled + ", " + index + ", 2;\nmov.u32 " + base + ", cells_" + name_ +
               ";\nadd.s32 " + base + ", " + base + ", " + scaled + ";\n";
      address = base;
    } else {
      const std::string wide = "%rd" + std::to_string(wide_++);
      text_ += "mul.wide.s32 " + wide + ", " + index + ", 4;\nadd.s64 " + wide + ", " + wide + ", %rd" +
               std::to_string(s.array + 1) + ";\n";
      address = wide;
    }
    const std::string result = "%r" + std::to_string(next_++);
    if (s.kind == Statement::kStore)
      text_ += "st." + space + ".u32 [" + address + "], %r4;\n";
    else if (s.kind == Statement::kLoad)
      text_ += "ld." + space + ".u32 " + result + ", [" + address + "];\n";
    else
      text_ += "red." + space + ".add.u32 [" + address + "], 1;\n";
    text_ += end + ":\n";
  }

  std::string name_, text_;
  int next_ = 10, wide_ = 10, predicates_ = 1, labels_ = 0;
};

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
