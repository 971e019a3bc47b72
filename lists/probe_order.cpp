#include "lists/probe_order.h"

#include <algorithm>
#include <bit>

namespace glove {

ProbeOrder::ProbeOrder(std::span<const int32_t> products, std::span<const int64_t> offsets)
    : products_(products), lists_(products.size()), ends_(kBuckets), rows_(kBuckets) {
  if (products.empty()) return;
  int32_t least = products.front();
  largest_ = products.front();
  for (const int32_t product : products) {
    least = std::min(least, product);
    largest_ = std::max(largest_, product);
  }
  const auto width = static_cast<int>(std::bit_width(static_cast<uint64_t>(int64_t{largest_} - least)));
  shift_ = std::max(0, width - kBucketBits);
  std::vector<int32_t> next(kBuckets);
  for (size_t i = 0; i < products.size(); ++i) {
    const size_t bucket = bucket_of(products[i]);
    ++ends_[bucket];
    rows_[bucket] += offsets[i + 1] - offsets[i];
  }
  for (size_t bucket = 1; bucket < kBuckets; ++bucket) {
    next[bucket] = ends_[bucket - 1];
    ends_[bucket] += ends_[bucket - 1];
    rows_[bucket] += rows_[bucket - 1];
  }
  for (size_t i = 0; i < products.size(); ++i)
    lists_[static_cast<size_t>(next[bucket_of(products[i])]++)] = static_cast<int32_t>(i);
}

int64_t ProbeOrder::next() {
  if (position_ == lists_.size()) return -1;
  while (sorted_buckets_ == 0 || static_cast<size_t>(ends_[sorted_buckets_ - 1]) <= position_) {
    const auto begin = sorted_buckets_ == 0 ? 0 : ends_[sorted_buckets_ - 1];
    std::sort(lists_.begin() + begin, lists_.begin() + ends_[sorted_buckets_], [this](int32_t a, int32_t b) {
      const int32_t product_a = products_[static_cast<size_t>(a)];
      const int32_t product_b = products_[static_cast<size_t>(b)];
      return product_a != product_b ? product_a > product_b : a < b;
    });
    ++sorted_buckets_;
  }
  return lists_[position_++];
}

int64_t ProbeOrder::product_at(int64_t rows) const {
  const auto bucket = std::lower_bound(rows_.begin(), rows_.end() - 1, rows) - rows_.begin();
  return int64_t{largest_} - (int64_t{bucket} << shift_);
}

}  // namespace glove
