// The inputs of glove_pairs and of glove_groups, and the models and indexes that they name.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "search/pair_join.h"
#include "sql/adapter/arguments.h"
#include "sql/adapter/connection.h"
#include "sql/adapter/inputs.h"

namespace glove::sql {

// The inputs in declared order, of which glove_groups has those before kPairs.
enum JoinInput : int { kTarget, kMinSimilarity, kMaxDistance, kK, kAmong, kBackend, kPairs, kOther };
inline constexpr const char* kJoinInputs[] = {"target", "min_similarity", "max_distance", "k",
                                              "among",  "backend",        "pairs",        "other"};
constexpr const char* kJoinCondition = "target = 'doc_vec' AND min_similarity = 0.9";

// A model or an index as a side of a join.
class JoinTarget : public JoinSide {
 public:
  // Makes the key of a row the result: a word of a model, the key of a row of an index, or a JSON array of
  // the key's columns if there are several.
  virtual Status return_key(sqlite3_context* context, int64_t id) = 0;
  // Identifies the model or the index among those of the connection.
  virtual std::string_view identity() const = 0;
};

// A join with its sides.
struct OpenJoin {
  std::unique_ptr<JoinTarget> rows;
  std::unique_ptr<JoinTarget> other;  // null: the rows are joined with one another
  std::optional<PairJoin> pairs;

  JoinTarget& other_side() const { return other == nullptr ? *rows : *other; }
};

// Begins the join that the inputs ask for; null if an input that is NULL leaves no rows. `plan` is that of
// xFilter. `columns` outlives the join, and the pin outlives it.
Result<std::unique_ptr<OpenJoin>> open_join(Connection::Pin& models, const vtab::InputColumns& columns,
                                            const vtab::InputValues& inputs, int plan,
                                            const InterruptCheck& interrupted);

}  // namespace glove::sql
