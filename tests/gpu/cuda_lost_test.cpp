// After a sticky error the backend has failed for good, the CPU answers, and the process continues. This is a
// separate program, because nothing works on the device afterwards.
#include "tests/gpu/cuda_support.h"
#include "tests/gpu/lost_device.h"
#include "tests/search/reference.h"

namespace glove::testing {
namespace {

using CudaLost = CudaTest;

TEST_F(CudaLost, TheCpuAnswersAndTheReasonIsNamed) {
  ASSERT_TRUE(engine().settings().set("devices", "0").ok());
  const ModelPtr model = large_model(random_(), 50000, 100);
  const std::vector<Query> queries = random_queries(random_, *model, Rows::kGaussian, 20);
  expect_equal_rows(model, queries, 10);
  lose_the_device();
  SearchReport report;
  EXPECT_FALSE(nearest(searchers_of(model), queries, 10, SearchOptions{"cuda", {}}, report).ok());
  const auto rows =
      nearest(searchers_of(model), std::span(queries).first(1), 10, SearchOptions{"auto", {}}, report);
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  EXPECT_EQ(report.backend, "cpu");
  EXPECT_EQ(difference(rows.value()[0], rows_by("cpu", model, {queries[0]}, 10)[0]), "");
  const Status available = backend_named("cuda").available();
  ASSERT_FALSE(available.ok());
  EXPECT_EQ(available.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(info_of(model).state, "failed: " + available.error().message);
  forget(model);
}

}  // namespace
}  // namespace glove::testing
