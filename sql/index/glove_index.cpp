// glove_index: an index over the vectors of the rows of a table, which follows INSERT, UPDATE and DELETE.
//
//   CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='embedding');
//   SELECT d.title, v.similarity FROM doc_vec v JOIN doc d ON d.id = v.id WHERE v.query = ?1 AND v.k = 10;
//   INSERT INTO doc_vec(doc_vec) VALUES ('sync');
//
// With a key that is no INTEGER PRIMARY KEY, the columns of the key stand in the place of id:
//
//   CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='space, name', vector='embedding');
//   SELECT space, name FROM doc_vec WHERE query = ?1 AND k = 10;
//
//   CREATE TABLE doc_vec(id INTEGER, similarity REAL, rank INTEGER, query TEXT HIDDEN, k INTEGER HIDDEN,
//                        backend TEXT HIDDEN, recall REAL HIDDEN, among BLOB HIDDEN, evidence TEXT HIDDEN,
//                        rows_read INTEGER HIDDEN, distance REAL HIDDEN, doc_vec TEXT HIDDEN);
//
// The relation is that of glove_nn over the vectors of the content: every row that has one, ranked by exact
// cosine similarity or another metric, ties by id. The answers are always current: a query searches the
// segments, leaves out what the log names, and scores the logged rows as they are now. Only the commands
// write (sql/index/index_commands.h). sql/index/index_schema.h has the tables and triggers. Without a query
// the rows come in the order of their keys, with NULL in place of what depends on one.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/float_environment.h"
#include "base/require.h"
#include "sql/adapter/interrupt.h"
#include "sql/adapter/sql_tokens.h"
#include "sql/adapter/table.h"
#include "sql/index/code_reader.h"
#include "sql/index/content_rows.h"
#include "sql/index/content_schema.h"
#include "sql/index/index_commands.h"
#include "sql/index/index_schema.h"
#include "sql/index/key_table.h"
#include "sql/index/own_work.h"
#include "sql/nn/ranked_table.h"
#include "sql/register.h"
#include "sql/values/row_vector.h"

