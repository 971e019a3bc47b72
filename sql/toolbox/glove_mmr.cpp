// glove_mmr(target, query, k, lambda, fetch, among): rows that are near to a query and differ from one
// another, by maximal marginal relevance (Carbonell and Goldstein, 1998).
//
//   SELECT d.title FROM glove_mmr('doc_vec', ?1, 10) m JOIN doc d ON d.id = m.key ORDER BY m.rank;
//   SELECT key, rank FROM glove_mmr('glove', 'music', 5, 0.3);
//
// target  an index, with or without its schema, or a loaded model
// query   what the target's query may be; NULL has no rows
// k       how many rows to return; 10
// lambda  from 0 (rows that differ) to 1 (the nearest rows); 0.5
// fetch   how many of the nearest rows to choose from; 4 k, and at least 50
// among   as of the target
//
// Each row in turn is the one with the greatest lambda * s(query, row) - (1 - lambda) * (the greatest s(row,
// row before)), where s is the similarity or, by l2 and hamming, minus the distance, to the last bit as the
// target computes it. The nearer row wins a tie. A key of several columns is `key`, `key2` and so on.
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "model/exact_dot.h"
#include "model/metric.h"
#include "sql/adapter/fit_table.h"
#include "sql/adapter/interrupt.h"
#include "sql/adapter/own_statement.h"
#include "sql/index/content_schema.h"
#include "sql/index/index_definition.h"
#include "sql/index/index_schema.h"
#include "sql/register.h"
#include "sql/values/row_vector.h"

namespace glove::sql {
namespace {

constexpr const char* kMmrTable = "glove_mmr";

enum MmrColumn : int {
  kKey,
  kRank,
  kSimilarity,
  kDistance,
  kTarget,
  kQuery,
  kK,
  kLambda,
  kFetch,
  kAmong,
  kKey2
};

constexpr const char* kMmrInputs[] = {"target", "query", "k", "lambda", "fetch", "among"};

struct MmrRow {
  std::vector<KeptValue> key;
  double score = 0;
  std::vector<float> vector;
  double norm_squared = 0;
  double nearest = 0;  // the greatest score of it and a row that was chosen
};

// Returns an expression for the vector of a row `d` of the content, of the index's type. Its parameters are
// the name of the model and the options, if it is an index of texts.
std::string vector_of(const IndexDefinition& index) {
  if (!index.is_text) return "d." + quoted_name(index.columns.front());
  std::string text;
  for (const std::string& column : index.columns)
    text += concat(text.empty() ? "" : " || char(10) || ", "coalesce(d.", quoted_name(column), ", '')");
  return concat("glove_encode(", text, " || '', coalesce(nullif(?, ''), (SELECT value FROM ",
                index.object("_config"), " WHERE key = 'model')), nullif(?, ''))");
}

const char* score_column(RowMetric metric) {
  return ranks_by_distance(metric) ? "-v.distance" : "v.similarity";
}

// Returns the statement of the nearest rows, but for its conditions: the score, the vector, and the key.
std::string statement_of(const IndexDefinition& index) {
  std::string key, same;
  for (const KeyColumn& column : index.key) {
    const std::string name = quoted_name(column.name);
    const std::string of_index = index.has_key_table ? "v." + name : "v.id";
    key += ", " + of_index;
    same += concat(same.empty() ? " ON d." : " AND d.", name, " = ", of_index);
  }
  return concat("SELECT ", score_column(index.metric), ", ", vector_of(index), key, " FROM ", index.table(),
                " v CROSS JOIN ", index.content_table(), " d", same, " WHERE v.query = ? AND v.k = ?");
}

class MmrRows {
 public:
  static constexpr const char* kName = kMmrTable;
  static constexpr const char* kSchema =
      "CREATE TABLE glove_mmr(key, rank INTEGER, similarity REAL, distance REAL, target TEXT HIDDEN, "
      "query HIDDEN, k INTEGER HIDDEN, lambda REAL HIDDEN, fetch INTEGER HIDDEN, among BLOB HIDDEN, "
      "key2 HIDDEN, key3 HIDDEN, key4 HIDDEN, key5 HIDDEN, key6 HIDDEN, key7 HIDDEN, key8 HIDDEN, "
      "key9 HIDDEN, key10 HIDDEN, key11 HIDDEN, key12 HIDDEN, key13 HIDDEN, key14 HIDDEN, key15 HIDDEN, "
      "key16 HIDDEN)";
  static constexpr vtab::InputColumns kInputs = {kMmrTable, kTarget, kMmrInputs,
                                                 "target = 'doc_vec' AND query = ?"};

