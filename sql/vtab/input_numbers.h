// Numbers for the inputs of scans, so that a rowid identifies the inputs and the row: SQLite merges the
// branches of an OR by rowid.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace glove::sql::vtab {

// Assigns different numbers to different inputs, and the same number to equal inputs as long as it matters.
// There is one object per connection and table, used by one thread at a time.
//
// SQLite merges the rows that the branches of an OR find in one round of the loop in which the OR stands, and
// each branch is a scan of its own. So the inputs that a branch numbered are kept until the same branch
// begins its next scan, which is in a later round; until then SQLite holds a rowid for each of their rows.
// In addition, the kMostIdle most recently used inputs are kept. A number is never assigned to other inputs
// while a cursor is open.
class InputNumbers {
 public:
  static constexpr size_t kMostIdle = 4096;
  static constexpr size_t kMostBranches = 4096;  // of running statements; beyond this, the oldest is dropped
  static constexpr int64_t kMostNumbers = int64_t{1} << 32;  // rowids leave 31 bits for the row

  // Call these when a cursor of the table opens and closes. Closing the last one resets everything.
  void open() noexcept { ++cursors_; }
  void close() noexcept;
  size_t cursors() const noexcept { return cursors_; }

  // Begins a scan. `branch` identifies the scan within the statement: it is the address of the text of the
  // plan, of which SQLite keeps one copy per scan of the statement.
  void begin_scan(const void* branch);

  // Returns the number of the inputs that `key` describes, starting at 0; -1 if all kMostNumbers are used.
  // REQUIRES: begin_scan(branch) was called.
  int64_t number_of(std::string_view key, const void* branch);

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    int64_t number = 0;
    size_t holders = 0;                            // the scans that asked for it
    std::list<std::string_view>::iterator idle{};  // its place in idle_ while holders == 0
  };
  using Entries = std::unordered_map<std::string, Entry>;  // its nodes do not move
  using Node = Entries::value_type*;
  struct Branch {
    uint64_t begun = 0;
    std::vector<Node> held;
  };

  void release(Branch& branch);
  void release_oldest_branch();

  size_t cursors_ = 0;
  int64_t next_ = 0;
  uint64_t scans_ = 0;
  Entries entries_;
  std::unordered_map<const void*, Branch> branches_;
  std::list<std::string_view> idle_;  // the keys of entries without holders, the oldest first
};

}  // namespace glove::sql::vtab
