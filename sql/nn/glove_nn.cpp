// glove_nn: the words of a model, ranked by cosine similarity to a query, or by the model's other metric.
//
//   CREATE TABLE glove_nn(neighbor TEXT, similarity REAL, rank INTEGER,
//                         word TEXT HIDDEN, expr TEXT HIDDEN, k INTEGER HIDDEN, model TEXT HIDDEN,
//                         backend TEXT HIDDEN, recall REAL HIDDEN, among BLOB HIDDEN,
//                         evidence TEXT HIDDEN, rows_read INTEGER HIDDEN, distance REAL HIDDEN,
//                         known INTEGER HIDDEN);
//
//   SELECT neighbor, similarity FROM glove_nn('frog', NULL, 2);  frogs | 0.786..., toad | 0.766...
//   SELECT neighbor FROM glove_nn WHERE expr = 'king - man + woman' AND k = 1;       queen
//   SELECT i.id, n.neighbor FROM items i JOIN glove_nn n ON n.word = i.tag AND n.k = 5;
//
// The hidden columns are inputs, given as arguments or with =, IS or IN. All other conditions apply to rows:
// those that the planner pushes down save work and never change a row (glove_nn_plan.h). The implementation
// consists of the planner (glove_nn_planner.cpp), the arguments (glove_nn_inputs.h), the rows
// (ranked_scan.h), and the table and its cursors (ranked_table.h), which the tables of glove_index share.
#include <memory>
#include <optional>
#include <utility>

#include "search/recall_calibration.h"
#include "sql/adapter/arguments.h"
#include "sql/adapter/table.h"
#include "sql/nn/glove_nn_plan.h"
#include "sql/nn/ranked_table.h"
#include "sql/register.h"

namespace glove::sql {
namespace {

class GloveNn final : public nn::RankedTable {
 public:
  static constexpr const char* kName = "glove_nn";
  // The declared types make SQLite pass the values of word = 5 and word IN ('05') as text.
  static constexpr const char* kSchema =
      "CREATE TABLE glove_nn(neighbor TEXT, similarity REAL, rank INTEGER, word TEXT HIDDEN, "
      "expr TEXT HIDDEN, k INTEGER HIDDEN, model TEXT HIDDEN, backend TEXT HIDDEN, recall REAL HIDDEN, "
      "among BLOB HIDDEN, evidence TEXT HIDDEN, rows_read INTEGER HIDDEN, distance REAL HIDDEN, "
      "known INTEGER HIDDEN)";

  explicit GloveNn(Connection& connection)
      : RankedTable(connection, nn::kNnColumns), caches_(connection.engine()) {}

 private:
  nn::RelationSize size_for(sqlite3_value* model) const override {
    return nn::size_of_model(connection().engine().catalog(), model);
  }

  Status begin_setting(Connection::Pin& models, const nn::Inputs& inputs, const InterruptCheck& interrupted,
                       nn::RankedSource& source) override {
    if (enabled(nn::kCache)) caches_.ranks.forget_unloaded();
    const auto name = inputs.has(nn::kModel) ? std::optional<std::string_view>(inputs.model) : std::nullopt;
    GLOVE_ASSIGN_OR_RETURN(CatalogEntry entry, models.find(name));
    GLOVE_ASSIGN_OR_RETURN(RowMaskPtr among, admissible_rows(entry, inputs, interrupted));
    if (inputs.recall < 1) warn_of_damage(*entry.model);
    // The caches do not know masks.
    const bool cached = enabled(nn::kCache) && among == nullptr;
    source = {.name = std::move(entry.name),
              .relation = std::make_unique<ModelRelation>(entry.searchers, among),
              .resolve = [&model = *entry.model, among](const nn::Inputs& asked,
                                                        const InterruptCheck& stopped) -> Result<MaybeQuery> {
                GLOVE_ASSIGN_OR_RETURN(MaybeQuery query, asked.resolve(model, stopped));
                if (query) query->among = among;
                return query;
              },
              .words = std::move(entry.searchers),
              .metric = entry.model->metric(),
              .caches = cached ? &caches_ : nullptr,
              .hints = &hints()};
    return {};
  }

  // Logs once for each model that a statement asks for a recall that its damaged file cannot promise.
  void warn_of_damage(const Model& model) {
    if (!has_damaged_calibration(model)) return;
    if (std::exchange(damaged_model_, model.id()) == model.id()) return;
    connection().engine().log().write(
        "glove_nn: the calibration for recall of '" + model.path() +
        "' is damaged, so answers are exact; write the file again with glove-convert --lists");
  }

  // Returns the mask of the input among; null if there is none.
  Result<RowMaskPtr> admissible_rows(const CatalogEntry& entry, const nn::Inputs& inputs,
                                     const InterruptCheck& interrupted) {
    if (inputs.state(nn::kAmong) == nn::Given::kNo) return RowMaskPtr();
    const Model& model = *entry.model;
    if (model.vocabulary().key_type() != KeyType::kInteger)
      return invalid_value(kName, "among is a set of integer keys, but the keys of model '", entry.name,
                           "' are words; write neighbor IN (SELECT ...), which filters after the ranking");
    if (inputs.among == nullptr) return RowMaskPtr();  // NULL, which has no rows
    const KeySetPtr& keys = inputs.among->keys();
    return last_mask().find(keys, entry.model, [&] {
      return nn::rows_with_keys(connection().engine(), model, *keys, interrupted);
    });
  }

  nn::Caches caches_;
  uint64_t damaged_model_ = 0;  // the last one that was logged
};

}  // namespace

// Not INNOCUOUS, because the result depends on the models that the process has loaded. Not DIRECTONLY,
// because it changes nothing, so views and triggers of a trusted schema may use it.
constexpr SqlObject kGloveNn = vtab::table_object<GloveNn>();

}  // namespace glove::sql
