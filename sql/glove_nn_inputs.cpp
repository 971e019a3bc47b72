#include "sql/glove_nn_inputs.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "search/backend.h"
#include "search/catalog.h"
#include "search/expression.h"
#include "sql/sqlite_features.h"

namespace glove::sql::nn {
namespace {

Error invalid(std::string message) {
  return {ErrorCode::kInvalidArgument, "glove_nn: " + std::move(message)};
}

// A value as it stands in an error message.
std::string shown(sqlite3_value* value) {
  if (is_blob(value)) return "a BLOB";
  const std::string text(text_of(value));
  return sqlite3_value_type(value) == SQLITE_TEXT ? "'" + text + "'" : text;
}

QueryValue query_value(sqlite3_value* value) {
  if (!is_blob(value)) return {false, std::string(text_of(value))};
  const auto bytes = blob_of(value);
  return {true, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
}

std::optional<int64_t> integral(double number) {
  if (!(std::abs(number) < 9e18) || number != std::floor(number)) return std::nullopt;
  return static_cast<int64_t>(number);
}

// The whole number that text such as '3', ' 3' or '3.0' spells.
std::optional<int64_t> integral(std::string_view text) {
  const auto spaces = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && spaces(text.front())) text.remove_prefix(1);
  while (!text.empty() && spaces(text.back())) text.remove_suffix(1);
  const char* end = text.data() + text.size();
  int64_t whole = 0;
  if (const auto [stop, error] = std::from_chars(text.data(), end, whole);
      error == std::errc() && stop == end)
    return whole;
  double number = 0;
  if (const auto [stop, error] = std::from_chars(text.data(), end, number);
      error == std::errc() && stop == end)
    return integral(number);
  return std::nullopt;
}

Result<int64_t> read_k(sqlite3_value* value) {
  std::optional<int64_t> k;
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
      k = sqlite3_value_int64(value);
      break;
    case SQLITE_FLOAT:
      k = integral(sqlite3_value_double(value));
      break;
    case SQLITE_TEXT:
      k = integral(text_of(value));
      break;
    default:
      break;
  }
  if (!k || *k < 0) return invalid("k is " + shown(value) + " where a whole number from 0 on belongs");
  return *k;
}

Status check_backend(const std::string& name) {
  if (name == "auto") return {};
  std::string known = "auto";
  for (const auto& backend : registered_backends()) {
    if (backend->name() == name) return {};
    known += ", " + std::string(backend->name());
  }
  return invalid("there is no backend '" + name + "'; this build has " + known);
}

// Whether SQLite may compare this text as a number: then words that spell the number in another way are
// equal to it, and a lookup of its bytes would miss them.
bool may_be_numeric(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\n\v\f\r");
  if (start == std::string_view::npos) return false;
  constexpr std::string_view kDigits = "0123456789";
  return std::string_view("+-.0123456789").find(text[start]) != std::string_view::npos &&
         text.find_first_of(kDigits) != std::string_view::npos;
}

// Reads the arguments of one xFilter, one after another.
class Reader {
 public:
  explicit Reader(Request& request) : request_(request) {}

  Status read(const Argument& argument, sqlite3_value* value) {
    if (argument.relation == Relation::kLimit || argument.relation == Relation::kOffset) {
      add_hint(argument.relation, value);
      return {};
    }
    if (argument.column >= kFirstInput)
      return argument.relation == Relation::kAmong ? read_batch(argument, value)
                                                   : read_input(argument, value);
    if (argument.column == kWord) return read_word(argument, value);
    read_bound(argument, value);
    return {};
  }

  // Looks the words up that the rows were restricted to. REQUIRES: the model was found.
  void finish() {
    if (!words_) return;
    const Vocabulary& vocabulary = request_.model->vocabulary();
    std::vector<int32_t> ids;
    for (const std::string& word : *words_)
      if (const auto id = vocabulary.find_exact(word)) ids.push_back(*id);
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    request_.bounds.ids = std::move(ids);
  }

