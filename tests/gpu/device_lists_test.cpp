// A device scans the 4-bit codes of a model in lists, too, although its file has planes in their place.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "gpu/layout/plan.h"
#include "tests/gpu/as_in_lists.h"
#include "tests/gpu/device_fixture.h"

namespace glove::testing {
namespace {

TEST_F(DeviceBackendTest, DerivesThe4BitCodesOfAModelInLists) {
  least_slice_bytes_ = 1;
  for (const int devices : {1, 3}) {
    more_knobs_.clear();
    for (int i = 1; i < devices; ++i) more_knobs_.emplace_back();
    make();
    const ModelPtr plain = model(25003, 40, Rows::kGaussian);
    const ModelPtr m = as_in_lists(plain);
    ASSERT_FALSE(m->parts().front().has_level(4));
    ASSERT_TRUE(open(m).ok());
    for (int device = 0; device < devices; ++device) {
      knobs(device).coarse_searches = 0;
      for (int i = 0; i < 500 && knobs(device).coarse_searches == 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        expect_right(m, 1);
      }
      EXPECT_GT(knobs(device).coarse_searches, 0) << device;
    }
    for (const int64_t k : {1, 10, 60}) expect_right(m, k);
    if (devices == 1) {
      const gpu::MemoryPlan plan = gpu::plan_memory(25003, 40);
      EXPECT_EQ(info(m).device_bytes, plan.scan_bytes + plan.exact_bytes + plan.coarse_bytes);
    }
    forget(m);
  }
}

}  // namespace
}  // namespace glove::testing
