#include "sql/toolbox/kmeans_fit.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/timer.h"
#include "sql/adapter/arguments.h"
#include "sql/adapter/inputs.h"
#include "sql/adapter/interrupt.h"
#include "sql/values/json_options.h"

namespace glove::sql {
namespace {

constexpr std::pair<const char*, Metric> kFitMetrics[] = {{"cosine", Metric::kCosine},
                                                          {"euclidean", Metric::kEuclidean}};
constexpr std::pair<const char*, KMeansOptions::Start> kFitStarts[] = {
    {"auto", KMeansOptions::Start::kAuto},
    {"k-means++", KMeansOptions::Start::kSpread},
    {"random", KMeansOptions::Start::kRandom}};

bool take_seed(const JsonValue& value, KMeansOptions& options) {
  int64_t seed = 0;
  if (!take_whole(value, 0, seed)) return false;
  options.seed = static_cast<uint64_t>(seed);
  return true;
}

// option    value                       meaning
// metric    "cosine", "euclidean"       how rows are compared (default "cosine")
// init      "auto", "k-means++",        the first centroids; "auto" (default) means k-means++ up to
//           "random"                    k = 256, and random rows above
// seed      a non-negative integer      of the random numbers (default 0)
// n_init    a positive integer          runs, of which the one with the least inertia is kept (default 1)
// max_iter  a positive integer          iterations at most (default 100)
// tol       a number from 0 to 1        stops when at most this share of the rows changes its cluster (0.001)
constexpr JsonOption<KMeansOptions> kFitOptions[] = {
    {"metric", "\"cosine\" or \"euclidean\"", store_choice<&KMeansOptions::metric, kFitMetrics>},
    {"init", "\"auto\", \"k-means++\" or \"random\"", store_choice<&KMeansOptions::start, kFitStarts>},
    {"seed", "a non-negative integer", take_seed},
    {"n_init", &KMeansOptions::runs, 1},
    {"max_iter", &KMeansOptions::max_iterations, 1},
    {"tol", "a number from 0 to 1", &KMeansOptions::tolerance, 0, 1}};

// Spells what a fit depends on.
std::string key_of(const ToolboxSubject& subject, int64_t k, const KMeansOptions& options) {
  return concat("kmeans ", k, " ", static_cast<int>(options.metric), " ", static_cast<int>(options.start),
                " ", options.seed, " ", options.runs, " ", options.max_iterations, " ",
                std::bit_cast<uint64_t>(options.tolerance), " ", subject.key());
}

Result<KMeansFit> compute(Engine& engine, const ToolboxSubject& subject, int64_t k,
                          const KMeansOptions& options, const InterruptCheck& interrupted) {
  const Timer timer;
  GLOVE_ASSIGN_OR_RETURN(const PointSet set, subject.points(interrupted));
  SearchReport report;
  const auto cluster = [&](Analysis& analysis) {
    return cluster_rows(analysis, set.points(), k, options, interrupted);
  };
  GLOVE_ASSIGN_OR_RETURN(
      Clustering clustering,
      with_takeover(engine, subject.backends, "cluster the model " + subject.entry.model->path(),
                    report.backend, cluster));
  GLOVE_RETURN_IF_ERROR(subject.entry.model->health());
  KMeansFit fit = {{}, std::move(clustering)};
  if (options.metric == Metric::kEuclidean)
    fit.norms_squared.assign(set.points().norms_squared, set.points().norms_squared + set.rows());
  report.k = k;
  report.cost.rows_scanned = set.rows() * fit.clustering.iterations;
  record_fit(engine, subject, "kmeans", timer, std::move(report));
  return fit;
}

constexpr double kRowCost = 1;
constexpr double kFitCost = 1000;  // reading the inputs and finding the fit

// Returns the constraint on the column that can be looked up, or -1 if there is none. Not an IN: SQLite
// visits its values one by one, and each value that cannot be looked up would return all rows again.
int find_lookup(sqlite3_index_info* info, int column, bool is_text) {
  for (int i = 0; column >= 0 && i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    if (constraint.usable && constraint.iColumn == column && vtab::is_equality(constraint.op) &&
        !vtab::may_be_in(info, i) && (!is_text || vtab::is_binary(info, i)))
      return i;
  }
  return -1;
}

}  // namespace

double KMeansFit::similarity(int64_t row) const {
  return clustering.similarity(row, norms_squared.empty() ? 0 : norms_squared[static_cast<size_t>(row)]);
}

int64_t KMeansFit::bytes() const {
  return static_cast<int64_t>(norms_squared.size() * sizeof(double) +
                              clustering.rows.size() * sizeof(NearestTwo) +
                              clustering.centroids.vectors.size() * sizeof(float) +
                              clustering.clusters.size() * sizeof(Clustering::Cluster) + sizeof(*this));
}

Status plan_kmeans(sqlite3_index_info* info, const KMeansColumns& columns) {
  GLOVE_RETURN_IF_ERROR(vtab::plan_inputs(info, columns.inputs, vtab::bit_of(columns.inputs.first + kKMeansK),
                                          kFitCost + columns.rows * kRowCost, columns.rows));
  if (info->idxNum < 0) return {};  // a plan that raises an error
  GLOVE_RETURN_IF_ERROR(vtab::set_plan_text(info, columns.inputs.table));
  const int word = find_lookup(info, columns.word, true);
  const int cluster = find_lookup(info, columns.cluster, false);
  if (word < 0 && cluster < 0) return {};
  const int lookup = word >= 0 ? word : cluster;
  info->aConstraintUsage[lookup].argvIndex = std::popcount(static_cast<unsigned>(info->idxNum)) + 1;
  info->idxNum |= word >= 0 ? kKMeansByWord : kKMeansByCluster;
  info->estimatedCost = word >= 0 || columns.word < 0 ? kFitCost : kFitCost + columns.rows * kRowCost / 10;
  info->estimatedRows = word >= 0 || columns.word < 0 ? 1 : static_cast<sqlite3_int64>(columns.rows / 10);
  return {};
}

Status KMeansRows::find(Connection::Pin& models, const vtab::InputValues& inputs,
                        const KMeansColumns& columns, int plan, Arguments values) {
  row_.reset();
  cluster_.reset();
  Connection& connection = models.connection();
  const std::string_view table = columns.inputs.table;
  const auto input = [&](KMeansInput which) { return inputs[columns.inputs.first + which]; };
  if (input(kKMeansK) == nullptr)
    return invalid_value(table, "k must be the number of clusters, but is NULL");
  const std::optional<int64_t> k = whole_number(input(kKMeansK));
  if (!k) return invalid_value(table, "k must be an integer, but is ", shown_value(input(kKMeansK)));
  GLOVE_ASSIGN_OR_RETURN(
      const KMeansOptions options,
      read_options<KMeansOptions>(input(kKMeansOptions), table, "{\"seed\":1}", kFitOptions));
  InterruptPoller poller(connection.db());
  GLOVE_ASSIGN_OR_RETURN(subject_, read_subject(models, table, input(kKMeansWords), input(kKMeansModel),
                                                input(kKMeansBackend), poller));
  key_ = key_of(subject_, *k, options);
  auto found = connection.engine().results().find_or_add<KMeansFit>(key_, [&] {
    WorkWatch watch(connection, concat(table, ": ", *k, " clusters of ", subject_.count(),
                                       " words of the model '", subject_.entry.name, "'"));
    return compute(connection.engine(), subject_, *k, options, watch.interrupted());
  });
  if (!found.ok()) return named_argument_error(table, found.error());
  fit_ = std::move(found.value());
  if ((plan & kKMeansByWord) != 0) look_up_word(connection.db(), values.back());
  if ((plan & kKMeansByCluster) != 0 && sqlite3_value_numeric_type(values.back()) == SQLITE_INTEGER)
    cluster_ = sqlite3_value_int64(values.back()) - 1;
  return {};
}

// If SQLite may compare the value by other rules than its bytes, all rows are visited.
void KMeansRows::look_up_word(sqlite3* db, sqlite3_value* value) {
  if (sqlite3_value_type(value) != SQLITE_TEXT || words().key_type() != KeyType::kText) return;
  const std::string_view word = text_of(value);
  if (!equals_by_bytes(db, word)) return;
  std::vector<int32_t> found;
  words().find_all(word, found);
  if (found.size() > 1) return;  // equal tokens of a tokenizer
  const int64_t id = found.empty() ? -1 : found.front();
  const auto place = std::ranges::lower_bound(subject_.ids, id);
  const bool is_chosen = place != subject_.ids.end() && *place == id;
  row_ = subject_.chosen ? (is_chosen ? place - subject_.ids.begin() : -1) : id < fit().rows() ? id : -1;
}

}  // namespace glove::sql
