#include "lists/probe_order.h"

#include <algorithm>
#include <bit>

namespace glove {
namespace {

// Most searches read fewer lists than have this share of the rows, so the others are placed later.
constexpr int64_t kPlacedShare = 16;
constexpr int64_t kGrowth = 4;

}  // namespace

ProbeOrder::ProbeOrder(std::span<const int32_t> products, std::span<const int64_t> offsets)
    : products_(products), buckets_(products.size()), rows_(kBuckets) {
  if (products.empty()) return;
  int32_t least = products.front();
  largest_ = products.front();
  for (const int32_t product : products) {
    least = std::min(least, product);
    largest_ = std::max(largest_, product);
  }
  // Differences of 32 bits without a sign.
  const auto largest = static_cast<uint32_t>(largest_);
  const int width = std::bit_width(largest - static_cast<uint32_t>(least));
  shift_ = std::max(0, width - kBucketBits);
  for (size_t i = 0; i < products.size(); ++i)
    buckets_[i] = static_cast<uint16_t>((largest - static_cast<uint32_t>(products[i])) >> shift_);
  for (size_t i = 0; i < products.size(); ++i) rows_[buckets_[i]] += offsets[i + 1] - offsets[i];
  for (size_t bucket = 1; bucket < kBuckets; ++bucket) rows_[bucket] += rows_[bucket - 1];
}

void ProbeOrder::place_more() {
  const size_t first = ends_.size();
  const int64_t wanted =
      first == 0 ? rows() / kPlacedShare : rows_[first - 1] * kGrowth + rows() / kPlacedShare;
  const auto place = std::lower_bound(rows_.begin() + static_cast<int64_t>(first), rows_.end() - 1, wanted);
  const auto end = static_cast<size_t>(place - rows_.begin()) + 1;
  std::vector<int32_t> chosen(products_.size());
  size_t count = 0;
  for (size_t i = 0; i < products_.size(); ++i) {
    chosen[count] = static_cast<int32_t>(i);
    count += buckets_[i] >= first && buckets_[i] < end;
  }
  ends_.resize(end);
  std::vector<size_t> next(end);
  for (const int32_t list : std::span(chosen).first(count)) ++ends_[buckets_[static_cast<size_t>(list)]];
  size_t sum = lists_.size();
  for (size_t bucket = first; bucket < end; ++bucket) {
    next[bucket] = sum;
    sum += ends_[bucket];
    ends_[bucket] = sum;
  }
  lists_.resize(sum);
  for (const int32_t list : std::span(chosen).first(count))
    lists_[next[buckets_[static_cast<size_t>(list)]]++] = list;
}

int64_t ProbeOrder::next() {
  while (position_ == lists_.size()) {
    if (ends_.size() == kBuckets || products_.empty()) return -1;
    place_more();
  }
  while (sorted_buckets_ == 0 || ends_[sorted_buckets_ - 1] <= position_) {
    const size_t begin = sorted_buckets_ == 0 ? 0 : ends_[sorted_buckets_ - 1];
    const auto place = [this](size_t i) { return lists_.begin() + static_cast<int64_t>(i); };
    std::sort(place(begin), place(ends_[sorted_buckets_]), [this](int32_t a, int32_t b) {
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