namespace glove::sql {
namespace {

constexpr std::array<nn::Column, kIndexColumns.size()> kMeanings = {
    nn::kNeighbor, nn::kSimilarity, nn::kRank,     nn::kExpr,     nn::kK,       nn::kBackend,
    nn::kRecall,   nn::kAmong,      nn::kEvidence, nn::kRowsRead, nn::kDistance};
constexpr std::array<const char*, kIndexColumns.size()> kTypes = {
    "INTEGER",     "REAL",        "INTEGER",     "TEXT HIDDEN",    "INTEGER HIDDEN", "TEXT HIDDEN",
    "REAL HIDDEN", "BLOB HIDDEN", "TEXT HIDDEN", "INTEGER HIDDEN", "REAL HIDDEN"};
constexpr size_t kDistancePlace = kIndexColumns.size() - 1;
constexpr int kInputs = 5;
static_assert(kMostKeyColumns == nn::kMostKeyParts);
constexpr const char* kHowToAsk = "WHERE query = ? AND k = 10";
constexpr const char* kQueryNotPassed =
    " has no query: SQLite could pass it none, although the statement names one. Use a condition of its own "
    "with =, IS "
    "or IN, not one inside an OR. In a RIGHT or FULL JOIN use a subquery: (SELECT id FROM ... WHERE query = "
    "? AND k = 10)";
constexpr const char* kNoQuery =
    " has no query: SQLite could pass it none; give one as an argument or in a condition of its own with =, "
    "IS or IN "
    "(in an outer join, in the ON clause), after the table that the value comes from, for example WHERE "
    "query = ? AND k = 10";
Error cannot_change(const IndexDefinition& index) {
  return invalid_argument(index.name, " cannot be changed; change the rows of '", index.content,
                          "', and the index follows");
}

// Returns cannot_change() instead of `error` if a running statement is an UPDATE or a DELETE of the rows of
// the index. If a statement writes and there is a trigger that is one, and if `no_query` reached the index,
// adds to the error what is wrong if this trigger has fired: SQLite does not tell a table for which statement
// or trigger it looks for rows.
Error explained(sqlite3* db, const IndexDefinition& index, Error error, bool no_query) {
  bool writes = false;
  for (sqlite3_stmt* at = sqlite3_next_stmt(db, nullptr); at != nullptr; at = sqlite3_next_stmt(db, at)) {
    if (sqlite3_stmt_busy(at) == 0 || sqlite3_stmt_readonly(at) != 0 || sqlite3_sql(at) == nullptr) continue;
    if (changes_rows_of(sqlite3_sql(at), index.table_schema(), index.name)) return cannot_change(index);
    writes = true;
  }
  if (!writes || !no_query) return error;
  const Result<std::string> trigger = trigger_that_changes(db, index);
  if (trigger.ok() && !trigger.value().empty())
    error.message += "; or, if the trigger '" + trigger.value() + "' fired: " + cannot_change(index).message;
  return error;
}

Result<std::vector<float>> read_blob(std::span<const std::byte> bytes, ElementType type,
                                     const ContentRows& rows, int64_t dims) {
  Result<std::vector<float>> read = read_query_blob(bytes, type, dims);
  const int64_t length = std::ssize(bytes) / element_bytes(type);
  if (read.ok() || dims == 0 || length == dims) return read;
  return Error{read.error().code, read.error().message + rows.remedy_of_length(length)};
}

Result<std::vector<float>> read_json(std::string_view text, const ContentRows& rows, int64_t dims,
                                     const InterruptCheck& interrupted) {
  std::vector<float> vector;
  if (const Status read = read_json_vector(text, vector, interrupted); !read.ok())
    return Error{read.error().code, "the query " + read.error().message};
  if (dims != 0 && std::ssize(vector) != dims)
    return invalid_argument("the query has ", component_count(vector.size()), ", but the index has ", dims,
                            " dimensions", rows.remedy_of_length(std::ssize(vector)));
  return vector;
}

// Returns the vector of the input `query` for an index of `dims` dimensions (0: it has never had a row);
// nullopt if it has no rows. REQUIRES: rows.begin() was called, and the float environment.
Result<MaybeQuery> index_query(const IndexDefinition& index, ContentRows& rows, int64_t dims,
                               const nn::ExprValue& query, const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  std::vector<float> vector;
  if (index.type == ElementType::kBits && !query.blob)
    return index_error(index, "the query must be a BLOB of bits, 8 in each byte");
  if (query.blob || (!index.has_model() && begins_like_array(query.bytes))) {
    auto given = query.blob ? read_blob(std::as_bytes(std::span(query.bytes)), index.type, rows, dims)
                            : read_json(query.bytes, rows, dims, interrupted);
    const Status status = given.ok() ? check_finite(given.value(), "the query") : given.error();
    if (!status.ok())
      return status.error().code == ErrorCode::kInterrupted ? interrupted_error()
                                                            : named_error(index.name, status.error());
    vector = std::move(given).value();
  } else {
    GLOVE_ASSIGN_OR_RETURN(const bool found, rows.encode_query(query.bytes, vector));
    if (!found) return MaybeQuery();
  }
  return dims == 0 ? MaybeQuery() : make_query(std::move(vector), {}, index.metric);
}

// The columns of an index: kIndexColumns, where those of another key stand in the place of the first.
struct IndexColumns {
  explicit IndexColumns(const IndexDefinition& index) {
    for (size_t i = 0; index.has_key_table && i < index.key.size(); ++i) {
      names.push_back(index.key[i].name.c_str());
      meanings.push_back(static_cast<nn::Column>(nn::kKeyPart + i));
    }
    for (const size_t i : places_of(index)) {
      names.push_back(kIndexColumns[i]);
      meanings.push_back(kMeanings[i]);
    }
    query = static_cast<int>(std::find(meanings.begin(), meanings.end(), nn::kExpr) - meanings.begin());
  }
  // Those of kIndexColumns that the index has, in declared order.
  static std::vector<size_t> places_of(const IndexDefinition& index) {
    std::vector<size_t> places;
    for (size_t i = index.has_key_table ? 1 : 0; i < kIndexColumns.size(); ++i) {
      const bool by_distance = ranks_by_distance(index.metric);
      if (!by_distance || i != kDistancePlace) places.push_back(by_distance && i == 1 ? kDistancePlace : i);
    }
    return places;
  }

  std::vector<const char*> names;
  std::vector<nn::Column> meanings;
  int query = 0;  // the first input
};

class LiveIndex final : public nn::RankedTable, private nn::RowKeys {
 public:
  static constexpr const char* kName = "glove_index";
  using Definition = IndexDefinition;

