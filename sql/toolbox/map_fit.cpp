#include "sql/toolbox/map_fit.h"

#include <array>
#include <utility>

#include "analysis/layout.h"
#include "analysis/neighbor_graph.h"
#include "base/cores.h"
#include "base/timer.h"
#include "sql/adapter/arguments.h"
#include "sql/toolbox/fit_watch.h"
#include "sql/toolbox/pca_fit.h"
#include "sql/values/json_options.h"

namespace glove::sql {
namespace {

bool take_method(const JsonValue& value, MapOptions& options) {
  constexpr std::array<std::pair<const char*, MapMethod>, 3> kMethods = {
      {{"auto", MapMethod::kAuto}, {"neighbors", MapMethod::kNeighbors}, {"pca", MapMethod::kPca}}};
  return take_choice(value, kMethods, options.method);
}

constexpr JsonOption<MapOptions> kMapOptions[] = {
    {"method", "\"auto\", \"neighbors\" or \"pca\"", take_method}, {"unit_rows", &MapOptions::unit_rows}};

// Moves the places, which are nearly those of the principal components, by the neighbours of each row.
Status lay_out_neighbors(Engine& engine, const ToolboxSubject& subject, const PointSet& set,
                         const std::string& backend, FitWatch& watch, PlanePlaces& places) {
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
  FitWatch watch(connection,
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

}  // namespace

Result<MapOptions> read_map_options(sqlite3_value* value, std::string_view table, int64_t words) {
  MapOptions options;
  GLOVE_RETURN_IF_ERROR(read_options(value, table, "{\"method\":\"pca\"}", kMapOptions, options));
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

std::string map_key(const ToolboxSubject& subject, const MapOptions& options) {
  return std::string(options.method == MapMethod::kPca ? "map pca " : "map neighbors ") +
         (options.unit_rows ? "unit " : "raw ") + subject.key();
}

Result<std::shared_ptr<const PlanePlaces>> find_map(Connection& connection, std::string_view table,
                                                    const ToolboxSubject& subject, const MapOptions& options,
                                                    const std::string& backend) {
  return connection.engine().results().find_or_add<PlanePlaces>(
      map_key(subject, options), [&] { return compute(connection, table, subject, options, backend); });
}

}  // namespace glove::sql
