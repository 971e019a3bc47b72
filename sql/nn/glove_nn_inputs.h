// What one xFilter call of glove_nn requests: the values of the inputs, and the range of the rows.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/model.h"
#include "search/query.h"
#include "sql/adapter/arguments.h"
#include "sql/nn/among_input.h"
#include "sql/nn/glove_nn_plan.h"

namespace glove::sql::nn {

// A value of expr as it was given: text, which is an expression or a vector in JSON, or a BLOB with a vector.
// A number is converted to text.
struct ExprValue {
  bool blob = false;
  std::string bytes;
  // The order of a batch: SQLite's order of the column, text before BLOBs.
  auto operator<=>(const ExprValue&) const = default;
};

// Whether a scan was given an input.
enum class Given : uint8_t {
  kNo,    // no condition
  kNull,  // a NULL: as if there were no condition, but a NULL word has no rows of its own, and a NULL
          // among admits none
  kValue,
};

// The inputs of one search. An input that was not given, or is NULL, has no value and must not be read.
struct Inputs {
  std::array<Given, kInputs> given{};
  std::string word;
  ExprValue expr;
  int64_t k = 0;
  std::string model;
  std::string backend;
  double recall = 1;
  AmongValuePtr among;

  // The recall as a person writes it: "0.95".
  std::string recall_text() const { return number_text(recall); }
  Given state(int column) const { return given[static_cast<size_t>(column - kFirstInput)]; }
  bool has(int column) const { return state(column) == Given::kValue; }

  // Returns a string that is equal for two objects if and only if their inputs other than among are equal.
  std::string key() const;
  // Returns the vector to search for. A query that cannot be parsed or is contradictory is an error, and so
  // is an interrupt.
  Result<MaybeQuery> resolve(const Model& model, const InterruptCheck& interrupted) const;
  // True if only `word` was given and it reads as an expression, such as 'king - man + woman'.
  bool word_reads_as_expression() const;
  bool operator==(const Inputs&) const = default;
};

// The conditions on rows that can save work. SQLite checks each of them again.
struct RowRange {
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  int64_t first_rank = 1;
  int64_t last_rank = std::numeric_limits<int64_t>::max();
  double lowest = -kInfinity;  // similarity
  double highest = kInfinity;
  double nearest = -kInfinity;  // distance
  double farthest = kInfinity;
  bool nothing = false;  // some condition is never true
  bool compares_similarity = false;

  bool has_last_rank() const { return last_rank != std::numeric_limits<int64_t>::max(); }
};

// One xFilter call: the rows of every combination of the values of its inputs.
class FilterCall {
 public:
  // Reads the arguments of xFilter, which a statement of `db` passes in the order of the plan. Checks every k
  // and backend. `among` has the last value of that input. The name of the table begins the message of an
  // error.
  static Result<FilterCall> read(const Plan& plan, Arguments values, sqlite3* db, const Backends& backends,
                                 LastAmong& among, const RankedColumns& columns);

  // The number of combinations of model, backend and k, which are in kBatchOrder.
  size_t setting_count() const { return settings_.size(); }
  // The number of combinations of word and expr for each setting, which are in kBatchOrder.
  size_t query_count() const { return words_.size() * exprs_.size(); }
  // True if word or expr was given as a batch. If false, there is one query per setting.
  bool is_batch() const { return batch_; }

  // Returns the inputs of a setting with its first query.
  // REQUIRES: setting < setting_count(), query_count() > 0.
  Inputs inputs_of(size_t setting) const;
  // Replaces word and expr. REQUIRES: query < query_count().
  void set_query(size_t query, Inputs& inputs) const;

  // The value of among, if it was given and is not NULL; otherwise null.
  const AmongValuePtr& among() const { return common_.among; }

  // Whether the inputs are those of the other call, which may have other conditions on rows.
  bool has_inputs_of(const FilterCall& other) const;
  // Adopts the values of another call of the same plan, if they differ in the integer that the neighbor must
  // equal and in nothing else. Returns false if they may differ in more.
  bool repeat(Arguments values);

  const RowRange& range() const { return range_; }
  // Returns the only neighbors that a model with keys of this type must return, as exact bytes in ascending
  // order; nullopt means all neighbors.
  const std::optional<std::vector<std::string>>& neighbors(KeyType type) const {
    return neighbors_[static_cast<size_t>(type)];
  }
  int64_t row_hint() const { return row_hint_; }  // LIMIT + OFFSET, or 0
  bool reads_rank() const { return reads_rank_; }

 private:
  friend class FilterCallReader;
  void keep(const Plan& plan, Arguments values);
  struct Setting {
    std::string model;
    std::string backend;
    int64_t k = 0;
    bool operator==(const Setting&) const = default;
  };

  Inputs common_;  // without what differs between settings and queries
  std::vector<Setting> settings_;
  std::vector<std::string> words_ = std::vector<std::string>(1);
  std::vector<ExprValue> exprs_ = std::vector<ExprValue>(1);
  bool batch_ = false;  // word or expr came as a batch
  RowRange range_;
  std::array<std::optional<std::vector<std::string>>, kKeyTypes> neighbors_;  // by KeyType
  int64_t row_hint_ = 0;
  bool reads_rank_ = false;
  // For repeat(): which value is the neighbor's, and copies of the others; none if it cannot be repeated.
  std::optional<size_t> neighbor_;
  std::vector<KeptValue> values_;
};

}  // namespace glove::sql::nn
