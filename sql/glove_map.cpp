// glove_map(words, model, backend, options): a place in the plane for each word, by its first two principal
// components.
//
//   SELECT word, x, y FROM glove_map(1000);
//   SELECT m.word, m.x, m.y FROM (SELECT json_group_array(tag) AS w FROM item) t JOIN glove_map(t.w) m;
//
// option     value          meaning
// method     "pca"          how the places are found; the only method so far
// unit_rows  true, false    maps directions: divides each row by its length first, and leaves zero rows out
//                           (default true)
//
// The components are those of glove_pca for the same words, and are kept like them.
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/plane.h"
#include "sql/interrupt.h"
#include "sql/json_options.h"
#include "sql/pca_fit.h"
#include "sql/register.h"
#include "sql/vtab/input_numbers.h"
#include "sql/vtab/inputs.h"
#include "sql/vtab/table.h"

namespace glove::sql {
namespace {

enum MapColumn : int { kWord, kX, kY, kWords, kModel, kBackend, kOptions };

constexpr const char* kInputNames[] = {"words", "model", "backend", "options"};
const vtab::InputColumns kInputs = {"glove_map", kWords, kInputNames, "words = 1000"};
constexpr double kCost = 10000;
constexpr double kRows = 10000;

struct MapOptions {
  bool unit_rows = true;
};
using MapOption = JsonOption<MapOptions>;
constexpr std::array kMapOptions = {
    MapOption{"method", "\"pca\"",
              [](const JsonValue& value, MapOptions&) {
                return value.kind == JsonKind::kText && value.text == "pca";
              }},
    MapOption{
        "unit_rows", "true or false",
        [](const JsonValue& value, MapOptions& options) { return take_flag(value, options.unit_rows); }},
};

class GloveMap {
 public:
  static constexpr const char* kName = "glove_map";
  static constexpr const char* kSchema =
      "CREATE TABLE glove_map(word TEXT, x REAL, y REAL, words TEXT HIDDEN, model TEXT HIDDEN, backend TEXT "
      "HIDDEN, options TEXT HIDDEN)";

  explicit GloveMap(Connection&) {}
  Status plan(sqlite3_index_info* info) { return vtab::plan_inputs(info, kInputs, 0, kCost, kRows); }

  class Cursor {
   public:
    Cursor(GloveMap& table, Connection::Pin& models) : table_(table), models_(models), inputs_(kInputs) {
      table_.numbers_.open();
    }
    ~Cursor() { table_.numbers_.close(); }
    Cursor(const Cursor&) = delete;
    Cursor& operator=(const Cursor&) = delete;

    Status start(int plan, const char* plan_text, Arguments values) {
      places_ = {};
      next_ = 0;
      number_ = -1;
      GLOVE_RETURN_IF_ERROR(inputs_.read(plan, plan_text, values));
      GLOVE_ASSIGN_OR_RETURN(
          subject_, read_subject(models_, kName, inputs_[kWords], inputs_[kModel], inputs_[kBackend]));
      GLOVE_ASSIGN_OR_RETURN(const std::string_view json, options_text(inputs_[kOptions], kName));
      MapOptions options;
      GLOVE_RETURN_IF_ERROR(parse_options(json, kName, "{\"method\":\"pca\"}", kMapOptions, options));
      key_ = std::string(options.unit_rows ? "unit " : "raw ") + subject_.key();
      return subject_.count() == 0 ? Status() : find_places(options);
    }

    Status next() {
      ++next_;
      return at_end() ? subject_.entry.model->health() : Status();  // of the words that were read
    }

    bool at_end() const noexcept { return next_ >= places_.rows.size(); }

    Status column(sqlite3_context* context, int column) {
      switch (column) {
        case kWord:
          return_word(context, subject_.entry.model->vocabulary(), id());
          break;
        case kX:
          sqlite3_result_double(context, places_.x[next_]);
          break;
        case kY:
          sqlite3_result_double(context, places_.y[next_]);
          break;
        default:
          return inputs_.return_input(context, column);
      }
      return {};
    }

    Result<int64_t> rowid() {
      if (number_ < 0) number_ = table_.numbers_.number_of(key_);
      if (number_ < 0)
        return Error{ErrorCode::kInvalidArgument,
                     "glove_map: the running statements tell the rows of " +
                         std::to_string(table_.numbers_.size()) +
                         " different inputs apart by their rowids, and there is no room for more; finish "
                         "other statements that read the table, or split this one"};
      return number_ << 31 | id();
    }

   private:
    int64_t id() const {
      const int64_t row = places_.rows[next_];
      return subject_.chosen ? subject_.ids[static_cast<size_t>(row)] : row;
    }

    Status find_places(const MapOptions& options) {
      Engine& engine = models_.connection().engine();
      InterruptPoller poller(models_.connection().db());
      const InterruptCheck interrupted = [&poller] { return poller.interrupted(); };
      PcaOptions pca;
      pca.unit_rows = options.unit_rows;
      GLOVE_ASSIGN_OR_RETURN(const auto components,
                             find_components(engine, kName, subject_, pca, interrupted));
      const PointSet set = subject_.points();
      GLOVE_ASSIGN_OR_RETURN(places_, plane_of_components(*subject_.analysis, set.points(), *components,
                                                          options.unit_rows, interrupted));
      return subject_.entry.model->health();
    }

    GloveMap& table_;
    Connection::Pin& models_;
    vtab::InputValues inputs_;
    ToolboxSubject subject_;
    PlanePlaces places_;
    size_t next_ = 0;
    std::string key_;      // spells the inputs
    int64_t number_ = -1;  // of the inputs; -1: not asked for yet
  };

 private:
  vtab::InputNumbers numbers_;
};

}  // namespace

int register_glove_map(sqlite3* db, Engine& engine) {
  // No security flag, as glove_nn: it depends on the models, and changes nothing.
  return vtab::register_table<GloveMap>(db, engine);
}

}  // namespace glove::sql
