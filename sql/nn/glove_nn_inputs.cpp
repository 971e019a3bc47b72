#include "sql/nn/glove_nn_inputs.h"

#include <algorithm>
#include <cmath>

#include "base/concat.h"
#include "base/json.h"
#include "base/require.h"
#include "search/backend.h"
#include "search/expression.h"
#include "sql/adapter/input_numbers.h"
#include "sql/adapter/inputs.h"
#include "sql/adapter/interrupt.h"

namespace glove::sql::nn {
namespace {

constexpr double kLeastRecall = 0.5;

// The caller adds the name of the table (named_error).
Error invalid(std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message)};
}

Result<std::string> read_word(sqlite3_value* value) {
  if (is_blob(value))
    return invalid("word must be text, not a BLOB; pass a vector as expr: WHERE expr = ? AND k = 10");
  return std::string(text_of(value));
}

Result<ExprValue> read_expr(sqlite3_value* value) {
  return ExprValue{is_blob(value), std::string(text_or_blob(value))};
}

Result<int64_t> read_k(sqlite3_value* value) {
  const std::optional<int64_t> k = whole_number(value);
  if (!k || *k < 0) return invalid("k must be a non-negative integer, but is " + shown_value(value));
  return *k;
}

Result<std::string> read_name(sqlite3_value* value, const char* what) {
  if (is_blob(value))
    return invalid("the " + std::string(what) + " must be text, not a BLOB; use CAST(... AS TEXT)");
  return std::string(text_of(value));
}

Result<std::string> read_backend(sqlite3_value* value, const Backends& backends) {
  GLOVE_ASSIGN_OR_RETURN(std::string name, read_name(value, "backend"));
  if (name == "auto" || backends.find(name) != nullptr) return name;
  return invalid("there is no backend " + quoted_value(name) + "; the backends are: " + backends.choices());
}

// True if SQLite may compare this text as a number. Words that write the same number differently would then
// be equal to it, and a lookup of its bytes would miss them.
bool may_be_numeric(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\n\v\f\r");
  if (start == std::string_view::npos) return false;
  constexpr std::string_view kDigits = "0123456789";
  return std::string_view("+-.0123456789").find(text[start]) != std::string_view::npos &&
         text.find_first_of(kDigits) != std::string_view::npos;
}

// Sorts the values and removes duplicates.
template <class T>
void make_set(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// NULL is not the same, because a pointer looks like it.
bool is_same_value(sqlite3_value* a, sqlite3_value* b) {
  const int type = sqlite3_value_type(a);
  if (type == SQLITE_NULL || type != sqlite3_value_type(b)) return false;
  if (type == SQLITE_INTEGER) return sqlite3_value_int64(a) == sqlite3_value_int64(b);
  if (type == SQLITE_FLOAT) return sqlite3_value_double(a) == sqlite3_value_double(b);
  return text_or_blob(a) == text_or_blob(b);
}

}  // namespace

// Reads the arguments of one xFilter call, one at a time.
class FilterCallReader {
 public:
  FilterCallReader(FilterCall& call, sqlite3* db, const Backends& backends, LastAmong& among, RowKeys* keys)
      : call_(call), db_(db), known_backends_(backends), last_among_(among), keys_(keys) {}

  Status read(const Argument& argument, sqlite3_value* value) {
    if (argument.relation == Relation::kLimit || argument.relation == Relation::kOffset) {
      add_hint(argument.relation, value);
      return {};
    }
    if (argument.column == kNeighbor || argument.column == kRowid) return read_neighbor(argument, value);
    if (argument.column >= kKeyPart) {
      key_.push_back(value);
      key_is_in_ = argument.relation == Relation::kIn;
      return {};
    }
    if (argument.column >= kFirstInput && argument.column < kEvidence) return read_input(argument, value);
    read_range(argument, value);
    return {};
  }

  // REQUIRES: every argument was read.
  Status finish() {
    for (const std::string& model : models_)
      for (const std::string& backend : backends_)
        for (const int64_t k : ks_) call_.settings_.push_back({model, backend, k});
    return key_.empty() ? Status() : read_key();
  }

