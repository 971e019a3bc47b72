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
#include <string>
#include <vector>

#include "sql/adapter/input_numbers.h"
#include "sql/adapter/inputs.h"
#include "sql/adapter/interrupt.h"
#include "sql/adapter/table.h"
#include "sql/adapter/values.h"
#include "sql/register.h"
#include "sql/toolbox/pca_fit.h"
#include "sql/values/json_options.h"

namespace glove::sql {
namespace {

enum PcaColumn : int {
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

constexpr const char* kInputNames[] = {"components", "words", "model", "backend", "options"};
const vtab::InputColumns kInputs = {"glove_pca", kComponents, kInputNames, "components = 3"};
constexpr double kCost = 1000;
constexpr double kRows = 10;

// Returns how many components are requested; nullptr means NULL, which requests all.
Result<int64_t> component_count(sqlite3_value* value, int64_t dims) {
  if (value == nullptr) return dims;
  const std::optional<int64_t> count = whole_number(value);
  if (!count || *count < 0)
    return invalid_value("glove_pca",
                         "components must be a non-negative integer, but is " + shown_value(value));
  if (*count > dims)
    return invalid_value("glove_pca", "components is " + std::to_string(*count) +
                                          ", but the model has only " + std::to_string(dims) + " dimensions");
  return *count;
}

class GlovePca {
 public:
  static constexpr const char* kName = "glove_pca";
  static constexpr const char* kSchema =
      "CREATE TABLE glove_pca(component INTEGER, variance REAL, ratio REAL, singular_value REAL, vector "
      "BLOB, "
      "components INTEGER HIDDEN, words TEXT HIDDEN, model TEXT HIDDEN, backend TEXT HIDDEN, options TEXT "
      "HIDDEN)";

  explicit GlovePca(Connection&) {}
  Status plan(sqlite3_index_info* info) { return vtab::plan_inputs(info, kInputs, 0, kCost, kRows); }

  class Cursor {
   public:
    Cursor(GlovePca& table, Connection::Pin& models)
        : models_(models), inputs_(kInputs), rowids_(table.numbers_, kName) {}

    Status start(int plan, const char* plan_text, Arguments values) {
      component_ = end_ = 0;
      GLOVE_RETURN_IF_ERROR(inputs_.read(plan, plan_text, values));
      InterruptPoller poller(models_.connection().db());
      const InterruptCheck interrupted = poller.check();
      GLOVE_ASSIGN_OR_RETURN(
          const ToolboxSubject subject,
          read_subject(models_, kName, inputs_[kWords], inputs_[kModel], inputs_[kBackend], interrupted));
      GLOVE_ASSIGN_OR_RETURN(const int64_t count,
                             component_count(inputs_[kComponents], subject.entry.model->dims()));
      GLOVE_ASSIGN_OR_RETURN(const std::string_view json, options_text(inputs_[kOptions], kName));
      GLOVE_ASSIGN_OR_RETURN(const PcaOptions options, parse_pca_options(json, kName));
      if (subject.count() == 0) return {};
      Engine& engine = models_.connection().engine();
      GLOVE_ASSIGN_OR_RETURN(fit_, find_components(engine, kName, subject, options, interrupted));
      rowids_.start(std::to_string(count) + " " + pca_key(subject, options));
      end_ = count + 1;
      return {};
    }

    Status next() {
      ++component_;
      return {};
    }

    bool at_end() const noexcept { return component_ >= end_; }

    Status column(sqlite3_context* context, int column) {
      const int64_t index = component_ - 1;  // -1: the mean, whose numbers are NULL
      switch (column) {
        case kComponent:
          sqlite3_result_int64(context, component_);
          break;
        case kVariance:
          if (index >= 0) sqlite3_result_double(context, fit_->variances[static_cast<size_t>(index)]);
          break;
        case kRatio:  // NaN, where the rows are all equal, becomes NULL
          if (index >= 0)
            sqlite3_result_double(context,
                                  fit_->variances[static_cast<size_t>(index)] / fit_->total_variance);
          break;
        case kSingularValue:
          if (index >= 0) sqlite3_result_double(context, fit_->singular_values[static_cast<size_t>(index)]);
          break;
        case kVector:
          return_vector(context, index);
          break;
        default:
          return inputs_.return_input(context, column);
      }
      return {};
    }

    Result<int64_t> rowid() { return rowids_.rowid(component_); }

   private:
    void return_vector(sqlite3_context* context, int64_t index) {
      std::vector<float> vector = fit_->mean;
      if (index >= 0) std::copy_n(fit_->vector(index), fit_->dims, vector.begin());
      sqlite3_result_blob64(context, vector.data(), vector.size() * sizeof(float), SQLITE_TRANSIENT);
    }

    Connection::Pin& models_;
    vtab::InputValues inputs_;
    vtab::ScanRowids rowids_;
    std::shared_ptr<const PrincipalComponents> fit_;
    int64_t component_ = 0;
    int64_t end_ = 0;
  };

 private:
  vtab::InputNumbers numbers_;
};

}  // namespace

int register_glove_pca(sqlite3* db, Engine& engine) {
  // No security flag, as glove_nn: it depends on the models, and changes nothing.
  return vtab::register_table<GlovePca>(db, engine);
}

}  // namespace glove::sql
