// Tables whose rows are parts of a fit, such as the words of glove_kmeans:
//
//   class Rows {                    // of one scan
//    public:
//     static constexpr const char* kName = "glove_t";
//     static constexpr const char* kSchema = "CREATE TABLE glove_t(...)";
//     static constexpr vtab::InputColumns kInputs = {...};      // the last columns of the schema
//     static Status plan(sqlite3_index_info* info);             // xBestIndex, by vtab::plan_inputs()
//     // Finds the fit for the inputs; `plan` and `values` are those of xFilter.
//     Result<FitRange> start(Connection::Pin& models, const vtab::InputValues& inputs, int plan,
//                            Arguments values);
//     bool has(int64_t row) const;  // optional: whether the scan visits this row of the range
//     // Optional: finds the next row, or returns false behind the last one.
//     Result<bool> find(Connection::Pin& models);
//     // Optional, with find(): moves to the next row if it is at hand; otherwise returns false.
//     bool next_buffered() noexcept;
//     // A column that is no input; may also return a Status.
//     void column(sqlite3_context* context, int64_t row, int column);
//     int64_t id(int64_t row) const;  // what tells the rows of a fit apart, from 0 to 2^31 - 1
//   };
//
// vtab::table_object<FitTable<Rows>>() makes it an SQL object.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "sql/adapter/input_numbers.h"
#include "sql/adapter/inputs.h"
#include "sql/adapter/table.h"

namespace glove::sql {

// The rows that a scan visits.
struct FitRange {
  std::string key = {};      // identifies everything that the rows depend on
  ModelPtr model = nullptr;  // whose words are read from its file; null: there are none
  int64_t first = 0;
  int64_t end = 0;

  static constexpr int64_t kUnknownEnd = std::numeric_limits<int64_t>::max();  // with Rows::find()
};

// The table of such a class.
template <class Rows>
class FitTable {
 public:
  static constexpr const char* kName = Rows::kName;
  static constexpr const char* kSchema = Rows::kSchema;

  explicit FitTable(Connection&) {}
  Status plan(sqlite3_index_info* info) { return Rows::plan(info); }

  class Cursor {
   public:
    Cursor(FitTable& table, Connection::Pin& models)
        : models_(models), inputs_(Rows::kInputs), rowids_(table.numbers_, kName) {}

    Status start(int plan, const char* plan_text, Arguments values) {
      range_ = {};
      GLOVE_RETURN_IF_ERROR(inputs_.read(plan, plan_text, values));
      GLOVE_ASSIGN_OR_RETURN(range_, rows_.start(models_, inputs_, plan, values));
      rowids_.start(std::move(range_.key));
      return visit();
    }
    Status next() {
      ++range_.first;
      return visit();
    }
    bool next_buffered() noexcept requires requires(Rows& rows) { rows.next_buffered(); }
    {
      if (!rows_.next_buffered()) return false;
      ++range_.first;
      return true;
    }
    bool at_end() const noexcept { return range_.first >= range_.end; }
    Status column(sqlite3_context* context, int column) {
      if (Rows::kInputs.contains(column)) return inputs_.return_input(context, column);
      if constexpr (std::is_void_v<decltype(rows_.column(context, 0, column))>) {
        rows_.column(context, range_.first, column);
        return {};
      } else {
        return rows_.column(context, range_.first, column);
      }
    }
    Result<int64_t> rowid() { return rowids_.rowid(rows_.id(range_.first)); }

   private:
    // Moves on to a row that is visited. Behind the last, checks the words that were read.
    Status visit() {
      if constexpr (requires { rows_.find(models_); })
        if (!at_end()) {
          GLOVE_ASSIGN_OR_RETURN(const bool found, rows_.find(models_));
          if (!found) range_.end = range_.first;
        }
      if constexpr (requires { rows_.has(0); })
        while (!at_end() && !rows_.has(range_.first)) ++range_.first;
      return at_end() && range_.model != nullptr ? range_.model->health() : Status();
    }

    Connection::Pin& models_;
    vtab::InputValues inputs_;
    vtab::ScanRowids rowids_;
    Rows rows_;
    FitRange range_;
  };

 private:
  vtab::InputNumbers numbers_;
};

}  // namespace glove::sql
