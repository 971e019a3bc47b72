// The input `among`: the keys of the rows that a search may return.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/concat.h"
#include "base/status.h"
#include "model/model.h"
#include "search/engine.h"
#include "search/row_mask.h"
#include "sql/adapter/boundary.h"
#include "sql/nn/glove_nn_plan.h"

namespace glove::sql::nn {

// A value of the input: a BLOB of little-endian int64, or a JSON array of integers. Immutable.
class AmongValue {
 public:
  // Reads a value that is not NULL. An error names the element that is not an integer; the caller puts the
  // name of the table before it. Another error is an interrupt.
  static Result<std::shared_ptr<const AmongValue>> read(sqlite3_value* value,
                                                        const InterruptCheck& interrupted);

  // Makes a value whose keys were read otherwise: those of `keys`, in any order.
  static Result<std::shared_ptr<const AmongValue>> of(sqlite3_value* value, std::vector<int64_t> keys,
                                                      const InterruptCheck& interrupted);

  const KeySetPtr& keys() const { return keys_; }
  // True if the bytes of `value` are those that were read.
  bool is(sqlite3_value* value) const;
  // A string that is equal for two values if and only if their bytes and types are.
  std::string identity() const { return concat(json_ ? 't' : 'b', given(), ' '); }
  // Makes the value, as it was given, the result of the function.
  void return_to(sqlite3_context* context) const;
  // Memory that it uses.
  size_t bytes() const { return given_.size() + keys_->keys().size_bytes(); }

 private:
  AmongValue() = default;
  std::string_view given() const;

  bool json_ = false;
  std::string given_;  // empty if it is a BLOB that equals the bytes of the keys
  KeySetPtr keys_;
};
using AmongValuePtr = std::shared_ptr<const AmongValue>;

// What a message says to write, after the fault.
extern const char* const kHowToAdmit;

// The last value of a table, so that equal ones are read once. A large one is kept only by the scans that use
// it. One thread at a time.
class LastAmong {
 public:
  // As AmongValue::read(), or the rows that have the keys, which are looked up again once rows may have
  // changed.
  Result<AmongValuePtr> read(sqlite3_value* value, RowKeys* keys, const InterruptCheck& interrupted);

 private:
  static constexpr size_t kMostBytes = size_t{16} << 20;
  AmongValuePtr kept_;
  std::weak_ptr<const AmongValue> last_;
};

// The mask of the last value, of a model or of the segments of an index, which `rows` identifies. One thread
// at a time.
class LastMask {
 public:
  // Returns make(), or what it returned if it was called last with both the same keys and rows.
  template <class Make>
  Result<RowMaskPtr> find(const KeySetPtr& keys, const std::shared_ptr<const void>& rows, const Make& make) {
    if (mask_ != nullptr && same(keys_.lock(), keys) && same(rows_.lock(), rows)) return mask_;
    mask_.reset();
    GLOVE_ASSIGN_OR_RETURN(RowMaskPtr mask, make());
    keys_ = keys;
    rows_ = rows;
    mask_ = mask;
    return mask;
  }

 private:
  static bool same(const std::shared_ptr<const void>& a, const std::shared_ptr<const void>& b) {
    return a != nullptr && a == b;
  }

  std::weak_ptr<const KeySet> keys_;
  std::weak_ptr<const void> rows_;
  RowMaskPtr mask_;
};

// Returns the rows of a model whose words are integers that have a key of the set. The engine keeps the
// model's keys (ResultCache). REQUIRES: the model's key type is kInteger. Errors: an interrupt.
Result<RowMaskPtr> rows_with_keys(Engine& engine, const Model& model, const KeySet& keys,
                                  const InterruptCheck& interrupted);

}  // namespace glove::sql::nn
