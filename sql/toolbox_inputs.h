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
#include "base/status.h"
#include "search/engine.h"
#include "sql/boundary.h"
#include "sql/connection.h"

namespace glove::sql {

// Which rows to work on, and what computes.
struct ToolboxSubject {
  CatalogEntry entry;            // the model, by the name under which it was found
  int64_t rows = 0;              // the first rows of the model, if no ids are chosen
  bool chosen = false;           // the rows with these ids instead
  std::vector<int32_t> ids;      // rising, each once
  Analysis* analysis = nullptr;  // lives as long as the engine
  std::string backend;           // whose it is

  int64_t count() const { return chosen ? static_cast<int64_t>(ids.size()) : rows; }
  PointSet points() const;
  // Spells the model and the rows, for keys of the ResultCache.
  std::string key() const;
};

// words    NULL: all words; a whole number n: the first n; a JSON array: these words, without NULLs, words
// that
//          the model lacks, and repetitions, in the order of the model
// model    a model's name; NULL: the default model
// backend  a registered backend, or "auto" (NULL): the first that is available and has a toolbox. A backend
//          without one leaves the work to the CPU.
// nullptr stands for NULL. `table` begins the messages.
Result<ToolboxSubject> read_subject(Connection::Pin& models, std::string_view table, sqlite3_value* words,
                                    sqlite3_value* model, sqlite3_value* backend);

// The whole number that a value is: 3, 3.0 and '3'; nullopt if it is none.
std::optional<int64_t> whole_number(sqlite3_value* value);

// A value as it stands in a message: text in quotes, at most 60 bytes of it.
std::string shown_value(sqlite3_value* value);

}  // namespace glove::sql
