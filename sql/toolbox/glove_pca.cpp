// glove_pca(components, words, model, backend, options): the principal components of a model's rows.
//
//   SELECT component, variance, ratio FROM glove_pca(3);
//   SELECT sum(ratio) FROM glove_pca(50, 20000) WHERE component > 0;
//   SELECT neighbor FROM glove_nn WHERE expr = (SELECT vector FROM glove_pca(1) WHERE component = 1) AND k =
//   5;
//
// Component 0 is the mean, which is subtracted from the rows; with {"center":false} it is zero. There are no
// rows if there are no words. The components are computed once for each set of rows.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "sql/adapter/arguments.h"
#include "sql/register.h"
#include "sql/adapter/fit_table.h"
#include "sql/toolbox/pca_fit.h"

namespace glove::sql {
namespace {

// Returns how many components are requested; nullptr means NULL, which requests all.
Result<int64_t> requested_components(sqlite3_value* value, int64_t dims) {
  if (value == nullptr) return dims;
  const std::optional<int64_t> count = whole_number(value);
  if (!count || *count < 0)
    return invalid_value("glove_pca", "components must be a non-negative integer, but is ",
                         shown_value(value));
  if (*count > dims)
    return invalid_value("glove_pca", "components is ", *count, ", but the model has only ",
                         counted(dims, "dimensions"));
  return *count;
}

class PcaRows {
 public:
  enum Column : int {
    kComponent,
    kVariance,
    kRatio,
    kSingularValue,
    kVector,
    kComponents,
    kWords,
    kModel,
    kBackend,
    kOptions,
  };

  static constexpr const char* kName = "glove_pca";
  static constexpr const char* kSchema =
      "CREATE TABLE glove_pca(component INTEGER, variance REAL, ratio REAL, singular_value REAL, vector "
      "BLOB, "
      "components INTEGER HIDDEN, words TEXT HIDDEN, model TEXT HIDDEN, backend TEXT HIDDEN, options TEXT "
      "HIDDEN)";
  static constexpr const char* kInputNames[] = {"components", "words", "model", "backend", "options"};
  static constexpr vtab::InputColumns kInputs = {kName, kComponents, kInputNames, "components = 3"};

  static Status plan(sqlite3_index_info* info) {
    constexpr double kCost = 1000, kAssumedRows = 10;
    return vtab::plan_inputs(info, kInputs, 0, kCost, kAssumedRows);
  }

  Result<FitRange> start(Connection::Pin& models, const vtab::InputValues& inputs, int, Arguments) {
    InterruptPoller poller(models.connection().db());
    GLOVE_ASSIGN_OR_RETURN(
        const ToolboxSubject subject,
        read_subject(models, kName, inputs[kWords], inputs[kModel], inputs[kBackend], poller));
    GLOVE_ASSIGN_OR_RETURN(const int64_t count,
                           requested_components(inputs[kComponents], subject.entry.model->dims()));
    GLOVE_ASSIGN_OR_RETURN(const PrincipalOptions options, read_pca_options(inputs[kOptions], kName));
    if (subject.count() == 0) return FitRange();
    Engine& engine = models.connection().engine();
    GLOVE_ASSIGN_OR_RETURN(fit_, find_components(engine, kName, subject, options, poller));
    return FitRange{.key = concat(count, " ", pca_key(subject, options)), .end = count + 1};
  }

  void column(sqlite3_context* context, int64_t row, int column) {
    if (column == kComponent) return sqlite3_result_int64(context, row);
    const auto index = static_cast<size_t>(row - 1);
    if (column == kVector) {
      std::vector<float> vector = fit_->mean;
      if (row > 0) std::copy_n(fit_->vector(row - 1), fit_->dims, vector.begin());
      return sqlite3_result_blob64(context, vector.data(), vector.size() * sizeof(float), SQLITE_TRANSIENT);
    }
    if (row == 0) return;  // the mean, whose numbers are NULL
    if (column == kSingularValue) return sqlite3_result_double(context, fit_->singular_values[index]);
    // A ratio is NaN, which becomes NULL, where the rows are all equal.
    sqlite3_result_double(context, fit_->variances[index] / (column == kRatio ? fit_->total_variance : 1));
  }

  int64_t id(int64_t row) const { return row; }

 private:
  std::shared_ptr<const PrincipalComponents> fit_;
};

}  // namespace

// No security flag, as glove_nn: it depends on the models, and changes nothing.
constexpr SqlObject kGlovePca = vtab::table_object<FitTable<PcaRows>>();

}  // namespace glove::sql