 private:
  // Calls use(element) for the value or, for an IN taken whole, for each of its values except NULL, which
  // equals nothing.
  template <class Use>
  static Status for_each(const Argument& argument, sqlite3_value* value, Use&& use) {
    if (argument.relation != Relation::kIn) return use(value);
    sqlite3_value* element = nullptr;
    int code = sqlite3_vtab_in_first(value, &element);
    for (; code == SQLITE_OK && element != nullptr; code = sqlite3_vtab_in_next(value, &element))
      if (!is_null(element)) GLOVE_RETURN_IF_ERROR(use(element));
    if (code == SQLITE_OK || code == SQLITE_DONE) return {};
    if (code == SQLITE_NOMEM) throw std::bad_alloc();
    return invalid("the values of an IN could not be read: " + std::string(sqlite3_errstr(code)));
  }

  Status read_input(const Argument& argument, sqlite3_value* value) {
    Given& given = call_.common_.given[static_cast<size_t>(argument.column - kFirstInput)];
    const bool whole = argument.relation == Relation::kIn;
    given = !whole && is_null(value) ? Given::kNull : Given::kValue;
    if (given == Given::kNull) return {};
    if (argument.column == kK) return read_values(argument, value, ks_, read_k);
    if (argument.column == kModel)
      return read_values(argument, value, models_,
                         [](sqlite3_value* one) { return read_name(one, "model"); });
    if (argument.column == kRecall) return read_recall(value);
    if (argument.column == kAmong) {
      InterruptPoller poller(db_);
      GLOVE_ASSIGN_OR_RETURN(call_.common_.among, last_among_.read(value, keys_, poller));
      return {};
    }
    if (argument.column == kBackend)
      return read_values(argument, value, backends_,
                         [this](sqlite3_value* one) { return read_backend(one, known_backends_); });
    call_.batch_ = call_.batch_ || whole;
    return argument.column == kWord ? read_values(argument, value, call_.words_, read_word)
                                    : read_values(argument, value, call_.exprs_, read_expr);
  }

  Status read_recall(sqlite3_value* value) {
    call_.common_.recall = number_of(value).value_or(0);
    if (call_.common_.recall >= kLeastRecall && call_.common_.recall <= 1) return {};
    return invalid("recall must be a number from 0.5 to 1, or NULL for an exact answer; but it is " +
                   shown_value(value));
  }

  // Replaces `values` by those of the argument, in ascending order without duplicates.
  template <class T, class ReadOne>
  static Status read_values(const Argument& argument, sqlite3_value* value, std::vector<T>& values,
                            const ReadOne& read_one) {
    values.clear();
    GLOVE_RETURN_IF_ERROR(for_each(argument, value, [&](sqlite3_value* element) -> Status {
      GLOVE_ASSIGN_OR_RETURN(T one, read_one(element));
      values.push_back(std::move(one));
      return {};
    }));
    make_set(values);
    return {};
  }

  // Restricts the neighbors to those that this condition allows.
  Status read_neighbor(const Argument& argument, sqlite3_value* value) {
    if (argument.relation == Relation::kEqual && is_null(value)) {
      call_.range_.nothing = true;
      return {};
    }
    std::optional<std::vector<std::string>> words(std::in_place), integers(std::in_place);
    const auto add = [](auto& keys, std::optional<std::string> key) {
      if (!key) keys.reset();
      if (keys) keys->push_back(std::move(*key));
    };
    GLOVE_RETURN_IF_ERROR(for_each(argument, value, [&](sqlite3_value* element) -> Status {
      const bool rowid = argument.column == kRowid;
      add(words, rowid ? std::nullopt : only_equal_word(element));
      add(integers, rowid ? only_key_of_rowid(element) : only_equal_integer(element));
      return {};
    }));
    restrict_neighbors(KeyType::kText, std::move(words));
    restrict_neighbors(KeyType::kInteger, std::move(integers));
    return {};
  }

