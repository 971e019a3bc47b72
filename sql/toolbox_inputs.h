// The inputs that the tables of the toolbox share: `words`, `model`, `backend`, and options in JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/points.h"
#include "analysis/takeover.h"
#include "base/cancel.h"
#include "base/status.h"
#include "search/backend.h"
#include "search/engine.h"
#include "sql/boundary.h"
#include "sql/connection.h"
#include "sql/json_reader.h"

namespace glove::sql {

// The rows that a table of the toolbox works on, and the backends that do the work.
struct ToolboxSubject {
  CatalogEntry entry;        // the model, by the name under which it was found
  int64_t rows = 0;          // the first rows of the model, if no ids are chosen
  bool chosen = false;       // the rows with these ids instead
  std::vector<int32_t> ids;  // rising, each once
  AnalysisBackends backends;

  int64_t count() const { return chosen ? static_cast<int64_t>(ids.size()) : rows; }
  // Copies chosen rows. Errors: an interrupt.
  Result<PointSet> points(const InterruptCheck& interrupted) const;
  // Spells the model and the rows, for keys of the ResultCache.
  std::string key() const;
};

// The backends that compute for the toolbox if `value` names a backend. nullptr, NULL or "auto" means the
// first one that is available and offers the toolbox. If the named backend does not offer it, the CPU does
// the work. Error messages begin with `table`.
Result<AnalysisBackends> analysis_backends(Engine& engine, std::string_view table, sqlite3_value* value);

// words    NULL means all words; an integer n means the first n; a JSON array means these words, in the
//          order of the model, without NULLs, repetitions and words that the model lacks.
// model    The name of a model; NULL means the default model.
// backend  As analysis_backends() takes it.
//
// nullptr stands for NULL. Error messages begin with `table`; an interrupt is an error.
Result<ToolboxSubject> read_subject(Connection::Pin& models, std::string_view table, sqlite3_value* words,
                                    sqlite3_value* model, sqlite3_value* backend,
                                    const InterruptCheck& interrupted);

// The subject that is all rows of the model, on the backend that NULL means.
Result<ToolboxSubject> subject_of(Engine& engine, std::string_view object, CatalogEntry entry);

// Chooses among the rows of the subject's model: a non-negative integer or an array of words, as `words` may
// be. nullopt means all rows. Messages begin with `object` and call the value `name`; an interrupt is an
// error.
Status choose_rows(std::string_view object, std::string_view name, const std::optional<JsonValue>& rows,
                   ToolboxSubject& subject, const InterruptCheck& interrupted);

// The integer that a value equals, as do 3, 3.0 and '3'; nullopt if there is none.
std::optional<int64_t> whole_number(sqlite3_value* value);

// A value as error messages show it: text is quoted and cut after 60 bytes.
std::string shown_value(sqlite3_value* value);

}  // namespace glove::sql
