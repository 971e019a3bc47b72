#include "sql/adapter/input_numbers.h"

#include "base/concat.h"

namespace glove::sql::vtab {

void InputNumbers::close() noexcept {
  if (--cursors_ > 0) return;
  numbers_ = {};  // clear() would keep the buckets
  bytes_ = 0;
}

int64_t InputNumbers::number_of(std::string_view key) {
  std::string spelled(key);
  if (const auto found = numbers_.find(spelled); found != numbers_.end()) return found->second;
  const size_t bytes = key.size() + kEntryBytes;
  if (bytes > most_bytes_ - bytes_) return -1;
  const auto number = static_cast<int64_t>(numbers_.size());
  numbers_.emplace(std::move(spelled), number);
  bytes_ += bytes;
  return number;
}

Result<int64_t> ScanRowids::rowid(int64_t row) {
  const bool fits = row >> kRowBits == 0;
  if (fits && number_ < 0) number_ = numbers_.number_of(key_);
  const int64_t number = fits ? number_ : numbers_.number_of(key_ + '#' + std::to_string(row));
  if (number < 0)
    return invalid_argument(
        table_, ": the running statements tell the rows of ", numbers_.size(),
        " different inputs apart by their rowids, and there is no room for more; finish other "
        "statements that read the table, or split this one: an OR into a UNION, or its outer "
        "rows into parts");
  return number << kRowBits | (fits ? row : 0);
}

}  // namespace glove::sql::vtab
