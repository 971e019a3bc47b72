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

#include "sql/adapter/interrupt.h"
#include "sql/register.h"
#include "sql/toolbox/fit_table.h"
#include "sql/toolbox/map_fit.h"

namespace glove::sql {
namespace {

enum MapColumn : int { kWord, kX, kY, kWords, kModel, kBackend, kOptions };

constexpr const char* kInputNames[] = {"words", "model", "backend", "options"};

class MapRows {
 public:
  static constexpr const char* kName = "glove_map";
  static constexpr const char* kSchema =
      "CREATE TABLE glove_map(word TEXT, x REAL, y REAL, words TEXT HIDDEN, model TEXT HIDDEN, backend TEXT "
      "HIDDEN, options TEXT HIDDEN)";
  static constexpr vtab::InputColumns kInputs = {kName, kWords, kInputNames, "words = 1000"};

  static Status plan(sqlite3_index_info* info) {
    constexpr double kCost = 10000, kRows = 10000;
    return vtab::plan_inputs(info, kInputs, 0, kCost, kRows);
  }

  Result<FitRange> start(Connection::Pin& models, const vtab::InputValues& inputs, int, Arguments) {
    sqlite3_value* const backend = inputs[kBackend];
    InterruptPoller poller(models.connection().db());
    GLOVE_ASSIGN_OR_RETURN(subject_,
                           read_subject(models, kName, inputs[kWords], inputs[kModel], backend, poller));
    GLOVE_ASSIGN_OR_RETURN(const MapOptions options,
                           read_map_options(inputs[kOptions], kName, subject_.count()));
    if (subject_.count() == 0) return FitRange();
    GLOVE_ASSIGN_OR_RETURN(places_, find_map(models.connection(), kName, subject_, options,
                                             std::string(backend == nullptr ? "auto" : text_of(backend))));
    return FitRange{map_key(subject_, options), subject_.entry.model, 0,
                    static_cast<int64_t>(places_->rows.size())};
  }

  void column(sqlite3_context* context, int64_t row, int column) {
    if (column == kWord) return return_word(context, subject_.entry.model->vocabulary(), id(row));
    sqlite3_result_double(context, (column == kX ? places_->x : places_->y)[static_cast<size_t>(row)]);
  }

  int64_t id(int64_t row) const { return subject_.row_id(places_->rows[static_cast<size_t>(row)]); }

 private:
  ToolboxSubject subject_;
  std::shared_ptr<const PlanePlaces> places_;
};

}  // namespace

int register_glove_map(sqlite3* db, Engine& engine) {
  // No security flag, as glove_nn: it depends on the models, and changes nothing.
  return vtab::register_table<FitTable<MapRows>>(db, engine);
}

}  // namespace glove::sql