  static Result<IndexDefinition> define(Connection& connection, std::span<const char* const> arguments,
                                        bool is_new) {
    GLOVE_ASSIGN_OR_RETURN(IndexDefinition index, parse_index_definition(arguments));
    if (is_new && !connection.attaches()) GLOVE_RETURN_IF_ERROR(lock_for_writing(connection.db(), index));
    GLOVE_RETURN_IF_ERROR(find_key(connection.db(), index));
    GLOVE_RETURN_IF_ERROR(find_metric(connection, index));
    return index;
  }
  static bool is_shadow_suffix(std::string_view suffix) { return sql::is_shadow_suffix(suffix); }

  LiveIndex(Connection& connection, IndexDefinition definition)
      : RankedTable(connection, columns_),
        index_(std::move(definition)),
        store_(connection, index_),
        vectors_(connection, index_),
        rows_(connection, index_, vectors_),
        ranks_(connection.engine(), CacheBudget::kDefaultBytes),
        codes_(connection, index_),
        commands_(connection, index_, store_, rows_, vectors_),
        keys_(connection, index_),
        all_columns_(index_),
        columns_{.names = all_columns_.names,
                 .meanings = all_columns_.meanings,
                 .inputs =
                     {index_.name.c_str(), all_columns_.query,
                      std::span(all_columns_.names).subspan(static_cast<size_t>(all_columns_.query), kInputs),
                      "query = ?"},
                 .how_to_ask = kHowToAsk,
                 .query_not_passed = kQueryNotPassed,
                 .no_query = kNoQuery,
                 .keys = index_.has_key_table ? this : nullptr,
                 .key_parts = static_cast<int>(index_.key.size())} {}

  // An older version may have made an index with the name of a column that was added since. That column then
  // has another name, so that the one of commands keeps its own.
  std::string schema() const {
    std::string columns;
    if (index_.has_key_table)
      for (const KeyColumn& key : index_.key)
        columns +=
            concat(quoted_name(key.name), " ", key.type, " COLLATE ", quoted_name(key.collation), ", ");
    for (const size_t i : IndexColumns::places_of(index_)) {
      const bool is_taken = sqlite3_stricmp(kIndexColumns[i], index_.name.c_str()) == 0;
      const bool is_shown = i == kDistancePlace && ranks_by_distance(index_.metric);
      columns +=
          concat(kIndexColumns[i], is_taken ? "_of_the_search " : " ", is_shown ? "REAL" : kTypes[i], ", ");
    }
    return concat("CREATE TABLE x(", columns, quoted_name(index_.name), " TEXT HIDDEN)");
  }
  Status create() {
    if (connection().attaches()) return {};
    if (index_.has_certainty)
      return index_error(index_,
                         "there is no argument certainty any more; leave it out: all answers are "
                         "exact, unless a query asks for a recall below 1");
    GLOVE_RETURN_IF_ERROR(check_name(index_));
    return own_work(connection(), index_, [this] { return commands_.create(); });
  }
  Status destroy() {
    if (connection().attaches()) return {};
    GLOVE_RETURN_IF_ERROR(lock_for_writing(connection().db(), index_));
    return own_work(connection(), index_, [this]() -> Status {
      GLOVE_RETURN_IF_ERROR(drop_triggers(connection().db(), index_));
      return drop_tables(connection().db(), index_);
    });
  }
  Status rename(const std::string& new_name) {
    GLOVE_RETURN_IF_ERROR(lock_for_writing(connection().db(), index_));
    return own_work(connection(), index_, [&] { return rename_index(connection().db(), index_, new_name); });
  }
  // For PRAGMA integrity_check, which shows no message of an error and ends without checking the rest of the
  // database. A model that is not loaded is no fault of the database.
  Result<std::string> problem() {
    Result<std::string> found = own_work(connection(), index_, [this] { return commands_.problem(); });
    if (found.ok()) return found;
    const Error& error = found.error();
    if (error.code == ErrorCode::kNotFound) return std::string();
    if (error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kInvalidArgument) return error.message;
    return found;
  }
  Error cannot_change() const { return sql::cannot_change(index_); }
  Status insert(Arguments columns) {
    begin_statement();  // a command may empty the log
    sqlite3_value* const command = columns.back();
    GLOVE_RETURN_IF_ERROR(lock_for_writing(connection().db(), index_));
    if (const std::optional<Status> status = commands_.run_if_passed(command)) return *status;
    if (is_null(command) || is_blob(command)) return not_a_command();
    const bool calibrates = text_of(command) == "calibrate";
    const auto query = static_cast<size_t>(all_columns_.query);
    for (size_t i = 0; i + 1 < columns.size(); ++i)
      if (!is_null(columns[i]) && !(calibrates && i == query)) return not_a_command();
    return calibrates ? calibrate(columns[query]) : commands_.run(text_of(command));
  }

