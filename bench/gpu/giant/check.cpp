#include "bench/gpu/giant/check.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "bench/gpu/timing.h"

namespace glove::bench {
namespace {

// A list has room for the rows of the first block, and later blocks are as long as what was seen before, so
// that they add about as many rows as are kept.
constexpr int64_t kFirstBlock = 8192;
constexpr int64_t kLongestBlock = int64_t{1} << 20;
constexpr uint32_t kCapacity = 1u << 16;
constexpr int kWorkersPerDevice = 2;  // one copies while the other's kernel runs

struct Block {
  int64_t first;
  int64_t rows;
};

std::vector<Block> blocks_between(int64_t first, int64_t end) {
  std::vector<Block> blocks;
  while (first < end) {
    const int64_t most = std::clamp(first / (2 * kWorkersPerDevice), kFirstBlock, kLongestBlock);
    blocks.push_back({first, std::min(most, end - first)});
    first += blocks.back().rows;
  }
  return blocks;
}

// Returns memory of the device, for cudaFree().
template <class T>
T* device_array(size_t count) {
  T* data = nullptr;
  require(cudaMalloc(reinterpret_cast<void**>(&data), count * sizeof(T)), "memory for the check");
  return data;
}

// Puts rows in order: by descending similarity and then by ascending number, and keeps the first k.
void keep_first(std::vector<Neighbor>& rows, size_t k) {
  std::sort(rows.begin(), rows.end(), [](const Neighbor& a, const Neighbor& b) {
    return a.similarity > b.similarity || (a.similarity == b.similarity && a.id < b.id);
  });
  if (rows.size() > k) rows.resize(k);
}

// Scores blocks on one device, and keeps the best k rows of each query.
class Worker {
 public:
  Worker(const Model& model, std::span<const Query> queries, size_t k, int device)
      : model_(model), k_(k), device_(device), best_(queries.size()) {
    require(cudaSetDevice(device_), "choosing a device");
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    padded_ = (queries.size() + kCheckedTogether - 1) / kCheckedTogether * kCheckedTogether;
    const auto dims = static_cast<size_t>(model.dims());
    std::vector<double> components(padded_ * dims);
    std::vector<double> norms(padded_, 1.0);
    for (size_t i = 0; i < queries.size(); ++i) {
      std::copy(queries[i].vector.begin(), queries[i].vector.end(),
                components.begin() + static_cast<std::ptrdiff_t>(i * dims));
      norms[i] = queries[i].norm_squared;
    }
    thresholds_.assign(padded_, 2.0);  // that of padding lists no row
    std::fill_n(thresholds_.begin(), queries.size(), -2.0);
    params_.components = upload(components);
    params_.norms = upload(norms);
    params_.dims = static_cast<int32_t>(dims);
    params_.queries = static_cast<int32_t>(padded_);
    params_.capacity = kCapacity;
    params_.vectors = vectors_ = device_array<float>(static_cast<size_t>(kLongestBlock) * dims);
    params_.thresholds = device_thresholds_ = device_array<double>(padded_);
    params_.lists = device_array<CheckedRow>(padded_ * kCapacity);
    params_.sizes = device_array<uint32_t>(padded_);
  }
  ~Worker() {
    static_cast<void>(cudaSetDevice(device_));
    for (const void* data :
         {static_cast<const void*>(params_.components), static_cast<const void*>(params_.norms),
          static_cast<const void*>(vectors_), static_cast<const void*>(device_thresholds_),
          static_cast<const void*>(params_.lists), static_cast<const void*>(params_.sizes)})
      static_cast<void>(cudaFree(const_cast<void*>(data)));
    static_cast<void>(cudaStreamDestroy(stream_));
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run(std::span<const Block> blocks, std::atomic<size_t>& next) {
    require(cudaSetDevice(device_), "choosing a device");
    for (size_t i = next++; i < blocks.size(); i = next++) score_in_pieces(blocks[i]);
  }

  const std::vector<Neighbor>& best(size_t query) const { return best_[query]; }

 private:
  static const double* upload(const std::vector<double>& values) {
    auto* const copy = device_array<double>(values.size());
    require(cudaMemcpy(copy, values.data(), values.size() * sizeof(double), cudaMemcpyHostToDevice),
            "copying");
    return copy;
  }

  // A worker whose first block is a long one has no thresholds yet.
  void score_in_pieces(const Block& block) {
    if (score(block)) return;
    score_in_pieces({block.first, block.rows / 2});
    score_in_pieces({block.first + block.rows / 2, block.rows - block.rows / 2});
  }

  // Returns false, and keeps no row, if a list was too short.
  bool score(const Block& block) {
    const size_t bytes = static_cast<size_t>(block.rows * model_.dims()) * sizeof(float);
    require(cudaMemcpyAsync(vectors_, model_.vector(block.first), bytes, cudaMemcpyHostToDevice, stream_),
            "copying rows");
    require(cudaMemcpyAsync(device_thresholds_, thresholds_.data(), padded_ * sizeof(double),
                            cudaMemcpyHostToDevice, stream_),
            "copying thresholds");
    require(cudaMemsetAsync(params_.sizes, 0, padded_ * sizeof(uint32_t), stream_), "clearing");
    params_.first_row = block.first;
    params_.rows = block.rows;
    require(launch_check(params_, stream_), "launching the check");
    std::vector<uint32_t> sizes(padded_);
    require(cudaMemcpyAsync(sizes.data(), params_.sizes, padded_ * sizeof(uint32_t), cudaMemcpyDeviceToHost,
                            stream_),
            "copying sizes");
    require(cudaStreamSynchronize(stream_), "the check");
    if (*std::max_element(sizes.begin(), sizes.end()) > kCapacity) return false;
    for (size_t query = 0; query < best_.size(); ++query) take(query, sizes[query]);
    return true;
  }

  void take(size_t query, uint32_t size) {
    listed_.resize(size);
    require(cudaMemcpyAsync(listed_.data(), params_.lists + query * kCapacity, size * sizeof(CheckedRow),
                            cudaMemcpyDeviceToHost, stream_),
            "copying a list");
    require(cudaStreamSynchronize(stream_), "copying a list");
    std::vector<Neighbor>& best = best_[query];
    for (const CheckedRow& row : listed_) best.push_back({row.row, row.similarity});
    keep_first(best, k_);
    if (best.size() == k_) thresholds_[query] = best.back().similarity;
  }

  const Model& model_;
  const size_t k_;
  const int device_;
  size_t padded_ = 0;
  cudaStream_t stream_ = nullptr;
  CheckParams params_ = {};
  float* vectors_ = nullptr;
  double* device_thresholds_ = nullptr;
  std::vector<double> thresholds_;
  std::vector<CheckedRow> listed_;
  std::vector<std::vector<Neighbor>> best_;
};

// The best rows that all workers have seen, without those that queries exclude.
Truth merged(std::span<const std::unique_ptr<Worker>> workers, std::span<const Query> queries, size_t k) {
  Truth truth(queries.size());
  for (size_t i = 0; i < queries.size(); ++i) {
    std::vector<Neighbor>& rows = truth[i];
    for (const auto& worker : workers)
      rows.insert(rows.end(), worker->best(i).begin(), worker->best(i).end());
    std::erase_if(rows, [&](const Neighbor& row) {
      return std::find(queries[i].excluded.begin(), queries[i].excluded.end(), row.id) !=
             queries[i].excluded.end();
    });
    keep_first(rows, k);
  }
  return truth;
}

}  // namespace

std::vector<Truth> check_rows(const Model& model, std::span<const Query> queries, size_t k,
                              std::span<const int64_t> ends, int devices) {
  std::vector<std::unique_ptr<Worker>> workers;
  workers.reserve(static_cast<size_t>(devices * kWorkersPerDevice));
  for (int i = 0; i < devices * kWorkersPerDevice; ++i)
    workers.push_back(std::make_unique<Worker>(model, queries, k + 1, i % devices));
  std::vector<Truth> truths;
  int64_t first = 0;
  for (const int64_t end : ends) {
    const std::vector<Block> blocks = blocks_between(first, end);
    std::atomic<size_t> next = 0;
    std::vector<std::thread> threads;
    threads.reserve(workers.size());
    for (const auto& worker : workers) threads.emplace_back([&] { worker->run(blocks, next); });
    for (std::thread& thread : threads) thread.join();
    truths.push_back(merged(workers, queries, k));
    first = end;
  }
  return truths;
}

}  // namespace glove::bench
