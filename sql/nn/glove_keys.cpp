// glove_keys(id): the set of the ids as a BLOB of little-endian int64, ascending and without duplicates; an
// aggregate.
//
//   SELECT hex(glove_keys(column1)) FROM (VALUES (2), (1), (2));  01000000000000000200000000000000
//   SELECT id FROM doc_vec WHERE query = ? AND k = 10 AND among = (SELECT glove_keys(id) FROM doc WHERE lang
//   = 'en');
//
// A NULL id is skipped, as by other aggregates. Returns NULL if there is no id. Memory grows with the
// different ids, not with the rows.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "sql/adapter/aggregate.h"
#include "sql/adapter/arguments.h"
#include "sql/adapter/boundary.h"
#include "sql/register.h"

namespace glove::sql {
namespace {

class KeyState {
 public:
  Status step(sqlite3_context*, Arguments row) {
    if (is_null(row[0])) return {};
    if (sqlite3_value_type(row[0]) != SQLITE_INTEGER)
      return invalid_value("glove_keys", "id must be an INTEGER or NULL, but is ", shown_value(row[0]),
                           "; CAST(id AS INTEGER) makes one");
    const int64_t key = sqlite3_value_int64(row[0]);
    if (!keys_.empty() && keys_.back() == key) return {};
    if (keys_.size() == sort_at_) {
      make_set();
      sort_at_ = std::max(sort_at_, 2 * keys_.size());
    }
    is_set_ = is_set_ && (keys_.empty() || keys_.back() < key);
    keys_.push_back(key);
    return {};
  }

  Status result(sqlite3_context* context) {
    make_set();
    if (!keys_.empty())
      sqlite3_result_blob64(context, keys_.data(), keys_.size() * sizeof(int64_t), SQLITE_TRANSIENT);
    return {};
  }

 private:
  void make_set() {
    if (is_set_) return;
    std::sort(keys_.begin(), keys_.end());
    keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
    is_set_ = true;
  }

  std::vector<int64_t> keys_;
  bool is_set_ = true;     // ascending and without duplicates
  size_t sort_at_ = 4096;  // the number of keys at which duplicates are removed
};

}  // namespace

int register_glove_keys(sqlite3* db, Engine& engine) {
  // INNOCUOUS and DETERMINISTIC, because the result depends on nothing but the arguments.
  return register_aggregate(db, engine, "glove_keys", 1, 1, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                            Aggregate<KeyState>::callbacks());
}

}  // namespace glove::sql
