#include "search/recall_calibration.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/cores.h"
#include "base/random.h"
#include "base/thread_pool.h"
#include "lists/calibration.h"
#include "model/exact_dot.h"

namespace glove {
namespace {

constexpr size_t kMeasured = RecallMeasurements::kCount;
constexpr int64_t kQueriesPerBatch = 256;
// The share of a query's nearest rows whose place the last feature predicts.
constexpr int64_t kPredictedShare = 20;  // all but one in so many
// The share of the calibration queries that are nearer to others than the reach.
constexpr double kWithinReach = 0.99;
// Of the nearest rows of a query, and the share of them whose estimates may be too low.
constexpr int64_t kMarginRows = 10;
constexpr double kBelowMargin = 2e-3;
constexpr double kRidge = 1e-3;  // of the standardised measurements

int64_t draw_below(SplitMix64& random, int64_t bound) {
  return static_cast<int64_t>(random.next() >> 1) % bound;
}

// Draws a row: of half of the queries any, of the others mostly early ones, because many models have
// their words in the order of their frequency.
int32_t draw_row(std::span<const int32_t> rows, bool early, SplitMix64& random) {
  const int64_t count = std::ssize(rows);
  const int64_t bound =
      early ? count >> draw_below(random, std::bit_width(static_cast<uint64_t>(count))) : count;
  return rows[static_cast<size_t>(draw_below(random, bound))];
}

// About normal, with a deviation of 1.
double draw_normal(SplitMix64& random) {
  constexpr int64_t kStep = int64_t{1} << 30;
  double sum = -6;
  for (int i = 0; i < 12; ++i)
    sum += static_cast<double>(draw_below(random, kStep)) / static_cast<double>(kStep);
  return sum;
}

// A quarter of the queries are rows, a quarter sums, a quarter sums and differences, and a quarter rows with
// noise, from little to nothing else. Half of the last three omit the rows that they are made of, as words
// do.
MaybeQuery draw_query(const CalibrationRows& all, std::span<const int32_t> rows, int64_t number) {
  SplitMix64 random(static_cast<uint64_t>(number));
  const int64_t kind = number % 4;
  const int64_t terms = kind == 0 || kind == 3 ? 1 : 2 + draw_below(random, 4);
  std::vector<double> sum(static_cast<size_t>(all.dims()));
  std::vector<float> vector(sum.size());
  std::vector<int32_t> used;
  for (int64_t i = 0; i < terms; ++i) {
    const int32_t row = draw_row(rows, number / 8 % 2 == 0, random);
    const double sign = kind == 2 && i > 0 && draw_below(random, 2) == 0 ? -1 : 1;
    all.read(row, vector.data());
    const double factor = sign / std::sqrt(exact_dot(vector.data(), vector.data(), all.dims()));
    for (size_t j = 0; j < sum.size(); ++j) sum[j] += factor * vector[j];
    used.push_back(row);
  }
  if (kind == 3) {
    constexpr double kLengths[] = {0.5, 1, 2, 64};
    const double length = kLengths[draw_below(random, 4)] / std::sqrt(static_cast<double>(all.dims()));
    for (double& value : sum) value += length * draw_normal(random);
  }
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  if (number / 4 % 2 == 0 && kind != 0) used.clear();
  return make_query(std::vector<float>(sum.begin(), sum.end()), std::move(used));
}

// What one query is like, and when a search for it finds its nearest rows.
struct QueryTrial {
  std::array<RecallMeasurements, kRecallKs.size()> measured{};
  std::array<bool, kRecallKs.size()> is_measured{};
  // For each of the nearest rows, best first, the rows of the lists before its own.
  std::vector<int64_t> rows_before;
  // For kMarginRows of the k nearest rows of each class, the margin that they need.
  std::vector<float> margins;
};

class Calibration {
 public:
  Calibration(const CalibrationRows& rows, ListCodes& lists) : rows_(rows), lists_(lists) {}

