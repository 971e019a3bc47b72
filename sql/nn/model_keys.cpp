#include "sql/nn/model_keys.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/require.h"

namespace glove::sql::nn {
namespace {

constexpr int64_t kWordsBetweenChecks = int64_t{1} << 16;

// The keys of a model, in order.
struct ModelKeys {
  std::vector<int64_t> keys;  // ascending
  std::vector<int32_t> rows;  // rows[i] has keys[i]

  int64_t bytes() const {
    return static_cast<int64_t>(keys.size() * sizeof(keys[0]) + rows.size() * sizeof(rows[0]));
  }
};

// A damaged file may contain words that are no integers, which have no key, or equal ones, of which the first
// has it.
Result<ModelKeys> read_keys(const Model& model, const InterruptCheck& interrupted) {
  std::vector<std::pair<int64_t, int32_t>> found;
  found.reserve(static_cast<size_t>(model.words()));
  for (int64_t row = 0; row < model.words(); ++row) {
    if (row % kWordsBetweenChecks == 0) GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    if (const auto key = integer_key(model.vocabulary().word(row)))
      found.emplace_back(*key, static_cast<int32_t>(row));
  }
  if (!std::is_sorted(found.begin(), found.end())) std::sort(found.begin(), found.end());
  ModelKeys keys;
  keys.keys.reserve(found.size());
  keys.rows.reserve(found.size());
  for (const auto& [key, row] : found) {
    if (!keys.keys.empty() && keys.keys.back() == key) continue;
    keys.keys.push_back(key);
    keys.rows.push_back(row);
  }
  GLOVE_RETURN_IF_ERROR(model.health(interrupted));
  return keys;
}

}  // namespace

Result<RowMaskPtr> rows_with_keys(Engine& engine, const Model& model, const KeySet& keys,
                                  const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(model.vocabulary().key_type() == KeyType::kInteger);
  const auto read = [&] { return read_keys(model, interrupted); };
  GLOVE_ASSIGN_OR_RETURN(const auto known,
                         engine.results().find_or_add<ModelKeys>("keys:" + std::to_string(model.id()), read));
  auto mask = std::make_shared<RowMask>(model);
  GLOVE_RETURN_IF_ERROR(mask->admit(keys, known->keys, known->rows, interrupted));
  mask->complete(model);
  return RowMaskPtr(std::move(mask));
}

}  // namespace glove::sql::nn
