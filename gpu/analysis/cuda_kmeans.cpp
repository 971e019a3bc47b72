#include "gpu/analysis/cuda_analysis.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "gpu/device/cuda_memory.h"
#include "gpu/kernels/kmeans.h"
#include "gpu/kernels/kmeans_wgmma.h"
#include "gpu/kernels/score_all.h"
#include "gpu/layout/block_layout.h"
#include "gpu/layout/plan.h"

namespace glove::gpu {
namespace {

constexpr int64_t kProductsAtOnce = int64_t{2} << 40;  // products per launch: at most about 10 ms

// Centroids with their memory.
struct CentroidMemory {
  DeviceArray<std::byte> block;
  DeviceCentroids view = {};

  // `count` centroids of `dims` dimensions, with zero fragments.
  Status reserve(int64_t count, int64_t dims, const Stream& stream) {
    const int64_t chunks = (count + kChunkCentroids - 1) / kChunkCentroids;
    const int64_t fragments = chunks * half_steps(dims) * kChunkStepWords;
    view.count = static_cast<int32_t>(count);
    view.padded = static_cast<int32_t>(chunks * kChunkCentroids);
    BlockLayout layout;
    layout.bind(view.vectors, count * dims);
    layout.bind(view.norms_squared, count);
    layout.bind(view.scaled, count * dims);
    layout.bind(view.fragments, fragments);
    layout.bind(view.half_squares, view.padded);
    layout.bind(view.extents, count);
    layout.bind(view.bound, 1);
    GLOVE_RETURN_IF_ERROR(block.reserve(layout.bytes()));
    layout.place(block.data());
    GLOVE_RETURN_IF_ERROR(stream.fill(view.scaled, 0, count * dims, "clearing centroids"));
    return stream.fill(view.fragments, 0, fragments, "clearing centroids");
  }
};

void use_centroids(const DeviceCentroids& centroids, KMeansParams& params) {
  params.centroids = centroids;
  params.id_bits = id_bits_of(centroids.padded);
}

Status launched(cudaError_t error) {
  return cuda_status(error, "launching a clustering");
}

class CudaPass final : public KMeansPass {
 public:
  CudaPass(int device, const DevicePart& part, const DeviceShape& shape) : device_(device), shape_(shape) {
    params_.part = part;
    params_.steps = static_cast<int32_t>(half_steps(part.dims));
  }
  ~CudaPass() override {
    const ScopedDevice current(device_);
    if (stream_.get() != nullptr) static_cast<void>(cudaStreamSynchronize(stream_.get()));
  }
  CudaPass(const CudaPass&) = delete;
  CudaPass& operator=(const CudaPass&) = delete;

  Status create(const FixedSums& format, int64_t count);
  Status start(const Centroids& centroids) override;
  Result<Step> iterate(const InterruptCheck& interrupted) override;
  Status refill(std::span<const int32_t> rows, std::span<const int32_t> clusters,
                const InterruptCheck& interrupted) override;
  Status read_centroids(Centroids& centroids) override;
  Status nearest_two(const Centroids& centroids, std::span<NearestTwo> nearest,
                     const InterruptCheck& interrupted) override;
  Status dots(std::span<const float> vector, std::span<double> dots,
              const InterruptCheck& interrupted) override;

 private:
  Status assign(const KMeansParams& params, const InterruptCheck& interrupted);
  Status clear_counters();
  Status clear_undecided();
  Status move_rows(bool always);
  Status set_centroids(const Centroids& centroids, const KMeansParams& params);
  template <class T>
  Status download(const T* from, std::span<T> to);

