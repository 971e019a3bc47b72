// What the SQL objects of one connection share: which state of the models its statements see.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "search/engine.h"
#include "sql/boundary.h"

namespace glove::sql {

// While any cursor of the connection is open, its statements see the models as they were when the first of
// them was opened, whatever other connections load and unload; what the connection itself loads or unloads,
// whatever starts later sees at once. Used by one thread at a time, as SQLite uses a connection.
class Connection {
 public:
  // The connection's object, made at the first call. The engine outlives it. Each SQL object that was
  // registered holds it, so that it lives as long as the connection.
  static std::shared_ptr<Connection> of(sqlite3* db, Engine& engine);

  Connection(sqlite3* db, Engine& engine) : db_(db), engine_(engine) {}
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  sqlite3* db() const { return db_; }
  Engine& engine() const { return engine_; }

  // What a statement that starts now sees. Takes no lock while nothing is loaded or unloaded.
  CatalogSnapshotPtr models();

  // The model of that name, or the default one if name is nullopt, as Catalog::find_entry() finds it; an
  // interrupt of the connection ends the wait for a file that is opened for it.
  Result<CatalogEntry> find(std::optional<std::string_view> name);

  // Those of the catalogue, seen by this connection at once.
  Result<std::string> load(const std::string& path, const std::string& name, const OpenOptions& options);
  void add(const std::string& name, ModelPtr model);
  Status unload(std::string_view name);

  // How often this connection has changed the models: what was kept before is stale.
  uint64_t own_changes() const { return own_changes_; }

  // Held by each open cursor.
  class Pin {
   public:
    explicit Pin(std::shared_ptr<Connection> connection);
    ~Pin();
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;

    Connection& connection() const { return *connection_; }

    // As Connection::find(), among the models that the cursor saw when it was opened.
    Result<CatalogEntry> find(std::optional<std::string_view> name);

   private:
    const std::shared_ptr<Connection> connection_;
    CatalogSnapshotPtr models_;
  };

 private:
  Result<CatalogEntry> find_in(CatalogSnapshotPtr& models, std::optional<std::string_view> name);

  sqlite3* const db_;
  Engine& engine_;
  int pins_ = 0;
  uint64_t own_changes_ = 0;
  CatalogSnapshotPtr pinned_;                    // not null while there are pins
  std::weak_ptr<const CatalogSnapshot> latest_;  // the catalogue's at this generation; keeps no model alive
  uint64_t latest_generation_ = 0;
};

}  // namespace glove::sql
