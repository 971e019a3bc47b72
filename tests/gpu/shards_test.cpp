// Shards on files answer as the whole model does, bit for bit: on a device in host memory and on the CPU.
#include <gtest/gtest.h>

#include "cpu/cpu_backend.h"
#include "loader/open.h"
#include "loader/save_model.h"
#include "tests/gpu/device_fixture.h"
#include "tests/loader/temporary_directory.h"

namespace glove::testing {
namespace {

std::vector<std::vector<Neighbor>> answers(Searcher& searcher, const std::vector<Query>& queries, int64_t k) {
  std::vector<SearchRequest> requests;
  for (const Query& query : queries) requests.push_back({&query, k, {}, {}, {}, {}});
  const Status status = searcher.search(requests);
  EXPECT_TRUE(status.ok()) << status.error().message;
  std::vector<std::vector<Neighbor>> rows;
  for (const SearchRequest& request : requests) rows.emplace_back(request.rows.begin(), request.rows.end());
  return rows;
}

TEST_F(DeviceBackendTest, ShardsAnswerAsTheWholeModel) {
  make();
  const auto cpu = make_cpu_backend({.target = "", .threads = 2});
  for (const int64_t shards : {1, 2, 3, 7})
    for (const Rows kind : {Rows::kMixed, Rows::kDuplicates}) {
      const TemporaryDirectory directory;
      const ModelPtr whole =
          model(230 + static_cast<int64_t>(random_() % 700), 1 + static_cast<int64_t>(random_() % 40), kind);
      const auto saved = save_shards(*whole, directory.path("m"), shards, 0, {});
      ASSERT_TRUE(saved.ok()) << saved.error().message;
      const auto opened = open_model(saved.value().index_path);
      ASSERT_TRUE(opened.ok()) << opened.error().message;
      std::vector<Query> queries;
      for (int i = 0; i < 6; ++i) queries.push_back(query(*whole));
      queries[1].excluded = {0, 31, 32, 64};
      const auto on_cpu = cpu->open(opened.value(), {}).value();
      const auto whole_on_cpu = cpu->open(whole, {}).value();
      Searcher* const on_device = searchers(opened.value())->open(0, {}).value();
      for (const int64_t k : {int64_t{1}, int64_t{10}, whole->words()})
        for (const size_t count : {size_t{1}, queries.size()}) {
          const std::vector<Query> asked(queries.begin(), queries.begin() + static_cast<int64_t>(count));
          const auto wanted = answers(*whole_on_cpu, asked, k);
          const auto got_on_cpu = answers(*on_cpu, asked, k);
          const auto got_on_device = answers(*on_device, asked, k);
          for (size_t i = 0; i < count; ++i) {
            EXPECT_EQ(difference(got_on_cpu[i], wanted[i]), "") << shards << " shards, k = " << k;
            EXPECT_EQ(difference(got_on_device[i], wanted[i]), "") << shards << " shards, k = " << k;
          }
        }
      forget(opened.value());
    }
}

}  // namespace
}  // namespace glove::testing
