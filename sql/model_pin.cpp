#include "sql/model_pin.h"

#include <map>
#include <mutex>

namespace glove::sql {
namespace {

// SQLite has no place for what the functions and tables of one connection share (sqlite3_get_clientdata came
// with 3.44), so the pins are found by the connection's address. They expire with its tables, before it is
// closed.
struct Pins {
  std::mutex mutex;
  std::map<sqlite3*, std::weak_ptr<ModelPin>> by_connection;

  std::shared_ptr<ModelPin> find(sqlite3* db) {
    const std::lock_guard lock(mutex);
    const auto found = by_connection.find(db);
    return found == by_connection.end() ? nullptr : found->second.lock();
  }
};

Pins& pins() {
  static Pins* pins = new Pins;  // never freed: connections may outlive static destruction
  return *pins;
}

}  // namespace

Result<CatalogEntry> ModelView::find_entry(std::optional<std::string_view> name,
                                             const InterruptCheck& interrupted) {
  for (const CatalogEntry& entry : entries_)
    if (name ? entry.name == *name : entry.is_default) return entry;
  GLOVE_ASSIGN_OR_RETURN(CatalogEntry found, catalog_.find_entry(name, interrupted));
  entries_.push_back(found);
  return found;
}

std::shared_ptr<ModelPin> ModelPin::of(sqlite3* db, Engine& engine) {
  const std::lock_guard lock(pins().mutex);
  std::erase_if(pins().by_connection, [](const auto& pin) { return pin.second.expired(); });
  std::weak_ptr<ModelPin>& known = pins().by_connection[db];
  std::shared_ptr<ModelPin> pin = known.lock();
  if (pin == nullptr) known = pin = std::make_shared<ModelPin>(engine);
  return pin;
}

ModelViewPtr ModelPin::current_view(sqlite3* db) {
  const std::shared_ptr<ModelPin> pin = pins().find(db);
  return pin == nullptr ? nullptr : pin->view_;
}

void ModelPin::renew(sqlite3* db) {
  const std::shared_ptr<ModelPin> pin = pins().find(db);
  if (pin != nullptr && pin->cursors_ > 0) pin->view_ = std::make_shared<ModelView>(pin->engine_);
}

ModelViewPtr ModelPin::open_cursor() {
  if (view_ == nullptr) view_ = std::make_shared<ModelView>(engine_);
  ++cursors_;
  return view_;
}

void ModelPin::close_cursor() noexcept {
  if (--cursors_ == 0) view_.reset();
}

}  // namespace glove::sql
