// The common parts of the tables glove_kmeans and glove_clusters: their plans, and the fit that a scan reads.
#pragma once

#include <cstdint>
#include <optional>

#include "sql/adapter/input_numbers.h"
#include "sql/adapter/inputs.h"
#include "sql/adapter/table.h"
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

// One per connection and table.
struct KMeansTable {
  explicit KMeansTable(Connection&) {}
  vtab::InputNumbers numbers;
};

// One scan of a fit. The table and the models outlive it.
class KMeansScan {
 public:
  KMeansScan(KMeansTable& table, Connection::Pin& models, const KMeansColumns& columns);

  // Takes the arguments of xFilter: finds the fit, and reads the value of `word` or `cluster`, if there is
  // one.
  Status start(int plan, const char* plan_text, Arguments values);

  const KMeansFit& fit() const { return *found_.fit; }
  const Model& model() const { return *found_.subject.entry.model; }

  // Returns the row of the requested word, or -1 if the fit lacks it; nullopt: visit all rows.
  std::optional<int64_t> row() const { return row_; }
  // Returns the number of the requested cluster, from 0, which may not exist; nullopt: visit all clusters.
  std::optional<int64_t> cluster() const { return cluster_; }

  Status return_input(sqlite3_context* context, int column) const {
    return inputs_.return_input(context, column);
  }
  // For xRowid. Rows of different inputs have different rowids. REQUIRES: 0 <= row < 2^31.
  Result<int64_t> rowid(int64_t row) { return rowids_.rowid(row); }

 private:
  void look_up_word(sqlite3_value* value);

  Connection::Pin& models_;
  const KMeansColumns& columns_;
  vtab::InputValues inputs_;
  vtab::ScanRowids rowids_;
  FoundFit found_;
  std::optional<int64_t> row_;
  std::optional<int64_t> cluster_;
};

}  // namespace glove::sql
