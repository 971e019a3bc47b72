// A host may flush denormals or round in another way: the bits are the same, and its settings are restored.
#include <gtest/gtest.h>

#include <cfenv>

#include "base/float_environment.h"
#include "search/ranking.h"
#include "tests/float_settings.h"
#include "tests/loader/random.h"
#include "tests/search/random_model.h"
#include "tests/search/reference.h"
#include "tests/search/test_engine.h"

namespace glove {
namespace {

using namespace glove::testing;

#if defined(GLOVE_HAS_FLOAT_SETTINGS)

class Host {
 public:
  Host() : saved_(host::float_settings()) {
    std::fesetround(FE_DOWNWARD);
    host::set_float_settings(host::float_settings() | host::kDenormalsFlushed);
  }
  ~Host() {
    EXPECT_EQ(host::float_settings() & host::kDenormalsFlushed, host::kDenormalsFlushed);
    EXPECT_EQ(std::fegetround(), FE_DOWNWARD);
    std::fesetround(FE_TONEAREST);
    host::set_float_settings(saved_);
  }

 private:
  uint64_t saved_;
};

TEST(FloatEnvironment, AHostWithFlushedDenormalsGetsTheSameBits) {
  TestEngine test;
  GLOVE_TRACE_SEED();
  std::mt19937_64 random = random_source();
  for (const Rows kind : {Rows::kDenormal, Rows::kTiny, Rows::kGaussian, Rows::kMixed}) {
    const ModelPtr model = random_model(random, 700, 13, kind);
    const std::vector<float> vector = random_vector(random, 13, Rows::kDenormal);
    const auto everything = [&] {
      std::vector<Neighbor> rows;
      const auto add = [&](std::span<const Neighbor> more) {
        rows.insert(rows.end(), more.begin(), more.end());
      };
      for (const MaybeQuery& query :
           {query_for_word(*model, "w7"), query_for_vector(*model, bytes_of(vector)).value(),
            query_for_expression(*model, "w1 - 0.3 * w2 + w3").value(),
            query_for_word_and_expression(*model, "w9", "- w4").value()}) {
        if (!query) continue;
        SearchReport report;
        for (const char* backend : {"cpu", "plain"})
          for (const int64_t k : {5, 600})
            add(nearest(*test.searchers(model), {&*query, 1}, k, {backend, {}}, report).value()[0]);
        ModelRelation words(test.searchers(model));
        Ranking ranking(words, *query, {}, 3, -1);
        for (const int64_t position : {0, 20, 400}) {
          const Neighbor row = ranking.rows_from(position).value().front();
          const int64_t ids[] = {row.id};
          add({&row, 1});
          add(score_words(*model, *query, ids).value());
          rows.push_back(
              {rank_of(*test.searchers(model), *query, row, {}, report).value(),
               *cosine_similarity(query->vector, {model->vector(row.id), 13})});
        }
      }
      return rows;
    };
    const std::vector<Neighbor> wanted = everything();
    std::vector<Neighbor> got;
    {
      Host host;
      got = everything();
    }
    EXPECT_FALSE(wanted.empty());
    EXPECT_EQ(difference(got, wanted), "");
  }
}
#endif

}  // namespace
}  // namespace glove
