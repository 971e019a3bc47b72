// glove_map(words, model, backend, options): a place in the plane for each word, where words with similar
// vectors are close together.
//
//   SELECT word, x, y FROM glove_map(5000);
//   SELECT m.word, m.x, m.y FROM (SELECT json_group_array(tag) AS w FROM item) t JOIN glove_map(t.w) m;
//
// option     value                        meaning
// method     "auto", "neighbors", "pca"   how the places are found: so that the nearest words stay together,
//                                         or by the first two principal components; "auto" (default) means
//                                         neighbors for up to 50,000 words, and pca for more
// unit_rows  true, false                  for pca: maps directions (default true), as neighbors always does
//
// Words without a direction are left out. Places are computed once for each set of rows and kept for the
// process.
#include <memory>
#include <string>
#include <string_view>

#include "sql/adapter/arguments.h"
#include "sql/adapter/input_numbers.h"
#include "sql/adapter/inputs.h"
#include "sql/adapter/interrupt.h"
#include "sql/adapter/table.h"
#include "sql/register.h"
#include "sql/toolbox/map_fit.h"
#include "sql/values/json_options.h"

namespace glove::sql {
namespace {

enum MapColumn : int { kWord, kX, kY, kWords, kModel, kBackend, kOptions };

constexpr const char* kInputNames[] = {"words", "model", "backend", "options"};
const vtab::InputColumns kInputs = {"glove_map", kWords, kInputNames, "words = 1000"};
constexpr double kCost = 10000;
constexpr double kRows = 10000;

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
    Cursor(GloveMap& table, Connection::Pin& models)
        : models_(models), inputs_(kInputs), rowids_(table.numbers_, kName) {}

    Status start(int plan, const char* plan_text, Arguments values) {
      places_ = nullptr;
      next_ = 0;
      GLOVE_RETURN_IF_ERROR(inputs_.read(plan, plan_text, values));
      sqlite3_value* const backend = inputs_[kBackend];
      InterruptPoller poller(models_.connection().db());
      GLOVE_ASSIGN_OR_RETURN(
          subject_, read_subject(models_, kName, inputs_[kWords], inputs_[kModel], backend, poller.check()));
      GLOVE_ASSIGN_OR_RETURN(const std::string_view json, options_text(inputs_[kOptions], kName));
      GLOVE_ASSIGN_OR_RETURN(const MapOptions options, parse_map_options(json, kName, subject_.count()));
      if (subject_.count() == 0) return {};
      rowids_.start(map_key(subject_, options));
      GLOVE_ASSIGN_OR_RETURN(places_, find_map(models_.connection(), kName, subject_, options,
                                               std::string(backend == nullptr ? "auto" : text_of(backend))));
      return {};
    }

    Status next() {
      ++next_;
      return at_end() ? subject_.entry.model->health() : Status();  // of the words that were read
    }

    bool at_end() const noexcept { return places_ == nullptr || next_ >= places_->rows.size(); }

    Status column(sqlite3_context* context, int column) {
      switch (column) {
        case kWord:
          return_word(context, subject_.entry.model->vocabulary(), id());
          break;
        case kX:
          sqlite3_result_double(context, places_->x[next_]);
          break;
        case kY:
          sqlite3_result_double(context, places_->y[next_]);
          break;
        default:
          return inputs_.return_input(context, column);
      }
      return {};
    }

    Result<int64_t> rowid() { return rowids_.rowid(id()); }

   private:
    int64_t id() const {
      const int64_t row = places_->rows[next_];
      return subject_.chosen ? subject_.ids[static_cast<size_t>(row)] : row;
    }

    Connection::Pin& models_;
    vtab::InputValues inputs_;
    vtab::ScanRowids rowids_;
    ToolboxSubject subject_;
    std::shared_ptr<const PlanePlaces> places_;  // null: no words
    size_t next_ = 0;
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
