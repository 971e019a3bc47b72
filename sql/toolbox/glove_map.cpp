// glove_map(words, model, backend, options): a place in the plane for each word, where words with similar
// vectors are close together.
//
//   SELECT word, x, y FROM glove_map(5000);
//   SELECT m.word, m.x, m.y FROM (SELECT json_group_array(tag) AS w FROM item) t JOIN glove_map(t.w) m;
//
// option     value                        meaning
// method     "auto", "neighbors", "pca"   how the places are found: so that the nearest words stay together,
//                                         or by the first two principal components; "auto" (default) means
//                                         neighbors for up to 50,000 words, and pca for more
// unit_rows  true, false                  for pca: maps directions (default true), as neighbors always does
//
// Words without a direction are left out. Places are computed once for each set of rows and kept for the
// process.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/layout.h"
#include "analysis/neighbor_graph.h"
#include "analysis/plane.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "base/timer.h"
#include "sql/adapter/arguments.h"
#include "sql/adapter/fit_table.h"
#include "sql/adapter/interrupt.h"
#include "sql/register.h"
#include "sql/toolbox/pca_fit.h"
#include "sql/values/json_options.h"
#include "sql/values/toolbox_inputs.h"

namespace glove::sql {
namespace {

// With more words the neighbours would take minutes, and a place for each would show less than clusters do.
constexpr int64_t kMostNeighborWords = 50'000;

enum class MapMethod { kAuto, kNeighbors, kPca };

// option     value                        meaning
// method     "auto", "neighbors", "pca"   how the places are found; "auto" (default) means neighbors for up
//                                         to kMostNeighborWords words, and pca for more
// unit_rows  true, false                  for pca: divides each row by its length first, and leaves zero rows
//                                         out (default true), as neighbors always does
struct MapOptions {
  MapMethod method = MapMethod::kAuto;
  bool unit_rows = true;
};

constexpr std::pair<const char*, MapMethod> kMapMethods[] = {
    {"auto", MapMethod::kAuto}, {"neighbors", MapMethod::kNeighbors}, {"pca", MapMethod::kPca}};
constexpr JsonOption<MapOptions> kMapOptions[] = {
    {"method", "\"auto\", \"neighbors\" or \"pca\"", store_choice<&MapOptions::method, kMapMethods>},
    {"unit_rows", &MapOptions::unit_rows}};

// Moves the places, which are nearly those of the principal components, by the neighbours of each row.
Status lay_out_neighbors(Engine& engine, const ToolboxSubject& subject, const PointSet& set,
                         const std::string& backend, WorkWatch& watch, PlanePlaces& places) {
  const Timer timer;
  GLOVE_ASSIGN_OR_RETURN(const int threads, engine.settings().threads());
  SearchReport report;
  GLOVE_ASSIGN_OR_RETURN(const NeighborGraph graph,
                         nearest_rows_graph(engine, set, places.rows, kLayoutNeighbors, backend,
                                            watch.interrupted(), watch.progress(), report));
  GLOVE_ASSIGN_OR_RETURN(PlaneLayout layout,
                         lay_out(graph, {std::move(places.x), std::move(places.y)}, thread_count(threads),
                                 watch.interrupted(), watch.progress()));
  places.x = std::move(layout.x);
  places.y = std::move(layout.y);
  report.k = kLayoutNeighbors;
  record_fit(engine, subject, "map", timer, std::move(report));
  return {};
}

Result<PlanePlaces> compute(Connection& connection, std::string_view table, const ToolboxSubject& subject,
                            const MapOptions& options, const std::string& backend) {
  Engine& engine = connection.engine();
  WorkWatch watch(connection,
                  concat(table, ": ", subject.count(), " words of the model '", subject.entry.name, "'"));
  GLOVE_ASSIGN_OR_RETURN(const PointSet set, subject.points(watch.interrupted()));
  std::shared_ptr<const PrincipalComponents> components;
  const bool too_wide = subject.entry.model->dims() > kMostPrincipalDims;
  if (options.method == MapMethod::kPca && !(too_wide && options.unit_rows)) {
    GLOVE_ASSIGN_OR_RETURN(
        components,
        find_components(engine, table, subject, {.unit_rows = options.unit_rows}, watch.interrupted()));
  }
  const auto find_plane = [&](Analysis& analysis) {
    return components == nullptr ? approximate_plane(analysis, set.points(), watch.interrupted())
                                 : plane_of_components(analysis, set.points(), *components, options.unit_rows,
                                                       watch.interrupted());
  };
  std::string answered;
  GLOVE_ASSIGN_OR_RETURN(
      PlanePlaces places,
      with_takeover(engine, subject.backends, "place the words of the model " + subject.entry.model->path(),
                    answered, find_plane));
  if (options.method == MapMethod::kNeighbors)
    GLOVE_RETURN_IF_ERROR(lay_out_neighbors(engine, subject, set, backend, watch, places));
  GLOVE_RETURN_IF_ERROR(subject.entry.model->health(watch.interrupted()));
  return places;
}

// Reads the options and chooses the method; an error if the method cannot place this many words.
Result<MapOptions> read_map_options(sqlite3_value* value, std::string_view table, int64_t words) {
  GLOVE_ASSIGN_OR_RETURN(MapOptions options,
                         read_options<MapOptions>(value, table, "{\"method\":\"pca\"}", kMapOptions));
  if (options.method == MapMethod::kNeighbors && words > kMostNeighborWords)
    return invalid_value(table, "the method \"neighbors\" places at most ", kMostNeighborWords,
                         " words, but there are ", words, "; name fewer words, or use the method \"pca\"");
  if (options.method == MapMethod::kAuto)
    options.method = words > kMostNeighborWords ? MapMethod::kPca : MapMethod::kNeighbors;
  if (!options.unit_rows && options.method != MapMethod::kPca)
    return invalid_value(
        table,
        "the option \"unit_rows\" is false, which the method \"pca\" alone can do; the method "
        "\"neighbors\" compares directions");
  return options;
}

// Returns a string that identifies everything that the places depend on.
std::string map_key(const ToolboxSubject& subject, const MapOptions& options) {
  return std::string(options.method == MapMethod::kPca ? "map pca " : "map neighbors ") +
         (options.unit_rows ? "unit " : "raw ") + subject.key();
}

// Returns the places of the subject's rows. Computes them unless the process has them in its cache; a layout
// by neighbours is recorded in glove_stats. `backend` is "auto" or the name of the backend that searches.
// `table` begins the messages. REQUIRES: read_map_options() made the options; the subject has rows.
Result<std::shared_ptr<const PlanePlaces>> find_map(Connection& connection, std::string_view table,
                                                    const ToolboxSubject& subject, const MapOptions& options,
                                                    const std::string& backend) {
  return connection.engine().results().find_or_add<PlanePlaces>(
      map_key(subject, options), [&] { return compute(connection, table, subject, options, backend); });
}

class MapRows {
 public:
  enum Column : int { kWord, kX, kY, kWords, kModel, kBackend, kOptions };

