// glove_derive, glove_project and glove_save as SQL sees them.
#include <gtest/gtest.h>

#include "tests/functions/models.h"

namespace glove::testing {
namespace {

// Around (2, 1), four times as wide along the first axis.
constexpr const char* kCross =
    "east 6 1\n"
    "west -2 1\n"
    "north 2 2\n"
    "south 2 0\n";

class Derivation : public ::testing::Test {
 protected:
  void SetUp() override {
    unload_all(connection);
    connection.rows("SELECT glove_load(" + sql_text(folder.write("cross.txt", kCross)) + ", 'cross')");
  }
  void TearDown() override { unload_all(connection); }

  void derive(const std::string& options, const std::string& model = "cross") {
    EXPECT_EQ(
        connection.value("SELECT glove_derive('new', " + sql_text(options) + ", " + sql_text(model) + ")"),
        "new");
  }
  std::string error(const std::string& options) {
    return connection.error("SELECT glove_derive('new', " + sql_text(options) + ")");
  }
  // The word's vector in the new model, as rounded numbers.
  std::string vector(const std::string& word) {
    return connection.value("SELECT hex(vector) FROM glove_words('new') WHERE word = " + sql_text(word));
  }

  TemporaryFolder folder;
  Connection connection;
};

TEST_F(Derivation, MakesAModelLikeAnyOther) {
  derive(R"({"center":true})");
  EXPECT_EQ(
      connection.rows("SELECT name, is_default, path, words, dims FROM glove_models WHERE name = 'new'"),
      (Rows{{"new", "0", "glove_derive('new')", "4", "2"}}));
  EXPECT_EQ(vector("east"), "0000804000000000");   // 4, 0
  EXPECT_EQ(vector("south"), "00000000000080BF");  // 0, -1
  EXPECT_EQ(connection.value("SELECT neighbor FROM glove_nn('east', NULL, NULL, 'new') WHERE rank = 3"),
            "west");
  EXPECT_EQ(connection.value("SELECT glove_unload('new')"), "new");
}

TEST_F(Derivation, DoesWhatItsOptionsSay) {
  derive("{}");
  EXPECT_EQ(vector("east"), "0000C0400000803F");  // a copy
  derive(R"({"remove":1})");
  EXPECT_EQ(vector("north"), "000000000000803F");  // 0, 1: the first axis is gone
  EXPECT_EQ(vector("east"), "0000000000000000");
  derive(R"({"dims":1})");
  EXPECT_EQ(vector("east"), "0000C040");  // 6: not centred
  derive(R"({"dims":1,"center":true})");
  EXPECT_EQ(vector("east"), "00008040");  // 4
  derive(R"({"remove":1,"dims":1})");
  EXPECT_EQ(vector("south"), "000080BF");  // -1
  derive(R"({"normalize":true,"center":true})");
  EXPECT_EQ(vector("west"), "000080BF00000000");  // -1, 0
  derive(R"({"whiten":true})");
  EXPECT_EQ(
      connection.rows("SELECT round(1000 * variance) FROM glove_pca(2, NULL, 'new') WHERE component > 0"),
      (Rows{{"1000"}, {"1000"}}));
}

// Too many dimensions for principal components, which the mean does not need.
TEST_F(Derivation, CentersWideModels) {
  connection.rows(
      "SELECT glove_load_table('wide', 'SELECT value, ''['' || replace(hex(zeroblob(2048)), ''00'', value || "
      "'','') || ''1]'' FROM json_each(''[1,2,3,6]'')')");
  derive(R"({"center":true,"normalize":true})", "wide");
  EXPECT_EQ(connection.rows("SELECT word, n.x FROM (SELECT word, round(cos_sim(vector, (SELECT vector FROM "
                            "glove_words('new') WHERE word = 6)), 6) AS x FROM glove_words('new')) n"),
            (Rows{{"1", "-1"}, {"2", "-1"}, {"3", "NULL"}, {"6", "1"}}));
  EXPECT_EQ(
      connection.error("SELECT glove_derive('new', '{\"dims\":2}', 'wide')"),
      "glove_derive: the model has 2049 dimensions; principal components are computed for at most 2048");
}

TEST_F(Derivation, WordsAndFitChooseRows) {
  derive(R"({"words":2,"center":true})");
  EXPECT_EQ(connection.rows("SELECT word FROM glove_words('new')"), (Rows{{"east"}, {"west"}}));
  EXPECT_EQ(vector("east"), "0000804000000000") << "the mean is that of all words";
  derive(R"({"fit":2,"center":true})");
  EXPECT_EQ(vector("north"), "000000000000803F");  // less (2, 1), the mean of two
  derive(R"({"fit":["north",null,"nosuchword"],"center":true,"words":["south","NORTH","south"]})");
  EXPECT_EQ(connection.rows("SELECT word, hex(vector) FROM glove_words('new')"),
            (Rows{{"north", "0000000000000000"}, {"south", "00000000000000C0"}}));
}

TEST_F(Derivation, ProjectMapsRowsToRows) {
  for (const char* options : {"{}", R"({"center":true})", R"({"remove":1})", R"({"dims":1})",
                              R"({"whiten":true,"normalize":true})"}) {
    derive(options);
    EXPECT_EQ(
        connection.value("SELECT sum(glove_project(a.vector, 'new') IS b.vector) FROM glove_words('cross') "
                         "a JOIN glove_words('new') b ON b.word = a.word"),
        "4")
        << options;
  }
  EXPECT_EQ(connection.value("SELECT glove_project(NULL, 'new')"), "NULL");
  EXPECT_EQ(connection.value("SELECT glove_project(NULL, 'cross')"), "NULL");
}

TEST_F(Derivation, SurvivesInAFile) {
  derive(R"({"dims":1,"whiten":true})");
  const std::string path = sql_text(folder.path("new.safetensors"));
  EXPECT_EQ("'" + connection.value("SELECT glove_save('new', " + path + ")") + "'", path);
  connection.rows("SELECT glove_load(" + path + ", 'again', '{\"verify\":true}')");
  EXPECT_EQ(connection.rows("SELECT word, vector FROM glove_words('again')"),
            connection.rows("SELECT word, vector FROM glove_words('new')"));
  EXPECT_EQ(connection.value("SELECT sum(glove_project(vector, 'again') IS glove_project(vector, 'new')) "
                             "FROM glove_words('cross')"),
            "4");
  EXPECT_EQ(connection.value("SELECT glove_save('again', " + path + ")"), folder.path("new.safetensors"))
      << "over the file that it is mapped from";
  EXPECT_EQ(connection.rows("SELECT neighbor FROM glove_nn('east', NULL, NULL, 'again')"), (Rows{{"west"}}))
      << "the others have no direction any more";
}

TEST_F(Derivation, IntegerKeysStayIntegers) {
  connection.rows("SELECT glove_load_table('rows', 'SELECT 10, ''[1,0]'' UNION ALL SELECT 20, ''[0,1]''')");
  derive(R"({"center":true})", "rows");
  const std::string path = sql_text(folder.path("keys.safetensors"));
  connection.rows("SELECT glove_save('new', " + path + ")");
  connection.rows("SELECT glove_load(" + path + ", 'again')");
  for (const char* model : {"new", "again"})
    EXPECT_EQ(connection.rows("SELECT typeof(neighbor), neighbor FROM glove_nn(10, NULL, 1, " +
                              sql_text(model) + ")"),
              (Rows{{"integer", "20"}}));
}

TEST_F(Derivation, MayReplaceTheModelThatItIsMadeOf) {
  connection.rows("SELECT glove_derive('cross', '{\"dims\":1}')");
  connection.rows("SELECT glove_derive('cross', '{\"center\":true}', 'cross')");
  EXPECT_EQ(connection.rows("SELECT name, dims FROM glove_models"), (Rows{{"cross", "1"}}));
}

TEST_F(Derivation, ErrorsNameTheValue) {
  EXPECT_EQ(error("[]"),
            "glove_derive: the options must be a JSON object such as {\"whiten\":true}, but are: []");
  EXPECT_EQ(error(R"({"whitening":true})"),
            "glove_derive: unknown option \"whitening\"; the options are: center, remove, dims, whiten, "
            "normalize, words, fit");
  EXPECT_EQ(error(R"({"remove":-1})"),
            "glove_derive: option \"remove\" is -1, but must be a non-negative integer");
  EXPECT_EQ(error(R"({"dims":0})"), "glove_derive: option \"dims\" is 0, but must be a positive integer");
  EXPECT_EQ(error(R"({"dims":1.5})"), "glove_derive: option \"dims\" is 1.5, but must be a positive integer");
  EXPECT_EQ(error(R"({"remove":1,"dims":2})"),
            "glove_derive: remove 1 and dims 2 need more than the 2 dimensions that the model has");
  EXPECT_EQ(error(R"({"whiten":1})"), "glove_derive: option \"whiten\" is 1, but must be true or false");
  const std::string rows = ", but must be a non-negative integer n (the first n words) or an array of words";
  EXPECT_EQ(error(R"({"words":"all"})"), "glove_derive: option \"words\" is \"all\"" + rows);
  EXPECT_EQ(error(R"({"fit":-1})"), "glove_derive: option \"fit\" is -1" + rows);
  EXPECT_EQ(error(R"({"center":true,"fit":["east",{}]})"),
            "glove_derive: element 2 of fit must be a word or NULL, but has the JSON type object");
  EXPECT_EQ(error(R"({"normalize":true,"fit":["east",{}]})"),
            "glove_derive: element 2 of fit must be a word or NULL, but has the JSON type object")
      << "although the map needs no fit";
  constexpr size_t kDepth = 100000;
  EXPECT_EQ(error("{\"center\":true,\"fit\":" + std::string(kDepth, '[') + std::string(kDepth, ']') + "}"),
            "glove_derive: element 1 of fit must be a word or NULL, but has the JSON type array");
  EXPECT_EQ(error(R"({"center":true,"fit":0})"), "glove_derive: there is no row to compute a mean of");
  EXPECT_EQ(error(R"({"remove":1,"fit":0})"),
            "glove_derive: there is no row to compute principal components of");
  EXPECT_EQ(error(R"({"words":["nosuchword"]})"), "glove_derive('new'): there is no row to make a model of");
  EXPECT_EQ(connection.error("SELECT glove_derive('', '{}')"), "glove_derive: the name must not be empty");
  EXPECT_EQ(connection.error("SELECT glove_derive('new', NULL)"),
            "glove_derive: the options must be text, not NULL");
  EXPECT_EQ(connection.error("SELECT glove_derive('new', '{}', 'nosuch')"),
            "there is no model 'nosuch'; the loaded models are: 'cross'");
  EXPECT_EQ(connection.value("SELECT count(*) FROM glove_models"), "1") << "nothing was added";
}

TEST_F(Derivation, ErrorsOfProjectAndSave) {
  derive(R"({"dims":1})");
  const auto project = [&](const std::string& arguments) {
    return connection.error("SELECT glove_project(" + arguments + ")");
  };
  EXPECT_EQ(project("x'0000803f', 'new'"),
            "glove_project: the vector has 1 component, but the model was derived from vectors of 2");
  EXPECT_EQ(project("x'', 'new'"),
            "glove_project: the vector has 0 components, but the model was derived from vectors of 2");
  EXPECT_EQ(project("x'00', 'new'"),
            "glove_project: the vector is a BLOB of 1 byte; a float32 vector has 4 bytes per component");
  EXPECT_EQ(project("x'0000803f0000c07f', 'new'"),
            "glove_project: component 2 of the vector is NaN; every component must be finite");
  EXPECT_EQ(project("'east', 'new'"),
            "glove_project: the vector must be a BLOB of float32, such as glove_vec returns, or a JSON array "
            "of numbers");
  EXPECT_EQ(project("x'0000803f0000803f', 'cross'"),
            "glove_project: the model 'cross' has no derivation; name a model that glove_derive has made");
  EXPECT_EQ(project("x'0000803f0000803f', NULL").substr(0, 27), "glove_project: the model '/");
  EXPECT_EQ(project("x'ffff7f7fffff7f7f', 'white'"),
            "there is no model 'white'; the loaded models are: 'cross', 'new'");
  EXPECT_EQ(connection.error("SELECT glove_save('new', '')"),
            "glove_save: the path must not be empty or contain a NUL byte");
  EXPECT_EQ(connection.error("SELECT glove_save('nosuch', 'f')"),
            "there is no model 'nosuch'; the loaded models are: 'cross', 'new'");
  EXPECT_NE(connection.error("SELECT glove_save('new', '/no/such/directory/f')").find("/no/such/directory"),
            std::string::npos);
  EXPECT_EQ(connection.error("SELECT glove_save(NULL, 'f')"), "glove_save: the name must be text, not NULL");
}

TEST_F(Derivation, ATooLargeResultIsAnError) {
  connection.rows(
      "SELECT glove_load_table('small', 'SELECT 1, ''[1e-20,0]'' UNION ALL SELECT 2, ''[-1e-20,0]''')");
  derive(R"({"whiten":true})", "small");
  EXPECT_EQ(connection.error("SELECT glove_project(x'ffff7f7f00000000', 'new')"),
            "glove_project: component 1 of the result is too large for float32; use a shorter vector");
}

// A^T A of the four rows is ((48, 8), (8, 6)).
TEST_F(Derivation, AtaxMultipliesByTheModelTwice) {
  EXPECT_EQ(connection.value("SELECT hex(glove_atax(x'0000803f00000000'))"), "0000404200000041");  // 48, 8
  EXPECT_EQ(connection.value("SELECT hex(glove_atax(x'000000000000803f', 'cross'))"),
            "000000410000C040");  // 8, 6
  EXPECT_EQ(connection.value("SELECT hex(glove_atax(x'0000000000000000', 'cross'))"), "0000000000000000");
  EXPECT_EQ(connection.value("SELECT glove_atax(NULL)"), "NULL");
  EXPECT_EQ(connection.error("SELECT glove_atax(x'0000803f')"),
            "glove_atax: the vector has 1 component, but the model 'cross' has 2 dimensions");
  EXPECT_EQ(connection.error("SELECT glove_atax('east')"),
            "glove_atax: the vector must be a BLOB of float32, such as glove_vec returns, or a JSON array of "
            "numbers");
  EXPECT_EQ(connection.error("SELECT glove_atax(x'ffff7f7f00000000')"),
            "glove_atax: component 1 of the result is too large for float32; use a shorter vector");
  EXPECT_EQ(connection.error("SELECT glove_atax(x'0000803f', 'nosuch')"),
            "there is no model 'nosuch'; the loaded models are: 'cross'");
}

// A power iteration finds the first component. A derivation that only normalises keeps the vector's length.
TEST_F(Derivation, AtaxIteratesInARecursiveQuery) {
  derive(R"({"normalize":true})");
  EXPECT_EQ(
      connection.value("WITH RECURSIVE step(i, v) AS (SELECT 1, x'0000803f0000803f' UNION ALL SELECT i + 1, "
                       "glove_project(glove_atax(v, 'cross'), 'new') FROM step WHERE i < 50) "
                       "SELECT abs(cos_sim(v, (SELECT vector FROM glove_pca(1, NULL, 'cross', NULL, "
                       "'{\"center\":false}') WHERE component = 1)) - 1) < 1e-6 FROM step WHERE i = 50"),
      "1");
}

}  // namespace
}  // namespace glove::testing
