// An engine whose only backend is on a fake device in host memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "base/float_environment.h"
#include "cpu/cpu_backend.h"
#include "gpu/backend/device_backend.h"
#include "model/exact_dot.h"
#include "search/engine.h"
#include "tests/gpu/fake_device.h"
#include "tests/loader/random.h"
#include "tests/search/random_mask.h"
#include "tests/search/random_model.h"
#include "tests/search/reference.h"

namespace glove::testing {

class DeviceBackendTest : public ::testing::Test {
 protected:
  // A fresh engine whose only backend is on fresh devices: one, and those of more_knobs_.
  void make() {
    {
      const std::lock_guard lock(mutex_);
      searchers_.clear();
    }
    engine_ = std::make_unique<Engine>();
    gpu::DeviceBackendOptions options;
    options.devices.count = [this]() -> Result<int> {
      if (while_counting_) while_counting_();
      return static_cast<int>(1 + more_knobs_.size());
    };
    options.devices.open = [this](int number) -> Result<std::unique_ptr<gpu::Device>> {
      ++opened_;
      if (while_opening_) while_opening_();
      if (!open_error_.empty()) return Error{ErrorCode::kUnavailable, open_error_};
      if (knobs(number).absent) return Error{ErrorCode::kUnavailable, "fake: absent"};
      return std::unique_ptr<gpu::Device>(std::make_unique<FakeDevice>(knobs(number)));
    };
    options.devices.chosen = [this] { return engine_->settings().devices(); };
    options.devices.memory_limit = [this]() -> Result<int64_t> { return limit_.load(); };
    options.host = host_.get();
    options.log = &engine_->log();
    options.least_slice_bytes = least_slice_bytes_;
    engine_->backends().add(gpu::make_device_backend(std::move(options)));
  }
  FakeDevice::Knobs& knobs(int device) {
    return device == 0 ? knobs_ : more_knobs_[static_cast<size_t>(device - 1)];
  }
  Backend& backend() { return *engine_->backends().all()[0]; }

  // The model's searchers, kept as the catalogue keeps them, until forget().
  ModelSearchersPtr searchers(const ModelPtr& model) {
    const std::lock_guard lock(mutex_);
    ModelSearchersPtr& kept = searchers_[model->id()];
    if (kept == nullptr) kept = std::make_shared<ModelSearchers>(*engine_, model);
    return kept;
  }
  void forget(const ModelPtr& model) {
    ModelSearchersPtr gone;  // freed when no lock is held
    const std::lock_guard lock(mutex_);
    gone = std::move(searchers_[model->id()]);
    searchers_.erase(model->id());
  }
  Status open(const ModelPtr& model, const InterruptCheck& interrupted = {}) {
    return searchers(model)->open(0, interrupted).status();
  }
  SearcherInfo info(const ModelPtr& model) { return searchers(model)->info(0); }

  // One request.
  Status search(const ModelPtr& model, const Query& query, int64_t k,
                const InterruptCheck& interrupted = {}) {
    const ModelSearchersPtr kept = searchers(model);
    GLOVE_ASSIGN_OR_RETURN(Searcher* const searcher, kept->open(0, {}));
    SearchRequest request{&query, k, {&interrupted}, {}, {}, {}};
    return searcher->search({&request, 1});
  }

  ModelPtr model(int64_t words = 1000, int64_t dims = 30, Rows kind = Rows::kMixed,
                 RowMetric metric = RowMetric::kCosine) {
    return random_model(random_, words, dims, kind, metric);
  }

  Query query(const Model& model) {
    Query query;
    query.vector = random_vector(random_, model.dims(), Rows::kGaussian);
    query.norm_squared = exact_dot(query.vector.data(), query.vector.data(), model.dims());
    return query;
  }

  // Expects the rows of the reference from the searcher.
  void expect_right(const ModelPtr& model, int64_t k = 10, const RowMaskPtr& among = nullptr) {
    std::vector<Query> queries;
    for (int i = 0; i < 3; ++i) {
      queries.push_back(query(*model));
      queries.back().among = among;
    }
    queries[1].excluded = {0, 7, 9};
    std::vector<SearchRequest> requests;
    requests.reserve(queries.size());
    for (const Query& each : queries) requests.push_back({&each, k, {}, {}, {}, {}});
    const auto searcher = searchers(model)->open(0, {});
    ASSERT_TRUE(searcher.ok()) << searcher.error().message;
    const Status status = searcher.value()->search(requests);
    ASSERT_TRUE(status.ok()) << status.error().message;
    for (size_t i = 0; i < queries.size(); ++i) {
      const auto wanted = reference_relation(*model, queries[i]);
      const auto kept = std::min(static_cast<size_t>(k), wanted.size());
      EXPECT_EQ(difference(requests[i].rows, std::span(wanted).first(kept)), "");
    }
  }

  ScopedFloatEnvironment float_environment_;
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "GLOVE_TEST_SEED=" + std::to_string(test_seed())};
  std::mt19937_64 random_ = random_source();
  std::unique_ptr<Backend> host_ = make_cpu_backend({.target = "", .threads = 2});
  Analysis* const host_analysis_ = host_->analysis();
  FakeDevice::Knobs knobs_;                   // of device 0
  std::deque<FakeDevice::Knobs> more_knobs_;  // of the others
  int64_t least_slice_bytes_ = gpu::kLeastSliceBytes;
  std::atomic<int64_t> limit_{0};
  std::atomic<int> opened_{0};
  std::string open_error_;
  // Called while the devices are counted, and while one of them is opened.
  std::function<void()> while_counting_, while_opening_;
  std::mutex mutex_;  // guards searchers_
  std::unique_ptr<Engine> engine_;
  std::map<uint64_t, ModelSearchersPtr> searchers_;
};

}  // namespace glove::testing
