#include "sql/index/index_progress.h"

#include <map>

#include "base/mutex.h"
#include "base/system_calls.h"

namespace glove::sql {
namespace {

// The commands that run, by place. Of two that run at one place, which only a child process can have, the
// last one counts.
struct Commands {
  ForkSafeMutex mutex;
  std::map<std::string, const IndexProgress*> by_place GLOVE_GUARDED_BY(mutex);
};

// A database without a file is known to its own connection only.
std::string place_of(sqlite3* db, const IndexDefinition& index) {
  const char* const file = sqlite3_db_filename(db, index.schema.c_str());
  const bool has_file = file != nullptr && *file != '\0';
  const std::string where =
      has_file ? std::string(file) : std::to_string(reinterpret_cast<uintptr_t>(db)) + "/" + index.schema;
  return std::to_string(system_calls::process_number()) + " " + index.name + '\0' + where;
}

// "31,000"
std::string with_commas(int64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

}  // namespace

IndexProgress::IndexProgress(Connection& connection, const IndexDefinition& index, const char* doing)
    : place_(place_of(connection.db(), index)),
      doing_(doing),
      log_(connection.engine().log(), index.name + ": " + doing),
      poller_(connection.db()) {
  const Lock lock(never_freed<Commands>().mutex);
  never_freed<Commands>().by_place[place_] = this;
}

IndexProgress::~IndexProgress() {
  Commands& all = never_freed<Commands>();
  const Lock lock(all.mutex);
  const auto found = all.by_place.find(place_);
  if (found != all.by_place.end() && found->second == this) all.by_place.erase(found);
}

std::string IndexProgress::text() const {
  const int64_t done = done_.load(std::memory_order_relaxed), total = total_.load(std::memory_order_relaxed);
  std::string text = doing_;
  if (done > 0) text += ", " + with_commas(done) + (total > 0 ? " of " + with_commas(total) : " rows");
  return text;
}

std::string index_work(sqlite3* db, const IndexDefinition& index) {
  const Lock lock(never_freed<Commands>().mutex);
  const auto found = never_freed<Commands>().by_place.find(place_of(db, index));
  return found == never_freed<Commands>().by_place.end() ? std::string() : found->second->text();
}

}  // namespace glove::sql
