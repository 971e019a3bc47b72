// Live indexes on a device: twenty segments beside one model of the same rows, hidden rows, and the time from
// a new segment to the first answer with it; on random unit vectors, one JSON object on stdout. The rows of
// all of them are compared.
//
//   segments_bench [WORDS [DIMS [SEGMENTS]]]      at least 20,000 words
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/float_environment.h"
#include "bench/gpu/timing.h"
#include "search/candidates.h"
#include "tests/gpu/cuda_support.h"
#include "tests/search/reference.h"

namespace {

using namespace glove;
using namespace glove::bench;
using namespace glove::testing;

constexpr int64_t kRows = 10;

// Consecutive rows of a model as parts with 8-bit codes only; the last part ends with row `words`.
ModelPtr part_model(const ModelPtr& whole, int64_t words, int64_t parts, bool with_vectors) {
  const ModelPart& all = whole->parts().front();
  const CodeLevel& codes = all.level(8);
  const int64_t tile_bytes = code_bytes(kTileRows, all.dims);
  std::vector<ModelPart> made;
  for (int64_t i = 0, first = 0; i < parts; ++i) {
    const int64_t end = i + 1 == parts ? words : words * (i + 1) / parts / kTileRows * kTileRows;
    const auto from = static_cast<size_t>(first);
    const auto rows = static_cast<size_t>(end - first);
    ModelPart& part = made.emplace_back();
    part.first_row = first;
    part.rows = end - first;
    part.dims = all.dims;
    if (with_vectors) {
      part.vectors =
          all.vectors.subspan(from * static_cast<size_t>(all.dims), rows * static_cast<size_t>(all.dims));
      part.norms_squared = all.norms_squared.subspan(from, rows);
    }
    part.levels = {{8,
                    codes.codes.subspan(static_cast<size_t>(first / kTileRows * tile_bytes),
                                        static_cast<size_t>(tile_count(part.rows) * tile_bytes)),
                    codes.scales.subspan(from, rows), codes.residuals.subspan(from, rows)}};
    first = end;
  }
  Model::Source source;
  source.path = "random rows";
  return std::make_shared<const Model>(std::move(made), Vocabulary(), std::move(source), whole);
}

// Adds the part of rows [first, first + rows). REQUIRES: no other part begins there.
ModelPtr with_segment(const ModelPtr& live, const ModelPtr& whole, int64_t first, int64_t rows) {
  std::vector<ModelPart> parts(live->parts().begin(), live->parts().end());
  const ModelPart extra = part_model(whole, first + rows, 1, false)->parts().front();
  ModelPart& part = parts.emplace_back();
  part.first_row = live->words();
  part.rows = rows;
  part.dims = extra.dims;
  const CodeLevel& level = extra.level(8);
  const int64_t tile_bytes = code_bytes(kTileRows, extra.dims);
  part.levels = {{8,
                  level.codes.subspan(static_cast<size_t>(first / kTileRows * tile_bytes),
                                      static_cast<size_t>(tile_count(rows) * tile_bytes)),
                  level.scales.subspan(static_cast<size_t>(first), static_cast<size_t>(rows)),
                  level.residuals.subspan(static_cast<size_t>(first), static_cast<size_t>(rows))}};
  Model::Source source;
  source.path = "random rows";
  return std::make_shared<const Model>(std::move(parts), Vocabulary(), std::move(source), live);
}

std::vector<Neighbor> candidates(const ModelPtr& live, const Query& query, SearchReport& report) {
  auto found = candidates_of(searchers_of(live), {&query, 1}, kRows, {"cuda", {}}, report);
  if (!found.ok()) {
    std::fprintf(stderr, "%s\n", found.error().message.c_str());
    std::exit(1);
  }
  return std::move(found.value().front());
}

// Scores candidates with the vectors of the whole model, as far as their bounds demand. Returns how many.
int64_t score(const Model& whole, const Query& query, std::vector<Neighbor>& rows) {
  std::vector<Neighbor> best;
  int64_t scored = 0;
  for (const Neighbor& row : rows) {
    if (static_cast<int64_t>(best.size()) == kRows && best.back().similarity > row.similarity) break;
    std::vector<Neighbor> one = {row};
    rescore(whole, query, one);
    best.insert(std::ranges::upper_bound(best, one.front(), ranks_before), one.front());
    if (static_cast<int64_t>(best.size()) > kRows) best.pop_back();
    ++scored;
  }
  rows = std::move(best);
  return scored;
}

struct Answer {
  std::vector<double> us, scored_us, candidates, scored;
  size_t wrong = 0;
};

Answer time_live(const ModelPtr& live, const ModelPtr& whole, std::vector<Query> queries,
                 const std::vector<int32_t>& excluded, size_t checked) {
  Answer answer;
  SearchReport report;
  for (Query& query : queries) query.excluded = excluded;
  for (size_t i = 0; i < queries.size(); ++i) {
    const auto start = Clock::now();
    auto rows = candidates(live, queries[i], report);
    const double us = us_since(start);
    const auto count = static_cast<double>(rows.size());
    const int64_t scored = score(*whole, queries[i], rows);
    const double scored_us = us_since(start);
    if (i >= 5) {
      answer.us.push_back(us);
      answer.scored_us.push_back(scored_us);
      answer.candidates.push_back(count);
      answer.scored.push_back(static_cast<double>(scored));
    }
    if (i < checked)
      answer.wrong += difference(rows, rows_by("cpu", whole, {queries[i]}, kRows)[0]).empty() ? 0 : 1;
  }
  return answer;
}

void put_live(const std::string& key, const Answer& answer) {
  put(key + "_us", answer.us);
  put(key + "_scored_us", spread_of(answer.scored_us).median);
  put(key + "_candidates", spread_of(answer.candidates).median);
  put(key + "_scored", spread_of(answer.scored).median);
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t words = argc > 1 ? std::atoll(argv[1]) : 2'200'000;
  const int64_t dims = argc > 2 ? std::atoll(argv[2]) : 300;
  const int64_t segments = argc > 3 ? std::atoll(argv[3]) : 20;
  const ScopedFloatEnvironment float_environment;
  std::mt19937_64 random(test_seed());
  std::printf("{");
  const ModelPtr whole = large_model(test_seed(), words, dims);
  std::vector<Query> queries = random_queries(random, *whole, Rows::kGaussian, 600);
  for (Query& query : queries) query.excluded.clear();
  size_t wrong = 0;

  const ModelPtr one = part_model(whole, words, 1, true);  // codes of 8 bits, so a scan of these
  rows_by("cuda", one, {queries[0]}, kRows);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // its vectors follow
  std::vector<double> us;
  for (int round = 0; round < 3; ++round)
    for (const Query& query : queries) {
      const auto start = Clock::now();
      rows_by("cuda", one, {query}, kRows);
      us.push_back(us_since(start));
    }
  put("one_model_us", us);
  const double baseline = spread_of(us).median;

  const ModelPtr live = part_model(whole, words, segments, false);
  SearchReport report;
  auto start = Clock::now();
  candidates(live, queries[0], report);
  put("segments_first_answer_ms", us_since(start) * 1e-3);
  for (const size_t hidden : {size_t{0}, size_t{16}, size_t{1000}, size_t{20000}}) {
    std::vector<int32_t> excluded;
    for (size_t i = 0; i < hidden; ++i)
      excluded.push_back(static_cast<int32_t>(i * static_cast<size_t>(words) / hidden));
    Query first = queries[0];
    first.excluded = excluded;
    const std::string key = "hidden_" + std::to_string(hidden);
    start = Clock::now();
    candidates(live, first, report);
    put(key + "_first_ms", us_since(start) * 1e-3);
    const Answer answer = time_live(live, whole, queries, excluded, 20);
    put_live(key, answer);
    if (hidden == 0) put("ratio", spread_of(answer.us).median / baseline);
    if (hidden == 0) put("ratio_scored", spread_of(answer.scored_us).median / baseline);
    wrong += answer.wrong;
  }
  put("scan_us_of_last", report.cost.scan_us);
  put("select_us_of_last", report.cost.select_us);

  // A new segment of 1,000 rows at a time, as after each sync.
  std::vector<double> new_ms;
  ModelPtr grown = live;
  for (int i = 0; i < 8; ++i) {
    const ModelPtr next = with_segment(grown, whole, 32 * ((words - 1032) / 256 * i + 1), 1000);
    start = Clock::now();
    candidates(next, queries[static_cast<size_t>(i)], report);
    new_ms.push_back(us_since(start) * 1e-3);
    forget(grown);
    grown = next;
  }
  put("new_segment_to_answer_ms", new_ms);
  put("new_segment_first_ms", new_ms.front());
  put("wrong_answers", static_cast<double>(wrong));
  std::fprintf(stderr, "%s, %s\n", info_of(grown).device.c_str(), info_of(grown).state.c_str());
  forget(grown);
  forget(one);
  std::printf("\n}\n");
  return wrong == 0 ? 0 : 1;
}
