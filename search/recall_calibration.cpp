#include "search/recall_calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "lists/calibration.h"
#include "lists/calibration_queries.h"
#include "lists/recall_fit.h"
#include "model/exact_dot.h"
#include "model/prefetch.h"

namespace glove {
namespace {

constexpr int64_t kQueriesPerBatch = 256;

// What is known of a query before its nearest rows are.
struct QueryStart {
  std::vector<int32_t> products;     // [lists], with the codes of the centroids
  std::vector<int32_t> rows_before;  // [lists], the rows of the lists that are read before
  std::array<RecallMeasurements, kRecallKs.size()> measured{};
  std::array<bool, kRecallKs.size()> is_measured{};
  double least = -std::numeric_limits<double>::infinity();  // of the kRecallKs.back() nearest rows, or less
};

class Calibration {
 public:
  Calibration(const CalibrationRows& rows, const ListCodes& lists) : rows_(rows), lists_(lists) {
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

  // Measures the query by the rows that a search for it reads first.
  QueryStart start(const Query& query) const {
    QueryStart start;
    start.products = products_of(query);
    start.rows_before.resize(start.products.size());
    ProbeOrder order(start.products, rows_.level().offsets);
    std::vector<Neighbor> first_rows;
    int64_t rows = 0;
    for (int64_t list = order.next(); list >= 0; list = order.next()) {
      start.rows_before[static_cast<size_t>(list)] = static_cast<int32_t>(rows);
      const std::span<const int32_t> members = rows_of(list);
      if (rows < recall_rows(kRecallKs.back(), 0))
        for (const int32_t row : members) first_rows.push_back({row, kNoScore});
      rows += std::ssize(members);
    }
    rows_.score(query, first_rows);
    std::erase_if(first_rows, [&](const Neighbor& row) {
      return !(row.similarity > kNoScore) || std::ranges::binary_search(query.excluded, row.id);
    });
    for (Neighbor& row : first_rows)
      row.id = start.rows_before[static_cast<size_t>(list_of_[static_cast<size_t>(row.id)])];
    measure(order, first_rows, nearest_excluded(query), start);
    return start;
  }

  RecallTrial finish(const Query& query, const QueryStart& start, std::span<const Neighbor> nearest) const {
    RecallTrial trial;
    trial.measured = start.measured;
    for (const Neighbor& row : nearest)
      trial.rows_before.push_back(
          start.rows_before[static_cast<size_t>(list_of_[static_cast<size_t>(row.id)])]);
    for (size_t i = 0; i < kRecallKs.size(); ++i) {
      trial.is_measured[i] = start.is_measured[i] && kRecallKs[i] <= std::ssize(nearest);
      const int64_t count = std::max(kRecallKs[i], kRecallMarginRows);
      if (count <= std::ssize(nearest))
        add_margins(query, nearest.first(static_cast<size_t>(count)), start.products, trial);
    }
    return trial;
  }

 private:
  std::span<const int32_t> rows_of(int64_t list) const {
    const PlaneLevel& level = rows_.level();
    const auto begin = static_cast<size_t>(level.offsets[static_cast<size_t>(list)]);
    const auto end = static_cast<size_t>(level.offsets[static_cast<size_t>(list) + 1]);
    return level.rows.subspan(begin, end - begin);
  }

  std::vector<int32_t> products_of(const Query& query) const {
    const std::vector<int16_t> codes = encode_query(lists_, query.vector, query.norm_squared);
    std::vector<int32_t> products(static_cast<size_t>(lists_.lists()));
    const int8_t* list = lists_.codes.data();
    for (int32_t& product : products) {
      product = product_of_codes(list, codes.data(), std::ssize(codes));
      list += codes.size();
    }
    return products;
  }

  // Adds what some of the nearest rows need, of which the last has the similarity that the others must reach.
  void add_margins(const Query& query, std::span<const Neighbor> nearest, std::span<const int32_t> products,
                   RecallTrial& trial) const {
    std::vector<float> unit = query.vector;
    for (float& value : unit) value = static_cast<float>(value / std::sqrt(query.norm_squared));
    const double t = nearest.back().similarity;
    const double sine = std::sqrt(std::max(0.0, 1 - t * t));
    for (int64_t i = 0; i < kRecallMarginRows; ++i) {
      const auto number = static_cast<size_t>(i * std::ssize(nearest) / kRecallMarginRows);
      const auto row = static_cast<size_t>(nearest[number].id);
      const auto list = static_cast<size_t>(list_of_[row]);
      const double product = products[list] * double{lists_.factors[list]};
      const auto estimate = Plane1Row(rows_.part(), position_of_[row]).estimate(unit.data(), product);
      const bool is_bounded = std::isfinite(estimate.distance);  // otherwise no margin hides the row
      const double distance = std::max(estimate.distance * sine, 1e-9);
      const double margin = is_bounded ? (t - estimate.product) / distance : 0;
      trial.margins.push_back(static_cast<float>(std::clamp(margin, 0.0, 1.0)));
    }
  }

  double nearest_excluded(const Query& query) const {
    std::vector<Neighbor> rows;
    for (size_t i = 0; i < std::min(query.excluded.size(), kMeasuredExcluded); ++i)
      rows.push_back({query.excluded[i], kNoScore});
    rows_.score(query, rows);
    double nearest = kNoScore;
    for (const Neighbor& row : rows) nearest = std::max(nearest, row.similarity);
    return nearest;
  }

  // In place of their ids, the rows have the number of those in the lists before.
  void measure(const ProbeOrder& order, std::span<const Neighbor> rows, double nearest_excluded,
               QueryStart& start) const {
    for (size_t i = 0; i < kRecallKs.size(); ++i) {
      std::vector<double> best;
      for (const Neighbor& row : rows)
        if (row.id < recall_rows(kRecallKs[i], 0)) best.push_back(row.similarity);
      start.is_measured[i] = std::ssize(best) >= kRecallKs[i];
      if (!start.is_measured[i]) continue;
      const auto end = best.begin() + kRecallKs[i];
      std::nth_element(best.begin(), end - 1, best.end(), std::greater<>());
      std::sort(best.begin(), end, std::greater<>());
      if (i + 1 == kRecallKs.size()) start.least = *(end - 1);
      const auto nearest = std::span<const double>(best).first(static_cast<size_t>(kRecallKs[i]));
      start.measured[i] = measure_recall(order, lists_.scale, kRecallKs[i], nearest,
                                         std::max(best.front(), nearest_excluded));
    }
  }

  const CalibrationRows& rows_;
  const ListCodes& lists_;
  std::vector<int32_t> list_of_;
  std::vector<int32_t> position_of_;
};

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
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i + kFetchedRows < rows.size()) prefetch(model_.vector(rows[i + kFetchedRows].id), model_.dims());
      Neighbor& row = rows[i];
      const double norm_squared = model_.norm_squared(row.id);
      if (!(norm_squared > 0)) continue;
      const double dot = exact_dot(query.vector.data(), model_.vector(row.id), model_.dims());
      row.similarity = cosine_from_dots(dot, query.norm_squared, norm_squared);
    }
  }
  double largest_error(const Query&) const override { return 0; }
  Status search(std::span<SearchRequest> requests) override { return searcher_.search(requests); }

 private:
  static constexpr size_t kFetchedRows = 8;  // ahead, because they are anywhere in memory

  const Model& model_;
  Searcher& searcher_;
};