 private:
  Status read_input(const Argument& argument, sqlite3_value* value) {
    Inputs& inputs = request_.inputs;
    Given& given = inputs.given[static_cast<size_t>(argument.column - kFirstInput)];
    given = is_null(value) ? Given::kNull : Given::kValue;
    if (given == Given::kNull) {
      if (!argument.compared_again || argument.column == kNear) return {};
      return invalid(
          std::string("the input ") + kColumnNames[static_cast<size_t>(argument.column)] +
          " is NULL, and the statement has too many other conditions for SQLite to leave that to the "
          "table; leave the input out");
    }
    switch (argument.column) {
      case kNear:
        inputs.near = query_value(value);
        return {};
      case kExpr:
        inputs.expr = query_value(value);
        return {};
      case kK: {
        GLOVE_ASSIGN_OR_RETURN(inputs.k, read_k(value));
        return {};
      }
      case kModel:
        return read_name(value, "model", inputs.model);
      default:
        return read_name(value, "backend", inputs.backend);
    }
  }

  static Status read_name(sqlite3_value* value, const char* what, std::string& name) {
    if (is_blob(value)) return invalid(std::string(what) + " is a BLOB where text belongs");
    name = text_of(value);
    return {};
  }

  // Calls use(element) for each value of a whole IN but NULL, which equals nothing.
  template <class Use>
  static Status for_each_of(sqlite3_value* list, Use&& use) {
    sqlite3_value* element = nullptr;
    int code = sqlite3_vtab_in_first(list, &element);
    for (; code == SQLITE_OK && element != nullptr; code = sqlite3_vtab_in_next(list, &element))
      if (!is_null(element)) use(element);
    if (code == SQLITE_OK || code == SQLITE_DONE) return {};
    if (code == SQLITE_NOMEM) throw std::bad_alloc();
    return invalid("the values of an IN could not be read: " + std::string(sqlite3_errstr(code)));
  }

  Status read_batch(const Argument& argument, sqlite3_value* list) {
    std::vector<QueryValue>& batch = request_.batch;
    request_.batch_column = argument.column;
    request_.inputs.given[static_cast<size_t>(argument.column - kFirstInput)] = Given::kValue;
    GLOVE_RETURN_IF_ERROR(
        for_each_of(list, [&](sqlite3_value* element) { batch.push_back(query_value(element)); }));
    std::sort(batch.begin(), batch.end());
    batch.erase(std::unique(batch.begin(), batch.end()), batch.end());
    return {};
  }

  // Restricts the words to those of this condition, if it compares bytes: every value is text that SQLite
  // cannot take for a number.
  Status read_word(const Argument& argument, sqlite3_value* value) {
    bool bytes = true;
    std::vector<std::string> words;
    const auto add = [&](sqlite3_value* word) {
      bytes = bytes && sqlite3_value_type(word) == SQLITE_TEXT && !may_be_numeric(text_of(word));
      if (bytes) words.emplace_back(text_of(word));
    };
    if (argument.relation == Relation::kAmong) {
      GLOVE_RETURN_IF_ERROR(for_each_of(value, add));
    } else if (is_null(value)) {
      request_.bounds.nothing = true;
    } else {
      add(value);
    }
    if (!bytes) return {};
    std::sort(words.begin(), words.end());
    if (words_) {
      std::vector<std::string> both;
      std::set_intersection(words.begin(), words.end(), words_->begin(), words_->end(),
                            std::back_inserter(both));
      words = std::move(both);
    }
    words_ = std::move(words);
    return {};
  }

  void read_bound(const Argument& argument, sqlite3_value* value) {
    Bounds& bounds = request_.bounds;
    const int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL) bounds.nothing = true;
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return;  // SQLite's own check is enough
    const double number = sqlite3_value_double(value);
    const bool at_most = argument.relation != Relation::kAtLeast;
    const bool at_least = argument.relation != Relation::kAtMost;
    if (argument.column == kSimilarity) {
      if (at_most) bounds.highest = std::min(bounds.highest, number);
      if (at_least) bounds.lowest = std::max(bounds.lowest, number);
      return;
    }
    // Ranks are far below 2^53, so a rank as a double is exact.
    if (at_most && number < 1) bounds.nothing = true;
    if (at_most && number < 9e15)
      bounds.last_rank = std::min(bounds.last_rank, static_cast<int64_t>(std::floor(std::max(number, 0.0))));
    if (at_least && number > 9e15) bounds.nothing = true;
    if (at_least && number > 1 && number <= 9e15)
      bounds.first_rank = std::max(bounds.first_rank, static_cast<int64_t>(std::ceil(number)));
  }

