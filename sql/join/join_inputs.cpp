#include "sql/join/join_inputs.h"

#include <string>
#include <utility>

#include "base/concat.h"

namespace glove::sql {
namespace {

class InputReader {
 public:
  InputReader(const vtab::InputColumns& columns, const vtab::InputValues& inputs)
      : columns_(columns), inputs_(inputs) {}

  const char* table() const { return columns_.table; }
  sqlite3_value* value(JoinInput input) const {
    return static_cast<size_t>(input) < columns_.names.size() ? inputs_[columns_.first + input] : nullptr;
  }
  Result<std::optional<std::string_view>> text(JoinInput input) const {
    return optional_text(value(input), table(), kJoinInputs[input]);
  }

  // An error unless one of the inputs that tell which pairs are wanted was given.
  Status check_one() const {
    std::string given;
    int inputs = 0;
    for (const JoinInput input : {kMinSimilarity, kMaxDistance, kK, kPairs})
      if (value(input) != nullptr) given += concat(++inputs == 1 ? "" : " and ", kJoinInputs[input]);
    if (inputs == 1) return {};
    return invalid_value(table(), "give exactly one of min_similarity, max_distance",
                         columns_.names.size() > kPairs ? ", k and pairs" : " and k", ", but ",
                         inputs == 0 ? "there is none of them" : "there are " + given);
  }

  Result<JoinTask> task(const JoinTarget& rows) const {
    JoinTask task;
    const bool by_distance = ranks_by_distance(rows.metric());
    if (by_distance && value(kMinSimilarity) != nullptr)
      return no_similarity(table(), rows.name(), rows.metric(),
                           "give max_distance instead of min_similarity");
    if (!by_distance && value(kMaxDistance) != nullptr)
      return invalid_value(table(), quoted_value(rows.name()), " is compared by '",
                           metric_name(rows.metric()), "'; give min_similarity instead of max_distance");
    const JoinInput bound = by_distance ? kMaxDistance : kMinSimilarity;
    if (sqlite3_value* const given = value(bound); given != nullptr) {
      const int type = sqlite3_value_numeric_type(given);
      if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
        return invalid_value(table(), kJoinInputs[bound], " must be a number, but is ", shown_value(given));
      task.least = (by_distance ? -1 : 1) * sqlite3_value_double(given);
    }
    GLOVE_ASSIGN_OR_RETURN(task.k, count(kK, 1));
    GLOVE_ASSIGN_OR_RETURN(task.pairs, count(kPairs, 0));
    return task;
  }

 private:
  // Returns -1 if there is none.
  Result<int64_t> count(JoinInput input, int64_t least) const {
    sqlite3_value* const given = value(input);
    if (given == nullptr) return -1;
    const int64_t count = whole_number(given).value_or(-1);
    if (count >= least) return count;
    return invalid_value(table(), kJoinInputs[input], " must be an integer of at least ", least, ", but is ",
                         shown_value(given));
  }

  const vtab::InputColumns& columns_;
  const vtab::InputValues& inputs_;
};

Status check_sides(const char* table, const JoinTarget& rows, const JoinTarget& other) {
  if (rows.identity() == other.identity())
    return invalid_value(table, "other is the target itself; leave other out, and each pair comes once");
  if (rows.metric() != other.metric())
    return invalid_value(table, quoted_value(rows.name()), " is compared by '", metric_name(rows.metric()),
                         "', and ",
                         concat(quoted_value(other.name()), " by '", metric_name(other.metric()),
                                "'; join two that are compared alike"));
  if (rows.dims() != other.dims() && rows.dims() != 0 && other.dims() != 0)
    return invalid_value(table, quoted_value(rows.name()), " has ", rows.dims(), " dimensions, and ",
                         quoted_value(other.name()), " has ", other.dims(),
                         "; join two whose vectors the same model has made");
  return {};
}

}  // namespace

Result<std::unique_ptr<OpenJoin>> open_join(Connection::Pin& models, const vtab::InputColumns& columns,
                                            const vtab::InputValues& inputs, int plan,
                                            const InterruptCheck& interrupted) {
  const InputReader reader(columns, inputs);
  const char* const table = columns.table;
  GLOVE_RETURN_IF_ERROR(reader.check_one());
  GLOVE_ASSIGN_OR_RETURN(const auto target, reader.text(kTarget));
  GLOVE_ASSIGN_OR_RETURN(const auto other, reader.text(kOther));
  GLOVE_ASSIGN_OR_RETURN(const auto backend, reader.text(kBackend));
  const auto is_null_input = [&](JoinInput input) {
    return (plan >> input & 1) != 0 && reader.value(input) == nullptr;
  };
  if (!target || is_null_input(kAmong) || is_null_input(kOther)) return std::unique_ptr<OpenJoin>();
  Connection& connection = models.connection();
  const Backends& backends = connection.engine().backends();
  if (backend && *backend != "auto" && backends.find(std::string(*backend)) == nullptr)
    return invalid_value(table, "there is no backend ", quoted_value(*backend),
                         "; the backends are: ", backends.choices());
  const auto open = [&](std::string_view name) -> Result<std::unique_ptr<JoinTarget>> {
    auto side = open_join_target(models, table, name, reader.value(kAmong), interrupted);
    return side.ok() ? std::move(side) : named_argument_error(table, side.error());
  };
  auto join = std::make_unique<OpenJoin>();
  GLOVE_ASSIGN_OR_RETURN(join->rows, open(*target));
  GLOVE_ASSIGN_OR_RETURN(const JoinTask task, reader.task(*join->rows));
  if (other) {
    GLOVE_ASSIGN_OR_RETURN(join->other, open(*other));
    GLOVE_RETURN_IF_ERROR(check_sides(table, *join->rows, *join->other));
  }
  join->pairs.emplace(connection.engine(), table, *join->rows, join->other.get(), task,
                      backend ? std::string(*backend) : "auto");
  return join;
}

}  // namespace glove::sql
