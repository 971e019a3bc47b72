#include "sql/nn/glove_nn_plan.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/concat.h"
#include "base/require.h"
#include "sql/adapter/arguments.h"

namespace glove::sql::nn {

namespace {

constexpr std::array<const char*, kColumns> kNames = {"neighbor", "similarity", "rank",     "word",   "expr",
                                                      "k",        "model",      "backend",  "recall", "among",
                                                      "evidence", "rows_read",  "distance", "known"};
constexpr std::array<Column, kColumns> kMeanings = {kNeighbor, kSimilarity, kRank,     kWord,   kExpr,
                                                    kK,        kModel,      kBackend,  kRecall, kAmong,
                                                    kEvidence, kRowsRead,   kDistance, kKnown};

}  // namespace

const RankedColumns kNnColumns = {
    .names = kNames,
    .meanings = kMeanings,
    .inputs = {"glove_nn", kFirstInput, std::span(kNames).subspan(kFirstInput, kInputs), "word = 'king'"},
    .how_to_ask = "WHERE word = 'king' AND k = 10, or WHERE expr = 'king - man + woman' AND k = 10",
    .query_not_passed =
        " has no query: SQLite could pass it neither word nor expr, although the statement names one. Use a "
        "condition of its own with =, IS or IN, not one inside an OR. In a RIGHT or FULL JOIN use an "
        "argument or, before SQLite 3.53, a subquery: RIGHT JOIN (SELECT * FROM glove_nn('king')) n ON ...",
    .no_query =
        " has no query: SQLite could pass it neither word nor expr; give one as an argument or in a "
        "condition of its own with =, IS or IN (in an outer join, in the ON clause), after the table that "
        "the value comes from, for example WHERE word = 'king' AND k = 10"};

namespace {

constexpr std::pair<const char*, Pushdown> kPushdownNames[] = {
    {"neighbor_equal", kNeighborEqual},
    {"neighbor_in", kNeighborIn},
    {"rank", kRankRange},
    {"similarity", kSimilarityRange},
    {"limit", kLimitHint},
    {"order", kOrder},
    {"batch", kBatch},
    {"cache", kCache},
};

constexpr std::string_view kRowidName = "rowid";  // which is no column's, like this, before a number
constexpr std::string_view kKeyPartName = "key";

constexpr std::pair<Relation, std::string_view> kRelationMarks[] = {
    {Relation::kAtMost, "<="}, {Relation::kAtLeast, ">="},  {Relation::kIn, "[]"},
    {Relation::kEqual, "="},   {Relation::kLimit, "limit"}, {Relation::kOffset, "offset"},
};

// Takes the part before the first `separator` off `text`.
std::string_view next_token(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view token = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return token;
}

Argument decode_argument(std::string_view token, const RankedColumns& columns) {
  Argument argument;
  for (const auto& [relation, mark] : kRelationMarks) {
    if (!token.ends_with(mark)) continue;
    token.remove_suffix(mark.size());
    argument.relation = relation;
    break;
  }
  if (token == kRowidName) argument.column = kRowid;
  if (token.starts_with(kKeyPartName)) {
    int part = 0;
    std::from_chars(token.data() + kKeyPartName.size(), token.data() + token.size(), part);
    argument.column = kKeyPart + part - 1;
  }
  for (size_t column = 0; column < columns.names.size(); ++column)
    if (columns.meanings[column] < kRowid && token == columns.names[column])
      argument.column = columns.meanings[column];
  return argument;
}

}  // namespace

Result<Pushdowns> read_pushdowns(const char* disabled) {
  Pushdowns pushdowns = ~Pushdowns{0};
  std::string_view rest = disabled == nullptr ? "" : disabled;
  while (!rest.empty()) {
    const std::string_view name = next_token(rest, ',');
    bool known = name.empty();
    for (const auto& [known_name, pushdown] : kPushdownNames) {
      if (name != known_name) continue;
      pushdowns &= ~Pushdowns{pushdown};
      known = true;
    }
    if (!known)
      return invalid_argument("GLOVE_NN_DISABLE contains the unknown pushdown '", name,
                              "'; the pushdowns are: neighbor_equal, neighbor_in, "
                              "rank, similarity, limit, order, batch, cache");
  }
  return pushdowns;
}

std::optional<Relation> range_relation(int op) {
  if (op == SQLITE_INDEX_CONSTRAINT_EQ) return Relation::kEqual;
  if (vtab::is_upper_bound(op)) return Relation::kAtMost;
  return vtab::is_lower_bound(op) ? std::optional(Relation::kAtLeast) : std::nullopt;
}

RelationSize size_of_model(const Catalog& catalog, sqlite3_value* name) {
  for (const CatalogEntry& entry : catalog.list()) {
    if (name == nullptr || is_null(name) ? !entry.is_default : entry.name != text_of(name)) continue;
    return {static_cast<double>(entry.model->words()), static_cast<double>(entry.model->dims())};
  }
  return {};
}

int RankedColumns::with(Column meaning) const {
  const auto found = std::find(meanings.begin(), meanings.end(), meaning);
  return found == meanings.end() ? -1 : static_cast<int>(found - meanings.begin());
}

int RankedColumns::meaning_of(int column) const {
  if (column < 0) return kRowid;
  const auto place = static_cast<size_t>(column);
  return place < meanings.size() ? static_cast<int>(meanings[place]) : -1;
}

std::string Plan::encode(const RankedColumns& columns) const {
  std::string text;
  for (const Argument& argument : arguments) {
    if (!text.empty()) text += ' ';
    if (argument.column == kRowid)
      text += kRowidName;
    else if (argument.column >= kKeyPart)
      text += concat(kKeyPartName, argument.column - kKeyPart + 1);
    else if (argument.column >= 0)
      text += columns.names[static_cast<size_t>(columns.with(static_cast<Column>(argument.column)))];
    for (const auto& [relation, mark] : kRelationMarks)
      if (relation == argument.relation) text += mark;
  }
  return text;
}

Plan Plan::decode(int idx_num, std::string_view idx_str, const RankedColumns& columns) {
  GLOVE_REQUIRE(idx_num != kError);
  Plan plan;
  plan.reads_rank = (idx_num & kReadsRank) != 0;
  plan.lists = (idx_num & kLists) != 0;
  plan.sorts_by_similarity = (idx_num & kSortsBySimilarity) != 0;
  while (!idx_str.empty()) plan.arguments.push_back(decode_argument(next_token(idx_str, ' '), columns));
  return plan;
}

}  // namespace glove::sql::nn
