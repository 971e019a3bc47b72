// Small read-only tables whose rows are computed when a scan begins, such as glove_models:
//
//   struct Definition {
//     static constexpr const char* kName = "glove_t";
//     static constexpr const char* kSchema = "CREATE TABLE glove_t(a TEXT, b INTEGER)";
//     static Result<std::vector<SnapshotRow>> rows(Connection& connection);
//   };  // rows() is called from the thread of the scan
//   constexpr SqlObject kGloveT = vtab::table_object<vtab::Snapshot<Definition>>();
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "search/statistics.h"
#include "sql/adapter/table.h"

namespace glove::sql::vtab {

// NULL by default. Cannot be copied: if there is no memory for the copy of a text, libstdc++ 12 destroys a
// text that it has not made.
struct SnapshotValue : std::variant<std::nullptr_t, int64_t, double, std::string> {
  using variant::variant;
  SnapshotValue() = default;
  SnapshotValue(SnapshotValue&&) = default;
  SnapshotValue& operator=(SnapshotValue&&) = default;
};
using SnapshotRow = std::vector<SnapshotValue>;  // one value per column, in declared order

// Appends the values, each of which is made in its place.
template <class... Values>
void append(SnapshotRow& row, Values&&... values) {
  row.reserve(row.size() + sizeof...(values));
  (row.emplace_back(std::forward<Values>(values)), ...);
}

// Makes the value the result of xColumn.
inline void return_value(sqlite3_context* context, const SnapshotValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return sqlite3_result_int64(context, *integer);
  if (const auto* real = std::get_if<double>(&value)) return sqlite3_result_double(context, *real);
  if (const auto* text = std::get_if<std::string>(&value)) return return_text(context, *text);
  sqlite3_result_null(context);
}

// Appends the columns measured, measured_low, measured_high and audits.
inline void add_audits(SnapshotRow& row, const AuditedRecall& audited) {
  if (audited.audits == 0)
    append(row, nullptr, nullptr, nullptr);
  else
    append(row, audited.observed, audited.low, audited.high);
  row.emplace_back(audited.audits);
}

// The table of a Definition. Every scan visits all rows; SQLite applies the conditions. rowid starts at 1.
template <class Definition>
class Snapshot {
 public:
  static constexpr const char* kName = Definition::kName;
  static constexpr const char* kSchema = Definition::kSchema;

  explicit Snapshot(Connection& connection) : connection_(connection) {}

  Status plan(sqlite3_index_info* info) {
    info->estimatedCost = 1000;
    info->estimatedRows = 100;
    return {};
  }

  class Cursor {
   public:
    Cursor(Snapshot& table, Connection::Pin&) : connection_(table.connection_) {}

    Status start(int, const char*, Arguments) {
      position_ = 0;
      GLOVE_ASSIGN_OR_RETURN(rows_, Definition::rows(connection_));
      return {};
    }
    Status next() {
      ++position_;
      return {};
    }
    bool at_end() const noexcept { return position_ >= rows_.size(); }
    Status column(sqlite3_context* context, int column) {
      return_value(context, rows_[position_][static_cast<size_t>(column)]);
      return {};
    }
    Result<int64_t> rowid() { return static_cast<int64_t>(position_) + 1; }

   private:
    Connection& connection_;
    std::vector<SnapshotRow> rows_;
    size_t position_ = 0;
  };

 private:
  Connection& connection_;
};

}  // namespace glove::sql::vtab
