// What the tables glove_kmeans and glove_clusters have in common: their inputs and plans, their fits, the
// cache of these, and the fit that a scan reads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/kmeans.h"
#include "sql/adapter/fit_table.h"
#include "sql/values/toolbox_inputs.h"

namespace glove::sql {

// The inputs of both tables, in the order of their columns.
enum KMeansInput : int { kKMeansK, kKMeansWords, kKMeansModel, kKMeansBackend, kKMeansOptions };

// A fit of the rows of a subject. Does not keep the model alive, because cached fits may outlive it.
struct KMeansFit {
  std::vector<double> norms_squared;  // [rows], for Euclidean similarities only, else empty
  Clustering clustering;

  int64_t rows() const { return static_cast<int64_t>(clustering.rows.size()); }
  // Returns the cosine of the row and its centroid, or NaN if one of them has no direction.
  double similarity(int64_t row) const;
  // Memory that the fit takes.
  int64_t bytes() const;
};

// The positions of the columns in such a table. Static storage.
struct KMeansColumns {
  vtab::InputColumns inputs;  // k, words, model, backend, options
  int word;                   // -1: the table has no such column
  int cluster;
  double rows;  // the number of rows per scan, for estimates
};

// idxNum is the set of the given inputs, as vtab::plan_inputs() sets it, with one of these flags if the last
// argument is a value that `word` or `cluster` equals. SQLite checks that condition again.
constexpr int kKMeansByWord = 1 << 8;
constexpr int kKMeansByCluster = 1 << 9;

// The body of xBestIndex.
Status plan_kmeans(sqlite3_index_info* info, const KMeansColumns& columns);

// One scan of a fit.
class KMeansRows {
 protected:
  // Finds the fit for the inputs, which is computed unless the process has it in its cache, and reads the
  // value of `word` or `cluster`, if there is one. Errors name the table and the input.
  Status find(Connection::Pin& models, const vtab::InputValues& inputs, const KMeansColumns& columns,
              int plan, Arguments values);

  const KMeansFit& fit() const { return *fit_; }
  const Vocabulary& words() const { return subject_.entry.model->vocabulary(); }
  int64_t row_id(int64_t row) const { return subject_.row_id(row); }
  // Of the rows [first, end) of the table, or of none.
  FitRange range(int64_t first, int64_t end) const { return {key_, subject_.entry.model, first, end}; }

  // Of the requested word, or -1 if the fit lacks it; nullopt: visit all rows.
  std::optional<int64_t> row_;
  // The requested one, from 0, which may not exist; nullopt: visit all clusters.
  std::optional<int64_t> cluster_;

 private:
  void look_up_word(sqlite3* db, sqlite3_value* value);

  ToolboxSubject subject_;  // whose rows are clustered
  std::string key_;         // identifies everything that the fit depends on
  std::shared_ptr<const KMeansFit> fit_;
};

}  // namespace glove::sql
