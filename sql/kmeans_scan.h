// What the tables glove_kmeans and glove_clusters have in common: their plans, and the fit that a scan reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sql/kmeans_fit.h"
#include "sql/vtab/input_numbers.h"
#include "sql/vtab/inputs.h"
#include "sql/vtab/table.h"

namespace glove::sql {

// Where the columns of such a table are. Static storage.
struct KMeansColumns {
  vtab::InputColumns inputs;  // k, words, model, backend, options
  int word;                   // -1: there is none
  int cluster;
  double rows;  // that a scan is assumed to have
};

// idxNum is the set of the inputs that are given, as vtab::plan_inputs() makes it, with one of these flags if
// there is one more argument, the value of a column. SQLite checks it again.
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

  // The arguments of xFilter: finds the fit, and reads the value of the column, if the plan has one.
  Status start(int plan, const char* plan_text, Arguments values);

  const KMeansFit& fit() const { return *found_.fit; }
  const Model& model() const { return *found_.subject.entry.model; }

  // By word: the row that it is, -1 for none. Empty: all rows are to be visited.
  std::optional<int64_t> row() const { return row_; }
  // By cluster: its number, from 0, or one that no cluster has. Empty: all clusters are to be visited.
  std::optional<int64_t> cluster() const { return cluster_; }

  Status return_input(sqlite3_context* context, int column) const {
    return inputs_.return_input(context, column);
  }
  // For xRowid: tells the rows of different inputs apart. `row`: below 2^31.
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
