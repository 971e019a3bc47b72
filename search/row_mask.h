// Which rows a search may return: the keys that a statement admits, and the rows of a model that have them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/require.h"
#include "base/status.h"
#include "model/model.h"

namespace glove {

class CopiedCodes;
using CopiedCodesPtr = std::shared_ptr<const CopiedCodes>;

// Keys of an application's rows. Immutable; any thread may use it.
class KeySet {
 public:
  // REQUIRES: the keys are ascending and without duplicates.
  explicit KeySet(std::vector<int64_t> keys) : keys_(std::move(keys)) {}

  std::span<const int64_t> keys() const { return keys_; }
  int64_t size() const { return static_cast<int64_t>(keys_.size()); }
  bool contains(int64_t key) const { return std::binary_search(keys_.begin(), keys_.end(), key); }

 private:
  std::vector<int64_t> keys_;
};
using KeySetPtr = std::shared_ptr<const KeySet>;

// The admissible rows of a model, one bit per row. Immutable once it is complete, but for the copy of the
// rows' codes that it keeps; any thread may use it then.
class RowMask {
 public:
  // A mask that admits no row of the model.
  explicit RowMask(const Model& model)
      : model_(model.id()), words_(static_cast<size_t>(model.words()) / kWordBits + 2) {}

  // Admits those of the rows first_row, first_row + 1, ... that have a key of the set; ids[i] is the key of
  // row first_row + i. REQUIRES: the ids are ascending. Errors: an interrupt.
  Status admit(const KeySet& keys, std::span<const int64_t> ids, int64_t first_row,
               const InterruptCheck& interrupted);
  // The same for rows in another order: ids[i] is the key of row rows[i].
  Status admit(const KeySet& keys, std::span<const int64_t> ids, std::span<const int32_t> rows,
               const InterruptCheck& interrupted);
  // Admits those of the rows [first, end) that `among` admits, or all of them if it is null.
  void admit_range(int64_t first, int64_t end, const RowMask* among);
  // To be called after the last admit().
  void complete(const Model& model);

  // Whether it was made for this model, and not for a larger one of which this is a part.
  bool is_of(const Model& model) const { return model.id() == model_; }

  bool admits(int64_t row) const {
    GLOVE_REQUIRE(row >= 0 && static_cast<size_t>(row) / kWordBits < words_.size());
    return (words_[static_cast<size_t>(row) / kWordBits] >> (static_cast<size_t>(row) % kWordBits) & 1) != 0;
  }
  // Returns the kTileRows rows from this one on, a bit per row. Those behind the last are not admissible.
  uint32_t of_tile(int64_t first_row) const {
    const auto bit = static_cast<size_t>(first_row) % kWordBits;
    const uint64_t* const word = &words_[static_cast<size_t>(first_row) / kWordBits];
    uint64_t bits = word[0] >> bit;
    if (bit > kWordBits - kTileRows) bits |= word[1] << (kWordBits - bit);
    return static_cast<uint32_t>(bits);
  }
  // Returns whether any of these rows is admissible.
  bool admits_tile(int64_t first_row) const { return of_tile(first_row) != 0; }

  // The rows of the model that are admissible, and the rows of all tiles that have one of them.
  int64_t count() const { return count_; }
  int64_t rows_of_tiles() const { return rows_of_tiles_; }
  // Returns the admissible rows, ascending.
  std::vector<int32_t> rows() const;

  // The copy of these rows' codes (search/copied_codes.h) that a search has left for the next ones; null
  // if there is none.
  CopiedCodesPtr codes() const;
  void keep(CopiedCodesPtr codes) const;
  // Adds the cost that a search would have saved by such a copy, and returns the sum of those of all
  // searches.
  int64_t add_missed(int64_t cost) const;

 private:
  static constexpr size_t kWordBits = 64;

  template <class Use>
  static Status for_common(const KeySet& keys, std::span<const int64_t> ids,
                           const InterruptCheck& interrupted, const Use& use);
  void set(int64_t row) {
    words_[static_cast<size_t>(row) / kWordBits] |= uint64_t{1} << (static_cast<size_t>(row) % kWordBits);
  }

  uint64_t model_;               // its id
  std::vector<uint64_t> words_;  // and one more, which stays 0
  int64_t count_ = 0;
  int64_t rows_of_tiles_ = 0;
  mutable ForkSafeMutex mutex_;
  mutable CopiedCodesPtr codes_ GLOVE_GUARDED_BY(mutex_);
  mutable int64_t missed_ GLOVE_GUARDED_BY(mutex_) = 0;
};
using RowMaskPtr = std::shared_ptr<const RowMask>;

}  // namespace glove
