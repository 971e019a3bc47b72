// glove_recall(target, query, k, recall): measures what WHERE recall = ... returns for one's own queries; an
// aggregate.
//
//   SELECT glove_recall('main', glove_vec(tag), 10, 0.95) FROM item;
//   {"queries":500,"k":10,"recall":0.95,"mean":0.962,"p5":0.8,"proved":12,"rows_read":5210.5,"ms":0.06,"exact_ms":0.71}
//
// target  the name of a loaded model, or of an index (without its schema)
// query   a vector, or what else the target's query may be; NULL is skipped
//
// Each query is asked twice: exactly, and with the recall. `mean` and `p5` are the mean share of the exact
// rows that were returned, and the share that all but 5 % of the queries have at least; `proved` counts the
// queries whose second answer was exact, too. `exact_ms` is of the exact answers that the cache of answers
// did not have; null if it had all. Returns NULL if there is no query.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/concat.h"
#include "base/json.h"
#include "base/timer.h"
#include "sql/adapter/aggregate.h"
#include "sql/adapter/direct_call.h"
#include "sql/adapter/own_statement.h"
#include "sql/index/content_schema.h"
#include "sql/register.h"

namespace glove::sql {
namespace {

constexpr const char* kFunction = "glove_recall";

// Rounds to six digits after the point.
std::string short_text(double value) {
  return number_text(std::round(value * 1e6) / 1e6);
}

class RecallRows {
 public:
  Status step(sqlite3_context* context, Arguments row) {
    if (!ready_) GLOVE_RETURN_IF_ERROR(prepare(context, row));
    if (is_null(row[0]) || text_of(row[0]) != target_ || whole_number(row[2]) != k_ ||
        sqlite3_value_double(row[3]) != recall_)
      return invalid_value(kFunction, "target, k and recall must be the same in all rows, but target is now ",
                           concat(shown_value(row[0]), ", k ", shown_value(row[2]), " and recall ",
                                  shown_value(row[3]), "; use GROUP BY"));
    if (is_null(row[1])) return {};
    Answer exact, approximate;
    GLOVE_RETURN_IF_ERROR(first_answer(context, row[1], exact));
    if (exact.keys.empty()) return {};
    GLOVE_RETURN_IF_ERROR(ask(approximate_, row[1], approximate));
    if (exact.rows_read > 0) {  // else the answer was kept from before
      exact_us_ += exact.microseconds;
      ++timed_;
    }
    approximate_us_ += approximate.microseconds;
    rows_read_ += approximate.rows_read;
    proved_ += approximate.proved ? 1 : 0;
    std::vector<std::string> both;
    std::ranges::set_intersection(exact.keys, approximate.keys, std::back_inserter(both));
    shares_.push_back(static_cast<double>(both.size()) / static_cast<double>(exact.keys.size()));
    return {};
  }

  Status result(sqlite3_context* context) {
    if (shares_.empty()) return {};
    std::ranges::sort(shares_);
    const auto count = static_cast<double>(shares_.size());
    const double mean = std::accumulate(shares_.begin(), shares_.end(), 0.0) / count;
    const double p5 = shares_[shares_.size() / 20];
    return_json(
        context,
        concat("{\"queries\":", shares_.size(), ",\"k\":", k_, ",\"recall\":", number_text(recall_),
               ",\"mean\":", short_text(mean), ",\"p5\":", short_text(p5), ",\"proved\":", proved_,
               ",\"rows_read\":", short_text(static_cast<double>(rows_read_) / count),
               ",\"ms\":", short_text(approximate_us_ / count / 1e3), ",\"exact_ms\":",
               timed_ == 0 ? "null" : short_text(exact_us_ / static_cast<double>(timed_) / 1e3), "}"));
    return {};
  }

 private:
  struct Answer {
    std::vector<std::string> keys;  // sorted
    int64_t rows_read = 0;
    bool proved = false;
    double microseconds = 0;
  };

