// The backend on a fake device in host memory: uploads, limits, failures.
#include "gpu/backend/device_backend.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "gpu/layout/plan.h"
#include "model/exact_dot.h"
#include "model/mapped_file.h"
#include "tests/gpu/device_fixture.h"
#include "tests/model/parts.h"
#include "tests/share.h"

namespace glove::testing {
namespace {

TEST_F(DeviceBackendTest, UploadsEveryByteWhateverTheSize) {
  make();
  for (const int64_t words : {1, 31, 32, 33, 500, 2049}) {
    const ModelPtr m = model(words, 1 + static_cast<int64_t>(random_() % 40), Rows::kGaussian);
    ASSERT_TRUE(open(m).ok());
    expect_right(m, 5);
    forget(m);
    EXPECT_EQ(knobs_.allocated, 0);
  }
}

TEST_F(DeviceBackendTest, EveryKindOfModel) {
  make();
  for (const Rows kind : kAllRows) {
    const ModelPtr m = model(400, 20, kind);
    ASSERT_TRUE(open(m).ok());
    for (const int64_t k : {1, 10, 400}) expect_right(m, k);
  }
}

TEST_F(DeviceBackendTest, ModelsOfSeveralParts) {
  make();
  for (int round = 0; round < 20; ++round) {
    const auto words = 1 + static_cast<int64_t>(random_() % 900);
    const ModelPtr whole = model(words, 1 + static_cast<int64_t>(random_() % 30));
    const int64_t second = words / 3;
    const ModelPtr parts = round % 2 == 0 || second == 0 ? randomly_split(whole, random_)
                                                         : rebuilt_in_parts(*whole, {second, words - second});
    ASSERT_TRUE(open(parts).ok());
    for (const int64_t k : {int64_t{1}, int64_t{10}, words}) expect_right(parts, k);
    std::vector<double> dots(static_cast<size_t>(words));
    const Query q = query(*whole);
    for (int pass = 0; pass < 2; ++pass) {  // before and, perhaps, after the vectors are there
      ScanCost cost;
      ASSERT_TRUE(searchers(parts)->open(0, {}).value()->score_all(q, dots, {}, cost).ok());
      for (int64_t row = 0; row < words; ++row)
        ASSERT_EQ(dots[static_cast<size_t>(row)],
                  exact_dot(q.vector.data(), whole->vector(row), whole->dims()));
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
    expect_right(parts, 10);
    forget(parts);
    EXPECT_EQ(knobs_.allocated, 0);
  }
}

TEST_F(DeviceBackendTest, OnlyRowsOfTheMask) {
  make();
  for (const Rows kind : {Rows::kGaussian, Rows::kMixed, Rows::kDuplicates}) {
    const ModelPtr m = randomly_split(model(1 + static_cast<int64_t>(random_() % 2000), 9, kind), random_);
    ASSERT_TRUE(open(m).ok());
    const auto codes = knobs_.allocated.load();
    for (int i = 0; i < (test::kShare == 1 ? 20 : 4); ++i) {
      const RowMaskPtr among = random_mask(random_, *m);
      for (const int64_t k : {1, 10, 400}) expect_right(m, k, among);
      expect_right(m, 10);
    }
    EXPECT_GT(knobs_.allocated, codes);
    forget(m);
    EXPECT_EQ(knobs_.allocated, 0);
  }
}

// A mask is made once, and its memory is used again.
TEST_F(DeviceBackendTest, KeepsTheLastMasks) {
  make();
  const ModelPtr m = model(700, 5, Rows::kGaussian);
  const gpu::MemoryPlan plan = gpu::plan_memory(700, 5);
  // Enough for masks and too little for the codes of 4 bits, which would arrive at any time.
  const int64_t limit = plan.scan_bytes + plan.exact_bytes + plan.coarse_bytes / 2;
  limit_ = limit;
  ASSERT_TRUE(open(m).ok());
  const int64_t before = info(m).device_bytes;
  std::vector<RowMaskPtr> masks;
  for (int64_t i = 0; i < 20; ++i) masks.push_back(mask_of(*m, {i, 100 + i, 600 + i}));
  limit_ = before;
  Query asked = query(*m);
  asked.among = masks[0];
  EXPECT_EQ(search(m, asked, 10).error().code, ErrorCode::kOutOfMemory);
  limit_ = limit;
  EXPECT_EQ(search(m, asked, 10, [] { return true; }).error().code, ErrorCode::kInterrupted);
  for (const RowMaskPtr& mask : masks) expect_right(m, 10, mask);
  EXPECT_EQ(info(m).device_bytes - before, 9 * 22 * 4);
  int64_t copies = -1;  // before the last eight were asked for again
  for (int i = 0; i < 1000 && copies != knobs_.copies;
       ++i) {  // the model's own copies may not have ended yet
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    copies = knobs_.copies;
    for (size_t mask = 12; mask < 20; ++mask) expect_right(m, 10, masks[mask]);
  }
  EXPECT_EQ(knobs_.copies, copies);
  expect_right(m, 10, masks[0]);
  EXPECT_EQ(knobs_.copies, copies + 1);
  masks.clear();
  for (int64_t i = 0; i < 20; ++i) expect_right(m, 10, mask_of(*m, {i}));
  EXPECT_EQ(info(m).device_bytes - before, 9 * 22 * 4);
  EXPECT_EQ(info(m).device_bytes, knobs_.allocated);
  forget(m);
  EXPECT_EQ(knobs_.allocated, 0);
}

TEST_F(DeviceBackendTest, ReadsAFileRatherThanItsMap) {
  const ModelPtr heap = model(3000, 25, Rows::kGaussian);
  const std::string path = ::testing::TempDir() + "glove-upload-" + std::to_string(getpid());
  std::ofstream out(path, std::ios::binary);
  const ModelPart& part = heap->parts().front();
  const CodeLevel& level = part.level(8);
  const auto append = [&](auto span) {
    out.seekp((out.tellp() + std::streamoff{63}) / 64 * 64);
    const auto offset = static_cast<int64_t>(out.tellp());
    out.write(reinterpret_cast<const char*>(span.data()), static_cast<std::streamsize>(span.size_bytes()));
    return offset;
  };
  out << "header";
  const int64_t offsets[] = {append(part.vectors), append(part.norms_squared), append(level.codes),
                             append(level.scales), append(level.residuals)};
  out.close();
  auto file = std::make_shared<const File>(File::open_for_reading(path).value());
  Model::Source source;
  source.path = path;
  source.maps = {MappedFile::map(path, std::move(file)).value()};
  const auto mapped = [&](auto like, int64_t offset) {
    return decltype(like)(
        reinterpret_cast<decltype(like.data())>(source.maps.front()->bytes().data() + offset), like.size());
  };
  ModelPart in_file = part;
  in_file.vectors = mapped(part.vectors, offsets[0]);
  in_file.norms_squared = mapped(part.norms_squared, offsets[1]);
  in_file.levels = {{8, mapped(level.codes, offsets[2]), mapped(level.scales, offsets[3]),
                     mapped(level.residuals, offsets[4])}};
  const auto from_file = std::make_shared<Model>(std::vector{in_file}, heap->vocabulary(), source, heap);
  make();
  ASSERT_TRUE(open(from_file).ok());
  expect_right(from_file);

  // Cuts the file: the error says where it ends, and nothing remains on the device.
  const auto cut = std::make_shared<Model>(std::vector{in_file}, heap->vocabulary(), source, heap);
  forget(from_file);
  ASSERT_EQ(truncate(path.c_str(), offsets[2] + 100), 0);
  const Status status = open(cut);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_NE(status.error().message.find(path), std::string::npos) << status.error().message;
  EXPECT_EQ(knobs_.allocated, 0);
  std::remove(path.c_str());
}

TEST_F(DeviceBackendTest, NoDevice) {
  open_error_ = "there is no NVIDIA driver on this machine";
  make();
  for (int i = 0; i < 3; ++i) {
    const Status status = backend().available();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(status.error().message, open_error_);
  }
  EXPECT_EQ(opened_, 1);
  EXPECT_FALSE(open(model()).ok());
  EXPECT_EQ(info(model()).state, "not loaded");
}

TEST_F(DeviceBackendTest, ALimitTooSmallNamesTheNumbers) {
  make();
  const ModelPtr m = model(5000, 40);
  limit_ = 10000;
  const Status refused = open(m);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
  EXPECT_NE(refused.error().message.find("1 MB"), std::string::npos) << refused.error().message;
  EXPECT_EQ(info(m).state, "failed: " + refused.error().message);
  EXPECT_EQ(knobs_.allocated, 0);
  limit_ = 0;
  ASSERT_TRUE(open(m).ok());
  EXPECT_EQ(info(m).state, "resident");
  expect_right(m);
}

TEST_F(DeviceBackendTest, VectorsStayOnTheHostIfTheyDoNotFit) {
  make();
  const ModelPtr m = model(5000, 40, Rows::kGaussian);
  const gpu::MemoryPlan plan = gpu::plan_memory(5000, 40);
  limit_ = plan.scan_bytes + 1000;
  ASSERT_TRUE(open(m).ok());
  EXPECT_EQ(info(m).device_bytes, plan.scan_bytes);
  expect_right(m);
  std::vector<double> dots(5000);
  ScanCost cost;
  const Query q = query(*m);
  Searcher& searcher = *searchers(m)->open(0, {}).value();
  ASSERT_TRUE(searcher.score_all(q, dots, {}, cost).ok());
  for (int64_t row = 0; row < 5000; ++row)
    ASSERT_EQ(dots[static_cast<size_t>(row)], exact_dot(q.vector.data(), m->vector(row), 40));
  EXPECT_FALSE(searcher
                   .score_all(
                       q, dots, [] { return true; }, cost)
                   .ok());
}

// The 4-bit codes follow with the vectors, if there is room for all of it.
TEST_F(DeviceBackendTest, ScansFourBitsOnceTheyAreThere) {
  make();
  const gpu::MemoryPlan plan = gpu::plan_memory(5000, 40);
  for (const int64_t room : {plan.coarse_bytes - 1, plan.coarse_bytes}) {
    const ModelPtr m = model(5000, 40, Rows::kGaussian);
    ASSERT_TRUE(m->parts().front().has_level(4));
    limit_ = plan.scan_bytes + plan.exact_bytes + room;
    const bool fits = room == plan.coarse_bytes;
    ASSERT_TRUE(open(m).ok());
    const int64_t before = knobs_.coarse_searches;
    expect_right(m);
    for (int i = 0; i < 1000 && knobs_.coarse_searches == before; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (!fits && i == 50) break;
      expect_right(m);
    }
    EXPECT_EQ(knobs_.coarse_searches > before, fits);
    EXPECT_EQ(info(m).device_bytes, plan.scan_bytes + plan.exact_bytes + (fits ? room : 0));
    for (const int64_t k : {1, 10, 39}) expect_right(m, k);
    forget(m);
    EXPECT_EQ(knobs_.allocated, 0);
  }
}

TEST_F(DeviceBackendTest, TheLimitCountsAllModels) {
  make();
  const ModelPtr first = model(5000, 40);
  const ModelPtr second = model(5000, 40);
  const gpu::MemoryPlan plan = gpu::plan_memory(5000, 40);
  limit_ = plan.scan_bytes * 3 / 2;
  ASSERT_TRUE(open(first).ok());
  EXPECT_FALSE(open(second).ok());
  forget(first);
  EXPECT_TRUE(open(second).ok());
}

TEST_F(DeviceBackendTest, AFullDevice) {
  make();
  knobs_.total_bytes = 1000;
  const Status status = open(model());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kOutOfMemory);
  EXPECT_TRUE(backend().available().ok());  // full, not lost
}

TEST_F(DeviceBackendTest, NoPinnedMemory) {
  make();
  knobs_.ring_missing = true;
  EXPECT_EQ(open(model()).error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(knobs_.allocated, 0);
}

TEST_F(DeviceBackendTest, AFailedCopyLeavesNothingBehind) {
  for (const int works : {0, 1, 5}) {
    make();
    knobs_.fail_copies_after = works;
    const ModelPtr m = model(5000, 40);
    EXPECT_FALSE(open(m).ok());
    EXPECT_EQ(knobs_.allocated, 0);
    EXPECT_FALSE(backend().available().ok());  // a copy that fails means a lost device
    knobs_.fail_copies_after = -1;
  }
}

TEST_F(DeviceBackendTest, AnInterruptStopsAnUpload) {
  make();
  const ModelPtr m = model(5000, 40);
  int asked = 0;
  EXPECT_EQ(open(m, [&] { return ++asked == 3; }).error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(knobs_.allocated, 0);
  EXPECT_EQ(info(m).state, "not loaded");
  ASSERT_TRUE(open(m).ok());
  expect_right(m);
}

// The interrupt check may run the host's progress handler, which may search as well.
TEST_F(DeviceBackendTest, AnInterruptCheckMayComeBack) {
  make();
  const ModelPtr first = model(5000, 40);
  const ModelPtr second = model(100, 10);
  int refused = 0;
  ASSERT_TRUE(open(first, [&] {
                for (const ModelPtr& m : {first, second})
                  refused += open(m).error().code == ErrorCode::kInvalidArgument;
                return false;
              }).ok());
  EXPECT_GT(refused, 2);
  ASSERT_TRUE(open(second).ok());
  expect_right(first);
  expect_right(second);
}

TEST_F(DeviceBackendTest, OneThatWaitsForAnUploadCanBeInterrupted) {
  make();
  const ModelPtr first = model(5000, 40);
  const ModelPtr second = model(100, 10);
  std::atomic<bool> uploading{false};
  std::atomic<bool> go_on{false};
  std::thread slow([&] {
    EXPECT_TRUE(open(first, [&] {
                  uploading = true;
                  while (!go_on) std::this_thread::yield();
                  return false;
                }).ok());
  });
  while (!uploading) std::this_thread::yield();
  EXPECT_EQ(info(first).state, "uploading");
  for (const ModelPtr& m : {first, second}) {
    int asked = 0;
    EXPECT_EQ(open(m, [&] { return ++asked == 3; }).error().code, ErrorCode::kInterrupted);
  }
  go_on = true;
  slow.join();
  ASSERT_TRUE(open(second).ok());
  expect_right(first);
}

TEST_F(DeviceBackendTest, ALostDeviceStaysLost) {
  make();
  const ModelPtr m = model();
  ASSERT_TRUE(open(m).ok());
  knobs_.lost = true;
  const Query q = query(*m);
  EXPECT_EQ(search(m, q, 5).error().code, ErrorCode::kUnavailable);
  knobs_.lost = false;
  EXPECT_EQ(backend().available().error().message, "fake: lost");
  EXPECT_EQ(info(m).state, "failed: fake: lost");
  EXPECT_FALSE(search(m, q, 5).ok());
  forget(m);
}

TEST_F(DeviceBackendTest, AnInterruptStopsASearch) {
  make();
  const ModelPtr m = model();
  ASSERT_TRUE(open(m).ok());
  const Query q = query(*m);
  const Status stopped = search(m, q, 5, [] { return true; });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kInterrupted);
  EXPECT_TRUE(backend().available().ok());
  expect_right(m);
}

}  // namespace
}  // namespace glove::testing
