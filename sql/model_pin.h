// The models as one connection sees them while its statements run.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "search/engine.h"

struct sqlite3;

namespace glove::sql {

// The models at one moment. A name that is not among them is looked up in the catalogue once and kept from
// then on, so that $GLOVE_MODEL is opened when it is needed. One thread at a time.
class ModelView {
 public:
  explicit ModelView(Engine& engine) : catalog_(engine.catalog()), entries_(catalog_.list()) {}

  // As Catalog::find_entry().
  Result<CatalogEntry> find_entry(std::optional<std::string_view> name, const InterruptCheck& interrupted);

 private:
  Catalog& catalog_;
  std::vector<CatalogEntry> entries_;
};
using ModelViewPtr = std::shared_ptr<ModelView>;

// Keeps one view for a connection while any cursor of a glove table is open on it, whatever other connections
// load or unload meanwhile: rows of one statement come from one state of the models. One per connection, made
// by its first glove table; used by the thread that SQLite called.
class ModelPin {
 public:
  // The connection's pin, which its tables hold.
  static std::shared_ptr<ModelPin> of(sqlite3* db, Engine& engine);

  // The view that a function or a new cursor of the connection must use; nullptr if no cursor is open.
  static ModelViewPtr current_view(sqlite3* db);

  // The connection itself has changed the models: what starts from now on sees them.
  static void renew(sqlite3* db);

  explicit ModelPin(Engine& engine) : engine_(engine) {}

  // A cursor opens, and keeps the view that it gets; a cursor closes.
  ModelViewPtr open_cursor();
  void close_cursor() noexcept;

 private:
  Engine& engine_;
  size_t cursors_ = 0;
  ModelViewPtr view_;  // of the open cursors
};

}  // namespace glove::sql