  Status prepare(sqlite3_context* context, Arguments row) {
    GLOVE_RETURN_IF_ERROR(check_direct_step(context));
    GLOVE_ASSIGN_OR_RETURN(const std::string_view target, required_text(row, 0, kFunction, "target"));
    const std::optional<int64_t> k = whole_number(row[2]);
    if (!k || *k < 1)
      return invalid_value(kFunction, "k must be an integer of at least 1, but is ", shown_value(row[2]));
    recall_ = number_of(row[3]).value_or(0);
    if (!(recall_ >= 0.5 && recall_ <= 1))
      return invalid_value(kFunction, "recall must be a number from 0.5 to 1, but is ", shown_value(row[3]));
    k_ = *k;
    target_ = target;
    sqlite3* const db = sqlite3_context_db_handle(context);
    GLOVE_ASSIGN_OR_RETURN(auto index, find_index(db, kFunction, target));
    if (index && sqlite3_stricmp(index->name.c_str(), target_.c_str()) != 0) index.reset();
    if (index && engine_of(context).catalog().find(target).ok())
      return invalid_value(kFunction, "target must name an index or a model, but both have the name ",
                           concat(shown_value(row[0]), "; load the model under another name"));
    const std::string from = index ? "SELECT " + key_of(*index) + ", rows_read, evidence FROM " +
                                         index->object("") + " WHERE query = ?"
                                   : "SELECT neighbor, rows_read, evidence FROM glove_nn WHERE expr = ?";
    model_ = index ? std::string() : target_;
    const std::string where = concat(" AND k = ", k_, index ? "" : " AND model = ?");
    GLOVE_RETURN_IF_ERROR(exact_.prepare(db, from + where, kFunction));
    GLOVE_RETURN_IF_ERROR(approximate_.prepare(
        db, from + where + " AND backend = 'cpu' AND recall = " + number_text(recall_), kFunction));
    ready_ = true;
    return {};
  }

  // Returns an expression for the key of a row.
  static std::string key_of(const IndexDefinition& index) {
    if (!index.has_key_table) return "id";
    std::string key;
    for (const KeyColumn& column : index.key)
      key += (key.empty() ? "quote(" : " || ',' || quote(") + quoted_name(column.name) + ")";
    return key;
  }

  // Asks for the exact answer, whose error tells whether there is such a model.
  Status first_answer(sqlite3_context* context, sqlite3_value* query, Answer& exact) {
    Status status = ask(exact_, query, exact);
    if (status.ok() || model_.empty() || engine_of(context).catalog().find(model_).ok()) return status;
    return Error{
        status.error().code,
        concat(status.error().message, "; nor is there such an index, which is named without its schema")};
  }

  Status ask(OwnStatement& statement, sqlite3_value* query, Answer& answer) const {
    OwnStatement::Run run(statement);
    const Timer timer;
    if (is_blob(query)) {
      const auto bytes = blob_of(query);
      run.bind_blob({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    } else {
      run.bind(text_of(query));
    }
    if (!model_.empty()) run.bind(std::string_view(model_));
    GLOVE_RETURN_IF_ERROR(run.for_each([&] {
      answer.keys.emplace_back(run.text(0));
      answer.rows_read = run.integer(1);
      answer.proved = run.text(2) == "proof";
    }));
    answer.microseconds = timer.microseconds();
    std::ranges::sort(answer.keys);
    return {};
  }

  bool ready_ = false;
  int64_t k_ = 0;
  double recall_ = 1;
  std::string target_, model_;
  OwnStatement exact_, approximate_;
  std::vector<double> shares_;
  double exact_us_ = 0, approximate_us_ = 0;
  int64_t timed_ = 0;
  int64_t rows_read_ = 0;
  int64_t proved_ = 0;
};

}  // namespace

constexpr SqlObject kGloveRecall =
    Aggregate<RecallRows>::object("glove_recall", 4, 4, SQLITE_DIRECTONLY | SQLITE_RESULT_SUBTYPE);

}  // namespace glove::sql
