// Random masks for tests, those that break searches among them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "search/row_mask.h"

namespace glove::testing {

inline RowMaskPtr mask_of(const Model& model, const std::vector<int64_t>& rows) {
  std::vector<int64_t> ids(static_cast<size_t>(model.words()));
  std::iota(ids.begin(), ids.end(), int64_t{0});
  const auto mask = std::make_shared<RowMask>(model);
  EXPECT_TRUE(mask->admit(KeySet(rows), ids, int64_t{0}, {}).ok());
  mask->complete(model);
  return mask;
}

// No row, one, all but one, all, a range, or a random share from 1/1000 to 9/10; of the share also only the
// rows of some tiles.
inline RowMaskPtr random_mask(std::mt19937_64& random, const Model& model) {
  const auto count = static_cast<uint64_t>(model.words());
  const auto some_row = [&] { return static_cast<int64_t>(random() % count); };
  std::vector<int64_t> rows(count);
  std::iota(rows.begin(), rows.end(), int64_t{0});
  const uint64_t kind = random() % 10;
  if (kind == 0) return mask_of(model, {});
  if (kind == 1) return mask_of(model, {some_row()});
  if (kind == 2) return mask_of(model, rows);
  if (kind == 3) {
    rows.erase(rows.begin() + some_row());
    return mask_of(model, rows);
  }
  if (kind == 4) {
    const auto [first, last] = std::minmax({some_row(), some_row()});
    return mask_of(model, {rows.begin() + first, rows.begin() + last});
  }
  const uint64_t share = std::vector<uint64_t>{1, 10, 100, 500, 900}[random() % 5];
  const uint64_t tiles = random() % 2 == 0 ? 1 : 1 + random() % 5;
  std::erase_if(rows, [&](int64_t row) {
    return static_cast<uint64_t>(row / kTileRows) % tiles != 0 || random() % 1000 >= share;
  });
  return mask_of(model, rows);
}

}  // namespace glove::testing