  static Status plan(sqlite3_index_info* info) {
    return vtab::plan_inputs(info, kInputs, vtab::bit_of(kTarget) | vtab::bit_of(kQuery), 1e5, 10);
  }

  Result<FitRange> start(Connection::Pin& models, const vtab::InputValues& inputs, int plan, Arguments) {
    rows_.clear();
    GLOVE_ASSIGN_OR_RETURN(const auto target, optional_text(inputs[kTarget], kMmrTable, "target"));
    GLOVE_RETURN_IF_ERROR(read_numbers(inputs));
    const bool among = (plan >> (kAmong - kTarget) & 1) != 0;
    if (!target || inputs[kQuery] == nullptr || k_ == 0 || (among && inputs[kAmong] == nullptr))
      return FitRange();
    sqlite3* const db = models.connection().db();
    GLOVE_ASSIGN_OR_RETURN(auto index, find_index(db, kMmrTable, *target));
    if (index) GLOVE_RETURN_IF_ERROR(find_metric(models.connection(), *index));
    ModelPtr model;
    if (!index) {
      GLOVE_ASSIGN_OR_RETURN(model, find_model(models, *target));
    } else if (models.connection().engine().catalog().find(*target).ok()) {
      return invalid_value(kMmrTable, "an index and a model have the name ", shown_value(inputs[kTarget]),
                           "; load the model under another name");
    }
    metric_ = index ? index->metric : model->metric();
    type_ = index ? index->type : ElementType::kFloat32;
    OwnQuery run(db, kMmrTable,
                 (index ? statement_of(*index)
                        : concat("SELECT ", score_column(metric_),
                                 ", rowid & 2147483647, neighbor FROM glove_nn v WHERE "
                                 "expr = ? AND k = ?")) +
                     (among ? " AND v.among = ?" : "") + (index ? "" : " AND model = ?") +
                     " ORDER BY v.rank");
    if (index && index->is_text)
      run.bind(std::string_view(index->model)).bind(std::string_view(index->options));
    run.bind(inputs[kQuery]).bind(fetch_);
    if (among) run.bind(inputs[kAmong]);
    if (!index) run.bind(*target);
    GLOVE_RETURN_IF_ERROR(run.for_each([&] { return add(run, model.get()); }));
    InterruptPoller poller(db);
    GLOVE_RETURN_IF_ERROR(choose(poller));
    return FitRange{inputs.key(), model, 0, static_cast<int64_t>(rows_.size())};
  }

  void column(sqlite3_context* context, int64_t row, int column) const {
    const MmrRow& shown = rows_[static_cast<size_t>(row)];
    const auto part = static_cast<size_t>(column < kKey2 ? 0 : column - kKey2 + 1);
    if (column == kRank) return sqlite3_result_int64(context, row + 1);
    if (column == kDistance) return sqlite3_result_double(context, distance_of(metric_, shown.score));
    if (column == kSimilarity && ranks_by_distance(metric_)) return;
    if (column == kSimilarity) return sqlite3_result_double(context, shown.score);
    if (part < shown.key.size()) sqlite3_result_value(context, shown.key[part].get());
  }

  static int64_t id(int64_t row) { return row; }

