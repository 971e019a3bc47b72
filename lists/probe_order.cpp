#include "lists/probe_order.h"

#include <algorithm>
#include <bit>

namespace glove {
namespace {

// A number that is greater for a list that comes earlier, and the list of such a number.
uint64_t place_of(int32_t product, size_t list) {
  return uint64_t{static_cast<uint32_t>(product) ^ 0x80000000u} << 32 | ~static_cast<uint32_t>(list);
}
int64_t list_at(uint64_t place) {
  return ~static_cast<uint32_t>(place);
}

}  // namespace

ProbeOrder::ProbeOrder(std::span<const int32_t> products, std::span<const int64_t> offsets)
    : rows_(kBuckets), left_(products.size()) {
  if (products.empty()) return;
  const auto [least, largest] = std::minmax_element(products.begin(), products.end());
  largest_ = *largest;
  // Differences of 32 bits without a sign.
  const auto below_largest = [this](int32_t product) {
    return static_cast<uint32_t>(largest_) - static_cast<uint32_t>(product);
  };
  shift_ = std::max(0, static_cast<int>(std::bit_width(below_largest(*least))) - kBucketBits);
  for (size_t i = 0; i < products.size(); ++i) {
    rows_[below_largest(products[i]) >> shift_] += offsets[i + 1] - offsets[i];
    left_[i] = place_of(products[i], i);
  }
  for (size_t bucket = 1; bucket < kBuckets; ++bucket) rows_[bucket] += rows_[bucket - 1];
  std::make_heap(left_.begin(), left_.end());
}

int64_t ProbeOrder::next() {
  if (left_.empty()) return -1;
  std::pop_heap(left_.begin(), left_.end());
  const int64_t list = list_at(left_.back());
  left_.pop_back();
  return list;
}

int64_t ProbeOrder::product_at(int64_t rows) const {
  const auto bucket = std::lower_bound(rows_.begin(), rows_.end() - 1, rows) - rows_.begin();
  return int64_t{largest_} - (int64_t{bucket} << shift_);
}

}  // namespace glove
