#include "gpu/analysis/cuda_kmeans.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include "base/timer.h"
#include "gpu/device/cuda_memory.h"
#include "gpu/kernels/kmeans.h"
#include "gpu/kernels/kmeans_wgmma.h"
#include "gpu/kernels/score_all.h"
#include "gpu/layout/plan.h"
#include "gpu/layout/query_codes.h"
#include "model/quantize.h"

namespace glove::gpu {
namespace {

constexpr int64_t kStagingBytes = int64_t{8} << 20;
constexpr int64_t kProductsAtOnce = int64_t{2} << 40;  // products per launch: at most about 10 ms
constexpr double kUsOfSpinning = 20000;

// Centroids with their memory.
struct CentroidMemory {
  DeviceMemory vectors, norms_squared, scaled, fragments, half_squares, extents, bound;
  DeviceCentroids view = {};

  // `count` centroids of `dims` dimensions, with zero fragments.
  Status reserve(int64_t count, int64_t dims, cudaStream_t stream) {
    const int64_t padded = (count + kChunkCentroids - 1) / kChunkCentroids * kChunkCentroids;
    const int64_t fragment_bytes = padded / kChunkCentroids * half_steps(dims) * kChunkStepWords * 16;
    GLOVE_RETURN_IF_ERROR(vectors.reserve(count * dims * 4));
    GLOVE_RETURN_IF_ERROR(norms_squared.reserve(count * 8));
    GLOVE_RETURN_IF_ERROR(scaled.reserve(count * dims * 8));
    GLOVE_RETURN_IF_ERROR(fragments.reserve(fragment_bytes));
    GLOVE_RETURN_IF_ERROR(half_squares.reserve(padded * 4));
    GLOVE_RETURN_IF_ERROR(extents.reserve(count * static_cast<int64_t>(sizeof(CentroidExtent))));
    GLOVE_RETURN_IF_ERROR(bound.reserve(sizeof(ScoreBound)));
    view = {static_cast<int32_t>(count), static_cast<int32_t>(padded), vectors.as<float>(),
            norms_squared.as<double>(),  scaled.as<double>(),          fragments.as<uint4>(),
            half_squares.as<float>(),    extents.as<CentroidExtent>(), bound.as<ScoreBound>()};
    const auto clear = [&](const DeviceMemory& memory, int64_t bytes) {
      return cuda_status(cudaMemsetAsync(memory.data(), 0, static_cast<size_t>(bytes), stream),
                         "clearing centroids");
    };
    GLOVE_RETURN_IF_ERROR(clear(scaled, count * dims * 8));
    return clear(fragments, fragment_bytes);
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
  CudaPass(int device, const DevicePart& part, const BatchShape& shape) : device_(device), shape_(shape) {
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
  Result<std::vector<int32_t>> empty_clusters() override;
  Status refill(std::span<const int32_t> rows, std::span<const int32_t> clusters,
                const InterruptCheck& interrupted) override;
  Status read_centroids(Centroids& centroids) override;
  Status nearest_two(const Centroids& centroids, std::span<NearestTwo> nearest,
                     const InterruptCheck& interrupted) override;
  Status dots(std::span<const float> vector, std::span<double> dots,
              const InterruptCheck& interrupted) override;

 private:
  Status reserve_for_warpgroups(int64_t count);
  Status assign(const KMeansParams& params, const InterruptCheck& interrupted);
  Status clear_counters();
  Status clear_undecided();
  Status move_rows(bool always);
  Status set_centroids(const Centroids& centroids, const KMeansParams& params);
  Status wait();
  Status upload(const void* from, std::byte* to, int64_t bytes);
  Status download(const std::byte* from, void* to, int64_t bytes);

  const int device_;
  const BatchShape shape_;
  KMeansParams params_ = {};
  Stream stream_;
  CentroidMemory centroids_, other_centroids_;
  DeviceMemory words_, lengths_, residuals_;  // HalfRows
  DeviceMemory columns_, tops_, grouped_;     // WarpgroupScan
  DeviceMemory counters_, undecided_, open_, visits_, limits_, travelled_, sums_, sizes_, labels_, changes_,
      nearest_;
  DeviceMemory query_, dots_;
  PinnedMemory report_, staging_;
};

Status CudaPass::create(const FixedSums& format, int64_t count) {
  const int64_t rows = params_.part.rows;
  params_.metric = format.metric;
  params_.scale = 1 / format.unit;
  params_.fixed_one = std::ldexp(1.0, format.bits);
  params_.wanted = 1;
  GLOVE_RETURN_IF_ERROR(stream_.create());
  GLOVE_RETURN_IF_ERROR(centroids_.reserve(count, format.dims, stream_.get()));
  GLOVE_RETURN_IF_ERROR(words_.reserve(rows * half_row_words(format.dims) * 16));
  GLOVE_RETURN_IF_ERROR(lengths_.reserve(rows * 4));
  GLOVE_RETURN_IF_ERROR(residuals_.reserve(rows * 4));
  GLOVE_RETURN_IF_ERROR(counters_.reserve(sizeof(KMeansCounters)));
  GLOVE_RETURN_IF_ERROR(undecided_.reserve(rows * static_cast<int64_t>(sizeof(RowCandidates))));
  GLOVE_RETURN_IF_ERROR(open_.reserve(rows * 4));
  GLOVE_RETURN_IF_ERROR(visits_.reserve(rows * 4));
  GLOVE_RETURN_IF_ERROR(limits_.reserve(rows * 4));
  GLOVE_RETURN_IF_ERROR(travelled_.reserve((count + 1) * 8));
  GLOVE_RETURN_IF_ERROR(sums_.reserve(count * format.dims * 8));
  GLOVE_RETURN_IF_ERROR(sizes_.reserve(count * 8));
  GLOVE_RETURN_IF_ERROR(labels_.reserve(rows * 4));
  GLOVE_RETURN_IF_ERROR(changes_.reserve(rows * static_cast<int64_t>(sizeof(ClusterChange))));
  GLOVE_RETURN_IF_ERROR(report_.reserve(sizeof(KMeansReport)));
  GLOVE_RETURN_IF_ERROR(staging_.reserve(kStagingBytes));
  use_centroids(centroids_.view, params_);
  params_.halves = {static_cast<int32_t>(half_row_words(format.dims)), words_.as<uint4>(),
                    lengths_.as<float>(), residuals_.as<float>()};
  params_.counters = counters_.as<KMeansCounters>();
  params_.undecided = undecided_.as<RowCandidates>();
  params_.open = open_.as<int32_t>();
  params_.visits = visits_.as<int32_t>();
  params_.limits = limits_.as<float>();
  params_.travelled = travelled_.as<double>();
  params_.sums = sums_.as<int64_t>();
  params_.sizes = sizes_.as<int64_t>();
  params_.labels = labels_.as<int32_t>();
  params_.changes = changes_.as<ClusterChange>();
  params_.report = report_.as<KMeansReport>();
  GLOVE_RETURN_IF_ERROR(reserve_for_warpgroups(count));
  return launched(launch_kmeans_rows(params_, stream_.get()));
}

// Lets warpgroups scan the rows where that is faster.
Status CudaPass::reserve_for_warpgroups(int64_t count) {
  if (!kmeans_wgmma_fits(params_.part.dims, count, shape_)) return {};
  const int64_t chunks = centroid_chunks(count);
  GLOVE_RETURN_IF_ERROR(columns_.reserve(column_words(params_.part.dims, count) * 16));
  GLOVE_RETURN_IF_ERROR(tops_.reserve(chunks * params_.part.rows * static_cast<int64_t>(sizeof(ChunkTop))));
  GLOVE_RETURN_IF_ERROR(grouped_.reserve(params_.part.rows * static_cast<int64_t>(sizeof(RowCandidates))));
  params_.wgmma = {columns_.as<uint4>(), tops_.as<ChunkTop>(), grouped_.as<RowCandidates>()};
  return {};
}

// Sleeps between polls of long work.
Status CudaPass::wait() {
  const Timer timer;
  while (true) {
    const cudaError_t state = cudaStreamQuery(stream_.get());
    if (state == cudaSuccess) return {};
    if (state != cudaErrorNotReady) return cuda_failure(state, "clustering");
    if (timer.microseconds() > kUsOfSpinning) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

Status CudaPass::upload(const void* from, std::byte* to, int64_t bytes) {
  for (int64_t done = 0; done < bytes; done += kStagingBytes) {
    const int64_t piece = std::min(kStagingBytes, bytes - done);
    std::memcpy(staging_.data(), static_cast<const std::byte*>(from) + done, static_cast<size_t>(piece));
    GLOVE_RETURN_IF_ERROR(cuda_status(cudaMemcpyAsync(to + done, staging_.data(), static_cast<size_t>(piece),
                                                      cudaMemcpyHostToDevice, stream_.get()),
                                      "copying to the device"));
    GLOVE_RETURN_IF_ERROR(wait());
  }
  return {};
}

Status CudaPass::download(const std::byte* from, void* to, int64_t bytes) {
  for (int64_t done = 0; done < bytes; done += kStagingBytes) {
    const int64_t piece = std::min(kStagingBytes, bytes - done);
    GLOVE_RETURN_IF_ERROR(
        cuda_status(cudaMemcpyAsync(staging_.data(), from + done, static_cast<size_t>(piece),
                                    cudaMemcpyDeviceToHost, stream_.get()),
                    "copying from the device"));
    GLOVE_RETURN_IF_ERROR(wait());
    std::memcpy(static_cast<std::byte*>(to) + done, staging_.data(), static_cast<size_t>(piece));
  }
  return {};
}

Status CudaPass::set_centroids(const Centroids& centroids, const KMeansParams& params) {
  GLOVE_RETURN_IF_ERROR(upload(centroids.vectors.data(),
                               reinterpret_cast<std::byte*>(params.centroids.vectors),
                               centroids.count * centroids.dims * 4));
  GLOVE_RETURN_IF_ERROR(upload(centroids.norms_squared.data(),
                               reinterpret_cast<std::byte*>(params.centroids.norms_squared),
                               centroids.count * 8));
  GLOVE_RETURN_IF_ERROR(launched(launch_kmeans_prepare(params, stream_.get())));
  return launched(launch_kmeans_bound(params, CentroidMoves::kNone, stream_.get()));
}

Status CudaPass::start(const Centroids& centroids) {
  const ScopedDevice current(device_);
  const auto fill = [&](const DeviceMemory& memory, int value, int64_t bytes) {
    return cuda_status(cudaMemsetAsync(memory.data(), value, static_cast<size_t>(bytes), stream_.get()),
                       "clearing sums");
  };
  GLOVE_RETURN_IF_ERROR(fill(sums_, 0, centroids.count * centroids.dims * 8));
  GLOVE_RETURN_IF_ERROR(fill(sizes_, 0, centroids.count * 8));
  GLOVE_RETURN_IF_ERROR(fill(travelled_, 0, (centroids.count + 1) * 8));
  GLOVE_RETURN_IF_ERROR(fill(labels_, 0xff, params_.part.rows * 4));  // -1
  GLOVE_RETURN_IF_ERROR(launched(launch_kmeans_forget(params_, stream_.get())));
  GLOVE_RETURN_IF_ERROR(clear_counters());
  return set_centroids(centroids, params_);
}

// Enqueues the scan and what decides its undecided rows. Waits only between launches of a long one.
Status CudaPass::assign(const KMeansParams& params, const InterruptCheck& interrupted) {
  if (params.wanted == 1) GLOVE_RETURN_IF_ERROR(launched(launch_kmeans_select(params, stream_.get())));
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
    GLOVE_RETURN_IF_ERROR(wait());
    GLOVE_RETURN_IF_ERROR(clear_undecided());
  }
  return {};
}

Result<KMeansPass::Step> CudaPass::iterate(const InterruptCheck& interrupted) {
  const ScopedDevice current(device_);
  GLOVE_RETURN_IF_ERROR(assign(params_, interrupted));
  GLOVE_RETURN_IF_ERROR(move_rows(false));
  const KMeansReport report = *report_.as<KMeansReport>();
  return Step{int64_t{report.changes}, int64_t{report.empty_clusters}};
}

// Moves the listed rows from sum to sum, and then the centroids, and waits.
Status CudaPass::move_rows(bool always) {
  GLOVE_RETURN_IF_ERROR(launched(launch_kmeans_sums(params_, shape_, stream_.get())));
  GLOVE_RETURN_IF_ERROR(launched(launch_kmeans_update(params_, always, stream_.get())));
  GLOVE_RETURN_IF_ERROR(launched(launch_kmeans_bound(
      params_, always ? CentroidMoves::kAll : CentroidMoves::kUnlessEmpty, stream_.get())));
  return wait();
}

// Empties the lists of rows that the scan could not decide, which have been decided.
Status CudaPass::clear_undecided() {
  constexpr size_t kFirst = offsetof(KMeansCounters, undecided);
  return cuda_status(
      cudaMemsetAsync(counters_.data() + kFirst, 0, sizeof(KMeansCounters) - kFirst, stream_.get()),
      "clearing counters");
}

Status CudaPass::clear_counters() {
  return cuda_status(cudaMemsetAsync(counters_.data(), 0, sizeof(KMeansCounters), stream_.get()),
                     "clearing counters");
}

Result<std::vector<int32_t>> CudaPass::empty_clusters() {
  const ScopedDevice current(device_);
  std::vector<int64_t> sizes(static_cast<size_t>(params_.centroids.count));
  GLOVE_RETURN_IF_ERROR(download(sizes_.data(), sizes.data(), params_.centroids.count * int64_t{8}));
  return glove::empty_clusters(sizes);
}

Status CudaPass::refill(std::span<const int32_t> rows, std::span<const int32_t> clusters,
                        const InterruptCheck& interrupted) {
  const ScopedDevice current(device_);
  GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
  const auto count = static_cast<int64_t>(rows.size());
  DeviceMemory moves;
  GLOVE_RETURN_IF_ERROR(moves.reserve(std::max<int64_t>(1, 2 * count) * 4));
  GLOVE_RETURN_IF_ERROR(upload(rows.data(), moves.data(), count * 4));
  GLOVE_RETURN_IF_ERROR(upload(clusters.data(), moves.data() + count * 4, count * 4));
  GLOVE_RETURN_IF_ERROR(
      launched(launch_kmeans_refill(params_, moves.as<int32_t>(), moves.as<int32_t>(count * 4),
                                    static_cast<int32_t>(count), stream_.get())));
  return move_rows(true);
}

Status CudaPass::read_centroids(Centroids& centroids) {
  const ScopedDevice current(device_);
  GLOVE_RETURN_IF_ERROR(
      download(centroids_.vectors.data(), centroids.vectors.data(), centroids.count * centroids.dims * 4));
  return download(centroids_.norms_squared.data(), centroids.norms_squared.data(), centroids.count * 8);
}

Status CudaPass::nearest_two(const Centroids& centroids, std::span<NearestTwo> nearest,
                             const InterruptCheck& interrupted) {
  const ScopedDevice current(device_);
  KMeansParams params = params_;
  params.wanted = 2;
  params.wgmma = {};  // its memory is for as many centroids as the fit has
  GLOVE_RETURN_IF_ERROR(other_centroids_.reserve(centroids.count, centroids.dims, stream_.get()));
  const auto bytes = static_cast<int64_t>(nearest.size() * sizeof(NearestTwo));
  GLOVE_RETURN_IF_ERROR(nearest_.reserve(bytes));
  use_centroids(other_centroids_.view, params);
  params.nearest = nearest_.as<NearestTwo>();
  GLOVE_RETURN_IF_ERROR(set_centroids(centroids, params));
  GLOVE_RETURN_IF_ERROR(clear_counters());
  GLOVE_RETURN_IF_ERROR(assign(params, interrupted));
  GLOVE_RETURN_IF_ERROR(clear_counters());
  return download(nearest_.data(), nearest.data(), bytes);
}

Status CudaPass::dots(std::span<const float> vector, std::span<double> dots,
                      const InterruptCheck& interrupted) {
  const ScopedDevice current(device_);
  GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
  const int64_t rows = params_.part.rows;
  GLOVE_RETURN_IF_ERROR(query_.reserve(static_cast<int64_t>(vector.size_bytes())));
  GLOVE_RETURN_IF_ERROR(dots_.reserve(rows * 8));
  GLOVE_RETURN_IF_ERROR(upload(vector.data(), query_.data(), static_cast<int64_t>(vector.size_bytes())));
  GLOVE_RETURN_IF_ERROR(cuda_status(launch_score_all(params_.part.vectors, query_.as<float>(), rows,
                                                     params_.part.dims, dots_.as<double>(), stream_.get()),
                                    "launching a pass"));
  return download(dots_.data(), dots.data(), rows * 8);
}

}  // namespace

Result<std::unique_ptr<KMeansPass>> make_cuda_pass(int device, const DevicePart& part,
                                                   const FixedSums& format, int64_t count,
                                                   const BatchShape& shape) {
  const ScopedDevice current(device);
  auto pass = std::make_unique<CudaPass>(device, part, shape);
  GLOVE_RETURN_IF_ERROR(pass->create(format, count));
  return std::unique_ptr<KMeansPass>(std::move(pass));
}

}  // namespace glove::gpu
