#include "loader/row_transform.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/concat.h"
#include "base/float_environment.h"
#include "base/require.h"
#include "model/exact_dot.h"
#include "model/limits.h"

namespace glove {
namespace {

int64_t row_number(const RowBlock& rows, size_t row) {
  return rows.row_numbers.empty() ? rows.first_row + static_cast<int64_t>(row) : rows.row_numbers[row];
}

Error row_error(const std::string& source, const RowBlock& rows, size_t row, const std::string& what) {
  return {ErrorCode::kCorrupt, concat(source, ": ", rows.place, " ", row_number(rows, row), ": ", what)};
}

std::optional<std::string> fault_of_word(std::string_view word, bool empty_words) {
  if (word.empty() && !empty_words) return "the word is empty";
  if (static_cast<int64_t>(word.size()) > kMaxWordBytes)
    return concat("the word has ", word.size(), " bytes; the most is ", kMaxWordBytes);
  return std::nullopt;
}

std::string fault_of_vector(const float* x, int64_t dims) {
  const float* const fault = std::find_if(x, x + dims, [](float value) { return !std::isfinite(value); });
  return concat("component ", fault - x + 1, " is ", std::isnan(*fault) ? "NaN" : "infinite");
}

// Stores the words contiguously, so that the consumer of the rows does not have to read through the file's
// bytes.
void gather_words(bool lower, RowBlock& rows, Buffer<char>& bytes) {
  size_t total = 0;
  for (const std::string_view word : rows.words) total += word.size();
  bytes.resize(total);
  char* at = bytes.data();
  for (std::string_view& word : rows.words) {
    std::copy(word.begin(), word.end(), at);
    word = {at, word.size()};
    at += word.size();
  }
  if (!lower) return;
  for (char& c : bytes)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
}

void keep_subset(const WordSet& subset, int64_t dims, RowBlock& rows) {
  const auto width = static_cast<size_t>(dims);
  if (rows.row_numbers.empty())
    for (size_t i = 0; i < rows.words.size(); ++i)
      rows.row_numbers.push_back(rows.first_row + static_cast<int64_t>(i));
  size_t kept = 0;
  for (size_t i = 0; i < rows.words.size(); ++i) {
    if (!subset.contains(rows.words[i])) continue;
    rows.words[kept] = rows.words[i];
    rows.row_numbers[kept] = rows.row_numbers[i];
    std::copy_n(rows.vectors.data() + i * width, width, rows.vectors.data() + kept * width);
    ++kept;
  }
  rows.words.resize(kept);
  rows.row_numbers.resize(kept);
  rows.vectors.resize(kept * width);
}

void normalize_row(float* x, int64_t dims, double norm_squared) {
  if (!(norm_squared > 0.0)) return;
  const double norm = std::sqrt(norm_squared);
  for (int64_t j = 0; j < dims; ++j) x[j] = static_cast<float>(static_cast<double>(x[j]) / norm);
}

}  // namespace

Status transform_and_derive(const std::string& source, const RowTransform& transform, int64_t dims,
                            RowBlock& rows, DerivedRows& derived) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  gather_words(transform.lower, rows, derived.word_bytes);
  if (transform.subset != nullptr) keep_subset(*transform.subset, dims, rows);
  const size_t count = rows.words.size();
  derived.word_hashes.resize(count);
  derived.has_level4 = !transform.omit_level4;
  derived.resize(static_cast<int64_t>(count), dims);
  for (size_t row = 0; row < count; ++row) {
    float* const x = rows.vectors.data() + row * static_cast<size_t>(dims);
    double norm_squared = exact_dot(x, x, dims);
    auto fault = fault_of_word(rows.words[row], transform.empty_words);
    // Products of finite floats cannot overflow a double.
    if (!fault && !std::isfinite(norm_squared)) fault = fault_of_vector(x, dims);
    if (fault) {
      Status error = row_error(source, rows, row, *fault);
      rows.words.resize(row);
      return error;
    }
    if (transform.normalize) {
      normalize_row(x, dims, norm_squared);
      norm_squared = exact_dot(x, x, dims);
    }
    derived.word_hashes[row] = WordSet::hash(rows.words[row]);
    derived.compute(static_cast<int64_t>(row), x, norm_squared, dims);
  }
  return {};
}

}  // namespace glove
