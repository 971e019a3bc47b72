#include "sql/toolbox/pca_fit.h"

#include <utility>

#include "base/timer.h"
#include "sql/adapter/arguments.h"
#include "sql/values/json_options.h"

namespace glove::sql {
namespace {

constexpr JsonOption<PrincipalOptions> kPcaOptions[] = {{"center", &PrincipalOptions::center},
                                                        {"unit_rows", &PrincipalOptions::unit_rows}};

Result<PrincipalComponents> compute(Engine& engine, const ToolboxSubject& subject,
                                    const PrincipalOptions& options, const InterruptCheck& interrupted) {
  const Timer timer;
  GLOVE_ASSIGN_OR_RETURN(const PointSet set, subject.points(interrupted));
  const auto work = [&](Analysis& analysis) {
    return principal_components(analysis, set.points(), options, interrupted);
  };
  SearchReport report;
  GLOVE_ASSIGN_OR_RETURN(
      PrincipalComponents components,
      with_takeover(engine, subject.backends,
                    "compute the principal components of the model " + subject.entry.model->path(),
                    report.backend, work));
  GLOVE_RETURN_IF_ERROR(subject.entry.model->health());
  report.backend = engine.backends().all().back()->name();  // the CPU, to which others leave it
  report.k = components.dims;
  report.cost.rows_scanned = set.rows();
  record_fit(engine, subject, "pca", timer, std::move(report));
  return components;
}

}  // namespace

Result<PrincipalOptions> read_pca_options(sqlite3_value* value, std::string_view table) {
  return read_options<PrincipalOptions>(value, table, "{\"center\":false}", kPcaOptions);
}

std::string pca_key(const ToolboxSubject& subject, const PrincipalOptions& options) {
  return std::string("pca") + (options.center ? " center" : "") + (options.unit_rows ? " unit " : " ") +
         subject.key();
}

Result<std::shared_ptr<const PrincipalComponents>> find_components(Engine& engine, std::string_view object,
                                                                   const ToolboxSubject& subject,
                                                                   const PrincipalOptions& options,
                                                                   const InterruptCheck& interrupted) {
  auto components = engine.results().find_or_add<PrincipalComponents>(
      pca_key(subject, options), [&] { return compute(engine, subject, options, interrupted); });
  if (!components.ok()) return named_argument_error(object, components.error());
  return components;
}

}  // namespace glove::sql
