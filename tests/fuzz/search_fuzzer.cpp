// Reads any bytes as a model and its queries: the rows must equal the reference, bit for bit, on every
// instruction set; with damaged codes they may be wrong, but nothing else may happen.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/float_environment.h"
#include "tests/cpu/test_support.h"

namespace glove::test {
namespace {

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  // Returns the next sizeof(T) bytes; zeros past the end.
  template <class T>
  T take() {
    T value{};
    const size_t count = std::min(sizeof(T), size_);
    if (count > 0) std::memcpy(&value, data_, count);
    data_ += count;
    size_ -= count;
    return value;
  }
  float take_float() {
    const auto value = take<float>();
    return std::isfinite(value) ? value : 1.0f;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

void check_search(Bytes bytes) {
  const auto damaged = bytes.take<uint8_t>() % 4 == 0;
  Matrix matrix{
      .rows = 1 + bytes.take<uint8_t>() % 100, .dims = 1 + bytes.take<uint8_t>() % 40, .values = {}};
  const int64_t k = 1 + bytes.take<uint8_t>() % 20;
  const size_t count = 1 + bytes.take<uint8_t>() % 15;
  const int threads = 1 + bytes.take<uint8_t>() % 3;
  // Few distinct values make near-ties; the rest of the input is a palette.
  std::vector<float> palette(1 + bytes.take<uint8_t>() % 32);
  for (float& value : palette) value = bytes.take_float();
  std::mt19937_64 random(bytes.take<uint64_t>());
  for (int64_t i = 0; i < matrix.rows * matrix.dims; ++i)
    matrix.values.push_back(palette[random() % palette.size()]);
  ModelPtr model = make_model(matrix);
  std::vector<Query> queries;
  for (size_t i = 0; i < count; ++i) {
    Query query = row_query(matrix, static_cast<int64_t>(random() % static_cast<uint64_t>(matrix.rows)));
    if (query.norm_squared > 0) queries.push_back(std::move(query));
  }
  if (queries.empty()) return;
  if (damaged) {
    const bool coarse = bytes.take<uint8_t>() % 2 != 0;
    const CodeLevel& level = model->parts().front().level(coarse ? 4 : 8);
    std::vector<int8_t> codes(level.codes.size());
    for (int8_t& code : codes) code = bytes.take<int8_t>();
    std::vector<float> scales(level.scales.size()), residuals(level.residuals.size());
    for (float& scale : scales) scale = bytes.take<float>();
    for (float& residual : residuals) residual = bytes.take<float>();
    model = (coarse ? with_coarse_codes : with_codes)(model, std::move(codes), std::move(scales),
                                                      std::move(residuals));
  }
  static const std::vector<Variant> variants = all_variants({1, 2, 3});
  for (size_t i = static_cast<size_t>(threads - 1); i < variants.size(); i += 3) {
    const auto rows = backend_rows(*variants[i].backend, model, queries, k);
    const auto alone = backend_rows(*variants[i].backend, model, {queries.data(), 1}, k);
    if (damaged) continue;
    if (alone.front() != rows.front()) ADD_FAILURE() << variants[i].name << ", one query";
    for (size_t q = 0; q < queries.size(); ++q)
      if (rows[q] != reference_rows(matrix, queries[q], k)) ADD_FAILURE() << variants[i].name;
  }
}

}  // namespace
}  // namespace glove::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  GTEST_FLAG_SET(break_on_failure, true);
  const glove::ScopedFloatEnvironment environment;
  glove::test::check_search({data, size});
  return 0;
}