  // Restricts the rows to those with this key or, of one column, with one of the values of an IN.
  Status read_key() {
    if (!key_is_in_ && std::any_of(key_.begin(), key_.end(), is_null)) call_.range_.nothing = true;
    if (call_.range_.nothing) return {};
    std::optional<std::vector<std::string>> ids(std::in_place);
    const auto add = [&](std::span<sqlite3_value* const> key) -> Status {
      GLOVE_ASSIGN_OR_RETURN(const auto found, keys_->find(key));
      if (!found.has_value()) ids.reset();
      if (!ids) return {};
      for (const int64_t id : found.value()) ids->push_back(integer_word(id));
      return {};
    };
    if (!key_is_in_) {
      GLOVE_RETURN_IF_ERROR(add(key_));
    } else {
      const Argument in{Relation::kIn, kKeyPart};
      GLOVE_RETURN_IF_ERROR(for_each(in, key_.front(), [&](sqlite3_value* one) { return add({&one, 1}); }));
    }
    restrict_neighbors(KeyType::kInteger, std::move(ids));
    return {};
  }

  // Returns the only TEXT key that SQLite can consider equal to the value; nullopt if there may be several.
  std::optional<std::string> only_equal_word(sqlite3_value* value) const {
    if (sqlite3_value_type(value) != SQLITE_TEXT || may_be_numeric(text_of(value)) ||
        !equals_by_bytes(db_, text_of(value)))
      return std::nullopt;
    return std::string(text_of(value));
  }

  // The same for INTEGER keys.
  static std::optional<std::string> only_equal_integer(sqlite3_value* value) {
    const int type = sqlite3_value_type(value);
    if (type == SQLITE_INTEGER) return integer_word(sqlite3_value_int64(value));
    if (type != SQLITE_TEXT || (may_be_numeric(text_of(value)) && !integer_key(text_of(value))))
      return std::nullopt;
    return std::string(text_of(value));
  }

  // Returns the only key that a row with this rowid can have; nullopt if there may be several.
  static std::optional<std::string> only_key_of_rowid(sqlite3_value* value) {
    std::optional<std::string> rowid = only_equal_integer(value);
    const std::optional<int64_t> number = rowid ? integer_key(*rowid) : std::nullopt;
    if (!number) return rowid;
    const std::optional<int64_t> row = vtab::ScanRowids::only_row(*number);
    return row ? std::optional(integer_word(*row)) : std::nullopt;
  }

  // `keys` are those of one condition, or nullopt if only SQLite can check it.
  void restrict_neighbors(KeyType type, std::optional<std::vector<std::string>> keys) {
    if (!keys) return;
    make_set(*keys);
    auto& known = call_.neighbors_[static_cast<size_t>(type)];
    if (known) {
      std::vector<std::string> both;
      std::set_intersection(keys->begin(), keys->end(), known->begin(), known->end(),
                            std::back_inserter(both));
      keys = std::move(both);
    }
    known = std::move(keys);
  }

  void read_range(const Argument& argument, sqlite3_value* value) {
    RowRange& range = call_.range_;
    range.compares_similarity |= argument.column == kSimilarity;
    const int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL) range.nothing = true;
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return;  // SQLite checks it
    const double number = sqlite3_value_double(value);
    const bool at_most = argument.relation != Relation::kAtLeast;
    const bool at_least = argument.relation != Relation::kAtMost;
    if (argument.column == kSimilarity) {
      if (at_most) range.highest = std::min(range.highest, number);
      if (at_least) range.lowest = std::max(range.lowest, number);
    } else if (argument.column == kDistance) {
      if (at_most) range.farthest = std::min(range.farthest, number);
      if (at_least) range.nearest = std::max(range.nearest, number);
    } else {
      if (at_most) set_last_rank(range, number);
      if (at_least) set_first_rank(range, number);
    }
  }

  // Ranks are far below 2^53, so doubles represent them exactly.
  static constexpr double kBeyondRanks = 9e15;
  static void set_last_rank(RowRange& range, double most) {
    if (most < 1) range.nothing = true;
    if (most >= 1 && most < kBeyondRanks)
      range.last_rank = std::min(range.last_rank, static_cast<int64_t>(std::floor(most)));
  }
  static void set_first_rank(RowRange& range, double least) {
    if (least > kBeyondRanks) range.nothing = true;
    if (least > 1 && least <= kBeyondRanks)
      range.first_rank = std::max(range.first_rank, static_cast<int64_t>(std::ceil(least)));
  }

  void add_hint(Relation relation, sqlite3_value* value) {
    if (sqlite3_value_type(value) != SQLITE_INTEGER) return;
    const int64_t rows = sqlite3_value_int64(value);
    if (rows < 0 || rows > std::numeric_limits<int32_t>::max()) return;
    if (relation == Relation::kLimit || call_.row_hint_ > 0) call_.row_hint_ += rows;
  }

  FilterCall& call_;
  sqlite3* db_;
  const Backends& known_backends_;
  LastAmong& last_among_;
  RowKeys* const keys_;
  std::vector<sqlite3_value*> key_;  // the columns of a key, or the values of an IN
  bool key_is_in_ = false;
  std::vector<std::string> models_ = std::vector<std::string>(1);
  std::vector<std::string> backends_ = std::vector<std::string>(1);
  std::vector<int64_t> ks_ = std::vector<int64_t>(1);
};

