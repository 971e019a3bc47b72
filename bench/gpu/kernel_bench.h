// Times the two kernels for one query by themselves.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "bench/gpu/timing.h"
#include "gpu/kernels/packed_rows.h"
#include "gpu/kernels/single_scan.h"
#include "gpu/layout/query_codes.h"
#include "model/model.h"
#include "model/quantize.h"
#include "search/query.h"

namespace glove::bench {

// The kernel alone, launched by hand on a copy of the arrays.
class KernelBench {
 public:
  explicit KernelBench(const ModelPtr& model) : model_(model) {
    const ModelPart& part = model->parts().front();
    const CodeLevel& level = part.level(8);
    rows_ = tile_count(part.rows) * kTileRows;
    part_.rows = part.rows;
    part_.dims = static_cast<int32_t>(part.dims);
    part_.level = upload_level(level);
    part_.coarse = upload_level(part.level(4));
    std::byte* packed = nullptr;
    clear(&packed, static_cast<size_t>(rows_ * gpu::packed_row_bytes(part.dims)));
    require(gpu::launch_packed_rows(part_, packed, nullptr), "packing rows");
    part_.packed_rows = packed;
    upload(&part_.vectors, part.vectors, part.vectors.size_bytes());
    upload(&part_.norms_squared, part.norms_squared, part.norms_squared.size_bytes());
    clear(&counters_, 2 * sizeof(gpu::ScanCounters));
    clear(&collected_, kCapacity * 12);
    require(cudaHostAlloc(reinterpret_cast<void**>(&answer_), kCapacity * 12 + 256, cudaHostAllocMapped),
            "pinned memory");
    std::memset(answer_, 0, kCapacity * 12 + 256);
    require(cudaStreamCreate(&stream_), "stream");
    require(gpu::device_shape(0, &shape_), "shape");
    for (auto& event : events_) require(cudaEventCreate(&event), "event");
  }

  // Returns how many of the first queries get other rows from the 4-bit codes than from the 8-bit codes.
  size_t different_rows(const std::vector<Query>& queries, int64_t k) {
    size_t wrong = 0;
    for (size_t i = 0; i < std::min(queries.size(), size_t{8}); ++i) {
      std::vector<std::byte> answers[2];
      for (const bool coarse : {false, true}) {
        std::memset(answer_, 0, kCapacity * 12);
        run_once(queries[i], k, {i % 2 != 0, true, coarse});
        answers[coarse ? 1 : 0].assign(answer_, answer_ + k * 8);
        const std::byte* ids = answer_ + kCapacity * 8;
        answers[coarse ? 1 : 0].insert(answers[coarse ? 1 : 0].end(), ids, ids + k * 4);
      }
      wrong += answers[0] == answers[1] ? 0 : 1;
    }
    return wrong;
  }

  struct Variant {
    bool reversed;
    bool ranked;
    bool coarse;  // scans the 4-bit codes
  };

  void run(const std::string& key, const std::vector<Query>& queries, int64_t k, bool alternate, bool ranked,
           bool coarse = false) {
    std::vector<double> total, scan, select, rescore;
    for (size_t i = 0; i < 60; ++i) {
      const double us = run_once(queries[i % queries.size()], k, {alternate && i % 2 != 0, ranked, coarse});
      if (i < 10) continue;
      const auto* done = reinterpret_cast<const gpu::ScanDone*>(answer_ + kCapacity * 12);
      total.push_back(us);
      scan.push_back(static_cast<double>(done->scan_ns) * 1e-3);
      select.push_back(static_cast<double>(done->times >> 16 & 0xffff) * gpu::kTimeUnit * 1e-3);
      rescore.push_back(static_cast<double>(done->times & 0xffff) * gpu::kTimeUnit * 1e-3);
    }
    put("kernel_" + key + "_us", total);
    put("kernel_" + key + "_scan_us", scan);
    put("kernel_" + key + "_select_us", spread_of(select).median);
    put("kernel_" + key + "_rescore_us", spread_of(rescore).median);
    const double bytes = static_cast<double>(model_->parts().front().level(coarse ? 4 : 8).codes.size()) +
                         static_cast<double>(rows_) * 8;
    put("kernel_" + key + "_scan_tb_s", bytes / spread_of(scan).median * 1e-6);
  }

