// glove_indexes: the live indexes of the connection's databases.
//
//   SELECT name, rows, segments, logged, state FROM glove_indexes;   -- doc_vec|1000|2|17|changed
//
// rows counts those of the segments that are not dead; logged counts the rows of the log, which a query reads
// one by one. state is 'current' (nothing is logged), 'changed', or 'sync is due' above 10,000 logged rows;
// for an index that cannot be queried, because its tables, its triggers or its content are not what they must
// be, or because its model is not loaded, it is the reason. Where a backend has failed to search the index,
// the reason follows. backend is the one that has the index or, if none has, the one that 'auto' would use.
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "search/searcher_choice.h"
#include "sql/live/index_definition.h"
#include "sql/live/index_schema.h"
#include "sql/live/index_store.h"
#include "sql/live/own_statement.h"
#include "sql/live/sql_tokens.h"
#include "sql/register.h"
#include "sql/vtab/snapshot.h"

namespace glove::sql {
namespace {

constexpr const char* kTable = "glove_indexes";
constexpr const char* kModule = "glove_index";

struct FoundIndex {
  IndexDefinition definition;  // of which the schema and the name are always known
  Status problem;              // why it cannot be queried
};

FoundIndex found_index(sqlite3* db, const std::string& schema, const std::string& name,
                       std::string_view sql) {
  Result<IndexDefinition> definition = read_index_definition(schema, name, sql);
  FoundIndex found;
  if (definition.ok()) {
    found.definition = std::move(definition).value();
    found.problem = check_index(db, found.definition);
  } else {
    found.definition.schema = schema;
    found.definition.name = name;
    found.problem = definition.status();
  }
  return found;
}

// The tables that are made with glove_index, of all schemas of the connection.
Result<std::vector<FoundIndex>> indexes_of(sqlite3* db) {
  const std::string table = kTable;
  OwnStatement schemas;
  GLOVE_RETURN_IF_ERROR(schemas.prepare(db, "SELECT name FROM pragma_database_list", table));
  OwnStatement::Run schema(schemas);
  std::vector<FoundIndex> indexes;
  while (true) {
    GLOVE_ASSIGN_OR_RETURN(const bool more_schemas, schema.next());
    if (!more_schemas) return indexes;
    const std::string name(schema.text(0));
    OwnStatement names;
    GLOVE_RETURN_IF_ERROR(names.prepare(db,
                                        "SELECT name, sql FROM " + quoted(name) +
                                            ".sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE %' "
                                            "ORDER BY name",
                                        table));
    OwnStatement::Run run(names);
    while (true) {
      GLOVE_ASSIGN_OR_RETURN(const bool more, run.next());
      if (!more) break;
      if (module_of(run.text(1)) != kModule) continue;
      indexes.push_back(found_index(db, name, std::string(run.text(0)), run.text(1)));
    }
  }
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
  OwnStatement count;
  GLOVE_RETURN_IF_ERROR(count.prepare(
      db,
      "SELECT (SELECT count(*) FROM " + index.object("_segment") + "), (SELECT sum(rows) FROM " +
          index.object("_segment") + "), (SELECT count(*) FROM " + index.object("_log") +
          "), (SELECT sum(length(data)) FROM " + index.object("_block") + "), " + vectors,
      index.name));
  OwnStatement::Run counted(count);
  GLOVE_RETURN_IF_ERROR(counted.next());
  IndexSize size{counted.integer(0), counted.integer(1), counted.integer(2),
                 counted.integer(3) + counted.integer(4), 0};
  OwnStatement bits;
  GLOVE_RETURN_IF_ERROR(bits.prepare(db, "SELECT bits FROM " + index.object("_dead"), index.name));
  OwnStatement::Run run(bits);
  while (true) {
    GLOVE_ASSIGN_OR_RETURN(const bool more, run.next());
    if (!more) break;
    for (const std::byte byte : run.blob(0)) size.dead += std::popcount(std::to_integer<unsigned char>(byte));
  }
  return size;
}

// An error if a query would not find the model of the index.
Status check_model(Connection& connection, const IndexDefinition& index, IndexStore& store) {
  VectorStore vectors(connection, index);
  ContentRows rows(connection, index, vectors);
  GLOVE_ASSIGN_OR_RETURN(const IndexConfig config, store.config());
  return rows.check_model(config.dims, config.fingerprint);
}

vtab::SnapshotRow row_of(Connection& connection, const FoundIndex& found_index) {
  const IndexDefinition& index = found_index.definition;
  const Result<IndexSize> found = size_of(connection.db(), index);
  const IndexSize size = found.ok() ? found.value() : IndexSize();
  std::string state = size.logged == 0 ? "current" : size.logged > kMostLogged ? "sync is due" : "changed";
  if (!found.ok()) state = found.error().message;
  if (!found_index.problem.ok()) state = found_index.problem.error().message;  // names the remedy
  IndexStore store(connection, index);
  if (found_index.problem.ok()) {
    if (const Status model = check_model(connection, index, store); !model.ok())
      state = model.error().message;
    const Result<bool> former = has_former_triggers(connection.db(), index);
    if (former.ok() && former.value()) state += "; " + former_triggers_remedy(index);
  }
  const Result<live::PartSetPtr> parts = store.searched_parts();
  const bool searched = parts.ok() && parts.value() != nullptr;
  const LikelyBackend choice =
      likely_backend(connection.engine(), searched ? &parts.value()->searchers() : nullptr);
  if (!choice.failed.empty()) state += "; " + choice.failed;
  return {index.schema,
          index.name,
          size.rows - size.dead,
          size.segments,
          size.dead,
          size.logged,
          size.bytes,
          std::string(choice.backend == nullptr ? "" : choice.backend->name()),
          std::move(state)};
}

struct GloveIndexes {
  static constexpr const char* kName = kTable;
  static constexpr const char* kSchema =
      "CREATE TABLE glove_indexes(schema TEXT, name TEXT, rows INTEGER, segments INTEGER, dead INTEGER,"
      " logged INTEGER, bytes INTEGER, backend TEXT, state TEXT)";

  static Result<std::vector<vtab::SnapshotRow>> rows(Connection& connection) {
    GLOVE_ASSIGN_OR_RETURN(const auto indexes, indexes_of(connection.db()));
    std::vector<vtab::SnapshotRow> result;
    for (const FoundIndex& index : indexes) result.push_back(row_of(connection, index));
    return result;
  }
};

}  // namespace

int register_glove_indexes(sqlite3* db, Engine& engine) {
  // Neither INNOCUOUS nor DIRECTONLY, for the reasons of glove_stats.
  return vtab::register_table<vtab::Snapshot<GloveIndexes>>(db, engine);
}

}  // namespace glove::sql
