// glove_expand(word, k [, min_similarity [, model]]): returns a word and its neighbours as a query of FTS5.
//
//   SELECT glove_expand('piano', 2);                        -- "piano" OR "violin" OR "cello"
//   SELECT * FROM page WHERE page MATCH glove_expand('piano', 5, 0.7);
//
// Each word is an FTS5 string, so whatever it contains is text and not syntax. There are at most k
// neighbours, the nearest first, and only those of at least that similarity. Returns the word alone if the
// model lacks it, and NULL if word is NULL.
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/timer.h"
#include "search/nearest.h"
#include "search/query.h"
#include "sql/adapter/arguments.h"
#include "sql/register.h"

namespace glove::sql {
namespace {

constexpr std::string_view kExpand = "glove_expand";

// Appends a word as an FTS5 string. FTS5 reads a query up to its first NUL, so that becomes a space.
void append_string(std::string& query, std::string_view word) {
  if (!query.empty()) query += " OR ";
  query += '"';
  for (const char c : word) {
    if (c == '"') query += '"';
    query += c == '\0' ? ' ' : c;
  }
  query += '"';
}

Result<int64_t> count_argument(sqlite3_value* value) {
  const std::optional<int64_t> k = whole_number(value);
  if (!k || *k < 0)
    return invalid_value(kExpand, "k must be a non-negative integer, but is ", shown_value(value));
  return *k;
}

// Returns -infinity if there is no such argument.
Result<double> similarity_argument(Arguments arguments) {
  if (arguments.size() < 3 || is_null(arguments[2])) return -HUGE_VAL;
  if (const auto number = number_of(arguments[2])) return *number;
  return invalid_value(kExpand, "min_similarity must be a number, but is ", shown_value(arguments[2]));
}

Result<std::vector<Neighbor>> neighbors_of(sqlite3_context* context, const CatalogEntry& entry,
                                           std::string_view word, int64_t k) {
  const Timer timer;
  const MaybeQuery query = query_for_word(*entry.model, word);
  if (!query || k == 0) return std::vector<Neighbor>();
  InterruptPoller poller(sqlite3_context_db_handle(context));
  SearchOptions options;
  options.interrupted = poller;
  SearchReport report;
  report.model = entry.name;
  report.kind = "word";
  report.resolve_us = timer.microseconds();
  GLOVE_ASSIGN_OR_RETURN(auto answers, nearest(*entry.searchers, std::span(&*query, 1), k, options, report));
  engine_of(context).statistics().record(std::move(report));
  return std::move(answers.front());
}

Status glove_expand(sqlite3_context* context, Arguments arguments) {
  if (is_null(arguments[0])) return Status();
  GLOVE_ASSIGN_OR_RETURN(const std::string_view word, required_text(arguments, 0, kExpand, "word"));
  GLOVE_ASSIGN_OR_RETURN(const int64_t k, count_argument(arguments[1]));
  GLOVE_ASSIGN_OR_RETURN(const double least, similarity_argument(arguments));
  GLOVE_ASSIGN_OR_RETURN(const auto name, optional_text(arguments, 3, kExpand, "model"));
  GLOVE_ASSIGN_OR_RETURN(const CatalogEntry entry, connection_of(context).find(name));
  if (least > -HUGE_VAL && entry.model->metric() == RowMetric::kL2)
    return no_similarity(kExpand, entry.name, RowMetric::kL2, "leave min_similarity out");
  GLOVE_ASSIGN_OR_RETURN(const std::vector<Neighbor> neighbors, neighbors_of(context, entry, word, k));
  std::string query;
  append_string(query, word);
  for (const Neighbor& neighbor : neighbors)
    if (neighbor.similarity >= least) append_string(query, entry.model->vocabulary().word(neighbor.id));
  GLOVE_RETURN_IF_ERROR(entry.model->health());
  return_text(context, query);
  return Status();
}

}  // namespace

// The flags of cos_sim, for the same reasons.
constexpr SqlObject kGloveExpand = scalar_function<glove_expand>("glove_expand", 2, 4, SQLITE_DETERMINISTIC);

}  // namespace glove::sql
