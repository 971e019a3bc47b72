// What to search for: a vector, and the words that the answer omits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/quantized_query.h"
#include "search/row_mask.h"

namespace glove {

// The relation's order: descending similarity, then ascending id.
struct Neighbor {
  int64_t id;         // of a row of the model; in a live index, the key of a row of the user's table
  double similarity;  // or another score (model/metric.h)
};

// Returns whether a row comes before another one. An object, so that sorting by it calls no function.
inline constexpr auto ranks_before = [](const Neighbor& a, const Neighbor& b) {
  return a.similarity != b.similarity ? a.similarity > b.similarity : a.id < b.id;
};

// A query resolved against one model. Every component is finite, and norm_squared > 0 for cosine.
struct Query {
  std::vector<float> vector;      // [dims]
  double norm_squared = 0;        // D(q, q)
  std::vector<int32_t> excluded;  // ids of the words in the query, ascending, without duplicates
  RowMaskPtr among = nullptr;     // the rows that the answer may have; null: all
  double least = kNoScore;        // rows with a lower score, or upper bound, may be missing from the answer;
                                  // a searcher need not make use of it
  std::optional<bool> known{};    // whether the model has all words of the query; nullopt: it has no words
};

// Returns the codes of a query for scans of a model's codes of 8 bits; for kHamming those are the components.
// REQUIRES: as for quantize_query().
QuantizedQuery query_codes(const Model& model, const Query& query, int32_t max_code);

// Returns a number that the upper bound of a row by those codes must reach if its score may be at least
// `score`: the score itself for cosine.
double bound_needed(const Model& model, const Query& query, double score);

// nullopt if the query has no rows, because of an unknown word or a zero vector.
using MaybeQuery = std::optional<Query>;

// The query of a finite vector that omits these rows; nullopt for a zero vector, which has no cosine.
// REQUIRES: the float environment.
MaybeQuery make_query(std::vector<float> vector, std::vector<int32_t> excluded = {},
                      RowMetric metric = RowMetric::kCosine);

// An error names the first component of the vector, called `what`, that is NaN or infinite.
Status check_finite(std::span<const float> vector, std::string_view what);

// The queries below are those of a model by its metric.

// word = 'king': one literal word, which is never parsed. Uses its vector (find_word()) unchanged.
MaybeQuery query_for_word(const Model& model, std::string_view word);

// Returns what to do about a vector that seems to be float64, because it is as long as `components` float32
// and twice as long as the dimensions need; for the end of a message. Otherwise empty.
std::string float64_remedy(int64_t components, int64_t dims);

// expr = x'...': a little-endian float32 vector of the model's dimensions. An error names a wrong length, or
// the first component that is NaN or infinite.
Result<MaybeQuery> query_for_vector(const Model& model, std::span<const std::byte> blob);

// The same for a vector that was given as text.
Result<MaybeQuery> query_for_vector(const Model& model, std::vector<float> vector);

// expr: a vector expression (search/expression.h), or, when `word` is given too, that literal word as the
// first operand, followed by an expression that starts with an operator: word 'king' with expr
// '- man + woman' is the expression "king" - man + woman. An interrupt ends both.
Result<MaybeQuery> query_for_expression(const Model& model, std::string_view expression,
                                        const InterruptCheck& interrupted = {});
Result<MaybeQuery> query_for_word_and_expression(const Model& model, std::string_view word,
                                                 std::string_view expression,
                                                 const InterruptCheck& interrupted = {});

}  // namespace glove
