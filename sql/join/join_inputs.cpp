#include "sql/join/join_inputs.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "sql/index/code_reader.h"
#include "sql/index/content_rows.h"
#include "sql/index/content_schema.h"
#include "sql/index/index_schema.h"
#include "sql/index/index_store.h"
#include "sql/index/key_table.h"
#include "sql/nn/among_input.h"

namespace glove::sql {
namespace {

class ModelTarget final : public JoinTarget {
 public:
  ModelTarget(CatalogEntry entry, RowMaskPtr among) : entry_(std::move(entry)), among_(std::move(among)) {
    if (among_ != nullptr) admitted_ = among_->rows();
  }

  std::string_view name() const override { return entry_.name; }
  std::string_view identity() const override { return entry_.name; }
  RowMetric metric() const override { return model().metric(); }
  int64_t dims() const override { return model().dims(); }
  int64_t rows() const override { return among_ == nullptr ? model().words() : std::ssize(admitted_); }
  int64_t id(int64_t position) const override {
    return among_ == nullptr ? position : admitted_[static_cast<size_t>(position)];
  }

  Result<MaybeQuery> query(int64_t position) override {
    const float* const vector = model().vector(id(position));
    return make_query({vector, vector + model().dims()}, {}, metric());
  }
  Result<Answers> nearest(std::span<Query> queries, int64_t k, int64_t first, const SearchOptions& options,
                          SearchReport& report) override {
    RowMaskPtr mask = first == 0 ? among_ : queries.front().among;  // null at the first call for a query
    if (first > 0 && mask == nullptr) {
      const auto rest = std::make_shared<RowMask>(model());
      rest->admit_range(id(first), model().words(), among_.get());
      rest->complete(model());
      mask = rest;
    }
    for (Query& query : queries) query.among = mask;
    return glove::nearest(*entry_.searchers, queries, k, options, report);
  }
  Status check_unchanged() override { return {}; }
  bool is_for_all_threads() const override { return true; }
  Status return_key(sqlite3_context* context, int64_t id) override {
    return_word(context, model().vocabulary(), id);
    return {};
  }

 private:
  const Model& model() const { return *entry_.model; }

  const CatalogEntry entry_;
  const RowMaskPtr among_;
  std::vector<int32_t> admitted_;  // of among_
};

// Reads the index as the running statement sees it, with objects of its own, as a table of the index has
// them.
class IndexTarget final : public JoinTarget {
 public:
  IndexTarget(Connection& connection, IndexDefinition index)
      : connection_(connection),
        index_(std::move(index)),
        place_(index_.table()),
        store_(connection, index_),
        vectors_(connection, index_),
        rows_(connection, index_, vectors_),
        codes_(connection, index_),
        keys_(connection, index_) {}

  Status open(sqlite3_value* among, const InterruptCheck& interrupted) {
    return work([&]() -> Status {
      GLOVE_RETURN_IF_ERROR(check_index(connection_.db(), index_));
      GLOVE_ASSIGN_OR_RETURN(counts_, counts_changes(connection_.db(), index_));
      store_.set_counts(counts_);
      live::Admissible admissible;
      if (among != nullptr) {
        GLOVE_ASSIGN_OR_RETURN(admissible.keys, keys_of(among, interrupted));
      }
      GLOVE_ASSIGN_OR_RETURN(live::IndexState state,
                             store_.state(rows_, admissible.keys.get(), store_.seen(1)));
      GLOVE_ASSIGN_OR_RETURN(log_, log());
      dims_ = state.dims;
      ids_ = among == nullptr ? all_ids(state) : ids_among(state, admissible.keys->keys());
      if (among != nullptr && state.parts != nullptr) {
        GLOVE_ASSIGN_OR_RETURN(admissible.rows,
                               live::admissible_rows(*admissible.keys, *state.parts, interrupted));
      }
      relation_.emplace(std::move(state), rows_, codes_, std::move(admissible));
      return {};
    });
  }

  std::string_view name() const override { return index_.name; }
  std::string_view identity() const override { return place_; }
  RowMetric metric() const override { return index_.metric; }
  int64_t dims() const override { return dims_of(index_.type, dims_); }
  int64_t rows() const override { return std::ssize(ids_); }
  int64_t id(int64_t position) const override { return ids_[static_cast<size_t>(position)]; }

