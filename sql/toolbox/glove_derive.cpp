// glove_derive(name, options [, model]): makes a model of the vectors of another one: centred, without their
// first principal components, whitened, with fewer dimensions. Returns the name.
//
//   SELECT glove_derive('clean', '{"whiten":true}');                   -- clean
//   SELECT glove_derive('small', '{"remove":3,"dims":64}', 'glove');   -- small
//   SELECT neighbor FROM glove_nn('king', NULL, 5, 'clean');
//
// option     value                            meaning
// center     true, false                      subtracts the mean, as remove and whiten also do
// remove     a non-negative integer           removes that many of the first components (default 0)
// dims       a positive integer               keeps that many of the remaining components
// whiten     true, false                      scales the remaining components to the same variance
// normalize  true, false                      divides the resulting vectors by their lengths
// words      an integer or a JSON array       the words of the new model (default: all)
// fit        an integer or a JSON array       the words whose mean and components are used (default: all)
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/derive.h"
#include "base/concat.h"
#include "sql/adapter/direct_call.h"
#include "sql/adapter/interrupt.h"
#include "sql/register.h"
#include "sql/toolbox/pca_fit.h"
#include "sql/values/json_options.h"
#include "sql/values/toolbox_inputs.h"

namespace glove::sql {
namespace {

constexpr std::string_view kDerive = "glove_derive";

struct DeriveRequest : DeriveOptions {
  std::optional<JsonValue> words, fit;  // as choose_rows() takes them
};

// Checks the form only: choose_rows() reads the elements of an array.
bool take_rows(const JsonValue& value, std::optional<JsonValue>& rows) {
  int64_t count = 0;
  if (value.kind != JsonKind::kArray && !take_whole(value, 0, count)) return false;
  rows = value;
  return true;
}

constexpr const char* kRows = "a non-negative integer n (the first n words) or an array of words";
constexpr JsonOption<DeriveRequest> kDeriveOptions[] = {
    {"center", &DeriveRequest::center},
    {"remove", &DeriveRequest::remove, 0},
    {"dims", &DeriveRequest::dims, 1},
    {"whiten", &DeriveRequest::whiten},
    {"normalize", &DeriveRequest::normalize},
    {"words", kRows,
     [](const JsonValue& value, DeriveRequest& request) { return take_rows(value, request.words); }},
    {"fit", kRows,
     [](const JsonValue& value, DeriveRequest& request) { return take_rows(value, request.fit); }}};

// The mean without the components, which the rows may be too wide for.
Result<std::vector<float>> find_mean(Engine& engine, const ToolboxSubject& subject,
                                     const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(const PointSet set, subject.points(interrupted));
  std::string backend;
  auto mean = with_takeover(
      engine, subject.backends, "compute the mean of the model " + subject.entry.model->path(), backend,
      [&](Analysis& analysis) { return mean_of_rows(analysis, set.points(), interrupted); });
  if (!mean.ok()) return named_argument_error(kDerive, mean.error());
  return mean;
}

Result<RowMap> find_map(Engine& engine, const ToolboxSubject& subject, const DeriveRequest& request,
                        const InterruptCheck& interrupted) {
  std::shared_ptr<const PrincipalComponents> components;
  ToolboxSubject fit = subject;
  GLOVE_RETURN_IF_ERROR(choose_rows(kDerive, "fit", request.fit, fit, interrupted));
  if (request.remove > 0 || request.dims > 0 || request.whiten) {
    GLOVE_ASSIGN_OR_RETURN(components,
                           find_components(engine, kDerive, fit, PrincipalOptions(), interrupted));
  } else {
    PrincipalComponents mean;
    mean.dims = subject.entry.model->dims();
    if (request.center) {
      GLOVE_ASSIGN_OR_RETURN(mean.mean, find_mean(engine, fit, interrupted));
    }
    components = std::make_shared<const PrincipalComponents>(std::move(mean));
  }
  auto map = make_row_map(*components, request);
  if (!map.ok()) return named_error(kDerive, map.error());
  return map;
}

Status glove_derive(sqlite3_context* context, Arguments arguments) {
  GLOVE_ASSIGN_OR_RETURN(const std::string_view name, required_text(arguments, 0, kDerive, "name"));
  if (name.empty()) return invalid_argument("glove_derive: the name must not be empty");
  GLOVE_ASSIGN_OR_RETURN(const std::string_view json, required_text(arguments, 1, kDerive, "options"));
  Connection& connection = connection_of(context);
  WorkWatch watch(connection, concat(kDerive, ": the model ", quoted_value(name)));
  const InterruptCheck interrupted = watch.interrupted();
  GLOVE_ASSIGN_OR_RETURN(
      const DeriveRequest request,
      parse_options<DeriveRequest>(json, kDerive, "{\"whiten\":true}", kDeriveOptions, interrupted));
  GLOVE_ASSIGN_OR_RETURN(const auto of, optional_text(arguments, 2, kDerive, "model"));
  GLOVE_ASSIGN_OR_RETURN(CatalogEntry entry, connection.find(of));
  GLOVE_ASSIGN_OR_RETURN(ToolboxSubject subject, subject_of(engine_of(context), kDerive, std::move(entry)));
  GLOVE_ASSIGN_OR_RETURN(RowMap map, find_map(engine_of(context), subject, request, interrupted));
  GLOVE_RETURN_IF_ERROR(choose_rows(kDerive, "words", request.words, subject, interrupted));
  GLOVE_ASSIGN_OR_RETURN(const PointSet set, subject.points(interrupted));
  const std::string source = std::string(kDerive) + "(" + quoted_value(name) + ")";
  GLOVE_ASSIGN_OR_RETURN(ModelPtr model, derive_model(*subject.backends.first->analysis(), set,
                                                      std::move(map), source, interrupted));
  GLOVE_RETURN_IF_ERROR(subject.entry.model->health());
  connection.add(std::string(name), std::move(model));
  return_text(context, name);
  return {};
}

}  // namespace

// Direct-only, because it changes what every connection of the process sees, so no view, trigger or default
// of a database file may call it.
constexpr SqlObject kGloveDerive = direct_function<glove_derive>("glove_derive", 2, 3);

}  // namespace glove::sql
