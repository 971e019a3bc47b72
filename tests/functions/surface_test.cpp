// Pins what SQL sees of the extension: a change of any name, argument count, flag or column must also be made
// here and in docs/sql.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "tests/functions/connection.h"

namespace glove::testing {
namespace {

// 2048 = DETERMINISTIC, 524288 = DIRECTONLY, 1048576 = SUBTYPE, 2097152 = INNOCUOUS.
constexpr const char* kFunctions =
    "SELECT name, narg, type, flags & (2048 | 524288 | 2097152) FROM pragma_function_list ORDER BY name, "
    "narg";

Rows difference(Rows with, Rows without) {
  Rows result;
  std::ranges::set_difference(with, without, std::back_inserter(result));
  return result;
}

Rows sorted(Rows rows) {
  std::ranges::sort(rows);
  return rows;
}

TEST(Surface, Functions) {
  Connection plain(":memory:", false);
  Connection with_glove;
  const Rows expected = {
      {"cos_sim", "2", "s", "2048"},
      {"cos_sim", "3", "s", "2048"},
      {"dot_product", "2", "s", "2048"},
      {"dot_product", "3", "s", "2048"},
      {"glove_atax", "1", "s", "2048"},
      {"glove_atax", "2", "s", "2048"},
      {"glove_attach", "0", "s", "524288"},
      {"glove_attach", "1", "s", "524288"},
      {"glove_bf16", "1", "s", "2099200"},
      {"glove_config", "1", "s", "524288"},
      {"glove_config", "2", "s", "524288"},
      {"glove_convolve", "2", "s", "2099200"},
      {"glove_density", "2", "a", "2099200"},
      {"glove_density", "3", "a", "2099200"},
      {"glove_derive", "2", "s", "524288"},
      {"glove_derive", "3", "s", "524288"},
      {"glove_encode", "1", "s", "0"},
      {"glove_encode", "2", "s", "0"},
      {"glove_encode", "3", "s", "0"},
      {"glove_expand", "2", "s", "2048"},
      {"glove_expand", "3", "s", "2048"},
      {"glove_expand", "4", "s", "2048"},
      {"glove_f16", "1", "s", "2099200"},
      {"glove_f32", "2", "s", "2099200"},
      {"glove_i8", "1", "s", "2099200"},
      {"glove_i8", "2", "s", "2099200"},
      {"glove_keys", "-1", "a", "2099200"},
      {"glove_load", "1", "s", "524288"},
      {"glove_load", "2", "s", "524288"},
      {"glove_load", "3", "s", "524288"},
      {"glove_load_table", "2", "s", "524288"},
      {"glove_load_table", "3", "s", "524288"},
      {"glove_mean", "1", "w", "2048"},
      {"glove_mean", "2", "w", "2048"},
      {"glove_mean", "3", "w", "2048"},
      {"glove_oov", "1", "s", "2048"},
      {"glove_oov", "2", "s", "2048"},
      {"glove_project", "2", "s", "2048"},
      {"glove_recall", "4", "a", "524288"},
      {"glove_repair", "1", "s", "524288"},
      {"glove_save", "2", "s", "524288"},
      {"glove_save", "3", "s", "524288"},
      {"glove_svg", "4", "a", "2099200"},
      {"glove_svg", "5", "a", "2099200"},
      {"glove_text_vec", "1", "s", "2048"},
      {"glove_text_vec", "2", "s", "2048"},
      {"glove_text_vec", "3", "s", "2048"},
      {"glove_unload", "1", "s", "524288"},
      {"glove_vec", "1", "s", "2048"},
      {"glove_vec", "2", "s", "2048"},
      {"glove_version", "0", "s", "0"},
      {"l2_distance", "2", "s", "2048"},
      {"l2_distance", "3", "s", "2048"},
  };
  EXPECT_EQ(difference(sorted(with_glove.rows(kFunctions)), sorted(plain.rows(kFunctions))), expected);
}

TEST(Surface, Tables) {
  Connection plain(":memory:", false);
  Connection with_glove;
  constexpr const char* kModules = "SELECT name FROM pragma_module_list ORDER BY name";
  const Rows expected = {{"glove_clusters"}, {"glove_groups"}, {"glove_index"}, {"glove_indexes"},
                         {"glove_kmeans"},   {"glove_map"},    {"glove_mmr"},   {"glove_models"},
                         {"glove_nn"},       {"glove_pairs"},  {"glove_pca"},   {"glove_stats"},
                         {"glove_tokens"},   {"glove_words"}};
  EXPECT_EQ(difference(sorted(with_glove.rows(kModules)), sorted(plain.rows(kModules))), expected);
}

// name type, with a + before hidden columns.
std::string columns_of(const std::string& table) {
  Connection connection;
  return connection.value(
      "SELECT group_concat(iif(hidden, '+', '') || name || ' ' || type, ', ') FROM pragma_table_xinfo(" +
      sql_text(table) + ")");
}

TEST(Surface, ColumnsOfGloveNn) {
  EXPECT_EQ(columns_of("glove_nn"),
            "neighbor TEXT, similarity REAL, rank INTEGER, +word TEXT, +expr TEXT, +k INTEGER, +model TEXT, "
            "+backend TEXT, +recall REAL, +among BLOB, +evidence TEXT, +rows_read INTEGER, +distance REAL, "
            "+known INTEGER");
}

TEST(Surface, ColumnsAndObjectsOfAGloveIndex) {
  Connection connection;
  connection.rows(
      "CREATE TABLE doc(id INTEGER PRIMARY KEY, v);"
      "CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='v')");
  EXPECT_EQ(connection.value("SELECT group_concat(iif(hidden, '+', '') || name || ' ' || type, ', ') "
                             "FROM pragma_table_xinfo('doc_vec')"),
            "id INTEGER, similarity REAL, rank INTEGER, +query TEXT, +k INTEGER, +backend TEXT, "
            "+recall REAL, +among BLOB, +evidence TEXT, +rows_read INTEGER, +distance REAL, +doc_vec TEXT");
  EXPECT_EQ(connection.value("SELECT group_concat(name) FROM (SELECT name FROM sqlite_master WHERE name GLOB "
                             "'doc_vec_*' ORDER BY name)"),
            "doc_vec_block,doc_vec_config,doc_vec_dead,doc_vec_delete,doc_vec_insert,"
            "doc_vec_insert_before,doc_vec_log,doc_vec_segment,doc_vec_update,doc_vec_update_before");
  EXPECT_EQ(
      connection.value("SELECT group_concat(name) FROM (SELECT name FROM pragma_table_list WHERE type = "
                       "'shadow' ORDER BY name)"),
      "doc_vec_block,doc_vec_config,doc_vec_dead,doc_vec_segment");
}

TEST(Surface, ColumnsOfGloveIndexes) {
  EXPECT_EQ(columns_of("glove_indexes"),
            "schema TEXT, name TEXT, rows INTEGER, segments INTEGER, dead INTEGER, logged INTEGER, bytes "
            "INTEGER, backend TEXT, state TEXT, recall REAL, measured REAL, measured_low REAL, measured_high "
            "REAL, audits INTEGER, metric TEXT");
}

TEST(Surface, ColumnsOfGloveMmr) {
  std::string expected =
      "key , rank INTEGER, similarity REAL, distance REAL, +target TEXT, +query , +k INTEGER, +lambda REAL, "
      "+fetch INTEGER, +among BLOB";
  for (int part = 2; part <= 16; ++part) expected += ", +key" + std::to_string(part) + " ";
  EXPECT_EQ(columns_of("glove_mmr"), expected);
}

TEST(Surface, ColumnsOfJoins) {
  EXPECT_EQ(columns_of("glove_pairs"),
            "a , b , rank INTEGER, similarity REAL, distance REAL, +target TEXT, +min_similarity REAL, "
            "+max_distance REAL, +k INTEGER, +among BLOB, +backend TEXT, +pairs INTEGER, +other TEXT");
  EXPECT_EQ(
      columns_of("glove_groups"),
      "id , group_id , size INTEGER, +target TEXT, +min_similarity REAL, +max_distance REAL, +k INTEGER, "
      "+among BLOB, +backend TEXT");
}

TEST(Surface, ColumnsOfGloveModels) {
  EXPECT_EQ(columns_of("glove_models"),
            "name TEXT, is_default INTEGER, path TEXT, words INTEGER, dims INTEGER, file_bytes INTEGER, "
            "backend TEXT, device TEXT, device_bytes INTEGER, state TEXT, passed_over TEXT, notes TEXT, "
            "metric TEXT");
}

TEST(Surface, ColumnsOfGloveWords) {
  EXPECT_EQ(columns_of("glove_words"),
            "id INTEGER, word TEXT, norm REAL, +model TEXT, +like TEXT, +vector BLOB, +distance INTEGER");
}

TEST(Surface, ColumnsOfGloveStats) {
  EXPECT_EQ(columns_of("glove_stats"),
            "model TEXT, backend TEXT, device TEXT, kind TEXT, queries INTEGER, k INTEGER, "
            "rows_scanned INTEGER, bytes_scanned INTEGER, candidates INTEGER, resolve_us REAL, scan_us REAL, "
            "select_us REAL, rescore_us REAL, total_us REAL, words_per_ms REAL, recall REAL, measured REAL, "
            "measured_low REAL, measured_high REAL, audits INTEGER, plan TEXT");
}

TEST(Surface, ColumnsOfGloveKmeans) {
  EXPECT_EQ(columns_of("glove_kmeans"),
            "word TEXT, cluster INTEGER, similarity REAL, distance REAL, silhouette REAL, +k INTEGER, "
            "+words TEXT, +model TEXT, +backend TEXT, +options TEXT");
}

TEST(Surface, ColumnsOfGloveClusters) {
  EXPECT_EQ(columns_of("glove_clusters"),
            "cluster INTEGER, size INTEGER, label TEXT, inertia REAL, silhouette REAL, iterations INTEGER, "
            "converged INTEGER, centroid BLOB, +k INTEGER, +words TEXT, +model TEXT, +backend TEXT, "
            "+options TEXT");
}

TEST(Surface, ColumnsOfGlovePca) {
  EXPECT_EQ(columns_of("glove_pca"),
            "component INTEGER, variance REAL, ratio REAL, singular_value REAL, vector BLOB, +components "
            "INTEGER, +words TEXT, +model TEXT, +backend TEXT, +options TEXT");
}

TEST(Surface, ColumnsOfGloveMap) {
  EXPECT_EQ(columns_of("glove_map"),
            "word TEXT, x REAL, y REAL, +words TEXT, +model TEXT, +backend TEXT, +options TEXT");
}

TEST(Surface, ColumnsOfGloveTokens) {
  EXPECT_EQ(columns_of("glove_tokens"),
            "position INTEGER, token TEXT, id INTEGER, weight REAL, +text TEXT, +model TEXT, +options TEXT");
}

TEST(Surface, TablesAreReadOnlyAndCannotBeMadeAgain) {
  Connection connection;
  for (const char* table : {"glove_nn", "glove_models", "glove_words", "glove_stats", "glove_kmeans",
                            "glove_clusters", "glove_map", "glove_pca", "glove_tokens"}) {
    const std::string name = table;
    EXPECT_EQ(connection.error("DELETE FROM " + name), "table " + name + " may not be modified");
    EXPECT_EQ(connection.error("CREATE VIRTUAL TABLE t USING " + name), "no such module: " + name);
  }
}

TEST(Surface, LoadingTwiceIntoOneConnectionIsFine) {
  Connection connection;
  char* message = nullptr;
  EXPECT_EQ(sqlite3_load_extension(connection.handle(), GLOVE_EXTENSION, nullptr, &message), SQLITE_OK);
  sqlite3_free(message);
  EXPECT_EQ(connection.value("SELECT cos_sim(x'0000803f', x'0000803f')"), "1");
}

}  // namespace
}  // namespace glove::testing
