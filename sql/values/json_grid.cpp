#include "sql/values/json_grid.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "sql/adapter/arguments.h"
#include "sql/values/json_options.h"

namespace glove::sql {
namespace {

class GridHandler final : public JsonHandler {
 public:
  explicit GridHandler(std::string_view name) : name_(name) {}

  bool value(JsonValue& value) override {
    if (depth_ == 0) {
      is_array = value.kind == JsonKind::kArray;
    } else if (depth_ == 1) {
      ++grid.rows;
      row_begin_ = grid.values.size();
      if (value.kind != JsonKind::kArray) fail("must be an array of numbers, but is " + shown_json(value));
    } else if (value.is_number()) {
      grid.values.push_back(value.number);
    } else {
      fail("has " + shown_json(value) + " where a number must be");
    }
    if (depth_ == 2 || value.kind != JsonKind::kArray) return false;
    ++depth_;
    return true;
  }

  void end() override {
    if (--depth_ == 0) return;
    const auto columns = static_cast<int64_t>(grid.values.size() - row_begin_);
    if (grid.rows == 1) grid.columns = columns;
    if (columns != grid.columns)
      fail("has " + counted(columns, "numbers") + ", but row 1 has " + std::to_string(grid.columns));
  }

  bool is_array = false;
  std::string fault;  // the first one: the end of a message
  Grid grid;

 private:
  void fail(const std::string& what) {
    if (fault.empty())
      fault = "row " + std::to_string(grid.rows) + " of the " + std::string(name_) + " " + what;
  }

  std::string_view name_;
  int depth_ = 0;  // 1: among the rows, 2: in a row
  size_t row_begin_ = 0;
};

}  // namespace

Result<Grid> parse_grid(std::string_view json, std::string_view object, std::string_view name,
                        const InterruptCheck& interrupted) {
  GridHandler handler(name);
  GLOVE_ASSIGN_OR_RETURN(const bool is_json, read_json(json, handler, interrupted));
  if (!is_json || !handler.is_array)
    return invalid_value(object, "the ", name, " must be a JSON array of rows, such as [[1,2],[3,4]]");
  if (!handler.fault.empty()) return invalid_value(object, handler.fault);
  return std::move(handler.grid);
}

Status return_grid(sqlite3_context* context, const Grid& grid, std::string_view object,
                   const InterruptCheck& interrupted) {
  if (!std::ranges::all_of(grid.values, [](double value) { return std::isfinite(value); }))
    return invalid_value(object, "a number of the result is too large");
  InterruptPoll poll(interrupted);
  std::string json = "[";
  for (int64_t i = 0; i < grid.rows; ++i) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    json += i == 0 ? "[" : ",[";
    for (int64_t j = 0; j < grid.columns; ++j) {
      if (j > 0) json += ',';
      json += json_text(grid.row(i)[j]);
    }
    json += ']';
  }
  return_json(context, json += ']');
  return {};
}

}  // namespace glove::sql
