// Random kernels without loops, and their PTX.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

constexpr uint32_t kThreads = 64;
constexpr int kParameters = 3;

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
