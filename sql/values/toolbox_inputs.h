// The inputs that the tables of the toolbox share (`words`, `model`, `backend`, and options in JSON), and
// those that the functions over points in the plane do. Matrices are JSON: an array of rows, each an array of
// numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/grid.h"
#include "analysis/points.h"
#include "analysis/takeover.h"
#include "base/json.h"
#include "base/status.h"
#include "base/timer.h"
#include "search/backend.h"
#include "search/engine.h"
#include "search/statistics.h"
#include "sql/adapter/arguments.h"
#include "sql/adapter/boundary.h"
#include "sql/adapter/connection.h"

namespace glove::sql {

// The rows that a table of the toolbox works on, and the backends that do the work.
struct ToolboxSubject {
  CatalogEntry entry;        // the model, by the name under which it was found
  int64_t rows = 0;          // the first rows of the model, if no ids are chosen
  bool chosen = false;       // the rows with these ids instead
  std::vector<int32_t> ids;  // ascending, each once
  AnalysisBackends backends;

  // The model's row that row `index` of the subject is.
  int64_t row_id(int64_t index) const { return chosen ? ids[static_cast<size_t>(index)] : index; }
  int64_t count() const { return chosen ? static_cast<int64_t>(ids.size()) : rows; }
  // Copies chosen rows. Errors: an interrupt.
  Result<PointSet> points(const InterruptCheck& interrupted) const;
  // Returns a string that identifies the model and the rows, for keys of the ResultCache.
  std::string key() const;
};

// Returns the backends that compute for the toolbox. `value` names one; nullptr, NULL or "auto" means the
// first one that is available and offers the toolbox. If the named backend does not offer it, the CPU does
// the work. Error messages begin with `table`.
Result<AnalysisBackends> analysis_backends(Engine& engine, std::string_view table, sqlite3_value* value);

// Adds a fit of the subject to glove_stats. The report has its backend, `k` and cost.
void record_fit(Engine& engine, const ToolboxSubject& subject, const char* kind, const Timer& timer,
                SearchReport report);

// words    NULL means all words; an integer n means the first n; a JSON array means these words, in the
//          order of the model, without NULLs, repetitions and words that the model lacks.
// model    The name of a model; NULL means the default model.
// backend  As analysis_backends() takes it.
//
// nullptr stands for NULL. Error messages begin with `table`; an interrupt is an error.
Result<ToolboxSubject> read_subject(Connection::Pin& models, std::string_view table, sqlite3_value* words,
                                    sqlite3_value* model, sqlite3_value* backend,
                                    const InterruptCheck& interrupted);

// Returns all rows of the model as a subject, on the backend that NULL means.
Result<ToolboxSubject> subject_of(Engine& engine, std::string_view object, CatalogEntry entry);

// Restricts the subject to `rows`: a non-negative integer or an array of words, with the same meaning as
// `words` above. nullopt means all rows. Messages begin with `object` and call the value `name`; an interrupt
// is an error.
Status choose_rows(std::string_view object, std::string_view name, const std::optional<JsonValue>& rows,
                   ToolboxSubject& subject, const InterruptCheck& interrupted);

// Reads the place of a point, the first two arguments of the aggregates: x and y. Returns nullopt if one of
// them is NULL. Anything but a finite number is an error that names the function, the parameter and the
// value.
Result<std::optional<std::pair<double, double>>> read_place(Arguments row, std::string_view function);

// Parses a matrix, which may be empty: []. Rows of different lengths, elements that are not finite numbers,
// and an interrupt are errors. `object` begins the messages, which call the matrix `name`.
Result<Grid> parse_grid(std::string_view json, std::string_view object, std::string_view name,
                        const InterruptCheck& interrupted);

// Makes the matrix the result of the function. A number that is not finite is an error, and so is an
// interrupt.
Status return_grid(sqlite3_context* context, const Grid& grid, std::string_view object,
                   const InterruptCheck& interrupted);

}  // namespace glove::sql
