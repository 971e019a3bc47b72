// glove_indexes: the live indexes of the connection's databases.
//
//   SELECT name, rows, segments, logged, state FROM glove_indexes;   -- doc_vec|1000|2|17|changed
//
// rows counts those of the segments that are not dead; dead also counts those that searches of the process
// have found to be gone; logged counts the rows of the log, which the first query of a connection reads.
// state is 'current' (nothing is logged), 'changed', or 'sync is due' above 10,000 logged rows; for an index
// that cannot be queried, because its tables, its triggers or its content are not what they must be, it is
// the reason, and the numbers are NULL; if its model is not loaded, state says so. While a command runs,
// state is how far it is, as in 'syncing, 31,000 of 64,512', and the numbers are NULL. Where a backend has
// failed to search the index, the reason follows. backend is the one that has the index or, if none has, the
// one that 'auto' would use. recall is what approximate answers of this process promised on average where
// they were audited, and measured what the audits have observed, with an interval of 95 %.
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "search/searcher_choice.h"
#include "sql/adapter/own_statement.h"
#include "sql/adapter/snapshot.h"
#include "sql/index/content_schema.h"
#include "sql/index/index_definition.h"
#include "sql/index/index_progress.h"
#include "sql/index/index_schema.h"
#include "sql/index/index_store.h"
#include "sql/index/key_table.h"
#include "sql/index/own_work.h"
#include "sql/register.h"