 private:
  // What follows reads the table of the keys, if the index may be read; otherwise the search says why not.
  const char* collation(int part) const override {
    return index_.key[static_cast<size_t>(part)].collation.c_str();
  }
  Result<std::optional<std::vector<int64_t>>> find(std::span<sqlite3_value* const> key) override {
    return own_work(connection(), index_, [&]() -> Result<std::optional<std::vector<int64_t>>> {
      if (!check_schema().ok()) return std::optional<std::vector<int64_t>>();
      return keys_.find(key);
    });
  }
  Result<std::vector<int64_t>> find_set(sqlite3_value* among, const InterruptCheck& interrupted) override {
    return own_work(connection(), index_, [&]() -> Result<std::vector<int64_t>> {
      if (!check_schema().ok()) return std::vector<int64_t>();
      found_in_ = store_.seen(found_by_ = statement());
      return keys_.find_set(among, interrupted);
    });
  }
  bool has_same_rows() override {
    return found_in_ && found_by_ == statement() && store_.still_reads(*found_in_);
  }
  Status return_part(sqlite3_context* context, int64_t id, int part) override {
    return own_work(connection(), index_, [&] { return keys_.return_part(context, id, part); });
  }

  Status list_rows(const std::optional<std::vector<int64_t>>& wanted, std::vector<int64_t>& ids) override {
    GLOVE_RETURN_IF_ERROR(check_schema());
    GLOVE_ASSIGN_OR_RETURN(const live::IndexState state,
                           store_.state(rows_, nullptr, store_.seen(statement())));
    ids = wanted ? ids_among(state, *wanted) : all_ids(state);
    size_.rows = wanted ? size_.rows : static_cast<double>(ids.size());
    if (!index_.has_key_table || (wanted && wanted->size() <= 1)) return {};
    GLOVE_ASSIGN_OR_RETURN(std::vector<int64_t> ordered, keys_.in_order());
    std::erase_if(ordered, [&ids](int64_t id) { return !std::ranges::binary_search(ids, id); });
    ids = std::move(ordered);
    return {};
  }
  Result<bool> has_row(int64_t id) override { return rows_.exists(id); }

  // Keeps a query for the calibration that 'merge' and 'rebuild' make.
  Status calibrate(sqlite3_value* query) {
    if (index_.type == ElementType::kBits) return no_recall(index_);
    if (is_null(query))
      return {ErrorCode::kInvalidArgument,
              index_.name + ": the command 'calibrate' needs a query, but it is NULL; write INSERT INTO " +
                  index_.name + "(" + index_.name +
                  ", query) VALUES ('calibrate', ?), and leave rows without a vector out of a SELECT"};
    return own_work(connection(), index_, [&]() -> Status {
      const ScopedFloatEnvironment float_environment;
      GLOVE_ASSIGN_OR_RETURN(const IndexConfig config, store_.config());
      GLOVE_RETURN_IF_ERROR(rows_.begin(config.dims, config));
      InterruptPoller interrupted(connection().db());
      const nn::ExprValue value{is_blob(query), std::string(text_or_blob(query))};
      GLOVE_ASSIGN_OR_RETURN(const MaybeQuery given,
                             index_query(index_, rows_, config.dims, value, interrupted));
      return given ? store_.segments().add_query(given->vector) : Status();
    });
  }

  Error not_a_command() const {
    return {ErrorCode::kInvalidArgument,
            index_.name + " takes no rows; insert them into '" + index_.content +
                "', and the index follows. It takes commands: " + index_.command("sync")};
  }

