// What the tables glove_kmeans and glove_clusters have in common: their plans, and the fit that a scan reads.
#pragma once

#include <cstdint>
#include <optional>

#include "sql/toolbox/fit_table.h"
#include "sql/toolbox/kmeans_fit.h"

namespace glove::sql {

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
  // Finds the fit, and reads the value of `word` or `cluster`, if there is one.
  Status find(Connection::Pin& models, const vtab::InputValues& inputs, const KMeansColumns& columns,
              int plan, Arguments values);

  const KMeansFit& fit() const { return *found_.fit; }
  const Vocabulary& words() const { return found_.subject.entry.model->vocabulary(); }
  // Of the rows [first, end) of the table, or of none.
  FitRange range(int64_t first, int64_t end) const {
    return {found_.key, found_.subject.entry.model, first, end};
  }

  // Of the requested word, or -1 if the fit lacks it; nullopt: visit all rows.
  std::optional<int64_t> row_;
  // The requested one, from 0, which may not exist; nullopt: visit all clusters.
  std::optional<int64_t> cluster_;

 private:
  void look_up_word(sqlite3* db, sqlite3_value* value);

  FoundFit found_;
};

}  // namespace glove::sql