 private:
  Status read_numbers(const vtab::InputValues& inputs) {
    k_ = 10;
    lambda_ = 0.5;
    if (sqlite3_value* const k = inputs[kK]; k != nullptr) {
      k_ = whole_number(k).value_or(-1);
      if (k_ < 0)
        return invalid_value(kMmrTable, "k must be an integer of at least 0, but is ", shown_value(k));
    }
    if (sqlite3_value* const lambda = inputs[kLambda]; lambda != nullptr) {
      lambda_ = number_of(lambda).value_or(-1);
      if (!(lambda_ >= 0 && lambda_ <= 1))
        return invalid_value(
            kMmrTable, "lambda must be a number from 0 (rows that differ) to 1 (the nearest rows), but is ",
            shown_value(lambda));
    }
    fetch_ = std::max<int64_t>(50, k_ > std::numeric_limits<int64_t>::max() / 4 ? k_ : 4 * k_);
    if (sqlite3_value* const fetch = inputs[kFetch]; fetch != nullptr) {
      fetch_ = whole_number(fetch).value_or(-1);
      if (fetch_ < k_)
        return invalid_value(kMmrTable, "fetch must be an integer of at least k, which is ", k_, ", but is ",
                             shown_value(fetch));
    }
    return {};
  }

  static Result<ModelPtr> find_model(Connection::Pin& models, std::string_view name) {
    Result<CatalogEntry> entry = models.find(name);
    if (entry.ok()) return std::move(entry).value().model;
    return Error{entry.error().code,
                 concat(kMmrTable, ": there is no such index, and ", entry.error().message)};
  }

  // Adds the current row of the statement.
  Status add(const OwnStatement::Run& run, const Model* model) {
    MmrRow row;
    row.score = sqlite3_value_double(run.value(0));
    if (model != nullptr) {
      const float* const vector = model->vector(run.integer(1));
      row.vector.assign(vector, vector + model->dims());
    } else if (const Status read = read_row_vector(run.value(1), row.vector, {}, type_); !read.ok()) {
      return invalid_value(kMmrTable, "a row ", read.error().message);
    }
    if (!rows_.empty() && row.vector.size() != rows_.front().vector.size())
      return invalid_value(kMmrTable, "a vector was changed while it was read; ask again");
    const auto dims = static_cast<int64_t>(row.vector.size());
    row.norm_squared = exact_dot(row.vector.data(), row.vector.data(), dims);
    for (int part = 2; part < run.columns(); ++part) row.key.push_back(copy_of(run.value(part)));
    rows_.push_back(std::move(row));
    return {};
  }

  // Leaves the chosen rows, in their order.
  Status choose(InterruptPoller& poller) {
    const InterruptCheck interrupted = poller;
    InterruptPoll poll(interrupted);
    const size_t wanted = std::min(rows_.size(), static_cast<size_t>(k_));
    for (size_t done = 0; done < wanted; ++done) {
      const auto value = [&](const MmrRow& row) {
        return lambda_ * row.score - (done == 0 ? 0 : (1 - lambda_) * row.nearest);
      };
      const auto begin = rows_.begin() + static_cast<std::ptrdiff_t>(done);
      const auto best = std::max_element(
          begin, rows_.end(), [&](const MmrRow& a, const MmrRow& b) { return value(a) < value(b); });
      std::rotate(begin, best, best + 1);  // which keeps the others in order
      const MmrRow& chosen = rows_[done];
      for (size_t i = done + 1; i < rows_.size(); ++i) {
        GLOVE_RETURN_IF_ERROR(poll.check());
        MmrRow& row = rows_[i];
        const double score =
            exact_score(metric_, chosen.vector.data(), chosen.norm_squared, row.vector.data(),
                        row.norm_squared, static_cast<int64_t>(row.vector.size()));
        row.nearest = done == 0 ? score : std::max(row.nearest, score);
      }
    }
    rows_.resize(wanted);
    return {};
  }

  int64_t k_ = 0;
  int64_t fetch_ = 0;
  double lambda_ = 0;
  RowMetric metric_ = RowMetric::kCosine;
  ElementType type_ = ElementType::kFloat32;  // of an index's BLOBs
  std::vector<MmrRow> rows_;
};

}  // namespace

// Neither INNOCUOUS nor DIRECTONLY, for the reasons of glove_nn.
constexpr SqlObject kGloveMmr = vtab::table_object<FitTable<MmrRows>>();

}  // namespace glove::sql