  void add_hint(Relation relation, sqlite3_value* value) {
    if (sqlite3_value_type(value) != SQLITE_INTEGER) return;
    const int64_t rows = sqlite3_value_int64(value);
    if (rows < 0 || rows > std::numeric_limits<int32_t>::max()) return;
    if (relation == Relation::kLimit || request_.wanted > 0) request_.wanted += rows;
  }

  Request& request_;
  std::optional<std::vector<std::string>> words_;  // ascending
};

// FNV-1a, 32 bits: short inputs, and the same on every machine.
class Fingerprint {
 public:
  void add(std::string_view bytes) {
    for (size_t size = bytes.size(); size > 0; size >>= 8) add_byte(static_cast<uint8_t>(size));
    for (const char byte : bytes) add_byte(static_cast<uint8_t>(byte));
  }
  void add_byte(uint8_t byte) { hash_ = (hash_ ^ byte) * 16777619U; }
  uint32_t value() const { return hash_; }

 private:
  uint32_t hash_ = 2166136261U;
};

}  // namespace

uint32_t Inputs::fingerprint() const {
  Fingerprint fingerprint;
  for (const Given state : given) fingerprint.add_byte(static_cast<uint8_t>(state));
  for (const QueryValue* value : {&near, &expr}) {
    fingerprint.add_byte(value->blob);
    fingerprint.add(value->bytes);
  }
  fingerprint.add(std::to_string(k));
  fingerprint.add(model);
  fingerprint.add(backend);
  return fingerprint.value();
}

Result<MaybeQuery> Inputs::resolve(const Model& model_to_ask) const {
  if (state(kNear) == Given::kNull) return MaybeQuery();
  if (has(kExpr) && expr.blob)
    return invalid("expr is a BLOB where the text of an expression belongs; a vector is given as near");
  if (!has(kNear)) {
    if (!has(kExpr)) return invalid("both near and expr are NULL or absent; give one of them");
    return query_expression(model_to_ask, expr.bytes);
  }
  if (has(kExpr)) {
    if (!starts_with_operator(expr.bytes))
      return invalid(
          "near and expr are both given, and expr '" + expr.bytes +
          "' does not go on from near with + or -; write glove_nn('king', '- man + woman'), or leave "
          "near out: WHERE expr = '...'");
    if (near.blob) return invalid("near is a BLOB, which no expression can go on from; use glove_vec(expr)");
    return query_near_expression(model_to_ask, near.bytes, expr.bytes);
  }
  if (!near.blob) return query_near_word(model_to_ask, near.bytes);
  return query_near_vector(model_to_ask, std::as_bytes(std::span(near.bytes)));
}

Result<Request> Request::read(const Plan& plan, Arguments values) {
  Request request;
  request.reads_rank = plan.reads_rank;
  Reader reader(request);
  for (size_t i = 0; i < plan.arguments.size() && i < values.size(); ++i)
    GLOVE_RETURN_IF_ERROR(reader.read(plan.arguments[i], values[i]));
  const Inputs& inputs = request.inputs;
  if (inputs.has(kBackend)) GLOVE_RETURN_IF_ERROR(check_backend(inputs.backend));
  const auto name = inputs.has(kModel) ? std::optional<std::string_view>(inputs.model) : std::nullopt;
  GLOVE_ASSIGN_OR_RETURN(request.model, Catalog::instance().find(name));
  if (inputs.has(kK)) {
    request.bounds.last_rank = std::min(request.bounds.last_rank, inputs.k);
    request.bounds.nothing = request.bounds.nothing || inputs.k == 0;
  }
  reader.finish();
  return request;
}

}  // namespace glove::sql::nn
