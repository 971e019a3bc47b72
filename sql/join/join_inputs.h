// The inputs of glove_pairs and of glove_groups.
#pragma once

#include <memory>
#include <optional>

#include "sql/adapter/inputs.h"
#include "sql/join/join_target.h"

namespace glove::sql {

// The inputs in declared order, of which glove_groups has those before kPairs.
enum JoinInput : int { kTarget, kMinSimilarity, kMaxDistance, kK, kAmong, kBackend, kPairs, kOther };
inline constexpr const char* kJoinInputs[] = {"target", "min_similarity", "max_distance", "k",
                                              "among",  "backend",        "pairs",        "other"};
constexpr const char* kJoinCondition = "target = 'doc_vec' AND min_similarity = 0.9";

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
