// Shared by the tests of the CPU backend: models, and the plain reference to compare with.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "cpu/cpu_backend.h"
#include "model/model.h"
#include "search/backend.h"
#include "tests/share.h"

namespace glove::test {

// Names the seed of this run (tests/loader/random.h), for SCOPED_TRACE(seed_text()).
std::string seed_text();

// A generator that depends on the seed and on `stream` only.
std::mt19937_64 make_random(uint64_t stream);

// [rows, dims], row-major.
struct Matrix {
  int64_t rows = 0;
  int64_t dims = 0;
  std::vector<float> values;
  float* row(int64_t i) { return values.data() + i * dims; }
  const float* row(int64_t i) const { return values.data() + i * dims; }
};

Matrix gaussian(int64_t rows, int64_t dims, std::mt19937_64& random);
// Rows around a few dozen centres, so that every row has close neighbours.
Matrix clustered(int64_t rows, int64_t dims, std::mt19937_64& random);

// The words are "w0", "w1", ...
ModelPtr make_model(const Matrix& matrix);

// The same model of one part with other codes of 8 bits, scales and residuals (sizes as in CodeLevel), and no
// other level.
ModelPtr with_codes(const ModelPtr& model, std::vector<int8_t> codes, std::vector<float> scales,
                    std::vector<float> residuals);
// The same for the level of 4 bits; the one of 8 bits stays.
ModelPtr with_coarse_codes(const ModelPtr& model, std::vector<int8_t> codes, std::vector<float> scales,
                           std::vector<float> residuals);

// The same model with each part's rows in lists around `lists` of its rows, chosen at random, or around fewer
// if there are not as many rows that are not zero. A row is mostly in the list of the nearest of a few.
// Without a row that is not zero, or with too many dimensions, the model itself.
ModelPtr with_planes(const ModelPtr& model, int64_t lists, std::mt19937_64& random);

Query make_query(const float* vector, int64_t dims, std::vector<int32_t> excluded = {});
Query row_query(const Matrix& matrix, int64_t row);  // excludes the row, as word = '...' does

struct Row {
  int64_t id;
  double similarity;
  bool operator==(const Row&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Row& row);

// The definition, written out plainly: D in eight partial sums, the cosine, ties by id.
double reference_dot(const float* a, const float* b, int64_t dims);
std::vector<Row> reference_rows(const Matrix& matrix, const Query& query, int64_t k);

// A backend's rows for each query. An error fails the test, and every query then has none.
std::vector<std::vector<Row>> backend_rows(Backend& backend, const ModelPtr& model,
                                           std::span<const Query> queries, int64_t k);

// Opens the model on the backend and asks for the k best rows of each query.
Status search(Backend& backend, const ModelPtr& model, std::span<const Query> queries, int64_t k,
              const InterruptCheck& interrupted, std::vector<SearchRequest>& requests);

// Two backends, which read 8 or 4 bits first, for each target of this machine and each of `threads`. The
// number of threads changes fastest.
struct Variant {
  std::string name;
  std::unique_ptr<Backend> backend;
};
std::vector<Variant> all_variants(const std::vector<int>& threads);

}  // namespace glove::test
