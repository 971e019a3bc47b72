#include "sql/values/toolbox_inputs.h"

#include <algorithm>
#include <cmath>

#include "base/require.h"
#include "sql/values/json_options.h"

namespace glove::sql {
namespace {

Error wrong_words(std::string_view table, sqlite3_value* words) {
  return invalid_value(table, "words is ", shown_value(words),
                       ", but must be a non-negative integer n (the first n words), a JSON array of "
                       "words such as json_group_array(tag) returns, or NULL (all words)");
}

// Adds the rows of the elements of an array to the subject.
class WordsHandler final : public JsonHandler {
 public:
  WordsHandler(std::string_view name, ToolboxSubject& subject)
      : name_(name), words_(subject.entry.model->vocabulary()), ids_(subject.ids) {}

  bool value(JsonValue& value) override {
    if (inside_) {
      add(value);
      return false;
    }
    inside_ = is_array = value.kind == JsonKind::kArray;
    return is_array;
  }

  // An element: a string or an integer is a word, and null is none.
  void add(const JsonValue& element) {
    ++elements_;
    if (element.kind == JsonKind::kText || element.kind == JsonKind::kInteger) {
      const auto id = element.kind == JsonKind::kText ? words_.find(element.text)
                                                      : words_.find(std::to_string(element.integer));
      if (id) ids_.push_back(*id);
    } else if (element.kind != JsonKind::kNull && fault.empty()) {
      fault = concat("element ", elements_, " of ", name_, " must be a word or NULL, but has the JSON type ",
                     json_type_name(element.kind));
    }
  }

  bool is_array = false;
  std::string fault;  // the first one: the end of a message

 private:
  std::string_view name_;
  const Vocabulary& words_;
  std::vector<int32_t>& ids_;
  bool inside_ = false;
  int64_t elements_ = 0;
};

// Completes a choice of rows, or returns what is wrong with it.
Status choose_words(std::string_view object, const WordsHandler& handler, ToolboxSubject& subject) {
  if (!handler.fault.empty()) return invalid_value(object, handler.fault);
  subject.chosen = true;
  std::sort(subject.ids.begin(), subject.ids.end());
  subject.ids.erase(std::unique(subject.ids.begin(), subject.ids.end()), subject.ids.end());
  return {};
}

Status read_words(std::string_view table, sqlite3_value* words, ToolboxSubject& subject,
                  const InterruptCheck& interrupted) {
  subject.rows = subject.entry.model->words();
  if (words == nullptr || is_null(words)) return {};
  if (is_blob(words)) return wrong_words(table, words);
  if (const std::optional<int64_t> count = whole_number(words)) {
    if (*count < 0) return wrong_words(table, words);
    subject.rows = std::min(subject.rows, *count);
    return {};
  }
  WordsHandler handler("words", subject);
  GLOVE_ASSIGN_OR_RETURN(const bool is_json, read_json(text_of(words), handler, interrupted));
  if (!is_json || !handler.is_array) return wrong_words(table, words);
  return choose_words(table, handler, subject);
}

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

Result<PointSet> ToolboxSubject::points(const InterruptCheck& interrupted) const {
  return chosen ? PointSet::chosen_rows(entry.model, ids, interrupted)
                : PointSet::first_rows(entry.model, rows, interrupted);
}

Result<AnalysisBackends> analysis_backends(Engine& engine, std::string_view table, sqlite3_value* value) {
  const auto all = engine.backends().all();
  Backend* const cpu = all.back().get();  // the CPU's is the last
  AnalysisBackends chosen;
  GLOVE_ASSIGN_OR_RETURN(const auto name, optional_text(value, table, "backend"));
  if (name && *name != "auto") {
    chosen.first = engine.backends().find(*name);
    if (chosen.first == nullptr)
      return invalid_value(table, "there is no backend ", shown_value(value),
                           "; the backends are: ", engine.backends().choices());
  } else {
    GLOVE_ASSIGN_OR_RETURN(chosen.first, engine.settings().backend());
    for (size_t i = 0; chosen.first == nullptr && i < all.size(); ++i)
      if (all[i]->analysis() != nullptr && all[i]->available().ok()) {
        chosen.first = all[i].get();
        if (chosen.first != cpu) chosen.fallback = cpu;
      }
  }
  if (chosen.first == nullptr || chosen.first->analysis() == nullptr) chosen = {cpu, nullptr};
  GLOVE_RETURN_IF_ERROR(chosen.first->available());
  return chosen;
}

void record_fit(Engine& engine, const ToolboxSubject& subject, const char* kind, const Timer& timer,
                SearchReport report) {
  report.model = subject.entry.name;
  report.kind = kind;
  report.queries = 1;
  report.total_us = timer.microseconds();
  engine.statistics().record(std::move(report));
}

std::string ToolboxSubject::key() const {
  std::string key = concat(entry.model->id(), chosen ? " of " : " first ");
  if (!chosen) return concat(key, rows);
  return key.append(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(int32_t));
}

Result<ToolboxSubject> read_subject(Connection::Pin& models, std::string_view table, sqlite3_value* words,
                                    sqlite3_value* model, sqlite3_value* backend,
                                    const InterruptCheck& interrupted) {
  ToolboxSubject subject;
  GLOVE_ASSIGN_OR_RETURN(const auto name, optional_text(model, table, "model"));
  GLOVE_ASSIGN_OR_RETURN(subject.entry, models.find(name));
  GLOVE_RETURN_IF_ERROR(subject.entry.model->health());
  GLOVE_RETURN_IF_ERROR(read_words(table, words, subject, interrupted));
  GLOVE_ASSIGN_OR_RETURN(subject.backends, analysis_backends(models.connection().engine(), table, backend));
  return subject;
}

Result<ToolboxSubject> subject_of(Engine& engine, std::string_view object, CatalogEntry entry) {
  ToolboxSubject subject;
  subject.entry = std::move(entry);
  subject.rows = subject.entry.model->words();
  GLOVE_RETURN_IF_ERROR(subject.entry.model->health());
  GLOVE_ASSIGN_OR_RETURN(subject.backends, analysis_backends(engine, object, nullptr));
  return subject;
}

Status choose_rows(std::string_view object, std::string_view name, const std::optional<JsonValue>& rows,
                   ToolboxSubject& subject, const InterruptCheck& interrupted) {
  if (!rows) return {};
  int64_t count = 0;
  if (take_whole(*rows, 0, count)) {
    subject.rows = std::min(subject.rows, count);
    return {};
  }
  GLOVE_REQUIRE(rows->kind == JsonKind::kArray);
  WordsHandler handler(name, subject);
  InterruptPoll poll(interrupted);
  for (const JsonValue& element : rows->elements) {
    GLOVE_RETURN_IF_ERROR(poll.check());
    handler.add(element);
  }
  return choose_words(object, handler, subject);
}

Result<std::optional<std::pair<double, double>>> read_place(Arguments row, std::string_view function) {
  double place[2];
  bool missing = false;
  for (size_t i = 0; i < 2; ++i) {
    place[i] = number_of(row[i]).value_or(HUGE_VAL);
    missing = missing || is_null(row[i]);
    if (!std::isfinite(place[i]) && !is_null(row[i]))
      return invalid_value(function, i == 0 ? "x" : "y", " is ", shown_value(row[i]),
                           ", but must be a finite number");
  }
  return missing ? std::optional<std::pair<double, double>>() : std::pair(place[0], place[1]);
}

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
