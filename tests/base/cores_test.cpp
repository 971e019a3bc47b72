
#include <gtest/gtest.h>
#include <sched.h>

#include "base/thread_pool.h"

namespace glove {
namespace {

TEST(UsableCores, RespectsTheAffinity) {
  cpu_set_t saved;
  ASSERT_EQ(sched_getaffinity(0, sizeof(saved), &saved), 0);
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), CPU_COUNT(&saved));
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &saved)) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
      break;
    }
  EXPECT_EQ(usable_cores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(saved), &saved), 0);
}

TEST(UsableCores, AreTheThreadsWhereNoneAreAskedFor) {
  EXPECT_EQ(thread_count(0), usable_cores());
  EXPECT_EQ(thread_count(7), 7);
}

}  // namespace
}  // namespace glove
