// What one xFilter of glove_nn was asked: the values of the inputs, and the bounds on the rows.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "loader/model.h"
#include "loader/status.h"
#include "search/query.h"
#include "sql/arguments.h"
#include "sql/glove_nn_plan.h"

namespace glove::sql::nn {

// A value of near (text, or a BLOB with a vector) or of expr (text), as it was given; a number
// gives its text.
struct QueryValue {
  bool blob = false;
  std::string bytes;
  // The order of a batch: SQLite's order of the column, text before BLOBs.
  auto operator<=>(const QueryValue&) const = default;
};

// How an input stands in a scan.
enum class Given : uint8_t {
  kNo,    // no condition: it must not be read
  kNull,  // a NULL: reads as NULL, and counts as not given (for near: no rows)
  kValue,
};

// The inputs of one search.
struct Inputs {
  std::array<Given, kInputs> given{};
  QueryValue near;
  QueryValue expr;
  int64_t k = 0;
  std::string model;
  std::string backend;

  Given state(int column) const { return given[static_cast<size_t>(column - kFirstInput)]; }
  bool has(int column) const { return state(column) == Given::kValue; }

  // Tells rows of different inputs apart; equal inputs give equal numbers in every process.
  uint32_t fingerprint() const;
  // The vector to search for. An error for an unparsable or contradictory query.
  Result<MaybeQuery> resolve(const Model& model) const;
};

// What the rows must satisfy, as far as it saves work. SQLite checks each condition again.
struct Bounds {
  int64_t first_rank = 1;
  int64_t last_rank = std::numeric_limits<int64_t>::max();
  double lowest = -2;  // similarity
  double highest = 2;
  bool nothing = false;                     // some condition is never true
  std::optional<std::vector<int32_t>> ids;  // ascending: only these words

  bool rank_bounded() const { return last_rank != std::numeric_limits<int64_t>::max(); }
};

struct Request {
  Inputs inputs;
  // A batch: the values of this column (kNear or kExpr), ascending, none twice; they replace the
  // input one after another.
  int batch_column = -1;
  std::vector<QueryValue> batch;
  ModelPtr model;
  Bounds bounds;
  int64_t wanted = 0;  // LIMIT + OFFSET, or 0
  bool reads_rank = false;

  // `values` are xFilter's arguments in the plan's order. Finds the model, and checks k and the backend.
  static Result<Request> read(const Plan& plan, Arguments values);
};

}  // namespace glove::sql::nn
