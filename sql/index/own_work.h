// Keeps an index from being used while it runs statements of its own. These refer to the index's tables and
// to its content, where a trigger, a function or, in a hostile file, a view can use the index again: without
// an end, or while its statements and buffers are in use.
#pragma once

#include <utility>

#include "base/status.h"
#include "sql/adapter/connection.h"
#include "sql/index/index_definition.h"

namespace glove::sql {

// Lasts while an index runs statements of its own. Belongs to the thread that uses the connection. Both
// arguments must outlive the object.
class OwnWork {
 public:
  OwnWork(Connection& connection, const IndexDefinition& index);
  ~OwnWork();
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;

  // An error, kInvalidArgument, if the index is at work already, under this definition or another one of its
  // name, or if eight indexes are at work, each because of the one before: the stack may not suffice for
  // more.
  const Status& allowed() const { return allowed_; }

 private:
  Connection& connection_;
  const Status allowed_;
};

// Runs body(), which returns a Status or a Result, as work of the index, if that is allowed.
template <class Body>
auto own_work(Connection& connection, const IndexDefinition& index, Body&& body) -> decltype(body()) {
  const OwnWork work(connection, index);
  if (!work.allowed().ok()) return work.allowed().error();
  return std::forward<Body>(body)();
}

}  // namespace glove::sql