 private:
  // Returns the microseconds between the events around a launch.
  double run_once(const Query& query, int64_t k, const Variant& variant) {
    if (const int64_t bytes = gpu::row_upper_bytes(model_->dims(), rows_ / kTileRows, shape_);
        bytes > 0 && row_upper_ == nullptr)
      clear(&row_upper_, static_cast<size_t>(bytes));
    gpu::SingleScanParams launch = make(query, k);
    launch.reversed = variant.reversed ? 1 : 0;
    if (variant.ranked) {
      launch.answer.ranked_similarities = launch.answer.similarities;
      launch.answer.ranked_ids = launch.answer.ids;
      launch.answer.similarities = reinterpret_cast<double*>(collected_);
      launch.answer.ids = reinterpret_cast<int32_t*>(collected_ + kCapacity * 8);
    }
    require(cudaEventRecord(events_[0], stream_), "event");
    require(gpu::launch_single_scan(variant.coarse ? 4 : 8, launch, shape_, stream_), "launch");
    require(cudaEventRecord(events_[1], stream_), "event");
    require(cudaStreamSynchronize(stream_), "scan");
    float ms = 0;
    require(cudaEventElapsedTime(&ms, events_[0], events_[1]), "event");
    return ms * 1e3;
  }

  // Pads the arrays to whole tiles, as gpu/residency/arena.cpp does.
  gpu::DeviceLevel upload_level(const CodeLevel& level) {
    std::vector<float> residuals(level.residuals.begin(), level.residuals.end());
    residuals.resize(static_cast<size_t>(rows_), INFINITY);
    gpu::DeviceLevel copy;
    upload(&copy.codes, level.codes, level.codes.size_bytes());
    upload(&copy.scales, level.scales, static_cast<size_t>(rows_) * 4);
    upload(&copy.residuals, std::span<const float>(residuals), residuals.size() * 4);
    return copy;
  }

  static constexpr size_t kCapacity = 65536;

  template <class T>
  static void clear(T** device, size_t bytes) {
    require(cudaMalloc(reinterpret_cast<void**>(device), bytes), "device memory");
    require(cudaMemset(*device, 0, bytes), "clearing");
  }

  // Padded with zeros to `bytes`.
  template <class T>
  static void upload(const T** device, std::span<const T> from, size_t bytes) {
    T* copy = nullptr;
    clear(&copy, bytes);
    require(cudaMemcpy(copy, from.data(), from.size_bytes(), cudaMemcpyHostToDevice), "copy");
    *device = copy;
  }

  gpu::SingleScanParams make(const Query& query, int64_t k) {
    const QuantizedQuery quantized = quantize_query(query.vector, query.norm_squared, gpu::kTwoPlaneCode);
    gpu::SingleScanParams scan = {};
    scan.code_sum = quantized.code_sum;
    scan.part = part_;
    scan.tiles = static_cast<int32_t>(tile_count(model_->words()));
    scan.groups = static_cast<int32_t>(component_groups(model_->dims()));
    scan.bound = quantized.bound;
    scan.norm_squared = query.norm_squared;
    scan.top_rows = static_cast<int32_t>(k);
    scan.sequence = ++sequence_;
    scan.counters = counters_ + (sequence_ & 1u);
    scan.next_counters = counters_ + ((sequence_ & 1u) ^ 1u);
    scan.row_upper = row_upper_;
    scan.answer.capacity = kCapacity;
    scan.answer.similarities = reinterpret_cast<double*>(answer_);
    scan.answer.ids = reinterpret_cast<int32_t*>(answer_ + kCapacity * 8);
    scan.done = reinterpret_cast<gpu::ScanDone*>(answer_ + kCapacity * 12);
    gpu::pack_planes(quantized.codes, reinterpret_cast<int8_t*>(scan.query));
    std::memcpy(scan.query + gpu::query_floats_offset(model_->dims()), query.vector.data(),
                query.vector.size() * 4);
    return scan;
  }

  ModelPtr model_;
  int64_t rows_ = 0;
  gpu::DevicePart part_;
  gpu::DeviceShape shape_;
  gpu::ScanCounters* counters_ = nullptr;
  uint16_t* row_upper_ = nullptr;
  std::byte* collected_ = nullptr;
  std::byte* answer_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t events_[2] = {};
  uint32_t sequence_ = 0;
};

// Returns the number of differences between the two kernels' answers.
inline size_t time_kernels(const ModelPtr& model, const std::vector<Query>& queries) {
  KernelBench kernel(model);
  size_t wrong = 0;
  for (const int64_t k : {1, 10, 100, 1000, 5000}) wrong += kernel.different_rows(queries, k);
  put("kernels_different_rows", static_cast<double>(wrong));
  for (const bool coarse : {false, true}) {
    const std::string codes = coarse ? "coarse_" : "";
    kernel.run(codes + "one_way", queries, 10, false, false, coarse);
    for (const int64_t k : {1, 10, 100, 1000, 5000}) {
      const std::string key = codes + "k" + std::to_string(k);
      kernel.run(key, queries, k, true, false, coarse);
      kernel.run(key + "_ranked", queries, k, true, true, coarse);
    }
  }
  return wrong;
}

}  // namespace glove::bench
