#include "loader/row_transform.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/concat.h"
#include "base/float_environment.h"
#include "base/json.h"
#include "base/require.h"
#include "base/system_calls.h"
#include "model/exact_dot.h"
#include "model/limits.h"

namespace glove {
namespace {

int64_t row_number(const RowBlock& rows, size_t row) {
  return rows.row_numbers.empty() ? rows.first_row + static_cast<int64_t>(row) : rows.row_numbers[row];
}

// What is wrong with a row: the kind for LeftOut, and the sentence for an error.
struct Fault {
  const char* kind = nullptr;  // null: nothing
  std::string what;
};

Fault fault_of_word(std::string_view word, const RowTransform& transform) {
  if (word.empty() && !transform.empty_words) return {"have an empty word", "the word is empty"};
  if (static_cast<int64_t>(word.size()) > kMaxWordBytes)
    return {"have a word that is too long",
            concat("the word has ", word.size(), " bytes; the most is ", kMaxWordBytes)};
  if (transform.skip_invalid && word.find_first_not_of(" \t\v\f\r\n") == std::string_view::npos)
    return {"have a word of white space", ""};
  return {};
}

Fault fault_of_vector(const float* x, int64_t dims) {
  const float* const fault = std::find_if(x, x + dims, [](float value) { return !std::isfinite(value); });
  return {"have a component that is NaN or infinite",
          concat("component ", fault - x + 1, " is ", std::isnan(*fault) ? "NaN" : "infinite")};
}

// Stores the words contiguously, so that the consumer of the rows does not have to read through the file's
// bytes.
Status gather_words(const RowTransform& transform, RowBlock& rows, Buffer<char>& bytes) {
  std::string recoded;
  if (!transform.encoding.empty()) {
    std::vector<size_t> ends;
    GLOVE_RETURN_IF_ERROR(system_calls::recode(transform.encoding, rows.words, recoded, ends));
    for (size_t i = 0, begin = 0; i < ends.size(); begin = ends[i++])
      rows.words[i] = std::string_view(recoded).substr(begin, ends[i] - begin);
  }
  size_t total = 0;
  for (const std::string_view word : rows.words) total += word.size();
  bytes.resize(total);
  char* at = bytes.data();
  for (std::string_view& word : rows.words) {
    std::copy(word.begin(), word.end(), at);
    word = {at, word.size()};
    at += word.size();
  }
  if (!transform.lower) return {};
  for (char& c : bytes)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return {};
}

void normalize_row(float* x, int64_t dims, double norm_squared) {
  if (!(norm_squared > 0.0)) return;
  const double norm = std::sqrt(norm_squared);
  for (int64_t j = 0; j < dims; ++j) x[j] = static_cast<float>(static_cast<double>(x[j]) / norm);
}

// Makes the components numbers of the type.
Fault narrow_row(ElementType type, float* x, int64_t dims) {
  for (int64_t j = 0; j < dims; ++j) {
    char bytes[sizeof(float)];
    float rounded = 0;
    const bool has_number = round_element(type, x[j], bytes);
    if (has_number) convert_elements(type, bytes, 1, &rounded);
    if (!has_number || (type == ElementType::kInt8 && rounded != x[j]))
      return {
          "have a component that the type cannot hold",
          concat("component ", j + 1, " is ", number_text(x[j]), ", which ", vector_type_name(type),
                 " cannot hold",
                 type == ElementType::kInt8 ? "; scale the numbers to integers from -128 to 127 first" : "")};
    x[j] = rounded;
  }
  return {};
}

}  // namespace

Status transform_and_derive(const std::string& source, const RowTransform& transform, int64_t dims,
                            RowBlock& rows, DerivedRows& derived) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  GLOVE_RETURN_IF_ERROR(gather_words(transform, rows, derived.word_bytes));
  const auto width = static_cast<size_t>(dims);
  derived.word_hashes.resize(rows.words.size());
  derived.has_level4 = !transform.omit_level4;
  derived.resize(static_cast<int64_t>(rows.words.size()), dims);
  const bool narrows = transform.type != ElementType::kFloat32;
  size_t kept = 0;
  for (size_t row = 0; row < rows.words.size(); ++row) {
    const std::string_view word = rows.words[row];
    if (transform.subset != nullptr && !transform.subset->contains(word)) continue;
    float* const x = rows.vectors.data() + kept * width;
    if (kept != row) std::copy_n(rows.vectors.data() + row * width, width, x);
    double norm_squared = exact_dot(x, x, dims);
    Fault fault = fault_of_word(word, transform);
    // Products of finite floats cannot overflow a double.
    if (fault.kind == nullptr && !std::isfinite(norm_squared)) fault = fault_of_vector(x, dims);
    if (fault.kind == nullptr && transform.normalize) normalize_row(x, dims, norm_squared);
    if (fault.kind == nullptr && narrows) fault = narrow_row(transform.type, x, dims);
    if (fault.kind != nullptr && transform.skip_invalid) {
      rows.left_out.add(fault.kind, row_number(rows, row));
      continue;
    }
    if (fault.kind != nullptr) {
      rows.words.resize(kept);
      return {ErrorCode::kCorrupt, concat(source, ": ", rows.place, " ", row_number(rows, row), ": ",
                                          fault.what, transform.empty_words ? "" : kSkipHint)};
    }
    rows.words[kept] = word;
    if (transform.normalize || narrows) norm_squared = exact_dot(x, x, dims);
    derived.word_hashes[kept] = WordSet::hash(word);
    derived.compute(static_cast<int64_t>(kept++), x, norm_squared, dims);
  }
  rows.words.resize(kept);
  rows.vectors.resize(kept * width);
  return {};
}

}  // namespace glove