  // Checks the content and the triggers unless the schema is that of the last check. SQLite makes a new table
  // object when a change of the schema is rolled back, so a version never means two schemas here.
  Status check_schema() {
    GLOVE_ASSIGN_OR_RETURN(const int64_t version, store_.schema_version());
    const bool is_other = store_.forget_other_file();
    if (is_other) ranked_.reset();
    if (!is_other && checked_version_ == version) return {};
    GLOVE_RETURN_IF_ERROR(check_index(connection().db(), index_));
    GLOVE_ASSIGN_OR_RETURN(const bool former, has_former_triggers(connection().db(), index_));
    if (former && !checked_version_)
      connection().engine().log().write(index_.name + ": " + former_triggers_remedy(index_));
    GLOVE_ASSIGN_OR_RETURN(const bool counts, counts_changes(connection().db(), index_));
    store_.set_counts(counts);
    checked_version_ = version;
    return {};
  }

  nn::RelationSize size_for(sqlite3_value*) const override { return size_; }

  Status begin_call(const nn::FilterCall& call, const InterruptCheck& interrupted,
                    nn::RankedSource& source) override {
    GLOVE_RETURN_IF_ERROR(check_schema());
    const KeySetPtr keys = call.among() == nullptr ? nullptr : call.among()->keys();
    const std::optional<SeenState> seen = store_.seen(statement());
    GLOVE_ASSIGN_OR_RETURN(live::IndexState state, store_.state(rows_, keys.get(), seen));
    const int64_t rows = state.parts == nullptr ? 0 : state.parts->model().words();
    size_ = {static_cast<double>(rows) + static_cast<double>(state.changed->ids.size()),
             static_cast<double>(state.dims)};
    source.name = index_.name;
    source.metric = index_.metric;
    if (seen && enabled(nn::kCache)) keep_ranks(*seen, source);
    source.resolve = [this, dims = state.dims](const nn::Inputs& inputs, const InterruptCheck& stopped) {
      if (!inputs.has(nn::kExpr))
        return Result(MaybeQuery());  // NULL, as of a row without a vector in a join
      if (index_.type == ElementType::kBits && inputs.recall < 1)
        return Result<MaybeQuery>(no_recall(index_));
      return index_query(index_, rows_, dims, inputs.expr, stopped);
    };
    live::Admissible among;
    if (keys != nullptr) {
      GLOVE_ASSIGN_OR_RETURN(among, admissible(keys, state.parts, interrupted));
    }
    source.relation = std::make_unique<live::LiveRelation>(std::move(state), rows_, codes_, std::move(among));
    return {};
  }

  // Forgets the ranks of another state.
  void keep_ranks(const SeenState& seen, nn::RankedSource& source) {
    if (ranked_ != seen) ranks_.clear();
    ranked_ = seen;
    source.ranks = &ranks_;
    source.rows = static_cast<int64_t>(size_.rows);
    source.is_current = [this, seen] { return store_.sees_still(seen, statement()); };
  }

  Result<live::Admissible> admissible(const KeySetPtr& keys, const live::PartSetPtr& parts,
                                      const InterruptCheck& interrupted) {
    if (parts == nullptr) return live::Admissible{keys, nullptr};
    GLOVE_ASSIGN_OR_RETURN(RowMaskPtr rows, last_mask().find(keys, parts, [&] {
      return live::admissible_rows(*keys, *parts, interrupted);
    }));
    return live::Admissible{keys, std::move(rows)};
  }

  Status run(const std::function<Status()>& body) override { return own_work(connection(), index_, body); }

  Error explained(Error error, bool no_query) override {
    if (error.code != ErrorCode::kInvalidArgument) return error;
    return sql::explained(connection().db(), index_, std::move(error), no_query);
  }

  const IndexDefinition index_;
  IndexStore store_;
  VectorStore vectors_;
  ContentRows rows_;
  RankCache ranks_;
  std::optional<SeenState> ranked_, found_in_;  // what ranks_ are of, and where find_set() looked,
  int64_t found_by_ = 0;                        // for this statement
  CodeReader codes_;
  IndexCommands commands_;
  KeyTable keys_;
  const IndexColumns all_columns_;
  const nn::RankedColumns columns_;
  nn::RelationSize size_;  // as the last query found it
  std::optional<int64_t> checked_version_;
};

}  // namespace

// Not INNOCUOUS and not DIRECTONLY, for the reasons of glove_nn. Its triggers use neither the module nor
// any function of this extension.
constexpr SqlObject kGloveIndex = vtab::table_object<LiveIndex>();

}  // namespace glove::sql
