// glove_stats: the cost of the last 256 searches of the process, by all connections and threads, newest
// first.
//
//   SELECT kind, queries, k, rows_scanned, candidates, total_us FROM glove_stats LIMIT 1;
//   -- word|1|10|341479|15|1650.2
//
// A batch is one row. Times are in microseconds; work outside the stages (sorting, choosing a backend) is
// only part of total_us. words_per_ms counts the rows scanned for all queries together. recall is that of
// approximate answers, and measured what audits of queries with this recall have observed so far, with an
// interval of 95 %; all are NULL for exact answers. plan says what the last query read of the rows, in turn.
#include <string>
#include <utility>
#include <vector>

#include "search/engine.h"
#include "sql/adapter/snapshot.h"
#include "sql/register.h"

namespace glove::sql {
namespace {

// Returns how the last query was answered; NULL if its searcher does not say.
vtab::SnapshotValue plan_of(const ScanCost& cost) {
  if (cost.plan.empty()) return nullptr;
  std::string text(cost.plan);
  if (cost.plan.starts_with("lists"))
    text += ", " + std::to_string(cost.lists_read) + " of " + std::to_string(cost.lists) + " lists";
  if (!cost.unmet.empty()) text.append("; exact, because ").append(cost.unmet);
  return text;
}

vtab::SnapshotRow row_of(const SearchReport& report) {
  const ScanCost& cost = report.cost;
  vtab::SnapshotValue words_per_ms = nullptr;
  if (report.total_us > 0) words_per_ms = static_cast<double>(cost.rows_scanned) * 1000 / report.total_us;
  vtab::SnapshotRow row;
  vtab::append(row, report.model, report.backend, report.device, report.kind, report.queries, report.k,
               cost.rows_scanned, cost.bytes_scanned, cost.candidates, report.resolve_us, cost.scan_us,
               cost.select_us, cost.rescore_us, report.total_us, std::move(words_per_ms));
  if (report.recall < 1) {
    row.emplace_back(report.recall);
    vtab::add_audits(row, report.audited);
  } else {
    row.resize(row.size() + 5);
  }
  row.emplace_back(plan_of(cost));
  return row;
}

struct GloveStats {
  static constexpr const char* kName = "glove_stats";
  static constexpr const char* kSchema =
      "CREATE TABLE glove_stats(model TEXT, backend TEXT, device TEXT, kind TEXT, queries INTEGER, k INTEGER,"
      " rows_scanned INTEGER, bytes_scanned INTEGER, candidates INTEGER, resolve_us REAL, scan_us REAL,"
      " select_us REAL, rescore_us REAL, total_us REAL, words_per_ms REAL, recall REAL, measured REAL,"
      " measured_low REAL, measured_high REAL, audits INTEGER, plan TEXT)";

  static Result<std::vector<vtab::SnapshotRow>> rows(Connection& connection) {
    std::vector<vtab::SnapshotRow> result;
    for (const SearchReport& report : connection.engine().statistics().recent())
      result.push_back(row_of(report));
    return result;
  }
};

}  // namespace

// Not INNOCUOUS, because it shows the searches of other connections of the process, which an untrusted
// schema must not read. Not DIRECTONLY, because it changes nothing.
constexpr SqlObject kGloveStats = vtab::table_object<vtab::Snapshot<GloveStats>>();

}  // namespace glove::sql