  QueryTrial run(const Query& query, std::span<const Neighbor> nearest) const {
    const PlaneLevel& level = rows_.level();
    const std::vector<int32_t> products = products_of(query);
    ProbeOrder order(products, level.offsets);
    std::vector<int64_t> before(products.size());
    std::vector<Neighbor> first_rows;
    int64_t rows = 0;
    for (int64_t list = order.next(); list >= 0; list = order.next()) {
      before[static_cast<size_t>(list)] = rows;
      if (rows < recall_rows(kRecallKs.back(), 0)) add_rows(query, list, rows, first_rows);
      rows += level.offsets[static_cast<size_t>(list) + 1] - level.offsets[static_cast<size_t>(list)];
    }
    QueryTrial trial;
    for (const Neighbor& row : nearest)
      trial.rows_before.push_back(before[static_cast<size_t>(list_of_[static_cast<size_t>(row.id)])]);
    measure(order, first_rows, trial);
    for (const int64_t k : kRecallKs)
      if (k <= std::ssize(nearest))
        add_margins(query, nearest.first(static_cast<size_t>(k)), products, trial);
    return trial;
  }

  void place_rows() {
    const PlaneLevel& level = rows_.level();
    list_of_.resize(static_cast<size_t>(rows_.rows()));
    position_of_.resize(static_cast<size_t>(rows_.rows()));
    for (int64_t list = 0; list < level.lists(); ++list)
      for (int64_t p = level.offsets[static_cast<size_t>(list)];
           p < level.offsets[static_cast<size_t>(list) + 1]; ++p) {
        const auto row = static_cast<size_t>(level.rows[static_cast<size_t>(p)]);
        list_of_[row] = static_cast<int32_t>(list);
        position_of_[row] = static_cast<int32_t>(p);
      }
  }

 private:
  std::vector<int32_t> products_of(const Query& query) const {
    const std::vector<int16_t> codes = encode_query(lists_, query.vector, query.norm_squared);
    const int64_t stride = list_code_stride(lists_.dims);
    std::vector<int32_t> products(static_cast<size_t>(lists_.lists()));
    const int8_t* list = lists_.codes.data();
    for (int32_t& product : products) {
      for (int64_t j = 0; j < lists_.dims; ++j) product += int32_t{codes[static_cast<size_t>(j)]} * list[j];
      list += stride;
    }
    return products;
  }

  // Adds the rows of a list with their similarities; in place of the id, the rows of the lists before.
  void add_rows(const Query& query, int64_t list, int64_t before, std::vector<Neighbor>& rows) const {
    const PlaneLevel& level = rows_.level();
    std::vector<Neighbor> scored;
    for (int64_t p = level.offsets[static_cast<size_t>(list)];
         p < level.offsets[static_cast<size_t>(list) + 1]; ++p) {
      const int32_t row = level.rows[static_cast<size_t>(p)];
      if (!std::ranges::binary_search(query.excluded, row)) scored.push_back({row, kNoSimilarity});
    }
    rows_.score(query, scored);
    for (const Neighbor& row : scored)
      if (row.similarity > kNoSimilarity) rows.push_back({before, row.similarity});
  }

  // Adds what some of the nearest rows need, of which the last has the similarity that the others must reach.
  void add_margins(const Query& query, std::span<const Neighbor> nearest, std::span<const int32_t> products,
                   QueryTrial& trial) const {
    std::vector<float> unit = query.vector;
    for (float& value : unit) value = static_cast<float>(value / std::sqrt(query.norm_squared));
    const double t = nearest.back().similarity;
    const double sine = std::sqrt(std::max(0.0, 1 - t * t));
    for (int64_t i = 0; i < kMarginRows; ++i) {
      const auto number = static_cast<size_t>(i * std::ssize(nearest) / kMarginRows);
      const auto row = static_cast<size_t>(nearest[number].id);
      const auto list = static_cast<size_t>(list_of_[row]);
      const double product = products[list] * double{lists_.factors[list]};
      const auto estimate = estimate_by_plane1(rows_.part(), position_of_[row], unit.data(), product);
      const double distance = std::max(estimate.distance * sine, 1e-9);
      trial.margins.push_back(static_cast<float>(std::clamp((t - estimate.product) / distance, 0.0, 1.0)));
    }
  }

