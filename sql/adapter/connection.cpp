#include "sql/adapter/connection.h"

#include <map>
#include <utility>

#include "base/concat.h"
#include "base/mutex.h"
#include "sql/adapter/interrupt.h"

namespace glove::sql {
namespace {

struct Connections {
  ForkSafeMutex mutex;
  std::map<sqlite3*, std::weak_ptr<Connection>> by_handle GLOVE_GUARDED_BY(mutex);
};

}  // namespace

std::shared_ptr<Connection> Connection::of(sqlite3* db, Engine& engine) {
  Connections& all = never_freed<Connections>();  // which the destructor needs
  auto made = std::make_shared<Connection>(db, engine);
  std::shared_ptr<Connection> known;
  {
    const Lock lock(all.mutex);
    std::weak_ptr<Connection>& slot = all.by_handle[db];
    known = slot.lock();
    if (known == nullptr) slot = known = made;
  }
  return known;
}

// SQLite may have given the handle's address to another connection already.
Connection::~Connection() {
  Connections& all = never_freed<Connections>();
  const Lock lock(all.mutex);
  const auto found = all.by_handle.find(db_);
  if (found != all.by_handle.end() && found->second.expired()) all.by_handle.erase(found);
}

CatalogSnapshotPtr Connection::models() {
  if (pinned_ != nullptr) return pinned_;
  if (latest_generation_ == engine_.catalog().generation()) {
    if (CatalogSnapshotPtr latest = latest_.lock()) return latest;
  }
  CatalogSnapshotPtr latest = engine_.catalog().snapshot();
  latest_ = latest;
  latest_generation_ = latest->generation();
  return latest;
}

Result<CatalogEntry> Connection::find_in(CatalogSnapshotPtr& models, std::optional<std::string_view> name,
                                         For use, int others) {
  if (models->entries().empty()) {
    InterruptPoller poller(db_);
    GLOVE_RETURN_IF_ERROR(engine_.catalog().load_from_environment(poller));
    models = engine_.catalog().snapshot();
    if (pinned_ != nullptr && pinned_->entries().empty()) pinned_ = models;
  }
  if (const CatalogEntry* const entry = models->find(name)) {
    if (use == For::kRows && entry->model->source().encoder != nullptr)
      return invalid_argument("the model ", quoted_value(entry->name),
                              " is a neural encoder, which has no rows to search; pass texts to "
                              "glove_encode, or create an index with text=... and model='",
                              entry->name, "'");
    return *entry;
  }
  if (others > 0 && name && engine_.catalog().snapshot()->find(name) != nullptr)
    return make_error(ErrorCode::kNotFound, "the model ", quoted_value(*name),
                      " was loaded after a statement that is still open on this connection; finalize or "
                      "reset that statement to use the model");
  return models->missing(name);
}

Result<CatalogEntry> Connection::find(std::optional<std::string_view> name, For use) {
  CatalogSnapshotPtr seen = models();
  return find_in(seen, name, use, pins_);
}

Result<std::string> Connection::load(const std::string& path, const std::string& name,
                                     const OpenOptions& options) {
  GLOVE_ASSIGN_OR_RETURN(CatalogEntry entry, engine_.catalog().load(path, name, options));
  ++own_changes_;
  if (pinned_ != nullptr) pinned_ = pinned_->with(entry.name, entry.searchers, pinned_->generation());
  return std::move(entry.name);
}

void Connection::add(const std::string& name, ModelPtr model) {
  CatalogEntry entry = engine_.catalog().add(name, std::move(model));
  ++own_changes_;
  if (pinned_ != nullptr) pinned_ = pinned_->with(name, std::move(entry.searchers), pinned_->generation());
}

Status Connection::unload(std::string_view name) {
  GLOVE_RETURN_IF_ERROR(engine_.catalog().unload(name));
  ++own_changes_;
  if (pinned_ != nullptr) pinned_ = pinned_->without(name, pinned_->generation());
  return {};
}

Connection::Pin::Pin(std::shared_ptr<Connection> connection)
    : connection_(std::move(connection)), models_(connection_->models()) {
  if (connection_->pins_++ == 0) connection_->pinned_ = models_;
}

Connection::Pin::~Pin() {
  if (--connection_->pins_ == 0) connection_->pinned_.reset();
}

Result<CatalogEntry> Connection::Pin::find(std::optional<std::string_view> name, For use) {
  return connection_->find_in(models_, name, use, connection_->pins_ - 1);
}

}  // namespace glove::sql