  const int device_;
  const DeviceShape shape_;
  KMeansParams params_ = {};
  Stream stream_;
  CentroidMemory centroids_, other_centroids_;
  DeviceArray<std::byte> state_;  // what params_ points to, but for centroids and report
  DeviceArray<NearestTwo> nearest_;
  DeviceArray<float> query_;
  DeviceArray<double> dots_;
  PinnedArray<KMeansReport> report_;
};

Status CudaPass::create(const FixedSums& format, int64_t count) {
  const int64_t rows = params_.part.rows;
  params_.metric = format.metric;
  params_.scale = 1 / format.unit;
  params_.fixed_one = std::ldexp(1.0, format.bits);
  params_.answer = KMeansAnswer::kLabels;
  GLOVE_RETURN_IF_ERROR(stream_.create());
  GLOVE_RETURN_IF_ERROR(centroids_.reserve(count, format.dims, stream_));
  GLOVE_RETURN_IF_ERROR(report_.reserve(1));
  use_centroids(centroids_.view, params_);
  params_.halves.row_words = static_cast<int32_t>(half_row_words(format.dims));
  params_.fit.report = report_.data();
  BlockLayout layout;
  layout.bind(params_.halves.words, rows * params_.halves.row_words);
  layout.bind(params_.halves.lengths, rows);
  layout.bind(params_.halves.residuals, rows);
  layout.bind(params_.counters, 1);
  layout.bind(params_.undecided, rows);
  layout.bind(params_.open, rows);
  layout.bind(params_.fit.visits, rows);
  layout.bind(params_.fit.limits, rows);
  layout.bind(params_.fit.travelled, count + 1);
  layout.bind(params_.fit.sums, count * format.dims);
  layout.bind(params_.fit.sizes, count);
  layout.bind(params_.fit.labels, rows);
  layout.bind(params_.fit.changes, rows);
  if (kmeans_wgmma_fits(format.dims, count, shape_)) {  // warpgroups are faster
    layout.bind(params_.wgmma.columns, column_words(format.dims, count));
    layout.bind(params_.wgmma.tops, centroid_chunks(count) * rows);
    layout.bind(params_.wgmma.grouped, rows);
  }
  GLOVE_RETURN_IF_ERROR(state_.reserve(layout.bytes()));
  layout.place(state_.data());
  return launched(launch_kmeans_rows(params_, stream_.get()));
}

// Waits until the copy has arrived.
template <class T>
Status CudaPass::download(const T* from, std::span<T> to) {
  GLOVE_RETURN_IF_ERROR(stream_.download(to.data(), from, std::ssize(to), "copying from the device"));
  return stream_.poll("clustering");
}

Status CudaPass::set_centroids(const Centroids& centroids, const KMeansParams& params) {
  const int64_t count = centroids.count;
  GLOVE_RETURN_IF_ERROR(
      stream_.upload(params.centroids.vectors, centroids.vectors.data(), count * centroids.dims));
  GLOVE_RETURN_IF_ERROR(
      stream_.upload(params.centroids.norms_squared, centroids.norms_squared.data(), count));
  GLOVE_RETURN_IF_ERROR(launched(launch_kmeans_prepare(params, stream_.get())));
  return launched(launch_kmeans_bound(params, CentroidMoves::kNone, stream_.get()));
}

Status CudaPass::start(const Centroids& centroids) {
  const ScopedDevice current(device_);
  const int64_t count = centroids.count;
  GLOVE_RETURN_IF_ERROR(stream_.fill(params_.fit.sums, 0, count * centroids.dims, "clearing sums"));
  GLOVE_RETURN_IF_ERROR(stream_.fill(params_.fit.sizes, 0, count, "clearing sums"));
  GLOVE_RETURN_IF_ERROR(stream_.fill(params_.fit.travelled, 0, count + 1, "clearing sums"));
  GLOVE_RETURN_IF_ERROR(stream_.fill(params_.fit.labels, 0xff, params_.part.rows, "clearing sums"));  // -1
  GLOVE_RETURN_IF_ERROR(launched(launch_kmeans_forget(params_, stream_.get())));
  GLOVE_RETURN_IF_ERROR(clear_counters());
  return set_centroids(centroids, params_);
}

// Enqueues the scan and what decides its undecided rows. Waits only between launches of a long one.
Status CudaPass::assign(const KMeansParams& params, const InterruptCheck& interrupted) {
  if (params.answer == KMeansAnswer::kLabels)
    GLOVE_RETURN_IF_ERROR(launched(launch_kmeans_select(params, stream_.get())));
  const int64_t row_products = int64_t{params.steps} * kHalfStep * params.centroids.padded;
  const int64_t rows = params.part.rows;
  const int64_t step = std::clamp<int64_t>(kProductsAtOnce / row_products, 1024, rows + 1024);
  for (int64_t first = 0; first < rows; first += step) {
    const int64_t last = std::min(rows, first + step);
    GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    GLOVE_RETURN_IF_ERROR(launched(launch_kmeans_scan(params, static_cast<int32_t>(first),
                                                      static_cast<int32_t>(last), shape_, stream_.get())));
    GLOVE_RETURN_IF_ERROR(launched(launch_kmeans_resolve(params, shape_, stream_.get())));
    if (last == rows) break;
    GLOVE_RETURN_IF_ERROR(stream_.poll("clustering"));
    GLOVE_RETURN_IF_ERROR(clear_undecided());
  }
  return {};
}

Result<KMeansPass::Step> CudaPass::iterate(const InterruptCheck& interrupted) {
  const ScopedDevice current(device_);
  GLOVE_RETURN_IF_ERROR(assign(params_, interrupted));
  GLOVE_RETURN_IF_ERROR(move_rows(false));
  const KMeansReport report = *report_.data();
  Step step = {int64_t{report.changes}};
  if (report.empty_clusters > 0) {
    std::vector<int64_t> sizes(static_cast<size_t>(params_.centroids.count));
    GLOVE_RETURN_IF_ERROR(download(params_.fit.sizes, std::span(sizes)));
    step.empty_clusters = empty_clusters(sizes);
  }
  return step;
}

// Moves the listed rows from sum to sum, and then the centroids, and waits.
Status CudaPass::move_rows(bool always) {
  GLOVE_RETURN_IF_ERROR(launched(launch_kmeans_sums(params_, shape_, stream_.get())));
  GLOVE_RETURN_IF_ERROR(launched(launch_kmeans_update(params_, always, stream_.get())));
  GLOVE_RETURN_IF_ERROR(launched(launch_kmeans_bound(
      params_, always ? CentroidMoves::kAll : CentroidMoves::kUnlessEmpty, stream_.get())));
  return stream_.poll("clustering");
}

// Empties the lists of rows that the scan could not decide, which have been decided.
Status CudaPass::clear_undecided() {
  constexpr int64_t kFirst = offsetof(KMeansCounters, undecided);
  return stream_.fill(reinterpret_cast<std::byte*>(params_.counters) + kFirst, 0,
                      sizeof(KMeansCounters) - kFirst, "clearing counters");
}

Status CudaPass::clear_counters() {
  return stream_.fill(params_.counters, 0, 1, "clearing counters");
}

Status CudaPass::refill(std::span<const int32_t> rows, std::span<const int32_t> clusters,
                        const InterruptCheck& interrupted) {
  const ScopedDevice current(device_);
  GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
  const auto count = static_cast<int64_t>(rows.size());
  DeviceArray<int32_t> moves;
  GLOVE_RETURN_IF_ERROR(moves.reserve(std::max<int64_t>(1, 2 * count)));
  GLOVE_RETURN_IF_ERROR(stream_.upload(moves.data(), rows.data(), count));
  GLOVE_RETURN_IF_ERROR(stream_.upload(moves.data() + count, clusters.data(), count));
  GLOVE_RETURN_IF_ERROR(launched(launch_kmeans_refill(params_, moves.data(), moves.data() + count,
                                                      static_cast<int32_t>(count), stream_.get())));
  return move_rows(true);
}

Status CudaPass::read_centroids(Centroids& centroids) {
  const ScopedDevice current(device_);
  GLOVE_RETURN_IF_ERROR(download(centroids_.view.vectors, std::span(centroids.vectors)));
  return download(centroids_.view.norms_squared, std::span(centroids.norms_squared));
}

Status CudaPass::nearest_two(const Centroids& centroids, std::span<NearestTwo> nearest,
                             const InterruptCheck& interrupted) {
  const ScopedDevice current(device_);
  KMeansParams params = params_;
  params.answer = KMeansAnswer::kNearest;
  params.wgmma = {};  // its memory is for as many centroids as the fit has
  GLOVE_RETURN_IF_ERROR(other_centroids_.reserve(centroids.count, centroids.dims, stream_));
  const auto rows = static_cast<int64_t>(nearest.size());
  GLOVE_RETURN_IF_ERROR(nearest_.reserve(rows));
  use_centroids(other_centroids_.view, params);
  params.nearest = nearest_.data();
  GLOVE_RETURN_IF_ERROR(set_centroids(centroids, params));
  GLOVE_RETURN_IF_ERROR(clear_counters());
  GLOVE_RETURN_IF_ERROR(assign(params, interrupted));
  GLOVE_RETURN_IF_ERROR(clear_counters());
  return download(nearest_.data(), nearest);
}

Status CudaPass::dots(std::span<const float> vector, std::span<double> dots,
                      const InterruptCheck& interrupted) {
  const ScopedDevice current(device_);
  GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
  const int64_t rows = params_.part.rows;
  GLOVE_RETURN_IF_ERROR(query_.reserve(std::ssize(vector)));
  GLOVE_RETURN_IF_ERROR(dots_.reserve(rows));
  GLOVE_RETURN_IF_ERROR(stream_.upload(query_.data(), vector.data(), std::ssize(vector)));
  GLOVE_RETURN_IF_ERROR(cuda_status(launch_score_all(params_.part.vectors, query_.data(), rows,
                                                     params_.part.dims, dots_.data(), stream_.get()),
                                    "launching a pass"));
  return download(dots_.data(), dots.first(static_cast<size_t>(rows)));
}

}  // namespace

Result<std::unique_ptr<KMeansPass>> make_cuda_pass(int device, const DevicePart& part,
                                                   const FixedSums& format, int64_t count,
                                                   const DeviceShape& shape) {
  const ScopedDevice current(device);
  auto pass = std::make_unique<CudaPass>(device, part, shape);
  GLOVE_RETURN_IF_ERROR(pass->create(format, count));
  return std::unique_ptr<KMeansPass>(std::move(pass));
}

}  // namespace glove::gpu
