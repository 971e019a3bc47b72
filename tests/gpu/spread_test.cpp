// A model on several fake devices in host memory: the same rows, whatever the devices do.
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

#include "gpu/layout/plan.h"
#include "gpu/search/spread_plan.h"
#include "search/nearest.h"
#include "tests/forked_child.h"
#include "tests/gpu/device_fixture.h"
#include "tests/model/parts.h"

namespace glove::testing {
namespace {

std::mutex log_mutex;
std::vector<std::string> log_lines;

void keep_line(const std::string& line) {
  const std::lock_guard lock(log_mutex);
  log_lines.push_back(line);
}

std::vector<Neighbor> best_five(const Model& model, const Query& query) {
  std::vector<Neighbor> rows = reference_relation(model, query);
  rows.resize(std::min<size_t>(rows.size(), 5));
  return rows;
}

class Spread : public DeviceBackendTest {
 protected:
  // A fresh engine on `devices` fresh devices, among which every model is spread.
  void make_devices(int devices, int64_t least_slice_bytes = 1) {
    {
      const std::lock_guard lock(mutex_);
      searchers_.clear();
    }
    engine_.reset();  // frees the devices, which use the knobs
    least_slice_bytes_ = least_slice_bytes;
    knobs_.lost = false;
    knobs_.absent = false;
    knobs_.searches_left = -1;
    knobs_.fail_copies_after = -1;
    knobs_.total_bytes = int64_t{1} << 40;
    more_knobs_.clear();
    for (int i = 1; i < devices; ++i) more_knobs_.emplace_back();
    make();
    log_lines.clear();
    engine_->log().set_sink(keep_line);
  }
  int64_t allocated() {
    int64_t bytes = knobs_.allocated;
    for (const FakeDevice::Knobs& knobs : more_knobs_) bytes += knobs.allocated;
    return bytes;
  }
  // Leaves so much room for models on each device.
  void give_room(int device, const ModelPtr& model, int64_t bytes) {
    knobs(device).total_bytes = gpu::scratch_reserve(model->words()) + bytes;
  }
  void expect_right_for_every_k(const ModelPtr& model) {
    for (const int64_t k : {int64_t{1}, int64_t{10}, model->words()}) expect_right(model, k);
    const Query q = query(*model);
    std::vector<double> dots(static_cast<size_t>(model->words()));
    ScanCost cost;
    ASSERT_TRUE(searchers(model)->open(0, {}).value()->score_all(q, dots, {}, cost).ok());
    EXPECT_EQ(cost.rows_scanned, model->words());
    for (int64_t row = 0; row < model->words(); ++row)
      ASSERT_EQ(dots[static_cast<size_t>(row)], product_of(*model, q, row));
  }
};

TEST_F(Spread, OneToFiveDevicesAnswerAlike) {
  for (int devices = 1; devices <= 5; ++devices)
    for (const Rows kind : {Rows::kMixed, Rows::kDuplicates, Rows::kHuge, Rows::kOneHot}) {
      make_devices(devices);
      const ModelPtr m =
          model(1 + static_cast<int64_t>(random_() % 700), 1 + static_cast<int64_t>(random_() % 30), kind);
      expect_right_for_every_k(m);
      const int64_t used = std::min<int64_t>(devices, tile_count(m->words()));
      EXPECT_EQ(info(m).state, "resident");
      EXPECT_EQ(info(m).device, (used > 1 ? std::to_string(used) + " x " : "") + "fake device");
      forget(m);
      EXPECT_EQ(allocated(), 0);
    }
}

// Devices have the codes of such models only, so the host scores what they find.
TEST_F(Spread, ModelsByMetric) {
  for (int devices = 1; devices <= 3; ++devices)
    for (const RowMetric metric : {RowMetric::kDot, RowMetric::kL2})
      for (const Rows kind : {Rows::kMixed, Rows::kDuplicates, Rows::kHuge}) {
        make_devices(devices);
        const auto dims = static_cast<int64_t>(1 + random_() % 30);
        const ModelPtr m =
            randomly_split(model(static_cast<int64_t>(1 + random_() % 700), dims, kind, metric), random_);
        expect_right_for_every_k(m);
        for (const int64_t k : {1, 10, 100}) expect_right(m, k, random_mask(random_, *m));
        const int64_t used = std::min<int64_t>(devices, tile_count(m->words()));
        EXPECT_EQ(info(m).device, (used > 1 ? std::to_string(used) + " x " : "") + "fake device");
        if (devices > 1) {
          knobs(1).lost = true;  // the host has the rows of a slice from now on
          expect_right(m);
        }
        forget(m);
        EXPECT_EQ(allocated(), 0);
      }
}

TEST_F(Spread, ModelsOfSeveralParts) {
  make_devices(3);
  for (int round = 0; round < 10; ++round) {
    const ModelPtr m = randomly_split(model(1 + static_cast<int64_t>(random_() % 900), 13), random_);
    expect_right_for_every_k(m);
    forget(m);
  }
}

TEST_F(Spread, OnlyRowsOfTheMask) {
  for (int devices = 2; devices <= 4; ++devices) {
    make_devices(devices);
    const ModelPtr m = randomly_split(model(1 + static_cast<int64_t>(random_() % 900), 7), random_);
    for (int i = 0; i < 10; ++i) {
      if (i == 7) knobs(1).lost = true;  // the host has the rows of a slice from now on
      const RowMaskPtr among = random_mask(random_, *m);
      for (const int64_t k : {1, 10, 100}) expect_right(m, k, among);
    }
    forget(m);
  }
}

// It is searched in pieces, and some are merged while the caller asks the interrupts of all requests. Costs
// are the model's.
TEST_F(Spread, ALargeBatch) {
  const InterruptCheck never = [] { return false; };
  const InterruptCheck at_once = [] { return true; };
  for (const bool loses_device : {false, true}) {
    make_devices(2);
    const ModelPtr m = model(400, 12, Rows::kDuplicates);
    ASSERT_TRUE(open(m).ok());
    if (loses_device) knobs(1).searches_left = 700;
    std::vector<Query> queries;
    std::vector<SearchRequest> requests;
    for (int i = 0; i < 1030; ++i) {
      queries.push_back(query(*m));
      queries.back().excluded = {i % 200, i % 200 + 100};
    }
    requests.reserve(queries.size());
    for (const Query& each : queries)
      requests.push_back({&each, 1 + (&each - queries.data()) % 9, {&never}, {}, {}, {}});
    requests[300].terms.interrupted = &at_once;
    ASSERT_TRUE(searchers(m)->open(0, {}).value()->search(requests).ok());
    EXPECT_EQ(requests[300].status.error().code, ErrorCode::kInterrupted);
    requests.erase(requests.begin() + 300);
    for (const SearchRequest& request : requests) {
      ASSERT_TRUE(request.status.ok());
      auto wanted = reference_relation(*m, *request.query);
      wanted.resize(std::min(wanted.size(), static_cast<size_t>(request.k)));
      ASSERT_EQ(difference(request.rows, wanted), "");
      if (!loses_device) {
        EXPECT_EQ(request.cost.rows_scanned, 400);
      }
    }
    EXPECT_EQ(knobs(1).lost, loses_device);
    EXPECT_EQ(log_lines.size(), loses_device ? 1u : 0u);
  }
}

TEST_F(Spread, UnequalRoomsAndModelsLargerThanEachDevice) {
  for (int round = 0; round < 6; ++round) {
    make_devices(3);
    const ModelPtr m = model(3000, 25);
    const int64_t whole = gpu::resident_bytes(*m);
    give_room(0, m, whole / 5);
    give_room(1, m, whole * 2 / 5);
    give_room(2, m, whole * 3 / 5);
    expect_right_for_every_k(m);
    EXPECT_LE(knobs(0).allocated, whole / 5);
    EXPECT_GT(knobs(2).allocated, 0);
    forget(m);
  }
}

TEST_F(Spread, CodesAloneWhereVectorsDoNotFit) {
  make_devices(2);
  const ModelPtr m = model(3000, 40, Rows::kGaussian);
  const int64_t codes = gpu::plan_memory(3000, 40).scan_bytes;
  for (const int device : {0, 1}) give_room(device, m, codes * 2 / 3);
  expect_right_for_every_k(m);
  EXPECT_LE(info(m).device_bytes, codes + 8192);
}

TEST_F(Spread, TooLargeForAllTogether) {
  make_devices(2);
  const ModelPtr m = model(3000, 40);
  for (const int device : {0, 1}) give_room(device, m, 20000);
  const Status status = open(m);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kOutOfMemory);
  EXPECT_NE(status.error().message.find("does not fit in the memory of the devices: 1 MB of all 2 together"),
            std::string::npos)
      << status.error().message;
  EXPECT_EQ(allocated(), 0);
}

TEST_F(Spread, AnAbsentOrFullDeviceIsLeftOut) {
  for (const int unusable : {0, 1, 2}) {
    make_devices(3);
    knobs(unusable).absent = true;
    const ModelPtr m = model(900, 20);
    expect_right_for_every_k(m);
    EXPECT_EQ(info(m).state, "resident");
    EXPECT_EQ(info(m).device, "2 x fake device");
    EXPECT_EQ(knobs(unusable).allocated, 0);
    ASSERT_EQ(log_lines.size(), 1u);
    EXPECT_EQ(log_lines[0], "device " + std::to_string(unusable) + " is not used: fake: absent");

    make_devices(3);
    give_room(unusable, m, 0);
    const ModelPtr other = model(900, 20);
    expect_right_for_every_k(other);
    EXPECT_EQ(info(other).device, "2 x fake device");
    EXPECT_EQ(knobs(unusable).allocated, 0);
  }
}

TEST_F(Spread, ADeviceThatFailsDuringTheUploadLeavesItsRowsToTheHost) {
  for (const int failing : {0, 1, 2}) {
    make_devices(3);
    knobs(failing).fail_copies_after = static_cast<int>(random_() % 3);
    const ModelPtr m = model(960, 20);
    expect_right_for_every_k(m);
    const std::string rows = std::to_string(320 * failing) + " to " + std::to_string(320 * failing + 319);
    EXPECT_EQ(info(m).state, "resident; rows " + rows + " are on the CPU because device " +
                                 std::to_string(failing) + " (fake device) failed: fake: the copy failed");
    EXPECT_EQ(info(m).device, "2 x fake device + CPU");
    EXPECT_EQ(knobs(failing).allocated, 0);
    ASSERT_EQ(log_lines.size(), 1u);
    EXPECT_EQ(log_lines[0], "device " + std::to_string(failing) + " (fake device) cannot search rows " +
                                rows + " of the model " + m->path() +
                                ", and the CPU does so from now on: fake: the copy failed");
    // The next model goes to the others.
    const ModelPtr next = model(960, 20);
    expect_right_for_every_k(next);
    EXPECT_EQ(info(next).device, "2 x fake device");
  }
}

TEST_F(Spread, ADeviceLostInMidQueryLeavesItsRowsToTheHost) {
  for (const int lost : {0, 1, 2}) {
    make_devices(3);
    const ModelPtr m = model(960, 20);
    ASSERT_TRUE(open(m).ok());
    expect_right(m);
    knobs(lost).searches_left = 2;  // the second request of three is answered, the third is not
    expect_right_for_every_k(m);
    EXPECT_TRUE(knobs(lost).lost);
    EXPECT_NE(info(m).state.find(" are on the CPU because device " + std::to_string(lost) +
                                 " (fake device) failed: fake: lost"),
              std::string::npos)
        << info(m).state;
    EXPECT_EQ(log_lines.size(), 1u);
    EXPECT_TRUE(backend().available().ok());
    forget(m);
    ASSERT_TRUE(open(m).ok());
    expect_right_for_every_k(m);
    EXPECT_EQ(info(m).device, "2 x fake device") << "loaded again, it is spread over those that work";
  }
}

TEST_F(Spread, TheLastDeviceFailsTheSearch) {
  make_devices(3);
  engine_->backends().add(make_cpu_backend({.target = "", .threads = 2}));
  const ModelPtr m = model(960, 20);
  ASSERT_TRUE(open(m).ok());
  for (const int device : {0, 1, 2}) knobs(device).lost = true;
  const Query q = query(*m);
  const Status status = search(m, q, 5);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(log_lines.size(), 2u);
  SearchReport report;
  const auto rows = nearest(*searchers(m), std::span(&q, 1), 5, SearchOptions{"auto", {}}, report);
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  EXPECT_EQ(report.backend, "cpu");
  EXPECT_EQ(difference(rows.value()[0], best_five(*m, q)), "");
  for (const int device : {0, 1, 2}) {
    EXPECT_EQ(knobs(device).searches, 0);
  }
  EXPECT_EQ(backend().available().error().message, "fake: lost");
}

TEST_F(Spread, SmallModelsGoToTheDeviceWithTheLeastInUse) {
  make_devices(3, gpu::kLeastSliceBytes);
  std::vector<ModelPtr> models;
  for (int i = 0; i < 6; ++i) {
    models.push_back(model(500, 20));
    expect_right_for_every_k(models.back());
    EXPECT_EQ(info(models.back()).device, "fake device");
  }
  for (const int device : {0, 1, 2}) EXPECT_GE(knobs(device).allocations, 2) << device;
  EXPECT_EQ(opened_, 3);
  make_devices(3, gpu::kLeastSliceBytes);
  opened_ = 0;
  knobs(0).absent = true;
  expect_right_for_every_k(model(500, 20));
  EXPECT_EQ(opened_, 2) << "no more than necessary";
}

TEST_F(Spread, TheSettingChoosesDevices) {
  make_devices(4);
  ASSERT_TRUE(engine_->settings().set("devices", "3,1").ok());
  EXPECT_EQ(engine_->settings().get("devices").value(), "1,3");
  const ModelPtr m = model(900, 20);
  expect_right_for_every_k(m);
  for (const int device : {0, 1, 2, 3}) EXPECT_EQ(knobs(device).allocated > 0, device % 2 == 1) << device;
  EXPECT_EQ(opened_, 2);

  ASSERT_TRUE(engine_->settings().set("devices", "2").ok());
  const ModelPtr other = model(900, 20);
  expect_right_for_every_k(other);
  EXPECT_GT(knobs(2).allocated, 0);
  EXPECT_EQ(knobs(0).allocated, 0);
  expect_right_for_every_k(m);

  ASSERT_TRUE(engine_->settings().set("devices", "1,7").ok());
  const ModelPtr third = model(900, 20);
  const Status status = open(third);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().message,
            "the setting 'devices' names device 7, which does not exist; the devices are 0, 1, 2 and 3");
  EXPECT_TRUE(backend().available().ok());
  ASSERT_TRUE(engine_->settings().set("devices", "all").ok());
  expect_right(third);
  make_devices(1);
  ASSERT_TRUE(engine_->settings().set("devices", "1").ok());
  EXPECT_EQ(open(third).error().message,
            "the setting 'devices' names device 1, which does not exist; the only device is 0");
}