  void measure(const ProbeOrder& order, std::vector<Neighbor>& rows, QueryTrial& trial) const {
    std::ranges::sort(rows, std::greater<>(), &Neighbor::similarity);
    for (size_t i = 0; i < kRecallKs.size(); ++i) {
      std::vector<double> best;
      for (const Neighbor& row : rows)
        if (row.id < recall_rows(kRecallKs[i], 0) && std::ssize(best) < kRecallKs[i])
          best.push_back(row.similarity);
      trial.is_measured[i] =
          std::ssize(best) == kRecallKs[i] && std::ssize(trial.rows_before) >= kRecallKs[i];
      if (trial.is_measured[i]) trial.measured[i] = measure_recall(order, lists_.scale, kRecallKs[i], best);
    }
  }

  const CalibrationRows& rows_;
  const ListCodes& lists_;
  std::vector<int32_t> list_of_;
  std::vector<int32_t> position_of_;
};

// Solves a symmetric positive definite system in place by Cholesky's method.
void solve(std::array<std::array<double, kMeasured>, kMeasured>& a, std::array<double, kMeasured>& b) {
  for (size_t i = 0; i < kMeasured; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (size_t l = 0; l < j; ++l) sum -= a[i][l] * a[j][l];
      a[i][j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / a[j][j];
    }
    for (size_t l = 0; l < i; ++l) b[i] -= a[i][l] * b[l];
    b[i] /= a[i][i];
  }
  for (size_t i = kMeasured; i-- > 0;) {
    for (size_t l = i + 1; l < kMeasured; ++l) b[i] -= a[l][i] * b[l];
    b[i] /= a[i][i];
  }
}

// Returns the step after which a search has found nearly all of the k nearest rows.
double need_of(const QueryTrial& trial, int64_t k) {
  std::vector<int64_t> before(trial.rows_before.begin(), trial.rows_before.begin() + k);
  const auto at = before.begin() + (k - 1 - k / kPredictedShare);
  std::nth_element(before.begin(), at, before.end());
  int64_t step = 0;
  while (recall_rows(k, step) <= *at) ++step;
  return static_cast<double>(step);
}

// Sets a class's numbers, except for the reach, by the trials that were measured.
void fit_transform(std::span<const QueryTrial* const> trials, size_t which,
                   const RecallTransform& transform) {
  const auto count = static_cast<double>(trials.size());
  std::array<double, kMeasured> squares{};
  for (const QueryTrial* trial : trials)
    for (size_t i = 0; i < kMeasured; ++i) transform.mean(i) += trial->measured[which].values[i] / count;
  double mean_need = 0;
  for (const QueryTrial* trial : trials) {
    for (size_t i = 0; i < kMeasured; ++i) {
      const double off = trial->measured[which].values[i] - transform.mean(i);
      squares[i] += off * off;
    }
    mean_need += need_of(*trial, kRecallKs[which]) / count;
  }
  for (size_t i = 0; i < kMeasured; ++i)
    transform.inverse_deviation(i) = squares[i] > 0 ? std::sqrt(count / squares[i]) : 0;
  std::array<std::array<double, kMeasured>, kMeasured> products{};
  std::array<double, kMeasured> factors{};
  double need_squares = 0;
  for (const QueryTrial* trial : trials) {
    std::array<double, kMeasured> standard;
    for (size_t i = 0; i < kMeasured; ++i)
      standard[i] = (trial->measured[which].values[i] - transform.mean(i)) * transform.inverse_deviation(i);
    const double need = need_of(*trial, kRecallKs[which]) - mean_need;
    need_squares += need * need;
    for (size_t i = 0; i < kMeasured; ++i) {
      factors[i] += standard[i] * need;
      for (size_t j = 0; j < kMeasured; ++j) products[i][j] += standard[i] * standard[j];
    }
  }
  for (size_t i = 0; i < kMeasured; ++i) products[i][i] += kRidge * count;
  solve(products, factors);
  const double deviation = std::sqrt(need_squares / count);
  for (size_t i = 0; i < kMeasured; ++i) transform.factor(i) = deviation > 0 ? factors[i] / deviation : 0;
}

// Returns the margin that nearly all nearest rows have.
double margin_of(std::span<const QueryTrial> trials, size_t which) {
  std::vector<float> needed;
  const auto first = static_cast<int64_t>(which) * kMarginRows;
  for (const QueryTrial& trial : trials)
    if (first + kMarginRows <= std::ssize(trial.margins))
      needed.insert(needed.end(), trial.margins.begin() + first, trial.margins.begin() + first + kMarginRows);
  if (needed.empty()) return 1;
  const auto at = needed.end() - 1 - static_cast<int64_t>(kBelowMargin * static_cast<double>(needed.size()));
  std::nth_element(needed.begin(), at, needed.end());
  return std::max(double{*at}, kLeastMargin);
}

// Fills a class of the arrays from the trials. A trial that was not measured repeats one that was. If fewer
// than half were measured, the reach is below every distance, so that every search of the class is exact.
void fill_class(std::span<const QueryTrial> trials, size_t which, RecallArrays& arrays) {
  const RecallTransform transform = {
      std::span(arrays.transform).subspan(which * kRecallTransform, kRecallTransform)};
  transform.reach() = -1, transform.margin() = 1;
  std::vector<const QueryTrial*> measured;
  for (const QueryTrial& trial : trials)
    if (trial.is_measured[which]) measured.push_back(&trial);
  if (measured.size() < trials.size() / 2) return;
  fit_transform(measured, which, transform);
  const size_t queries = trials.size();
  for (size_t i = 0; measured.size() < queries; ++i) measured.push_back(measured[i]);
  const auto features_of = [&](const QueryTrial* trial) {
    return recall_features(transform.numbers, trial->measured[which]);
  };
  std::ranges::stable_sort(measured, [&](const QueryTrial* a, const QueryTrial* b) {
    return features_of(a).back() < features_of(b).back();
  });
  for (size_t i = 0; i < queries; ++i) {
    const auto features = features_of(measured[i]);
    const auto before = measured[i]->rows_before.begin();
    for (size_t j = 0; j < features.size(); ++j)
      arrays.features[(which * kRecallFeatures + j) * queries + i] = features[j];
    int16_t* const found = arrays.found.data() + (which * queries + i) * kRecallSteps;
    for (int64_t step = 0; step < kRecallSteps; ++step) {
      const int64_t rows = recall_rows(kRecallKs[which], step);
      found[step] = static_cast<int16_t>(std::count_if(
          before, before + kRecallKs[which], [rows](int64_t rows_before) { return rows_before < rows; }));
    }
  }
  std::vector<int64_t> distances;
  distances.reserve(measured.size());
  const RecallTable table = arrays.table();
  transform.margin() = margin_of(trials, which);
  for (const QueryTrial* trial : measured)
    distances.push_back(recall_distance_from_others(table, static_cast<int>(which), features_of(trial)));
  std::ranges::sort(distances);
  transform.reach() = static_cast<double>(
      distances[static_cast<size_t>(kWithinReach * static_cast<double>(distances.size() - 1))]);
}

// The rows of a model.
class ModelRows final : public CalibrationRows {
 public:
  ModelRows(const Model& model, Searcher& searcher) : model_(model), searcher_(searcher) {}

