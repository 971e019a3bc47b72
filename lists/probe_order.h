// The order in which an approximate search reads lists.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace glove {

// The lists of a part by falling product with a query (lists/list_codes.h), and by number where products are
// equal. One thread at a time.
class ProbeOrder {
 public:
  // products: [lists]; offsets: [lists + 1], PlaneLevel::offsets.
  ProbeOrder(std::span<const int32_t> products, std::span<const int64_t> offsets);

  // Returns the next list, or -1 after the last one.
  int64_t next();

  // Returns the rows of all lists.
  int64_t rows() const { return rows_.back(); }

  // Returns about the product of the list at which this many rows have been read; that of the last one if
  // there are not as many.
  int64_t product_at(int64_t rows) const;

 private:
  static constexpr int kBucketBits = 9;
  static constexpr size_t kBuckets = size_t{1} << kBucketBits;

  int32_t largest_ = 0;
  int shift_ = 0;
  std::vector<int64_t> rows_;   // [kBuckets] of products, in this bucket and those before it
  std::vector<uint64_t> left_;  // a heap of the lists that next() has not returned, the next one in front
};

}  // namespace glove