  static constexpr const char* kName = "glove_map";
  static constexpr const char* kSchema =
      "CREATE TABLE glove_map(word TEXT, x REAL, y REAL, words TEXT HIDDEN, model TEXT HIDDEN, backend TEXT "
      "HIDDEN, options TEXT HIDDEN)";
  static constexpr const char* kInputNames[] = {"words", "model", "backend", "options"};
  static constexpr vtab::InputColumns kInputs = {kName, kWords, kInputNames, "words = 1000"};

  static Status plan(sqlite3_index_info* info) {
    constexpr double kCost = 10000, kAssumedRows = 10000;
    return vtab::plan_inputs(info, kInputs, 0, kCost, kAssumedRows);
  }

  Result<FitRange> start(Connection::Pin& models, const vtab::InputValues& inputs, int, Arguments) {
    sqlite3_value* const backend = inputs[kBackend];
    InterruptPoller poller(models.connection().db());
    GLOVE_ASSIGN_OR_RETURN(subject_,
                           read_subject(models, kName, inputs[kWords], inputs[kModel], backend, poller));
    GLOVE_ASSIGN_OR_RETURN(const MapOptions options,
                           read_map_options(inputs[kOptions], kName, subject_.count()));
    if (subject_.count() == 0) return FitRange();
    GLOVE_ASSIGN_OR_RETURN(places_, find_map(models.connection(), kName, subject_, options,
                                             std::string(backend == nullptr ? "auto" : text_of(backend))));
    return FitRange{map_key(subject_, options), subject_.entry.model, 0,
                    static_cast<int64_t>(places_->rows.size())};
  }

  void column(sqlite3_context* context, int64_t row, int column) {
    if (column == kWord) return return_word(context, subject_.entry.model->vocabulary(), id(row));
    sqlite3_result_double(context, (column == kX ? places_->x : places_->y)[static_cast<size_t>(row)]);
  }

  int64_t id(int64_t row) const { return subject_.row_id(places_->rows[static_cast<size_t>(row)]); }

 private:
  ToolboxSubject subject_;
  std::shared_ptr<const PlanePlaces> places_;
};

}  // namespace

// No security flag, as glove_nn: it depends on the models, and changes nothing.
constexpr SqlObject kGloveMap = vtab::table_object<FitTable<MapRows>>();

}  // namespace glove::sql