  Result<MaybeQuery> query(int64_t position) override {
    return work([&]() -> Result<MaybeQuery> {
      std::vector<float> vector;
      GLOVE_ASSIGN_OR_RETURN(const bool found, relation_->read(id(position), vector));
      return found ? make_query(std::move(vector), {}, index_.metric) : MaybeQuery();
    });
  }
  Result<Answers> nearest(std::span<Query> queries, int64_t k, int64_t first, const SearchOptions& options,
                          SearchReport& report) override {
    if (first != std::exchange(first_, first)) relation_->begin_at(id(first));
    return work([&] { return relation_->nearest(queries, k, options, report); });
  }
  Status check_unchanged() override {
    return work([&]() -> Status {
      GLOVE_ASSIGN_OR_RETURN(const std::string now, log());
      if (now == log_) return {};
      return index_error(index_, "the statement's own connection has changed rows of '", index_.content,
                         "' while it joined them; read all pairs first, for example into a temporary table");
    });
  }
  bool is_for_all_threads() const override { return false; }
  Status return_key(sqlite3_context* context, int64_t id) override {
    if (index_.has_key_table) return work([&] { return keys_.return_key(context, id); });
    sqlite3_result_int64(context, id);
    return {};
  }

 private:
  template <class Body>
  auto work(const Body& body) -> decltype(body()) {
    return own_work(connection_, index_, body);
  }
  Result<KeySetPtr> keys_of(sqlite3_value* among, const InterruptCheck& interrupted) {
    Result<nn::AmongValuePtr> read = nn::AmongValuePtr();
    if (index_.has_key_table) {
      GLOVE_ASSIGN_OR_RETURN(std::vector<int64_t> ids, keys_.find_set(among, interrupted));
      read = nn::AmongValue::of(among, std::move(ids), interrupted);
    } else {
      read = nn::AmongValue::read(among, interrupted);
    }
    GLOVE_RETURN_IF_ERROR(read);
    return read.value()->keys();
  }
  // Returns what every change of a row and every command changes.
  Result<std::string> log() {
    GLOVE_ASSIGN_OR_RETURN(const IndexConfig config, store_.config());
    GLOVE_RETURN_IF_ERROR(
        log_statement_.prepare(connection_.db(),
                               concat("SELECT count(*) || ' ' || total(rowid) || ' ' || total(",
                                      counts_ ? "again" : "0", ") FROM ", index_.object("_log")),
                               index_.name));
    GLOVE_ASSIGN_OR_RETURN(const std::string log, OwnStatement::Run(log_statement_).next_text());
    return concat(config.log, ' ', log);
  }

  Connection& connection_;
  const IndexDefinition index_;
  const std::string place_;
  IndexStore store_;
  VectorStore vectors_;
  ContentRows rows_;
  CodeReader codes_;
  KeyTable keys_;
  OwnStatement log_statement_;
  bool counts_ = false;
  std::string log_;  // as the join found it
  int64_t dims_ = 0;
  std::vector<int64_t> ids_;
  int64_t first_ = 0;  // position that relation_ begins at
  std::optional<live::LiveRelation> relation_;
};

// Returns the mask of the input among; null if there is none.
Result<RowMaskPtr> model_rows(Connection::Pin& models, const CatalogEntry& entry, sqlite3_value* among,
                              const InterruptCheck& interrupted) {
  if (among == nullptr) return RowMaskPtr();
  if (entry.model->vocabulary().key_type() != KeyType::kInteger)
    return invalid_argument("among is a set of integer keys, but the keys of model '", entry.name,
                            "' are words; join an index instead");
  GLOVE_ASSIGN_OR_RETURN(const nn::AmongValuePtr read, nn::AmongValue::read(among, interrupted));
  return nn::rows_with_keys(models.connection().engine(), *entry.model, *read->keys(), interrupted);
}

// Finds the model or the index of this name, which may be 'schema.name'. `function` begins the messages.
// `among`: as an input of that name; null: all rows. The pin must outlive the target.
Result<std::unique_ptr<JoinTarget>> open_join_target(Connection::Pin& models, const char* function,
                                                     std::string_view name, sqlite3_value* among,
                                                     const InterruptCheck& interrupted) {
  Connection& connection = models.connection();
  GLOVE_ASSIGN_OR_RETURN(auto index, find_index(connection.db(), function, name));
  if (index && connection.engine().catalog().find(name).ok())
    return invalid_argument("an index and a model have the name ", quoted_value(name),
                            "; load the model under another name");
  if (index) {
    GLOVE_RETURN_IF_ERROR(find_metric(connection, *index));
    auto target = std::make_unique<IndexTarget>(connection, std::move(*index));
    GLOVE_RETURN_IF_ERROR(target->open(among, interrupted));
    return std::unique_ptr<JoinTarget>(std::move(target));
  }
  Result<CatalogEntry> entry = models.find(name);
  if (!entry.ok())
    return Error{entry.error().code,
                 concat(function, ": there is no such index, and ", entry.error().message)};
  GLOVE_ASSIGN_OR_RETURN(RowMaskPtr rows, model_rows(models, entry.value(), among, interrupted));
  return std::unique_ptr<JoinTarget>(
      std::make_unique<ModelTarget>(std::move(entry).value(), std::move(rows)));
}

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
      const std::optional<double> number = number_of(given);
      if (!number)
        return invalid_value(table(), kJoinInputs[bound], " must be a number, but is ", shown_value(given));
      task.least = (by_distance ? -1 : 1) * *number;
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