namespace glove::sql {
namespace {

constexpr const char* kTable = "glove_indexes";

struct FoundIndex {
  IndexDefinition definition;  // of which the schema and the name are always known
  Status problem;              // with the definition
};

FoundIndex found_index(const std::string& schema, const std::string& name, std::string_view sql) {
  Result<IndexDefinition> definition = read_index_definition(schema, name, sql);
  if (definition.ok()) return {std::move(definition).value(), {}};
  FoundIndex found{{}, definition.status()};
  found.definition.schema = schema;
  found.definition.name = name;
  return found;
}

// The tables that are made with glove_index, of all schemas of the connection.
Result<std::vector<FoundIndex>> indexes_of(sqlite3* db) {
  std::vector<FoundIndex> indexes;
  GLOVE_RETURN_IF_ERROR(for_each_index(
      db, kTable, [&](const std::string& schema, const std::string& name, std::string_view sql) {
        indexes.push_back(found_index(schema, name, sql));
        return Status();
      }));
  return indexes;
}

// What the shadow tables of an index have.
struct IndexSize {
  int64_t segments = 0;
  int64_t rows = 0;
  int64_t logged = 0;
  int64_t bytes = 0;
  int64_t dead = 0;
};

Result<IndexSize> size_of(sqlite3* db, const IndexDefinition& index) {
  const std::string vectors =
      index.is_text ? "(SELECT sum(length(vectors)) FROM " + index.object("_vector") + ")" : "0";
  OwnQuery counted(db, index.name,
                   "SELECT (SELECT count(*) FROM " + index.object("_segment") + "), (SELECT sum(rows) FROM " +
                       index.object("_segment") + "), (SELECT count(*) FROM " + index.object("_log") +
                       "), (SELECT sum(length(data)) FROM " + index.object("_block") + "), " + vectors);
  GLOVE_RETURN_IF_ERROR(counted.next());
  IndexSize size{counted.integer(0), counted.integer(1), counted.integer(2),
                 counted.integer(3) + counted.integer(4), 0};
  OwnQuery bits(db, index.name, "SELECT bits FROM " + index.object("_dead"));
  GLOVE_RETURN_IF_ERROR(bits.for_each([&] {
    for (const std::byte byte : bits.blob(0))
      size.dead += std::popcount(std::to_integer<unsigned char>(byte));
  }));
  return size;
}

// An error if a query would not find the model of the index.
Status check_model(Connection& connection, const IndexDefinition& index, IndexStore& store) {
  VectorStore vectors(connection, index);
  ContentRows rows(connection, index, vectors);
  GLOVE_ASSIGN_OR_RETURN(const IndexConfig config, store.config());
  return rows.check_model(config);
}

// What an index has whose tables are what they must be.
struct IndexContent {
  IndexSize size;
  std::string state;
  live::PartSetPtr searched;  // null if no statement searches it
};

std::string state_of(const IndexSize& size) {
  return size.logged == 0 ? "current" : size.logged > kMostLogged ? "sync is due" : "changed";
}

// An error if the tables of the index are not what they must be. Then they are not read: they may be
// anything.
Result<IndexContent> content_of(Connection& connection, const FoundIndex& found) {
  GLOVE_RETURN_IF_ERROR(found.problem);
  IndexDefinition index = found.definition;
  return own_work(connection, found.definition, [&]() -> Result<IndexContent> {
    GLOVE_RETURN_IF_ERROR(find_key(connection.db(), index));
    GLOVE_RETURN_IF_ERROR(check_index(connection.db(), index));
    IndexContent content;
    GLOVE_ASSIGN_OR_RETURN(content.size, size_of(connection.db(), index));
    IndexStore store(connection, index);
    const Status model = check_model(connection, index, store);
    content.state = model.ok() ? state_of(content.size) : model.error().message;
    if (index.has_key_table) {
      GLOVE_ASSIGN_OR_RETURN(const int64_t rows, KeyTable(connection, index).null_keys());
      if (rows > 0)
        content.state +=
            concat("; ", counted(rows, "rows"), " of '", index.content, "' with NULL in the key");
    }
    const Result<bool> former = has_former_triggers(connection.db(), index);
    if (former.ok() && former.value()) content.state += "; " + former_triggers_remedy(index);
    const Result<live::PartSetPtr> searched = store.searched_parts();
    if (searched.ok()) content.searched = searched.value();
    if (content.searched != nullptr) content.size.dead += content.searched->gone();
    return content;
  });
}

// NULL where only its tables say it, which are not read while a command is at work.
vtab::SnapshotValue metric_of(const FoundIndex& found, bool at_work) {
  const IndexDefinition& index = found.definition;
  if (!found.problem.ok() || (at_work && index.is_text && !index.has_metric)) return nullptr;
  return std::string(metric_name(index.metric));
}

// An index that a command changes is not read, because that could wait for the command.
vtab::SnapshotRow row_at_work(const FoundIndex& found, const std::string& work) {
  vtab::SnapshotRow row;
  vtab::append(row, found.definition.table_schema(), found.definition.name);
  row.resize(7);
  vtab::append(row, std::string(), work, nullptr);
  vtab::add_audits(row, {});
  row.push_back(metric_of(found, true));
  return row;
}

vtab::SnapshotRow row_of(Connection& connection, FoundIndex found) {
  const std::string work = index_work(connection.db(), found.definition);
  if (!work.empty()) return row_at_work(found, work);
  if (found.problem.ok()) found.problem = find_metric(connection, found.definition);
  const Result<IndexContent> content = content_of(connection, found);
  const bool searched = content.ok() && content.value().searched != nullptr;
  const LikelyBackend choice =
      likely_backend(connection.engine(), searched ? &content.value().searched->searchers() : nullptr);
  vtab::SnapshotRow row;
  vtab::append(row, found.definition.table_schema(), found.definition.name);
  if (content.ok()) {
    const IndexSize& size = content.value().size;
    vtab::append(row, size.rows - size.dead, size.segments, size.dead, size.logged, size.bytes);
  }
  row.resize(7);
  std::string state = content.ok() ? content.value().state : content.error().message;
  if (!choice.failed.empty()) state += "; " + choice.failed;
  row.push_back(std::string(choice.backend == nullptr ? "" : choice.backend->name()));
  row.push_back(std::move(state));
  const live::IndexRecallPtr recall = searched ? content.value().searched->recall() : nullptr;
  const AuditedRecall audited = recall == nullptr ? AuditedRecall() : recall->audit().all();
  row.push_back(audited.audits == 0 ? vtab::SnapshotValue() : vtab::SnapshotValue(audited.promised));
  vtab::add_audits(row, audited);
  row.push_back(metric_of(found, false));
  return row;
}

struct GloveIndexes {
  static constexpr const char* kName = kTable;
  static constexpr const char* kSchema =
      "CREATE TABLE glove_indexes(schema TEXT, name TEXT, rows INTEGER, segments INTEGER, dead INTEGER,"
      " logged INTEGER, bytes INTEGER, backend TEXT, state TEXT, recall REAL, measured REAL,"
      " measured_low REAL, measured_high REAL, audits INTEGER, metric TEXT)";

  static Result<std::vector<vtab::SnapshotRow>> rows(Connection& connection) {
    GLOVE_ASSIGN_OR_RETURN(const auto indexes, indexes_of(connection.db()));
    std::vector<vtab::SnapshotRow> result;
    result.reserve(indexes.size());
    for (const FoundIndex& index : indexes) result.push_back(row_of(connection, index));
    return result;
  }
};

}  // namespace

// Neither INNOCUOUS nor DIRECTONLY, for the reasons of glove_stats.
constexpr SqlObject kGloveIndexes = vtab::table_object<vtab::Snapshot<GloveIndexes>>();

}  // namespace glove::sql