Inputs FilterCall::inputs_of(size_t setting) const {
  GLOVE_REQUIRE(setting < setting_count() && query_count() > 0);
  Inputs inputs = common_;
  inputs.model = settings_[setting].model;
  inputs.backend = settings_[setting].backend;
  inputs.k = settings_[setting].k;
  set_query(0, inputs);
  return inputs;
}

void FilterCall::set_query(size_t query, Inputs& inputs) const {
  GLOVE_REQUIRE(query < query_count());
  inputs.word = words_[query / exprs_.size()];
  inputs.expr = exprs_[query % exprs_.size()];
}

bool FilterCall::has_inputs_of(const FilterCall& other) const {
  return common_ == other.common_ && settings_ == other.settings_ && words_ == other.words_ &&
         exprs_ == other.exprs_ && batch_ == other.batch_;
}

// Prepares for repeat().
void FilterCall::keep(const Plan& plan, Arguments values) {
  const size_t count = std::min(plan.arguments.size(), values.size());
  std::optional<size_t> key;
  for (size_t i = 0; i < count; ++i) {
    const auto& [relation, column] = plan.arguments[i];
    if (relation == Relation::kIn) return;
    if (column != kNeighbor && column != kRowid) continue;
    if (key || column != kNeighbor || sqlite3_value_type(values[i]) != SQLITE_INTEGER) return;
    key = i;
  }
  values_.resize(key ? count : 0);
  for (size_t i = 0; i < values_.size(); ++i)
    if (i != *key) values_[i] = copy_of(values[i]);
  neighbor_ = key;
}

bool FilterCall::repeat(Arguments values) {
  if (!neighbor_ || values.size() != values_.size()) return false;
  for (size_t i = 0; i < values.size(); ++i)
    if (i != *neighbor_ && !is_same_value(values[i], values_[i].get())) return false;
  if (sqlite3_value_type(values[*neighbor_]) != SQLITE_INTEGER) return false;
  neighbors_[static_cast<size_t>(KeyType::kInteger)]->assign(
      1, integer_word(sqlite3_value_int64(values[*neighbor_])));
  return true;
}

Result<FilterCall> FilterCall::read(const Plan& plan, Arguments values, sqlite3* db, const Backends& backends,
                                    LastAmong& among, const RankedColumns& columns) {
  FilterCall call;
  call.reads_rank_ = plan.reads_rank;
  call.range_.compares_similarity = plan.sorts_by_similarity;
  const char* const table = columns.inputs.table;
  FilterCallReader reader(call, db, backends, among, columns.keys);
  for (size_t i = 0; i < plan.arguments.size() && i < values.size(); ++i)
    if (const Status read = reader.read(plan.arguments[i], values[i]); !read.ok())
      return named_argument_error(table, read.error());
  GLOVE_RETURN_IF_ERROR(reader.finish());
  call.keep(plan, values);
  return call;
}

}  // namespace glove::sql::nn
