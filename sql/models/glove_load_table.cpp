// glove_load_table(name, sql [, options]): makes a model of the rows of a SELECT, so that an application can
// search its own embeddings. Returns the name.
//
//   SELECT glove_load_table('tags', 'SELECT tag, embedding FROM tags');   -- tags
//   SELECT n.neighbor FROM glove_nn('sqlite') n WHERE n.model = 'tags' AND n.k = 5;
//
// The first column is the word, TEXT or INTEGER (the same type in all rows). The second column is its vector,
// a BLOB of little-endian float32 or a JSON array of numbers. A third column, if there is one, is how often
// the word occurs, for the option "weights":"model" of glove_text_vec. The SELECT runs once, in the
// transaction of the caller; the model is a copy and does not reflect later changes. If a word occurs twice,
// its first row is used.
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "base/scope_exit.h"
#include "base/status.h"
#include "model/model_builder.h"
#include "search/engine.h"
#include "sql/adapter/direct_call.h"
#include "sql/adapter/interrupt.h"
#include "sql/adapter/own_statement.h"
#include "sql/models/load_options.h"
#include "sql/register.h"
#include "sql/values/blob_type.h"
#include "sql/values/json_options.h"
#include "sql/values/row_vector.h"

namespace glove::sql {
namespace {

template <class... Pieces>
Error load_error(const Pieces&... pieces) {
  return invalid_value("glove_load_table", pieces...);
}

// Prepares the only statement of `sql`, which must be read-only and return two or three columns.
Status prepare_select(sqlite3* db, std::string_view sql, OwnStatement& select) {
  std::string_view tail;
  GLOVE_RETURN_IF_ERROR(select.prepare(db, sql, "glove_load_table: the SELECT failed", &tail));
  if (!select.prepared()) return load_error("the SQL is empty; write SELECT word, vector FROM ...");
  OwnStatement second;
  if (!second.prepare(db, tail, "glove_load_table").ok() || second.prepared())
    return load_error("the SQL has more than one statement; write one SELECT");
  if (!select.is_read_only()) return load_error("the SQL writes to the database; write one SELECT");
  if (select.columns() != 2 && select.columns() != 3)
    return load_error(
        "the SELECT must return two columns, the word and its vector, or a third with its frequency, but "
        "returns ",
        select.columns());
  return {};
}

// Reads the vector of a row and checks the type of its word. An error has the end of a message;
// model_of_rows() adds the beginning.
Status read_row(const OwnStatement::Run& row, std::vector<float>& vector, const InterruptCheck& interrupted) {
  const int word_type = sqlite3_value_type(row.value(0));
  if (word_type != SQLITE_TEXT && word_type != SQLITE_INTEGER)
    return invalid_argument("has a word of type ", type_name_of(word_type),
                            "; a word must be TEXT or INTEGER");
  return read_row_vector(row.value(1), vector, interrupted);
}

// Reads the frequency of a word, with such an error.
Result<double> read_count(sqlite3_value* value) {
  const int type = sqlite3_value_type(value);
  const double count = sqlite3_value_double(value);
  if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !std::isfinite(count) || count < 0)
    return invalid_argument("has the frequency ", shown_value(value),
                            ", but a frequency must be a finite number of at least 0");
  return count;
}

// Returns the model with the frequencies of its words, if the SELECT had any.
Result<ModelPtr> with_frequencies(ModelPtr model, std::vector<double> counts, const std::string& source) {
  if (counts.empty()) return model;
  double total = 0;
  for (const double count : counts) total += count;
  if (!(total > 0) || !std::isfinite(total))
    return invalid_argument(source, ": the frequencies must have a finite sum above 0");
  return with_counts(model, std::move(counts));
}

Result<ModelPtr> model_of_rows(Connection& connection, OwnStatement& select, const std::string& source,
                               const OpenOptions& options, BlobTypes& types) {
  ModelBuilder builder(source);
  builder.set_metric(options.metric);
  WorkWatch watch(connection, source);
  const InterruptCheck interrupted = watch.interrupted();
  std::vector<float> vector;
  std::vector<double> counts;
  const bool has_counts = select.columns() == 3;
  OwnStatement::Run run(select);
  for (int64_t row = 1;; ++row) {
    GLOVE_ASSIGN_OR_RETURN(const bool more, run.next());
    if (!more) break;
    watch.report("row", row, 0);
    const Status read = read_row(run, vector, interrupted);
    if (!read.ok() && read.error().code == ErrorCode::kInterrupted) return read.error();
    if (!read.ok()) return Error{read.error().code, concat(source, ": row ", row, " ", read.error().message)};
    if (is_blob(run.value(1))) types.add(vector);
    // The builder also numbers rows in its messages, so every row must reach it.
    sqlite3_value* word = run.value(0);
    GLOVE_ASSIGN_OR_RETURN(const bool is_new, sqlite3_value_type(word) == SQLITE_INTEGER
                                                  ? builder.add(sqlite3_value_int64(word), vector)
                                                  : builder.add(text_of(word), vector));
    if (!has_counts || !is_new) continue;
    const Result<double> count = read_count(run.value(2));
    if (!count.ok())
      return Error{count.error().code, concat(source, ": row ", row, " ", count.error().message)};
    counts.push_back(count.value());
  }
  GLOVE_ASSIGN_OR_RETURN(ModelPtr model, builder.finish(options.threads, interrupted));
  return with_frequencies(std::move(model), std::move(counts), source);
}

Status glove_load_table(sqlite3_context* context, Arguments arguments) {
  constexpr std::string_view kFunction = "glove_load_table";
  GLOVE_ASSIGN_OR_RETURN(const std::string_view name, required_text(arguments, 0, kFunction, "name"));
  GLOVE_ASSIGN_OR_RETURN(const std::string_view sql, required_text(arguments, 1, kFunction, "SQL"));
  GLOVE_ASSIGN_OR_RETURN(const auto json, optional_text(arguments, 2, kFunction, "options"));
  if (name.empty()) return load_error("the name must not be empty");
  GLOVE_ASSIGN_OR_RETURN(const OpenOptions options, parse_load_options(json, LoadSource::kTable, kFunction));
  if (sql.find('\0') != std::string_view::npos) return load_error("the SQL must not contain a NUL byte");
  sqlite3* db = sqlite3_context_db_handle(context);
  // The rows could call glove_load_table again, with SQL from a table, and so recurse without end; during a
  // load, check_direct_call() forbids that.
  Connection& connection = connection_of(context);
  connection.set_loads_rows(true);
  const ScopeExit loaded([&] { connection.set_loads_rows(false); });
  OwnStatement select;
  GLOVE_RETURN_IF_ERROR(prepare_select(db, sql, select));
  const std::string source = "glove_load_table(" + quoted_value(name) + ")";
  BlobTypes types;
  Result<ModelPtr> read = model_of_rows(connection, select, source, options, types);
  GLOVE_RETURN_IF_ERROR(types.check(source, ""));
  GLOVE_ASSIGN_OR_RETURN(ModelPtr model, std::move(read));
  connection.add(std::string(name), std::move(model));
  return_text(context, name);
  return Status();
}

}  // namespace

// Direct-only, because it runs any SELECT and changes what every connection of the process sees, so no
// view, trigger or default of a database file may call it.
constexpr SqlObject kGloveLoadTable = direct_function<glove_load_table>("glove_load_table", 2, 3);

}  // namespace glove::sql