// Answers the queries exactly and appends their trials.
Status try_queries(CalibrationRows& rows, const Calibration& calibration, std::vector<Query> queries,
                   std::span<const RecallGroup> groups, int threads, const InterruptCheck& interrupted,
                   std::vector<RecallTrial>& trials) {
  std::vector<QueryStart> starts(queries.size());
  const auto start = [&](int, int64_t i) {
    starts[static_cast<size_t>(i)] = calibration.start(queries[static_cast<size_t>(i)]);
  };
  GLOVE_RETURN_IF_ERROR(ThreadPool::for_each(thread_count(threads), std::ssize(queries), interrupted, start));
  std::vector<SearchRequest> requests(queries.size());
  for (size_t i = 0; i < queries.size(); ++i) {
    requests[i].query = &queries[i];
    requests[i].k = std::min(kRecallKs.back(), rows.rows());
    requests[i].terms.interrupted = &interrupted;
    queries[i].least = starts[i].least - rows.largest_error(queries[i]);
  }
  GLOVE_RETURN_IF_ERROR(rows.search(requests));
  for (const SearchRequest& request : requests) GLOVE_RETURN_IF_ERROR(request.status);
  const size_t done = trials.size();
  trials.resize(done + queries.size());
  const auto work = [&](int, int64_t i) {
    const auto number = static_cast<size_t>(i);
    trials[done + number] = calibration.finish(queries[number], starts[number], requests[number].rows);
    trials[done + number].group = groups[number];
  };
  return ThreadPool::for_each(thread_count(threads), std::ssize(queries), interrupted, work);
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
  const RowDirections directions = {drawn, rows.dims(),
                                    [&rows](int64_t row, float* vector) { rows.read(row, vector); }};
  const std::vector<std::vector<double>> common = common_directions(directions);
  RecallArrays arrays;
  arrays.lists = encode_centroids(rows.level().centroids, rows.dims());
  const Calibration calibration(rows, arrays.lists);
  std::vector<RecallTrial> trials;
  for (int64_t first = 0; first < kCalibrationQueries; first += kQueriesPerBatch) {
    std::vector<Query> queries;
    std::vector<RecallGroup> groups;
    for (int64_t i = first; i < first + kQueriesPerBatch; ++i) {
      DrawnQuery one = draw_query(directions, common, i);
      if (MaybeQuery query = make_query(std::move(one.vector), std::move(one.omitted))) {
        queries.push_back(std::move(*query));
        groups.push_back(one.group);
      }
    }
    GLOVE_RETURN_IF_ERROR(
        try_queries(rows, calibration, std::move(queries), groups, threads, interrupted, trials));
  }
  while (!own.empty()) {
    const auto batch = own.first(std::min<size_t>(own.size(), kQueriesPerBatch));
    own = own.subspan(batch.size());
    const std::vector<RecallGroup> groups(batch.size(), kUsersOwn);
    GLOVE_RETURN_IF_ERROR(
        try_queries(rows, calibration, {batch.begin(), batch.end()}, groups, threads, interrupted, trials));
  }
  arrays.queries = std::ssize(trials);
  const size_t entries = kRecallKs.size() * trials.size();
  arrays.transform.assign(kRecallKs.size() * kRecallTransform, 0);
  arrays.features.assign(entries * kRecallColumns, 0);
  arrays.found.assign(entries * kRecallSteps, 0);
  const auto fill = [&](int, int64_t which) { fit_recall(trials, static_cast<size_t>(which), arrays); };
  GLOVE_RETURN_IF_ERROR(
      ThreadPool::for_each(thread_count(threads), std::ssize(kRecallKs), interrupted, fill));
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
