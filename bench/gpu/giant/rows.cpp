#include "bench/gpu/giant/rows.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "bench/gpu/giant/shared_array.h"
#include "gpu/residency/model_slice.h"
#include "model/exact_dot.h"
#include "model/nibbles.h"

namespace glove::bench {
namespace {

constexpr int64_t kPieceRows = 8192;  // 14 MB of 300 dimensions
static_assert(kPieceRows % kTileRows == 0, "a tile is written by one thread");

// splitmix64 (Steele, Lea and Flood, 2014), by position.
uint64_t random_bits(uint64_t stream, uint64_t position) {
  uint64_t z = stream + (position + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Adds noise of about this length, uniform in each component, and scales the sum to unit length.
void add_noise(uint64_t stream, float length, int64_t dims, float* x) {
  const float step = length * std::sqrt(3.0f / static_cast<float>(dims)) / 32768;
  double norm_squared = 0;
  for (int64_t first = 0; first < dims; first += 4) {
    const uint64_t bits = random_bits(stream, static_cast<uint64_t>(first / 4));
    for (int64_t i = 0; i < std::min<int64_t>(4, dims - first); ++i) {
      const auto part = static_cast<int16_t>(bits >> (16 * i));
      float& value = x[first + i];
      value += static_cast<float>(part) * step;
      norm_squared += static_cast<double>(value) * value;
    }
  }
  const auto scale = static_cast<float>(1 / std::sqrt(norm_squared));
  for (int64_t i = 0; i < dims; ++i) x[i] *= scale;
}

// Lent machines begin with little memory and get more as they use it: waits for that, so that the system does
// not run out of memory.
void wait_for_memory() {
  constexpr int64_t kEnough = int64_t{4} << 20;  // KiB
  for (int tries = 0; tries < 50; ++tries) {
    std::ifstream file("/proc/meminfo");
    std::string name;
    int64_t kib = 0;
    while (file >> name >> kib && name != "MemAvailable:") file.ignore(64, '\n');
    if (name != "MemAvailable:" || kib > kEnough) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

struct LevelArrays {
  SharedArray<int8_t> codes;
  SharedArray<float> scales;
  SharedArray<float> residuals;

  Status make(int64_t bytes, int64_t rows) {
    GLOVE_ASSIGN_OR_RETURN(codes, SharedArray<int8_t>::make(bytes));
    GLOVE_ASSIGN_OR_RETURN(scales, SharedArray<float>::make(rows));
    GLOVE_ASSIGN_OR_RETURN(residuals, SharedArray<float>::make(rows));
    return {};
  }
  CodeLevel level(int bits) const { return {bits, codes.span(), scales.span(), residuals.span()}; }
  int64_t bytes() const { return codes.bytes() + scales.bytes() + residuals.bytes(); }
};

ModelPtr model_of(ModelPart part, std::shared_ptr<const void> owner) {
  Model::Source source;
  source.path = "synthetic rows";
  return std::make_shared<Model>(std::vector{std::move(part)}, Vocabulary({}, {}, {}), std::move(source),
                                 std::move(owner));
}

}  // namespace

struct GiantRows::Arrays {
  int64_t rows = 0;
  int64_t dims = 0;
  SharedArray<float> vectors;
  SharedArray<double> norms_squared;
  LevelArrays level4, level8;

  Status make(int64_t row_count, int64_t dim_count) {
    rows = row_count;
    dims = dim_count;
    GLOVE_ASSIGN_OR_RETURN(vectors, SharedArray<float>::make(rows * dims));
    GLOVE_ASSIGN_OR_RETURN(norms_squared, SharedArray<double>::make(rows));
    GLOVE_RETURN_IF_ERROR(level4.make(nibble_bytes(rows, dims), rows));
    return level8.make(code_bytes(rows, dims), rows);
  }

  void fill(uint64_t seed, const float* centres, int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      float* const x = vectors.data() + row * dims;
      make_row(seed, row, centres, dims, x);
      const double norm_squared = exact_dot(x, x, dims);
      norms_squared.data()[row] = norm_squared;
      quantize_row(x, norm_squared, dims, level8.codes.data() + code_index(row, 0, dims),
                   kTileRows * kTileComponents, level8.scales.data()[row], level8.residuals.data()[row]);
      quantize_row_nibbles(x, norm_squared, dims, level4.codes.data() + nibble_index(row, 0, dims),
                           kTileRows * kNibbleWordBytes, level4.scales.data()[row],
                           level4.residuals.data()[row]);
    }
  }
};

void make_centre(uint64_t seed, int64_t centre, int64_t dims, float* x) {
  std::fill_n(x, dims, 0.0f);
  add_noise(random_bits(~seed, static_cast<uint64_t>(centre)), 1.0f, dims, x);
}

// Noise is half as long as the centre to one and a half times as long.
void make_row(uint64_t seed, int64_t row, const float* centres, int64_t dims, float* x) {
  const uint64_t own = random_bits(seed, static_cast<uint64_t>(row));
  const float length = 0.5f + static_cast<float>(own >> 40) * 0x1p-24f;
  std::copy_n(centres + static_cast<int64_t>(own % kCentres) * dims, dims, x);
  add_noise(own, length, dims, x);
}

GiantRows::GiantRows(std::shared_ptr<Arrays> arrays) : arrays_(std::move(arrays)) {
  ModelPart part;
  part.rows = arrays_->rows;
  part.dims = arrays_->dims;
  part.vectors = arrays_->vectors.span();
  part.norms_squared = arrays_->norms_squared.span();
  part.levels = {arrays_->level4.level(4), arrays_->level8.level(8)};
  all_ = model_of(std::move(part), arrays_);
}

Result<GiantRows> GiantRows::make(uint64_t seed, int64_t rows, int64_t dims) {
  if (rows < kUnit || rows % kUnit != 0)
    return Error{ErrorCode::kInvalidArgument,
                 std::to_string(rows) + " rows: the number must be a multiple of " + std::to_string(kUnit)};
  const auto arrays = std::make_shared<Arrays>();
  GLOVE_RETURN_IF_ERROR(arrays->make(rows, dims));
  std::vector<float> centres(static_cast<size_t>(kCentres * dims));
  for (int64_t i = 0; i < kCentres; ++i) make_centre(seed, i, dims, centres.data() + i * dims);
  const auto fill = [&](int, int64_t first, int64_t last) {
    wait_for_memory();
    arrays->fill(seed, centres.data(), first, last);
  };
  GLOVE_RETURN_IF_ERROR(ThreadPool::for_pieces(usable_cores(), rows, kPieceRows, {}, fill));
  return GiantRows(arrays);
}

ModelPtr GiantRows::first(int64_t rows) const {
  return gpu::slice_of(all_, 0, rows);
}

Result<ModelPtr> GiantRows::repeated(int64_t times) const {
  struct Maps {
    std::shared_ptr<Arrays> arrays;
    std::shared_ptr<float> vectors, scales, residuals;
    std::shared_ptr<double> norms_squared;
    std::shared_ptr<int8_t> codes;
  };
  const auto maps = std::make_shared<Maps>();
  maps->arrays = arrays_;
  GLOVE_ASSIGN_OR_RETURN(maps->vectors, arrays_->vectors.map(times));
  GLOVE_ASSIGN_OR_RETURN(maps->norms_squared, arrays_->norms_squared.map(times));
  GLOVE_ASSIGN_OR_RETURN(maps->codes, arrays_->level8.codes.map(times));
  GLOVE_ASSIGN_OR_RETURN(maps->scales, arrays_->level8.scales.map(times));
  GLOVE_ASSIGN_OR_RETURN(maps->residuals, arrays_->level8.residuals.map(times));
  const auto rows = static_cast<size_t>(arrays_->rows * times);
  ModelPart part;
  part.rows = arrays_->rows * times;
  part.dims = arrays_->dims;
  part.vectors = {maps->vectors.get(), rows * static_cast<size_t>(arrays_->dims)};
  part.norms_squared = {maps->norms_squared.get(), rows};
  part.levels = {{8,
                  {maps->codes.get(), static_cast<size_t>(arrays_->level8.codes.count() * times)},
                  {maps->scales.get(), rows},
                  {maps->residuals.get(), rows}}};
  return model_of(std::move(part), maps);
}

int64_t GiantRows::bytes() const {
  return arrays_->vectors.bytes() + arrays_->norms_squared.bytes() + arrays_->level4.bytes() +
         arrays_->level8.bytes();
}

}  // namespace glove::bench
