#include "gpu/analysis/device_analysis.h"

#include <chrono>
#include <thread>
#include <utility>

#include "gpu/layout/plan.h"

namespace glove::gpu {
namespace {

// A pass of the device, with the rows that it reads.
class ResidentPass final : public KMeansPass {
 public:
  ResidentPass(std::shared_ptr<Arena> rows, std::unique_ptr<KMeansPass> pass)
      : rows_(std::move(rows)), pass_(std::move(pass)) {}
  ~ResidentPass() override {
    // Deliberately leaked in a forked child: its memory belongs to the parent.
    if (rows_->device()->in_forked_child()) static_cast<void>(pass_.release());
  }
  ResidentPass(const ResidentPass&) = delete;
  ResidentPass& operator=(const ResidentPass&) = delete;

  Status start(const Centroids& centroids) override {
    return run([&] { return pass_->start(centroids); });
  }
  Result<Step> iterate(const InterruptCheck& interrupted) override {
    return run([&] { return pass_->iterate(interrupted); });
  }
  Status refill(std::span<const int32_t> rows, std::span<const int32_t> clusters,
                const InterruptCheck& interrupted) override {
    return run([&] { return pass_->refill(rows, clusters, interrupted); });
  }
  Status read_centroids(Centroids& centroids) override {
    return run([&] { return pass_->read_centroids(centroids); });
  }
  Status nearest_two(const Centroids& centroids, std::span<NearestTwo> nearest,
                     const InterruptCheck& interrupted) override {
    return run([&] { return pass_->nearest_two(centroids, nearest, interrupted); });
  }
  Status dots(std::span<const float> vector, std::span<double> dots,
              const InterruptCheck& interrupted) override {
    return run([&] { return pass_->dots(vector, dots, interrupted); });
  }

 private:
  template <class Work>
  auto run(const Work& work) -> decltype(work()) {
    return rows_->device()->run([&](Device&) { return work(); });
  }

  const std::shared_ptr<Arena> rows_;
  std::unique_ptr<KMeansPass> pass_;
};

// A model of the points alone, without words. The points' arrays must outlive it.
ModelPtr model_of(const Points& points) {
  const auto rows = static_cast<size_t>(points.rows);
  ModelPart part;
  part.rows = points.rows;
  part.dims = points.dims;
  part.vectors = {points.vectors, rows * static_cast<size_t>(points.dims)};
  part.norms_squared = {points.norms_squared, rows};
  part.levels = {{8,
                  {points.codes, static_cast<size_t>(code_bytes(points.rows, points.dims))},
                  {points.scales, rows},
                  {points.residuals, rows}}};
  Model::Source source;
  source.path = "a selection of rows";
  return std::make_shared<Model>(std::vector{part}, Vocabulary({}, {}, {}), source, nullptr);
}

class DeviceAnalysis final : public Analysis {
 public:
  DeviceAnalysis(DeviceSet& devices, Placement& placement, Analysis& host)
      : devices_(devices), placement_(placement), host_(host) {}

  Result<std::unique_ptr<KMeansPass>> kmeans_pass(const Points& points, Metric metric, int64_t count,
                                                  const InterruptCheck& interrupted) override {
    if (points.rows == 0 || count > kMostPassClusters || points.dims > kMaxBatchDims)
      return host_.kmeans_pass(points, metric, count, interrupted);
    GLOVE_ASSIGN_OR_RETURN(auto rows, rows_on_device(points, interrupted));
    GLOVE_RETURN_IF_ERROR(wait_for_vectors(*rows, interrupted));
    DevicePart part = rows->parts().front();
    part.rows = points.rows;
    GLOVE_ASSIGN_OR_RETURN(auto pass, rows->device()->run([&](Device& device) {
      return device.kmeans_pass(part, FixedSums(metric, 0, points), count);
    }));
    return std::unique_ptr<KMeansPass>(std::make_unique<ResidentPass>(std::move(rows), std::move(pass)));
  }

  Status dots(const Points& points, std::span<const float> vector, std::span<double> dots,
              const InterruptCheck& interrupted) override {
    return host_.dots(points, vector, dots, interrupted);
  }
  Status sum_rows(const Points& points, const RowSums& what, const InterruptCheck& interrupted) override {
    return host_.sum_rows(points, what, interrupted);
  }
  Status map_rows(const Points& points, const RowMap& map, std::span<float> out,
                  const InterruptCheck& interrupted) override {
    return host_.map_rows(points, map, out, interrupted);
  }

 private:
  // The model if it is resident, or if most of it is needed; otherwise the points alone.
  Result<std::shared_ptr<Arena>> rows_on_device(const Points& points, const InterruptCheck& interrupted) {
    if (points.model != nullptr)
      if (auto resident = placement_.find(*points.model)) return resident;
    const bool most = points.model != nullptr && points.rows > points.model->words() / 2;
    GLOVE_ASSIGN_OR_RETURN(const auto device, devices_.first());
    return placement_.upload(device, most ? points.model : model_of(points), interrupted);
  }

  // Waits until the vectors are on the device, if it works.
  static Status wait_for_vectors(Arena& arena, const InterruptCheck& interrupted) {
    GLOVE_RETURN_IF_ERROR(arena.device()->available());
    arena.upload_rest();
    while (arena.parts().front().vectors == nullptr) {
      if (!arena.expects_vectors())
        return {ErrorCode::kOutOfMemory, arena.model()->path() + " does not fit on the device with its " +
                                             "vectors, which the toolbox needs there"};
      GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return {};
  }

  DeviceSet& devices_;
  Placement& placement_;
  Analysis& host_;
};

}  // namespace

std::unique_ptr<Analysis> make_device_analysis(DeviceSet& devices, Placement& placement, Analysis& host) {
  return std::make_unique<DeviceAnalysis>(devices, placement, host);
}

}  // namespace glove::gpu
