// The grammar of expressions, and the text of every error.
#include "search/expression.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "tests/loader/random.h"

namespace glove {
namespace {

std::string spell(const Result<std::vector<Term>>& parsed) {
  if (!parsed.ok()) return parsed.error().message;
  std::ostringstream out;
  for (const Term& term : parsed.value())
    out << (out.tellp() > 0 ? " " : "") << term.weight << "*[" << term.word << "]";
  return out.str();
}

struct Case {
  const char* text;
  const char* wanted;
};

TEST(Expression, Infix) {
  const Case cases[] = {
      {"king", "1*[king]"},
      {"king - man + woman", "1*[king] -1*[man] 1*[woman]"},
      {"  king\t-\nman ", "1*[king] -1*[man]"},
      {"- king + man", "-1*[king] 1*[man]"},
      {"+ king", "1*[king]"},
      {"2 * king", "2*[king]"},
      {"-2 * king", "-2*[king]"},
      {"- -2 * king", "2*[king]"},
      {"king + .5 * man - 1e2 * woman", "1*[king] 0.5*[man] -100*[woman]"},
      {"+1.5E-1 * king", "0.15*[king]"},
      {"0 * king", "0*[king]"},
      {"2 * (paris - france) + \"new york\"", "2*[paris] -2*[france] 1*[new york]"},
      {"(king)", "1*[king]"},
      {"(-king)", "1*[-king]"},
      {"(- king)", "-1*[king]"},
      {"a - (b - (c - 3 * (d - e)))", "1*[a] -1*[b] 1*[c] -3*[d] 3*[e]"},
      {"well-known + c++ - a*b", "1*[well-known] 1*[c++] -1*[a*b]"},
      {"\"+\" + \"2\" - \"(\"", "1*[+] 1*[2] -1*[(]"},
      {"\"say \"\"hi\"\"\" + rock\"n\"roll", "1*[say \"hi\"] 1*[rock\"n\"roll]"},
      {"\"\" + king", "1*[] 1*[king]"},
      {"2nd + inf + nan + 0x10 + . + e5", "1*[2nd] 1*[inf] 1*[nan] 1*[0x10] 1*[.] 1*[e5]"},
      {"king + king", "1*[king] 1*[king]"},
      {"n\xc2\xa0"
       "b + \xe2\x88\x92",
       "1*[n\xc2\xa0"
       "b] 1*[\xe2\x88\x92]"},
  };
  for (const Case& c : cases) EXPECT_EQ(spell(parse_expression(c.text)), c.wanted) << c.text;
}

TEST(Expression, OperatorsBetweenBrackets) {
  EXPECT_EQ(spell(parse_expression("((a)-(b))")), "1*[a] -1*[b]");
  EXPECT_EQ(spell(parse_expression("2 *(a + b)")), "2*[a] 2*[b]");
}

TEST(Expression, Postfix) {
  const Case cases[] = {
      {"king man -", "1*[king] -1*[man]"},
      {"king man - woman +", "1*[king] -1*[man] 1*[woman]"},
      {"king man woman - -", "1*[king] -1*[man] 1*[woman]"},
      {"2 king * man -", "2*[king] -1*[man]"},
      {"king 2 * man -", "2*[king] -1*[man]"},
      {"king 3 2 man woman + * * -", "1*[king] -6*[man] -6*[woman]"},
      {"\"new york\" \"-\" +", "1*[new york] 1*[-]"},
  };
  for (const Case& c : cases) EXPECT_EQ(spell(parse_expression(c.text)), c.wanted) << c.text;
}

TEST(Expression, Errors) {
  const std::string postfix = "an expression that ends in an operator is read as postfix";
  const std::string spaces =
      "put white space around operators, and quote a word that contains spaces: \"new york\"";
  const std::pair<std::string, std::string> cases[] = {
      {"", "it is empty; write words joined by '+' and '-': king - man + woman"},
      {" \t", "it is empty; write words joined by '+' and '-': king - man + woman"},
      {"king man", "expected '+', '-', ')' or the end, but found 'man' at byte 6; " + spaces},
      {"king -man", "expected '+', '-', ')' or the end, but found '-man' at byte 6; " + spaces},
      {"king * man", "expected '+', '-', ')' or the end, but found '*' at byte 6; " + spaces},
      {"king + + man", "expected a word, a quoted word or '(', but found '+' at byte 8"},
      {"- - king", "expected a word, a quoted word or '(', but found '-' at byte 3"},
      {"king + )", "expected a word, a quoted word or '(', but found ')' at byte 8"},
      {"()", "expected a word, a quoted word or '(', but found ')' at byte 2"},
      {"2 * 3 * king", "expected a word, a quoted word or '(', but found '3' at byte 5"},
      {"1984 - war",
       "the number '1984' at byte 1 is not followed by '*'; write 1984 * and a word to use it as a weight, "
       "or \"1984\" to use it as a word"},
      {"king - 7",
       "the number '7' at byte 8 is not followed by '*'; write 7 * and a word to use it as a weight, or "
       "\"7\" to use it as a word"},
      {"(king - man", "the bracket at byte 1 is never closed; add ')'"},
      {"a + (b - (c)", "the bracket at byte 5 is never closed; add ')'"},
      {"king) - man", "')' at byte 5 closes no bracket; remove it, or write '(' before it"},
      {"king - \"new york", "the quote at byte 8 is never closed; add a closing quote"},
      {"\"king\"s", "the closing quote at byte 6 is followed by 's'; write white space after it"},
      {"1e999 * king",
       "the number '1e999' at byte 1 is outside the range of a double; write one that is nearer to 1"},
      {"1e-999 * king",
       "the number '1e-999' at byte 1 is outside the range of a double; write one that is nearer to 1"},
      {"king -", "the operator '-' at byte 6 needs two operands before it; " + postfix +
                     ", such as king man - woman +"},
      {"+", "the operator '+' at byte 1 needs two operands before it; " + postfix +
                ", such as king man - woman +"},
      {"a b c +", "an operator is missing after '+' at byte 7; " + postfix + ", such as king man - woman +"},
      {"(a b -) c +", "'(' at byte 1 is not allowed here, because " + postfix +
                          "; remove the brackets, or the operator at the end"},
      {"a b *", "the operator '*' at byte 5 needs one number and one word before it, such as 2 king *"},
      {"2 3 *", "the operator '*' at byte 5 needs one number and one word before it, such as 2 king *"},
      {"a 2 +",
       "the operator '+' at byte 5 needs two words before it; quote a word that looks like a number: \"2\""},
      {"2.5 a -",
       "the operator '-' at byte 7 needs two words before it; quote a word that looks like a number: "
       "\"2.5\""},
  };
  for (const auto& [text, problem] : cases) {
    const auto parsed = parse_expression(text);
    EXPECT_EQ(spell(parsed), "expression '" + text + "': " + problem);
    if (!parsed.ok()) {
      EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
    }
  }
}

TEST(Expression, LongTextsAreShortenedInErrors) {
  const std::string text = std::string(500, 'x') + " y";
  EXPECT_TRUE(
      parse_expression(text).error().message.starts_with("expression '" + std::string(200, 'x') + "...': "));
}

TEST(Expression, DepthIsLimitedByMemoryOnly) {
  const size_t depth = 1'000'000;
  std::string text(depth, '(');
  text += "king" + std::string(depth, ')');
  EXPECT_EQ(spell(parse_expression(text)), "1*[king]");
  std::string postfix = "a";
  for (size_t i = 0; i < depth; ++i) postfix += " b";
  for (size_t i = 0; i < depth; ++i) postfix += " -";
  EXPECT_EQ(parse_expression(postfix).value().size(), depth + 1);
}

TEST(Expression, StartsWithOperator) {
  for (const char* text : {"- man", " + man", "+", "-", "\t- (a)"})
    EXPECT_TRUE(starts_with_operator(text)) << text;
  for (const char* text : {"man - king", "-man", "", "  ", "* a", "\"-\" + a", "(- a)", "\"", "1e999"})
    EXPECT_FALSE(starts_with_operator(text)) << text;
}

// An expression tree, written in both forms; the terms must agree, and agree with the tree.
struct Tree {
  std::string infix, postfix;
  std::vector<std::string> words;
};
Tree random_tree(std::mt19937_64& random, int depth) {
  if (depth == 0 || random() % 4 == 0) {
    const std::string word = std::string("w").append(std::to_string(random() % 100));
    return {word, word, {word}};
  }
  Tree left = random_tree(random, depth - 1);
  if (random() % 4 == 0) {
    const std::string number = std::to_string(random() % 9 + 1) + ".5";
    return {"(" + number + " * (" + left.infix + "))", number + " " + left.postfix + " *", left.words};
  }
  const Tree right = random_tree(random, depth - 1);
  const std::string sign = random() % 2 ? "+" : "-";
  left.words.insert(left.words.end(), right.words.begin(), right.words.end());
  return {"(" + left.infix + " " + sign + " " + right.infix + ")",
          left.postfix + " " + right.postfix + " " + sign, left.words};
}

TEST(Expression, InfixAndPostfixAgree) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = testing::random_source();
  for (int i = 0; i < 2000; ++i) {
    const Tree tree = random_tree(random, 6);
    const auto infix = parse_expression(tree.infix);
    const auto postfix = parse_expression(tree.postfix);
    ASSERT_EQ(spell(infix), spell(postfix)) << tree.infix << " / " << tree.postfix;
    ASSERT_EQ(infix.value().size(), tree.words.size());
    for (size_t t = 0; t < tree.words.size(); ++t) {
      ASSERT_EQ(infix.value()[t].word, tree.words[t]);
      ASSERT_EQ(infix.value()[t].weight, postfix.value()[t].weight);
    }
  }
}

TEST(Expression, RandomBytesNeverCrash) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = testing::random_source();
  const std::string alphabet = "ab1.e+-*()\"  \n\xff";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (uint64_t length = random() % 24; length > 0; --length) text += alphabet[random() % alphabet.size()];
    const auto parsed = parse_expression(text);
    if (parsed.ok()) {
      EXPECT_FALSE(parsed.value().empty()) << text;
    }
    starts_with_operator(text);
  }
}

}  // namespace
}  // namespace glove
