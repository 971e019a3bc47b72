#include "bench/gpu/giant/check.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "bench/gpu/timing.h"
#include "gpu/device/cuda_memory.h"

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
    bench::require(cudaSetDevice(device_), "choosing a device");
    require(stream_.create());
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
    params_.components = upload(components, components_);
    params_.norms = upload(norms, norms_);
    params_.dims = static_cast<int32_t>(dims);
    params_.queries = static_cast<int32_t>(padded_);
    params_.capacity = kCapacity;
    params_.vectors = reserve(vectors_, static_cast<size_t>(kLongestBlock) * dims);
    params_.thresholds = reserve(device_thresholds_, padded_);
    params_.lists = reserve(lists_, padded_ * kCapacity);
    params_.sizes = reserve(sizes_, padded_);
  }
  ~Worker() { static_cast<void>(cudaSetDevice(device_)); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run(std::span<const Block> blocks, std::atomic<size_t>& next) {
    bench::require(cudaSetDevice(device_), "choosing a device");
    for (size_t i = next++; i < blocks.size(); i = next++) score_in_pieces(blocks[i]);
  }

  const std::vector<Neighbor>& best(size_t query) const { return best_[query]; }

 private:
  static void require(const Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    std::exit(1);
  }
  template <class T>
  static T* reserve(gpu::DeviceArray<T>& array, size_t count) {
    require(array.reserve(static_cast<int64_t>(count)));
    return array.data();
  }
  const double* upload(const std::vector<double>& values, gpu::DeviceArray<double>& to) const {
    require(stream_.upload(reserve(to, values.size()), values.data(), std::ssize(values)));
    require(stream_.wait("copying"));
    return to.data();
  }

  // A worker whose first block is a long one has no thresholds yet.
  void score_in_pieces(const Block& block) {
    if (score(block)) return;
    score_in_pieces({block.first, block.rows / 2});
    score_in_pieces({block.first + block.rows / 2, block.rows - block.rows / 2});
  }

  // Returns false, and keeps no row, if a list was too short.
  bool score(const Block& block) {
    require(stream_.upload(vectors_.data(), model_.vector(block.first), block.rows * model_.dims()));
    require(stream_.upload(device_thresholds_.data(), thresholds_.data(), std::ssize(thresholds_)));
    require(stream_.fill(params_.sizes, 0, std::ssize(thresholds_), "clearing"));
    params_.first_row = block.first;
    params_.rows = block.rows;
    bench::require(launch_check(params_, stream_.get()), "launching the check");
    std::vector<uint32_t> sizes(padded_);
    require(stream_.download(sizes.data(), params_.sizes, std::ssize(sizes), "copying sizes"));
    require(stream_.wait("the check"));
    if (*std::max_element(sizes.begin(), sizes.end()) > kCapacity) return false;
    for (size_t query = 0; query < best_.size(); ++query) take(query, sizes[query]);
    return true;
  }

  void take(size_t query, uint32_t size) {
    listed_.resize(size);
    require(stream_.download(listed_.data(), params_.lists + query * kCapacity, size, "copying a list"));
    require(stream_.wait("copying a list"));
    std::vector<Neighbor>& best = best_[query];
    for (const CheckedRow& row : listed_) best.push_back({row.row, row.similarity});
    keep_first(best, k_);
    if (best.size() == k_) thresholds_[query] = best.back().similarity;
  }

  const Model& model_;
  const size_t k_;
  const int device_;
  size_t padded_ = 0;
  gpu::Stream stream_;
  gpu::DeviceArray<float> vectors_;
  gpu::DeviceArray<double> components_, norms_, device_thresholds_;
  gpu::DeviceArray<CheckedRow> lists_;
  gpu::DeviceArray<uint32_t> sizes_;
  CheckParams params_ = {};
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