TEST_F(Spread, InterruptsOfSearchesAndUploads) {
  make_devices(3);
  const ModelPtr m = model(5000, 40);
  int asked = 0;
  EXPECT_EQ(open(m, [&] { return ++asked == 3; }).error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(allocated(), 0);
  ASSERT_TRUE(open(m).ok());
  const Query q = query(*m);
  EXPECT_EQ(search(m, q, 5, [] { return true; }).error().code, ErrorCode::kInterrupted);
  expect_right_for_every_k(m);
  EXPECT_EQ(info(m).state, "resident");

  // One of two requests is interrupted, and the other one has its answer.
  const InterruptCheck never = [] { return false; };
  const InterruptCheck at_once = [] { return true; };
  SearchRequest requests[] = {{&q, 5, {&never}, {}, {}, {}}, {&q, 5, {&at_once}, {}, {}, {}}};
  ASSERT_TRUE(searchers(m)->open(0, {}).value()->search(requests).ok());
  EXPECT_TRUE(requests[0].status.ok());
  EXPECT_EQ(requests[1].status.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(difference(requests[0].rows, best_five(*m, q)), "");
}

TEST_F(Spread, ManyThreadsWhileADeviceIsLost) {
  make_devices(3);
  const ModelPtr m = model(1500, 20, Rows::kGaussian);
  ASSERT_TRUE(open(m).ok());
  std::vector<Query> queries;
  std::vector<std::vector<Neighbor>> wanted;
  for (int i = 0; i < 8; ++i) {
    queries.push_back(query(*m));
    wanted.push_back(reference_relation(*m, queries.back()));
    wanted.back().resize(7);
  }
  knobs(1).searches_left = 60;
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  threads.reserve(16);
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&, t] {
      const ScopedFloatEnvironment float_environment;
      for (size_t i = 0; i < 12; ++i) {
        const size_t at = (i + static_cast<size_t>(t)) % queries.size();
        SearchRequest requests[] = {{&queries[at], 7, {}, {}, {}, {}},
                                    {&queries[(at + 1) % queries.size()], 7, {}, {}, {}, {}}};
        const std::span<SearchRequest> asked = std::span(requests).first(1 + i % 2);
        if (!searchers(m)->open(0, {}).value()->search(asked).ok()) ++failures;
        if (difference(requests[0].rows, wanted[at]) != "") ++failures;
        static_cast<void>(info(m));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_TRUE(knobs(1).lost);
  EXPECT_EQ(log_lines.size(), 1u);
}

TEST_F(Spread, AForkedChildIsRefused) {
  make_devices(2);
  const ModelPtr m = model();
  ASSERT_TRUE(open(m).ok());
  // A scan of 4 bits shows that a device's upload has ended: no other thread then allocates memory.
  while (knobs(0).coarse_searches == 0 || knobs(1).coarse_searches == 0) expect_right(m, 1);
  const Query q = query(*m);
  EXPECT_TRUE(holds_in_forked_child([&] {
    const Status searched = search(m, q, 5);
    const bool refused = !searched.ok() && searched.error().message.find("fork") != std::string::npos &&
                         !backend().available().ok() && info(m).state == "not loaded";
    forget(m);
    return refused && log_lines.empty();
  }));
  expect_right(m);
}

}  // namespace
}  // namespace glove::testing
