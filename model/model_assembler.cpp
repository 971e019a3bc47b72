#include "model/model_assembler.h"

#include <algorithm>

#include "base/concat.h"
#include "base/utf8.h"
#include "model/limits.h"

namespace glove {
namespace {

constexpr size_t kPrefetchedRows = 8;

}  // namespace

void ModelAssembler::reserve(int64_t rows) {
  words_.reserve(rows);
  derived_.reserve(rows);
}

bool ModelAssembler::append_word(std::string_view word, uint32_t hash) {
  const bool valid = is_valid_utf8(word);
  if (!valid) ++counts_.invalid_utf8;
  if (keeps_every_row_) {
    words_.append(word);
    return true;
  }
  if (!valid && invalid_utf8_ == InvalidUtf8::kSkip) return false;
  if (!valid && invalid_utf8_ == InvalidUtf8::kReplace ? append_replaced(word) : words_.insert(word, hash))
    return true;
  // A word may be written as another one was renamed to.
  if (valid && !made_names_.empty() && made_names_.contains(word) && append_replaced(word)) return true;
  ++counts_.duplicates;
  return false;
}

// Appends a word under a valid name that no other word has. Returns false if it is already present.
bool ModelAssembler::append_replaced(std::string_view word) {
  if (!seen_.emplace(word).second) return false;
  const std::string name = printable_utf8(word);
  int64_t& number = last_numbers_[name];
  while (true) {
    const std::string numbered = ++number == 1 ? name : concat(name, number);
    if (words_.insert(numbered, WordSet::hash(numbered))) return made_names_.insert(numbered).second;
    if (!made_names_.contains(numbered)) seen_.insert(numbered);
  }
}

// Counts among the rows that have just been derived.
void ModelAssembler::count_zero_rows(int64_t first) {
  const auto fresh = derived_.norms_squared().subspan(static_cast<size_t>(first));
  counts_.zero_rows += std::count(fresh.begin(), fresh.end(), 0.0);
}

// Appends rows [first, last) of a block, whose words have been appended.
Status ModelAssembler::append_kept(const RowBlock& rows, const DerivedRows& derived, size_t first,
                                   size_t last) {
  const auto width = static_cast<size_t>(dims_);
  const int64_t before = derived_.rows();
  const std::span<const float> vectors(rows.vectors);
  GLOVE_RETURN_IF_ERROR(vectors_.append(bytes_of(vectors.subspan(first * width, (last - first) * width))));
  GLOVE_RETURN_IF_ERROR(derived_.append(derived, static_cast<int64_t>(first), static_cast<int64_t>(last)));
  count_zero_rows(before);
  return {};
}

Result<bool> ModelAssembler::append(int64_t dims, const RowBlock& rows, const DerivedRows& derived,
                                    int64_t max_rows) {
  dims_ = dims;
  size_t kept_from = 0;  // runs of consecutive kept rows are appended together
  for (size_t row = 0; row < rows.words.size(); ++row) {
    if (this->rows() >= max_rows || this->rows() >= kMaxRows) {
      GLOVE_RETURN_IF_ERROR(append_kept(rows, derived, kept_from, row));
      if (this->rows() >= max_rows) return false;
      return invalid_argument("a model holds ", kMaxRows, " words at most; this file has more");
    }
    if (row + kPrefetchedRows < rows.words.size())
      words_.prefetch(derived.word_hashes[row + kPrefetchedRows]);
    if (append_word(rows.words[row], derived.word_hashes[row])) continue;
    GLOVE_RETURN_IF_ERROR(append_kept(rows, derived, kept_from, row));
    kept_from = row + 1;
  }
  GLOVE_RETURN_IF_ERROR(append_kept(rows, derived, kept_from, rows.words.size()));
  return this->rows() < max_rows;
}

Result<bool> ModelAssembler::append_row(std::string_view word, std::span<const float> vector) {
  dims_ = static_cast<int64_t>(vector.size());
  if (!append_word(word, WordSet::hash(word))) return false;
  GLOVE_RETURN_IF_ERROR(vectors_.append(bytes_of(vector)));
  return true;
}

Status ModelAssembler::derive(const std::string& source, std::span<const float> vectors, int threads,
                              const InterruptCheck& interrupted) {
  const int64_t before = derived_.rows();
  GLOVE_RETURN_IF_ERROR(derived_.append_vectors(source, vectors, dims_, threads, interrupted));
  count_zero_rows(before);
  return {};
}

Status ModelAssembler::finish() {
  words_.drop_index();
  return derived_.finish();
}

}  // namespace glove
