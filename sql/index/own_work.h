// The statements that an index runs of its own, and what keeps it from being used meanwhile: they refer to
// the index's tables and to its content, where a trigger, a function or, in a hostile file, a view can use
// the index again, without an end, or while its statements and buffers are in use.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/scope_exit.h"
#include "base/status.h"
#include "sql/adapter/connection.h"
#include "sql/adapter/own_statement.h"
#include "sql/index/index_definition.h"

namespace glove::sql {

// An error, kInvalidArgument, if the index is at work already, under this definition or another one of its
// name, or if eight indexes are at work, each because of the one before: the stack may not suffice for more.
Status may_work(const std::vector<const IndexDefinition*>& at_work, const IndexDefinition& index);

// Runs body(), which returns a Status or a Result, as work of the index, if that is allowed.
template <class Body>
auto own_work(Connection& connection, const IndexDefinition& index, Body&& body) -> decltype(body()) {
  std::vector<const IndexDefinition*>& at_work = connection.indexes_at_work();
  GLOVE_RETURN_IF_ERROR(may_work(at_work, index));
  at_work.push_back(&index);
  const ScopeExit ending([&at_work] { at_work.pop_back(); });
  return std::forward<Body>(body)();
}

// The base of the objects that make up an index: what they share, and how they run statements. Both arguments
// must outlive it. Errors of statements begin with the index's name.
class IndexPart {
 public:
  IndexPart(Connection& connection, const IndexDefinition& index) : connection_(connection), index_(index) {}

 protected:
  sqlite3* db() const { return connection_.db(); }

  // Prepares a statement that the object keeps, unless it is prepared.
  Status prepare(OwnStatement& statement, const std::string& sql) const {
    return statement.prepare(db(), sql, index_.name);
  }
  // A statement that is run once, with these values of its parameters.
  template <class... Values>
  OwnQuery query(const std::string& sql, const Values&... values) const {
    return OwnQuery(db(), index_.name, sql, values...);
  }
  // Runs statements without parameters.
  Status execute(const std::string& sql) const { return sql::execute(db(), sql, index_.name); }

  Connection& connection_;
  const IndexDefinition& index_;
};

}  // namespace glove::sql
