#include "loader/stored_recall.h"

#include <cstring>
#include <string>
#include <string_view>

#include "base/crc32.h"
#include "base/float_environment.h"
#include "base/require.h"
#include "loader/model_format.h"

namespace glove {
namespace {

// Copies a tensor with this type, this shape and its checksum; returns false if it is another.
template <class T>
bool copy_checked(const SafetensorsHeader& header, std::span<const char> bytes, std::string_view name,
                  std::string_view dtype, const std::vector<int64_t>& shape, std::vector<T>& values) {
  const Tensor* const tensor = header.find(name);
  if (tensor == nullptr || tensor->dtype != dtype || tensor->shape != shape) return false;
  values.resize(static_cast<size_t>(tensor->bytes) / sizeof(T));
  const auto from = bytes.subspan(static_cast<size_t>(tensor->offset), values.size() * sizeof(T));
  if (!from.empty()) std::memcpy(values.data(), from.data(), from.size());
  const std::span<const char> copy(reinterpret_cast<const char*>(values.data()), from.size());
  return checksum_text(crc32_continue(0, copy)) ==
         header.metadata_value(std::string(kTensorChecksumPrefix) + std::string(name));
}

// Fills the features and what was found from a file's numbers.
void split_queries(std::span<const int16_t> numbers, RecallArrays& recall) {
  const auto queries = static_cast<size_t>(recall.queries);
  recall.features.resize(kRecallKs.size() * kRecallColumns * queries);
  recall.found.clear();
  for (size_t i = 0; i < kRecallKs.size() * queries; ++i) {
    const auto query = numbers.subspan(i * kStoredRecallNumbers, kStoredRecallNumbers);
    const size_t which = i / queries;
    for (size_t j = 0; j < kRecallColumns; ++j)
      recall.features[(which * kRecallColumns + j) * queries + i % queries] = query[j];
    recall.found.insert(recall.found.end(), query.begin() + kRecallColumns, query.end());
  }
}

}  // namespace

std::vector<int16_t> stored_queries(const RecallTable& recall) {
  const auto queries = static_cast<size_t>(recall.queries);
  std::vector<int16_t> numbers;
  for (size_t i = 0; i < kRecallKs.size() * queries; ++i) {
    for (size_t j = 0; j < kRecallColumns; ++j)
      numbers.push_back(recall.features[(i / queries * kRecallColumns + j) * queries + i % queries]);
    const auto found = recall.found.subspan(i * kRecallSteps, kRecallSteps);
    numbers.insert(numbers.end(), found.begin(), found.end());
  }
  return numbers;
}

void take_recall(const SafetensorsHeader& header, std::span<const char> bytes, int64_t dims,
                 PlaneLevel& planes, StoredRecall& stored) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  const Tensor* const queries = header.find(kRecallTrials);
  if (!header.find(kRecallClasses) && queries == nullptr) return;
  planes.recall = &stored.table;
  stored.table.is_damaged = true;
  if (queries == nullptr || queries->shape.size() != 3) return;
  RecallArrays& recall = stored.arrays;
  recall.queries = queries->shape[1];
  const int64_t classes = std::ssize(kRecallKs);
  std::vector<int16_t> numbers;
  if (!copy_checked(header, bytes, kRecallClasses, "F64", {classes, kRecallTransform}, recall.transform) ||
      !copy_checked(header, bytes, kRecallTrials, "I16", {classes, recall.queries, kStoredRecallNumbers},
                    numbers))
    return;
  split_queries(numbers, recall);
  if (!is_possible(recall.table())) return;
  recall.lists = encode_centroids(planes.centroids, dims);
  stored.table = recall.table();
}

}  // namespace glove
