#include "sql/toolbox/pca_fit.h"

#include <utility>

#include "base/timer.h"
#include "sql/adapter/values.h"
#include "sql/values/json_options.h"

namespace glove::sql {
namespace {

constexpr JsonOption<PcaOptions> kOptions[] = {{"center", &PcaOptions::center},
                                               {"unit_rows", &PcaOptions::unit_rows}};

int64_t bytes_of(const PrincipalComponents& components) {
  return static_cast<int64_t>(
      components.mean.size() * sizeof(float) +
      (components.variances.size() + components.singular_values.size() + components.vectors.size()) *
          sizeof(double) +
      sizeof(PrincipalComponents));
}

Result<std::shared_ptr<const PrincipalComponents>> compute(Engine& engine, const ToolboxSubject& subject,
                                                           const PcaOptions& options,
                                                           const InterruptCheck& interrupted) {
  const Timer timer;
  GLOVE_ASSIGN_OR_RETURN(const PointSet set, subject.points(interrupted));
  PrincipalOptions principal;
  principal.center = options.center;
  principal.unit_rows = options.unit_rows;
  bool held = false;
  const auto work = [&](Analysis& analysis) -> Result<PrincipalComponents> {
    GLOVE_ASSIGN_OR_RETURN(const auto rows, analysis.hold_rows(set.points(), interrupted));
    held = rows != nullptr;
    return principal_components(analysis, set.points(), principal, interrupted);
  };
  SearchReport report;
  GLOVE_ASSIGN_OR_RETURN(
      PrincipalComponents components,
      with_takeover(engine, subject.backends,
                    "compute the principal components of the model " + subject.entry.model->path(),
                    report.backend, work));
  GLOVE_RETURN_IF_ERROR(subject.entry.model->health());
  report.model = subject.entry.name;
  if (!held) report.backend = engine.backends().all().back()->name();  // the CPU, to which others leave it
  report.kind = "pca";
  report.queries = 1;
  report.k = components.dims;
  report.cost.rows_scanned = set.rows();
  report.total_us = timer.microseconds();
  engine.statistics().record(std::move(report));
  return std::shared_ptr<const PrincipalComponents>(
      std::make_shared<PrincipalComponents>(std::move(components)));
}

}  // namespace

Result<PcaOptions> parse_pca_options(std::string_view json, std::string_view table) {
  PcaOptions options;
  GLOVE_RETURN_IF_ERROR(parse_options(json, table, "{\"center\":false}", kOptions, options));
  return options;
}

std::string pca_key(const ToolboxSubject& subject, const PcaOptions& options) {
  return std::string("pca") + (options.center ? " center" : "") + (options.unit_rows ? " unit " : " ") +
         subject.key();
}

Result<std::shared_ptr<const PrincipalComponents>> find_components(Engine& engine, std::string_view object,
                                                                   const ToolboxSubject& subject,
                                                                   const PcaOptions& options,
                                                                   const InterruptCheck& interrupted) {
  const std::string key = pca_key(subject, options);
  if (auto found = engine.results().find<PrincipalComponents>(key); found != nullptr) return found;
  auto components = compute(engine, subject, options, interrupted);
  if (!components.ok()) {
    const Error& error = components.error();
    return error.code == ErrorCode::kInvalidArgument ? named_error(object, error) : error;
  }
  engine.results().add(key, components.value(), bytes_of(*components.value()));
  return std::move(components.value());
}

}  // namespace glove::sql
