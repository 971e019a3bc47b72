// Relations between parameters and the sizes of block and grid:
//
//   relation = sum, "<" | "<=" | ">" | ">=" | "==" | "!=", sum
//   sum = ["-"], product, { "+" | "-", product }
//   product = factor, { "*", factor }
//   factor = number | "block_x" ... "grid_z" | the name of a parameter
#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

#include "launch/launch_file.h"

namespace glove::verify {
namespace {

constexpr int64_t kMostFactor = int64_t{1} << 31;

class RelationParser {
 public:
  RelationParser(Relation* out, const Launch& launch) : out_(*out), text_(out->text), launch_(launch) {}

  std::optional<RelationError> run() {
    out_.left = sum();
    const size_t begin = (peek(), at_);
    at_ = std::min(text_.find_first_not_of("<>=!", at_), text_.size());
    out_.compare = text_.substr(begin, at_ - begin);
    constexpr std::string_view kComparisons[] = {"<", "<=", ">", ">=", "==", "!="};
    if (std::ranges::find(kComparisons, out_.compare) == std::end(kComparisons))
      fail(begin, "one of <, <=, >, >=, == and != belongs here");
    out_.right = sum();
    if (peek() != 0) fail(at_, "a relation ends before this");
    return error_;
  }

 private:
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char sign) {
    if (peek() != sign) return false;
    ++at_;
    return true;
  }
  void fail(size_t at, const std::string& what) {
    if (!error_) error_ = RelationError{at, what};
    at_ = text_.size();
  }

  std::vector<Relation::Product> sum() {
    std::vector<Relation::Product> sum;
    bool negative = accept('-');
    do {
      sum.push_back(product());
      if (negative) sum.back().factor *= -1;
      negative = peek() == '-';
    } while (accept('+') || accept('-'));
    return sum;
  }

  Relation::Product product() {
    Relation::Product product;
    const size_t begin = (peek(), at_);
    unsigned bytes = 0;
    do {
      factor(&product);
    } while (accept('*'));
    for (const Relation::Unknown& unknown : product.unknowns) bytes += unknown.bytes;
    if (bytes > 8) fail(begin, "a product has at most two numbers that are not known, or one of 64 bits");
    return product;
  }

  void factor(Relation::Product* product) {
    const bool is_number = std::isdigit(static_cast<unsigned char>(peek())) != 0;
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    const std::string word = text_.substr(begin, at_ - begin);
    if (word.empty()) return fail(begin, "a number or a name belongs here");
    if (!is_number) return name(word, begin, product);
    int64_t number = 0;
    const auto [end, wrong] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (end != word.data() + word.size()) return fail(begin, "'" + word + "' is no number in decimal digits");
    multiply(wrong == std::errc() ? number : kMostFactor + 1, begin, product);
  }

  void multiply(int64_t number, size_t at, Relation::Product* product) {
    if (number > kMostFactor || (number > 0 && product->factor > kMostFactor / number))
      return fail(at, "the numbers of a product must not make more than 2^31");
    product->factor *= number;
  }

  void name(const std::string& word, size_t at, Relation::Product* product) {
    for (size_t axis = 0; axis < 3; ++axis) {
      const std::string suffix = std::string("_") + "xyz"[axis];
      if (word == "block" + suffix) return multiply(std::max(launch_.block[axis], 1u), at, product);
      if (word != "grid" + suffix) continue;
      product->unknowns.push_back({.axis = axis});
      return;
    }
    const auto found = std::ranges::find(launch_.parameters, word, &ParameterValue::name);
    if (found == launch_.parameters.end())
      return fail(at, "nothing is called '" + word +
                          "'; there are block_x to grid_z, and parameters with u32, "
                          "s32, u64 or s64 = \"" +
                          word + "\"");
    product->unknowns.push_back({.offset = found->offset,
                                 .bytes = static_cast<unsigned>(found->bytes),
                                 .is_signed = found->is_signed});
  }

  Relation& out_;
  const std::string& text_;
  const Launch& launch_;
  size_t at_ = 0;
  std::optional<RelationError> error_;
};

}  // namespace

std::optional<RelationError> read_relation(Relation* relation, const Launch& launch) {
  return RelationParser(relation, launch).run();
}

std::optional<bool> holds(const Relation& relation, const Launch& launch) {
  bool known = true;
  const auto sum = [&](const std::vector<Relation::Product>& side) {
    int64_t total = 0;
    for (const Relation::Product& product : side) {
      int64_t number = product.factor;
      for (const Relation::Unknown& unknown : product.unknowns)
        unknown.axis ? number *= launch.grid[*unknown.axis] : known = false;
      total += number;
    }
    return total;
  };
  const int64_t a = sum(relation.left), b = sum(relation.right);
  if (!known) return std::nullopt;
  const bool equal = a == b, less = a < b;
  if (relation.compare == "==" || relation.compare == "!=") return equal == (relation.compare == "==");
  return relation.compare[0] == '<' ? less || (equal && relation.compare == "<=")
                                    : !less && (!equal || relation.compare == ">=");
}

}  // namespace glove::verify
