// Numbers for the inputs of scans, so that a rowid identifies the inputs and the row: SQLite merges the
// branches of an OR by rowid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/status.h"

namespace glove::sql::vtab {

// Gives different inputs different numbers and equal inputs the same number, for as long as any cursor of the
// table is open. One per connection and table. One thread at a time.
//
// Nothing is forgotten earlier, because xFilter does not tell how long SQLite holds the rowids of a scan: in
// one round of an OR, a branch is many scans where SQLite takes an IN apart, and a RIGHT JOIN compares the
// rowids of all its scans. Numbers are asked for only where SQLite reads rowids, so a join without these
// stores nothing here.
class InputNumbers {
 public:
  // What an entry is assumed to take besides its key, and what all may take: 3.5 million words, or 400,000
  // BLOBs of 300 floats.
  static constexpr size_t kEntryBytes = 128;
  static constexpr size_t kMostBytes = size_t{512} << 20;
  static_assert(kMostBytes / kEntryBytes < uint64_t{1} << 32, "a rowid has 32 bits for the number");

  explicit InputNumbers(size_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  // To be called when a cursor of the table opens or closes. When the last one closes, everything is
  // forgotten.
  void open() noexcept { ++cursors_; }
  void close() noexcept;
  size_t cursors() const noexcept { return cursors_; }

  // Returns the number of the inputs that `key` identifies, from 0; -1 if they are new and there is no room.
  int64_t number_of(std::string_view key);

  size_t size() const { return numbers_.size(); }

 private:
  size_t most_bytes_;
  size_t cursors_ = 0;
  size_t bytes_ = 0;
  std::unordered_map<std::string, int64_t> numbers_;
};

// Makes the rowids of one cursor from the number of its inputs and the row. A row outside [0, 2^31) takes a
// number of its own. The table, to which `numbers` belongs, must outlive it.
class ScanRowids {
 public:
  // `table` begins the message of an error.
  ScanRowids(InputNumbers& numbers, std::string_view table) : numbers_(numbers), table_(table) {
    numbers_.open();
  }
  ~ScanRowids() { numbers_.close(); }
  ScanRowids(const ScanRowids&) = delete;
  ScanRowids& operator=(const ScanRowids&) = delete;

  // Begins a scan. `key` identifies everything that its rows depend on, and does not end in '#' and a number.
  void start(std::string key) {
    key_ = std::move(key);
    number_ = -1;
  }

  // It is an error if there is no room for the inputs.
  Result<int64_t> rowid(int64_t row);

  // Returns the only row that can have this rowid, whatever the inputs are; nullopt if there may be several.
  static std::optional<int64_t> only_row(int64_t rowid) {
    const int64_t row = rowid & ((int64_t{1} << kRowBits) - 1);
    return row == 0 ? std::nullopt : std::optional(row);
  }

 private:
  static constexpr int kRowBits = 31;

  InputNumbers& numbers_;
  const std::string_view table_;
  std::string key_;
  int64_t number_ = -1;  // of the key; -1: not requested yet
};

}  // namespace glove::sql::vtab
