// glove_keys(id): the set of the ids as a BLOB of little-endian int64, ascending and without duplicates; an
// aggregate. glove_keys(a, b, ...), and of a key that is no integer: a JSON array of these keys
// (sql/values/row_keys.h).
//
//   SELECT hex(glove_keys(column1)) FROM (VALUES (2), (1), (2));  01000000000000000200000000000000
//   SELECT id FROM doc_vec WHERE query = ? AND k = 10 AND among = (SELECT glove_keys(id) FROM doc WHERE lang
//   = 'en');
//
// A key with a NULL is skipped, as by other aggregates. Returns NULL if there is no key. Memory grows with
// the different ids, not with the rows.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "sql/adapter/aggregate.h"
#include "sql/adapter/arguments.h"
#include "sql/adapter/boundary.h"
#include "sql/nn/glove_nn_plan.h"
#include "sql/register.h"
#include "sql/values/row_keys.h"

namespace glove::sql {
namespace {

class KeyState {
 public:
  Status step(sqlite3_context*, Arguments row) {
    if (row.empty() || row.size() > nn::kMostKeyParts)
      return invalid_value("glove_keys", "a key has 1 to ", nn::kMostKeyParts, " columns, but ", row.size(),
                           " arguments are given");
    if (std::any_of(row.begin(), row.end(), is_null)) return {};
    if (row.size() > 1 || sqlite3_value_type(row[0]) != SQLITE_INTEGER || !json_.empty()) {
      for (sqlite3_value* const part : row)
        if (sqlite3_value_type(part) == SQLITE_FLOAT && !std::isfinite(sqlite3_value_double(part)))
          return invalid_value("glove_keys", "a key is infinite, which JSON cannot hold");
      json_.insert(json_key(row));
      return {};
    }
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
    if (!json_.empty()) return return_json(context);
    if (!keys_.empty())
      sqlite3_result_blob64(context, keys_.data(), keys_.size() * sizeof(int64_t), SQLITE_TRANSIENT);
    return {};
  }

 private:
  Status return_json(sqlite3_context* context) {
    for (const int64_t key : keys_)
      json_.insert(std::to_string(key));  // those before the first of another type
    std::string set;
    for (const std::string& key : json_) set += (set.empty() ? "[" : ",") + key;
    return_text(context, set + "]");
    return {};
  }

  void make_set() {
    if (is_set_) return;
    std::sort(keys_.begin(), keys_.end());
    keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
    is_set_ = true;
  }

  std::set<std::string> json_;  // keys that are no single integers, and those after them
  std::vector<int64_t> keys_;
  bool is_set_ = true;     // ascending and without duplicates
  size_t sort_at_ = 4096;  // the number of keys at which duplicates are removed
};

}  // namespace

// INNOCUOUS and DETERMINISTIC, because the result depends on nothing but the arguments.
constexpr SqlObject kGloveKeys =
    Aggregate<KeyState>::object("glove_keys", -1, -1, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS);

}  // namespace glove::sql
