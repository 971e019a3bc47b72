// cos_sim: values to the last bit, NULLs, errors, constant arguments.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "model/exact_dot.h"
#include "tests/float_settings.h"
#include "tests/functions/models.h"
#include "tests/loader/random.h"

namespace glove::testing {
namespace {

using Vector = std::vector<float>;

std::string blob(const Vector& vector) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "x'";
  for (const float component : vector) {
    unsigned char bytes[sizeof component];
    std::memcpy(bytes, &component, sizeof component);
    for (const unsigned char byte : bytes) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text + "'";
}

// The specification of a similarity, written out again.
double reference(const Vector& a, const Vector& b) {
  const auto dot = [](const Vector& x, const Vector& y) {
    double p[8] = {};
    for (size_t j = 0; j < x.size(); ++j) p[j % 8] += static_cast<double>(x[j]) * static_cast<double>(y[j]);
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
  };
  const double cosine = dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
  return std::fmin(1.0, std::fmax(-1.0, cosine));
}

double cosine_in_sql(Connection& connection, const Vector& a, const Vector& b) {
  return std::stod(connection.value("SELECT cos_sim(" + blob(a) + ", " + blob(b) + ")"));
}

class CosSim : public TinyModelTest {};

TEST_F(CosSim, OfTwoWords) {
  EXPECT_EQ(std::stod(connection.value("SELECT cos_sim('king', 'queen')")), 11 / std::sqrt(9.0 * 14.0));
  EXPECT_EQ(connection.value("SELECT cos_sim('king', 'king')"), "1");
}

TEST_F(CosSim, OfWordsAndVectors) {
  EXPECT_EQ(connection.value("SELECT cos_sim('king', " + blob({1, 2, 3}) + ") = cos_sim('king', 'queen')"),
            "1");
  EXPECT_EQ(connection.value("SELECT cos_sim(" + blob({1, 2, 3}) + ", 'king') = cos_sim('king', 'queen')"),
            "1");
}

TEST_F(CosSim, LooksUpExactBytesFirstThenLowerCase) {
  EXPECT_EQ(connection.value("SELECT cos_sim('KING', 'king')"), "1");
  EXPECT_EQ(connection.value("SELECT cos_sim('Paris', 'paris') = cos_sim(" + blob({0, 3, 4}) + "," +
                             blob({0, 4, 3}) + ")"),
            "1");
  EXPECT_EQ(connection.value("SELECT cos_sim('PARIS', 'paris')"), "1");
}

TEST_F(CosSim, IsNullForNullUnknownAndZero) {
  for (const char* arguments :
       {"NULL, 'king'", "'king', NULL", "NULL, NULL", "'king', 'nosuchword'", "'nosuchword', x'0000803f'",
        "'king', 'zero'", "'zero', 'zero'", "'king', x'000000000000000000000000'", "x'', x''", "12, 'king'"})
    EXPECT_EQ(connection.value("SELECT cos_sim(" + std::string(arguments) + ")"), "NULL") << arguments;
}

TEST_F(CosSim, Errors) {
  const auto error = [this](const std::string& arguments) {
    return connection.error("SELECT cos_sim(" + arguments + ")");
  };
  EXPECT_EQ(error("'king', x'0000803f00'"),
            "cos_sim: the second argument is a BLOB of 5 bytes; a float32 vector has 4 bytes per component");
  EXPECT_EQ(error("x'00', 'king'"),
            "cos_sim: the first argument is a BLOB of 1 byte; a float32 vector has 4 bytes per component");
  EXPECT_EQ(error("'king', " + blob({1, 2})),
            "cos_sim: the arguments must have the same number of components, but have 3 and 2");
  EXPECT_EQ(error(blob({1}) + ", " + blob({1, 2})),
            "cos_sim: the arguments must have the same number of components, but have 1 and 2");
  EXPECT_EQ(error(blob({1, NAN}) + ", " + blob({1, 2})),
            "cos_sim: component 2 of the first argument is NaN; every component must be finite");
  EXPECT_EQ(error(blob({1, 1}) + ", " + blob({-INFINITY, 2})),
            "cos_sim: component 1 of the second argument is infinite; every component must be finite");
  EXPECT_EQ(error("'king', 'queen', 'nosuch'"), "there is no model 'nosuch'; the loaded models are: 'tiny'");
  EXPECT_EQ(error(blob({1}) + ", " + blob({1}) + ", 'nosuch'"),
            "there is no model 'nosuch'; the loaded models are: 'tiny'");
  EXPECT_EQ(error("'king', 'queen', x'00'"),
            "cos_sim: the model must be text, not a BLOB; use CAST(... AS TEXT)");
  EXPECT_EQ(error("'king'"), "wrong number of arguments to function cos_sim()");
}

TEST(CosSimWithoutModels, VectorsNeedNone) {
  Connection connection;
  unload_all(connection);
  EXPECT_EQ(connection.value("SELECT cos_sim(" + blob({3, 4}) + ", " + blob({4, 3}) + ")"),
            "0.95999999999999996");
  EXPECT_EQ(connection.value("SELECT cos_sim(NULL, 'king')"), "NULL");
  EXPECT_EQ(connection.error("SELECT cos_sim('king', 'queen')"),
            "no model is loaded; load one with SELECT glove_load('FILE') or set GLOVE_MODEL=FILE");
}

TEST_F(CosSim, NamesTheModel) {
  connection.rows(
      "SELECT glove_load_table('other', 'SELECT ''king'', ''[0,1]'' UNION ALL SELECT ''queen'', ''[1,1]''')");
  EXPECT_EQ(std::stod(connection.value("SELECT cos_sim('king', 'queen', 'other')")), 1 / std::sqrt(2.0));
  EXPECT_EQ(connection.value("SELECT cos_sim('king', 'queen', NULL) = cos_sim('king', 'queen', 'tiny')"),
            "1");
  // The model may change from row to row while the words are constants that are kept between rows.
  const Rows rows = connection.rows(
      "WITH m(name) AS (VALUES ('tiny'), ('other'), ('tiny')) "
      "SELECT cos_sim('king', 'queen', name) = iif(name = 'tiny', 11 / sqrt(126.0), 1 / sqrt(2.0)) FROM m");
  EXPECT_EQ(rows, (Rows{{"1"}, {"1"}, {"1"}}));
}

TEST_F(CosSim, NoticesThatAConstantsModelWasReplaced) {
  // The load happens between the rows of one statement.
  const std::string other = folder.write("other.txt", "king 0 1 0\nqueen 0 1 1\n");
  const Rows rows = connection.rows(
      "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3) "
      "SELECT iif(i = 2, glove_load(" +
      sql_text(other) + ", 'tiny'), ''), round(cos_sim('king', iif(i > 0, 'queen', '')), 6) FROM n");
  EXPECT_EQ(rows, (Rows{{"", "0.979958"}, {"tiny", "0.70710700000000004"}, {"", "0.70710700000000004"}}));
}

TEST_F(CosSim, RandomVectorsHaveTheSpecifiedBits) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (int round = 0; round < 200; ++round) {
    const size_t dims = 1 + random() % 67;
    std::normal_distribution<float> normal;
    const float scale = std::exp2(static_cast<float>(static_cast<int>(random() % 160) - 80));
    Vector a(dims), b(dims);
    for (float& component : a) component = normal(random) * scale;
    for (float& component : b) component = normal(random);
    EXPECT_EQ(cosine_in_sql(connection, a, b), reference(a, b)) << "dims " << dims;
    EXPECT_EQ(cosine_in_sql(connection, b, a), reference(a, b));
    EXPECT_EQ(cosine_in_sql(connection, a, a), 1.0);
  }
}

TEST_F(CosSim, OfAVectorWithItselfIsOneAtAnyNorm) {
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  std::normal_distribution<float> normal;
  for (const float norm : {1e30F, 1e-30F, 1e38F, 1e-38F, 1e-42F}) {
    std::string model;
    Vector vector(100);
    for (float& component : vector) component = normal(random) * (norm * 0.1F);
    EXPECT_EQ(cosine_in_sql(connection, vector, vector), 1.0) << norm;
    char text[40];
    model = "w";
    for (const float component : vector) {
      std::snprintf(text, sizeof text, " %.9g", static_cast<double>(component));
      model += text;
    }
    connection.rows("SELECT glove_load(" + sql_text(folder.write("norms.txt", model + "\n")) + ", 'norms')");
    EXPECT_EQ(connection.value("SELECT cos_sim('w', 'w', 'norms')"), "1") << norm;
    EXPECT_EQ(connection.value("SELECT cos_sim('w', vector, 'norms') FROM glove_words('norms')"), "1")
        << norm;
  }
}

#if defined(GLOVE_HAS_FLOAT_SETTINGS)
TEST_F(CosSim, IgnoresTheHostsFloatEnvironment) {
  const Vector a = {1e-40F, 2e-41F, 1e-39F}, b = {3e-40F, 1e-38F, 2e-44F};
  const double expected = reference(a, b);
  const std::string words = connection.value("SELECT cos_sim('king', 'woman')");
  const std::string vector = connection.value("SELECT glove_vec('king - man')");
  const uint64_t saved = host::float_settings();
  for (const uint64_t bits : {host::kDenormalsFlushed, host::kRoundUp}) {
    host::set_float_settings(saved | bits);
    const Rows rows = connection.rows("SELECT cos_sim(" + blob(a) + ", " + blob(b) +
                                      "), cos_sim('king', 'woman'), glove_vec('king - man')");
    const uint64_t after = host::float_settings();
    host::set_float_settings(saved);
    ASSERT_EQ(rows.size(), 1U);
    // Compared as numbers, because printf rounds the 17th digit according to the host's settings.
    EXPECT_EQ(std::stod(rows[0][0]), expected);
    EXPECT_EQ(std::stod(rows[0][1]), std::stod(words));
#if defined(__x86_64__)  // whose printf does not
    EXPECT_EQ(rows[0][1], words);
#endif
    EXPECT_EQ(rows[0][2], vector);
    EXPECT_EQ(after, saved | bits) << "the host's settings must come back";
  }
}
#endif

}  // namespace
}  // namespace glove::testing