  const ModelPart& part() const override { return model_.parts().front(); }
  bool read(int64_t row, float* vector) const override {
    std::copy_n(model_.vector(row), model_.dims(), vector);
    return model_.norm_squared(row) > 0;
  }
  void score(const Query& query, std::span<Neighbor> rows) const override {
    for (Neighbor& row : rows) {
      const double norm_squared = model_.norm_squared(row.id);
      if (!(norm_squared > 0)) continue;
      const double dot = exact_dot(query.vector.data(), model_.vector(row.id), model_.dims());
      row.similarity = cosine_from_dots(dot, query.norm_squared, norm_squared);
    }
  }
  Status search(std::span<SearchRequest> requests) override { return searcher_.search(requests); }

 private:
  const Model& model_;
  Searcher& searcher_;
};

// Answers the queries exactly and appends their trials.
Status try_queries(CalibrationRows& rows, const Calibration& calibration, std::span<const Query> queries,
                   int threads, const InterruptCheck& interrupted, std::vector<QueryTrial>& trials) {
  std::vector<SearchRequest> requests(queries.size());
  for (size_t i = 0; i < queries.size(); ++i) {
    requests[i].query = &queries[i];
    requests[i].k = std::min(kRecallKs.back(), rows.rows());
    requests[i].interrupted = &interrupted;
  }
  GLOVE_RETURN_IF_ERROR(rows.search(requests));
  for (const SearchRequest& request : requests) GLOVE_RETURN_IF_ERROR(request.status);
  const size_t done = trials.size();
  trials.resize(done + queries.size());
  const auto work = [&](int, int64_t i) {
    const auto number = static_cast<size_t>(i);
    trials[done + number] = calibration.run(queries[number], requests[number].rows);
  };
  if (!ThreadPool::instance().run(thread_count(threads), std::ssize(queries), work, interrupted))
    return interrupted_error();
  return {};
}

// Returns the rows that have a direction.
std::vector<int32_t> rows_with_direction(const CalibrationRows& rows) {
  std::vector<float> vector(static_cast<size_t>(rows.dims()));
  std::vector<int32_t> found;
  for (int64_t row = 0; row < rows.rows(); ++row)
    if (rows.read(row, vector.data())) found.push_back(static_cast<int32_t>(row));
  return found;
}

}  // namespace

Result<RecallArrays> calibrate_recall(CalibrationRows& rows, std::span<const Query> own, int threads,
                                      const InterruptCheck& interrupted) {
  const std::vector<int32_t> drawn = rows_with_direction(rows);
  RecallArrays arrays;
  arrays.lists = encode_centroids(rows.level().centroids, rows.dims());
  Calibration calibration(rows, arrays.lists);
  calibration.place_rows();
  std::vector<QueryTrial> trials;
  for (int64_t first = 0; first < kCalibrationQueries; first += kQueriesPerBatch) {
    std::vector<Query> queries;
    for (int64_t i = first; i < first + kQueriesPerBatch; ++i)
      if (MaybeQuery query = draw_query(rows, drawn, i)) queries.push_back(std::move(*query));
    GLOVE_RETURN_IF_ERROR(try_queries(rows, calibration, queries, threads, interrupted, trials));
  }
  while (!own.empty()) {
    const auto batch = own.first(std::min<size_t>(own.size(), kQueriesPerBatch));
    own = own.subspan(batch.size());
    GLOVE_RETURN_IF_ERROR(try_queries(rows, calibration, batch, threads, interrupted, trials));
  }
  arrays.queries = std::ssize(trials);
  const size_t entries = kRecallKs.size() * trials.size();
  arrays.transform.assign(kRecallKs.size() * kRecallTransform, 0);
  arrays.features.assign(entries * kRecallFeatures, 0);
  arrays.found.assign(entries * kRecallSteps, 0);
  const auto fill = [&](int, int64_t which) { fill_class(trials, static_cast<size_t>(which), arrays); };
  if (!ThreadPool::instance().run(thread_count(threads), std::ssize(kRecallKs), fill, interrupted))
    return interrupted_error();
  return arrays;
}

Result<RecallArrays> calibrate_recall(const ModelPtr& model, Searcher& searcher, int threads,
                                      const InterruptCheck& interrupted) {
  ModelRows rows(*model, searcher);
  return calibrate_recall(rows, {}, threads, interrupted);
}

bool has_damaged_calibration(const Model& model) {
  const PlaneLevel* const planes = model.parts().front().planes;
  return planes != nullptr && planes->recall != nullptr && planes->recall->is_damaged;
}

}  // namespace glove
