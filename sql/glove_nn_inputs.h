// What one xFilter of glove_nn was asked: the values of the inputs, and the bounds on the rows.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/model.h"
#include "search/query.h"
#include "sql/arguments.h"
#include "sql/glove_nn_plan.h"

namespace glove::sql::nn {

// A value of expr as it was given: the text of an expression, or a BLOB with a vector. A number gives its
// text.
struct ExprValue {
  bool blob = false;
  std::string bytes;
  // The order of a batch: SQLite's order of the column, text before BLOBs.
  auto operator<=>(const ExprValue&) const = default;
};

// How an input stands in a scan.
enum class Given : uint8_t {
  kNo,    // no condition
  kNull,  // a NULL: as if there were no condition, but a NULL word has no rows of its own
  kValue,
};

// The inputs of one search. What is not given, NULL included, must not be read: it has no value.
struct Inputs {
  std::array<Given, kInputs> given{};
  std::string word;
  ExprValue expr;
  int64_t k = 0;
  std::string model;
  std::string backend;

  Given state(int column) const { return given[static_cast<size_t>(column - kFirstInput)]; }
  bool has(int column) const { return state(column) == Given::kValue; }

  // The inputs spelled out: equal if and only if the inputs are.
  std::string key() const;
  // The vector to search for. An error for an unparsable or contradictory query.
  Result<MaybeQuery> resolve(const Model& model) const;
  // True if the query is a word alone and that reads as an expression, such as 'king - man + woman'.
  bool word_reads_as_expression() const;
};

// What the rows must satisfy, as far as it saves work. SQLite checks each condition again.
struct Bounds {
  int64_t first_rank = 1;
  int64_t last_rank = std::numeric_limits<int64_t>::max();
  double lowest = -2;  // similarity
  double highest = 2;
  bool nothing = false;  // some condition is never true

  bool rank_bounded() const { return last_rank != std::numeric_limits<int64_t>::max(); }
};

// What one xFilter asks for: the rows of every combination of the values of its inputs.
class Request {
 public:
  // `values` are xFilter's arguments in the plan's order, from a statement of `db`. Checks every k and
  // backend.
  static Result<Request> read(const Plan& plan, Arguments values, sqlite3* db, const Backends& backends);

  // The combinations of model, backend and k, in kBatchOrder.
  size_t setting_count() const { return settings_.size(); }
  // Of each, the combinations of word and expr, in kBatchOrder.
  size_t query_count() const { return words_.size() * exprs_.size(); }
  // The same for all queries of all settings when it is false.
  bool is_batch() const { return batch_; }

  // The inputs of a setting, with its first query.
  // REQUIRES: setting < setting_count(), query_count() > 0.
  Inputs inputs_of(size_t setting) const;
  // Replaces word and expr. REQUIRES: query < query_count().
  void set_query(size_t query, Inputs& inputs) const;

  const Bounds& bounds() const { return bounds_; }
  // The only neighbors to return from a model with keys of this type, each by its exact bytes, ascending;
  // nullopt: all.
  const std::optional<std::vector<std::string>>& neighbors(KeyType type) const {
    return neighbors_[static_cast<size_t>(type)];
  }
  int64_t row_hint() const { return row_hint_; }  // LIMIT + OFFSET, or 0
  bool reads_rank() const { return reads_rank_; }

 private:
  friend class RequestReader;
  struct Setting {
    std::string model;
    std::string backend;
    int64_t k = 0;
  };

  std::array<Given, kInputs> given_{};
  std::vector<Setting> settings_;
  std::vector<std::string> words_ = std::vector<std::string>(1);
  std::vector<ExprValue> exprs_ = std::vector<ExprValue>(1);
  bool batch_ = false;  // word or expr came as a batch
  Bounds bounds_;
  std::array<std::optional<std::vector<std::string>>, kKeyTypes> neighbors_;  // by KeyType
  int64_t row_hint_ = 0;
  bool reads_rank_ = false;
};

}  // namespace glove::sql::nn
