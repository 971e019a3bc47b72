// Models whose arrays are longer than 32-bit sizes can express. Except for a few rows, they are one file of
// zeros, mapped again and again, so that reading them takes address space and little memory. (Memory that
// nothing has written takes none on most systems, but on some a page for each that is read.)
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include "base/float_environment.h"
#include "model/exact_dot.h"
#include "model/nibbles.h"
#include "model/quantize.h"
#include "tests/cpu/test_support.h"

namespace glove::test {
namespace {

constexpr size_t kFileBytes = size_t{64} << 20;

// Returns the descriptor of a file of so many zeros, or -1.
int file_of_zeros() {
  static std::FILE* const file = std::tmpfile();
  static const bool has_size =
      file != nullptr && ftruncate(fileno(file), static_cast<off_t>(kFileBytes)) == 0;
  return has_size ? fileno(file) : -1;
}

template <class T>
class ZeroArray {
 public:
  explicit ZeroArray(int64_t size)
      : size_(static_cast<size_t>(size)),
        memory_(
            mmap(nullptr, size_ * sizeof(T), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (memory_ == MAP_FAILED) return;
    is_there_ = true;
    for (size_t at = 0; at < size_ * sizeof(T); at += kFileBytes) {
      void* const mapped =
          mmap(static_cast<char*>(memory_) + at, std::min(kFileBytes, size_ * sizeof(T) - at),
               PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file_of_zeros(), 0);
      is_there_ = is_there_ && mapped != MAP_FAILED;
    }
  }
  ~ZeroArray() {
    if (memory_ != MAP_FAILED) munmap(memory_, size_ * sizeof(T));
  }
  ZeroArray(const ZeroArray&) = delete;
  ZeroArray& operator=(const ZeroArray&) = delete;

  bool is_there() const { return is_there_; }
  T* data() { return static_cast<T*>(memory_); }
  std::span<const T> view() const { return {static_cast<const T*>(memory_), size_}; }

 private:
  size_t size_;
  void* memory_;
  bool is_there_ = false;
};

// A model of zero rows, with a few others among them.
class SparseModel {
 public:
  SparseModel(int64_t rows, int64_t dims)
      : rows_(rows),
        dims_(dims),
        vectors_(rows * dims),
        norms_(rows),
        codes8_(code_bytes(rows, dims)),
        codes4_(nibble_bytes(rows, dims)),
        scales8_(rows),
        residuals8_(rows),
        scales4_(rows),
        residuals4_(rows) {}

  bool is_there() const {
    return vectors_.is_there() && norms_.is_there() && codes8_.is_there() && codes4_.is_there() &&
           scales8_.is_there() && residuals8_.is_there() && scales4_.is_there() && residuals4_.is_there();
  }

  // Adds weight * direction + noise.
  void put(int64_t row, float weight, const std::vector<float>& direction, std::mt19937_64& random) {
    const ScopedFloatEnvironment environment;
    std::normal_distribution<float> noise;
    float* const x = vectors_.data() + row * dims_;
    for (int64_t j = 0; j < dims_; ++j) x[j] = weight * direction[static_cast<size_t>(j)] + noise(random);
    const double norm_squared = norms_.data()[row] = exact_dot(x, x, dims_);
    quantize_row(x, norm_squared, dims_, codes8_.data() + code_index(row, 0, dims_),
                 kTileRows * kTileComponents, scales8_.data()[row], residuals8_.data()[row]);
    quantize_row_nibbles(x, norm_squared, dims_, codes4_.data() + nibble_index(row, 0, dims_),
                         kTileRows * kNibbleWordBytes, scales4_.data()[row], residuals4_.data()[row]);
  }

  Row row_of(const Query& query, int64_t row) {
    const double dot = reference_dot(query.vector.data(), vectors_.data() + row * dims_, dims_);
    return {static_cast<int32_t>(row), cosine_from_dots(dot, query.norm_squared, norms_.data()[row])};
  }

  ModelPtr model() {
    ModelPart part{0, rows_, dims_, vectors_.view(), norms_.view(), {}};
    part.levels = {{4, codes4_.view(), scales4_.view(), residuals4_.view()},
                   {8, codes8_.view(), scales8_.view(), residuals8_.view()}};
    return std::make_shared<const Model>(std::vector{part}, Vocabulary(), Model::Source(), nullptr);
  }

 private:
  int64_t rows_;
  int64_t dims_;
  ZeroArray<float> vectors_;
  ZeroArray<double> norms_;
  ZeroArray<int8_t> codes8_, codes4_;
  ZeroArray<float> scales8_, residuals8_, scales4_, residuals4_;
};

void expect_rows_found(int64_t rows, int64_t dims) {
  SCOPED_TRACE(seed_text());
  std::mt19937_64 random = make_random(60);
  SparseModel sparse(rows, dims);
  if (!sparse.is_there()) GTEST_SKIP() << "the system does not reserve that much address space";
  std::vector<std::vector<float>> directions;
  for (int i = 0; i < 3; ++i) directions.push_back(gaussian(1, dims, random).values);
  // Around the places where a number of components, of bytes of codes or of bytes of floats passes 2^31 or
  // 2^32.
  std::vector<int64_t> places = {0, 1, 2, 3, 4, 5, 6, 7, rows / 2, rows - 2, rows - 1};
  for (const int64_t count : {int64_t{1} << 31, int64_t{1} << 32})
    for (const int64_t per_row : {dims / 2, dims, 4 * dims})
      for (const int64_t row : {count / per_row - 1, count / per_row})
        if (row > 7 && row < rows) places.push_back(row);
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  std::vector<Query> queries;
  for (const auto& direction : directions) queries.push_back(make_query(direction.data(), dims));
  for (size_t i = 0; i < places.size(); ++i)
    sparse.put(places[i], 4.0f, directions[i % directions.size()], random);
  constexpr int64_t kRows = 3;
  std::vector<std::vector<Row>> expected;
  for (const Query& query : queries) {
    std::vector<Row>& best = expected.emplace_back();
    for (const int64_t place : places) best.push_back(sparse.row_of(query, place));
    std::sort(best.begin(), best.end(), [](const Row& a, const Row& b) {
      return ranks_before({a.id, a.similarity}, {b.id, b.similarity});
    });
    ASSERT_GT(best[kRows - 1].similarity, 0.3) << "the zero rows have bounds near 0";
    best.resize(kRows);
  }
  CpuBackendOptions options;
  options.threads = 2;
  const ModelPtr model = sparse.model();
  EXPECT_EQ(backend_rows(*make_cpu_backend(options), model, queries, kRows), expected);
  for (const FirstLevel level : {FirstLevel::kCoarsest, FirstLevel::kCodes8}) {
    options.first_level = level;
    EXPECT_EQ(backend_rows(*make_cpu_backend(options), model, std::span(queries).first(1), kRows).front(),
              expected.front())
        << static_cast<int>(level);
  }
}

// ThreadSanitizer writes to shadow memory for all that is read.
#if !defined(__SANITIZE_THREAD__)
TEST(Giant, FindsRowsBeyond32BitOffsets) {
  expect_rows_found(66'001, 65'536);
}
TEST(Giant, FindsRowsOfLargeIds) {
  expect_rows_found(int64_t{1} << (kShortShare == 1 ? 30 : 28), 8);
}
#endif

}  // namespace
}  // namespace glove::test
