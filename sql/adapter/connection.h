// The state that the SQL objects of one connection share: the snapshot of the models that its statements see.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/require.h"
#include "base/status.h"
#include "search/engine.h"
#include "sql/adapter/boundary.h"

namespace glove::sql {

struct IndexDefinition;  // sql/index/index_definition.h

// While any cursor of the connection is open, its statements see the models as they were when the first of
// these cursors was opened, whatever other connections load and unload. Models that the connection itself
// loads or unloads are visible to everything that starts afterwards. Like an SQLite connection, this is used
// by one thread at a time.
class Connection {
 public:
  // Returns the object of the connection, which the first call creates. The engine must outlive it. Each
  // registered SQL object shares ownership, so it lives as long as the connection.
  static std::shared_ptr<Connection> of(sqlite3* db, Engine& engine);

  Connection(sqlite3* db, Engine& engine) : db_(db), engine_(engine) {}
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  sqlite3* db() const { return db_; }
  Engine& engine() const { return engine_; }

  // Returns the models that a statement starting now sees. Takes no lock unless models were loaded or
  // unloaded since the last call.
  CatalogSnapshotPtr models();

  // Returns the model of that name, or the default model if `name` is nullopt. If no model is loaded, opens
  // the file that GLOVE_MODEL names; an interrupt of the connection ends that wait. A neural encoder, which
  // has no rows, is an error for those that need some.
  enum class For { kRows, kTexts };
  Result<CatalogEntry> find(std::optional<std::string_view> name, For use = For::kRows);

  // Call the functions of the catalogue of the same name. This connection sees the change immediately.
  Result<std::string> load(const std::string& path, const std::string& name, const OpenOptions& options);
  void add(const std::string& name, ModelPtr model);
  Status unload(std::string_view name);

  // Returns how often this connection has changed the models. Anything cached at a lower count is stale.
  uint64_t own_changes() const { return own_changes_; }

  // Whether glove_load_table runs the SELECT of its caller.
  bool loads_rows() const { return loads_rows_; }
  // REQUIRES: that changes it.
  void set_loads_rows(bool loads) {
    GLOVE_REQUIRE(loads != loads_rows_);
    loads_rows_ = loads;
  }

  // True while glove_attach makes or removes virtual tables whose own tables lie elsewhere and stay as they
  // are.
  bool attaches() const { return attaches_; }
  void set_attaches(bool attaches) { attaches_ = attaches; }

  // The indexes that run statements of their own now, the innermost last. Only sql/index/own_work.h uses
  // them.
  std::vector<const IndexDefinition*>& indexes_at_work() { return indexes_at_work_; }

  // Each open cursor holds one. Keeps the snapshot of the models for the connection.
  class Pin {
   public:
    explicit Pin(std::shared_ptr<Connection> connection);
    ~Pin();
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;

    Connection& connection() const { return *connection_; }

    // Like Connection::find(), among the models that existed when the cursor was opened.
    Result<CatalogEntry> find(std::optional<std::string_view> name, For use = For::kRows);

   private:
    const std::shared_ptr<Connection> connection_;
    CatalogSnapshotPtr models_;
  };

 private:
  // `others`: how many cursors, besides the one that asks, may hold the models back.
  Result<CatalogEntry> find_in(CatalogSnapshotPtr& models, std::optional<std::string_view> name, For use,
                               int others);

  sqlite3* const db_;
  Engine& engine_;
  bool loads_rows_ = false;
  bool attaches_ = false;
  int pins_ = 0;
  uint64_t own_changes_ = 0;
  CatalogSnapshotPtr pinned_;                    // not null while there are pins
  std::weak_ptr<const CatalogSnapshot> latest_;  // the catalogue's at this generation; keeps no model alive
  uint64_t latest_generation_ = 0;
  std::vector<const IndexDefinition*> indexes_at_work_;
};

}  // namespace glove::sql
