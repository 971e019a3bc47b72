// The columns of glove_nn, and the plans that xBestIndex passes to xFilter.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "search/catalog.h"
#include "sql/adapter/inputs.h"

namespace glove::sql::nn {

// The columns in declared order. Those from kWord to kAmong are inputs.
enum Column : int {
  kNeighbor,
  kSimilarity,
  kRank,
  kWord,
  kExpr,
  kK,
  kModel,
  kBackend,
  kRecall,
  kAmong,
  kEvidence,
  kRowsRead,
  kDistance,
  kKnown,
  kColumns,
  kRowid = kColumns,  // of an index, where it tells a row's key (FilterCall)
  kKeyPart            // of an index with keys (RankedColumns): the first column of the key; the others follow
};
constexpr int kMostKeyParts = 16;
constexpr int kFirstInput = kWord;
constexpr int kInputs = kEvidence - kFirstInput;
// The inputs whose IN may be taken whole. If several are batches, their combinations are searched in this
// order, where the last input varies fastest.
constexpr std::array<Column, 5> kBatchOrder = {kModel, kBackend, kK, kWord, kExpr};

// The keys of an index whose rows are not identified by an integer of the user's table: the number by which
// the index knows each row, its id, stands for the values of one column or several. One thread at a time.
class RowKeys {
 public:
  virtual ~RowKeys() = default;
  // The collation of a column of the key.
  virtual const char* collation(int part) const = 0;
  // Returns the ids of the rows that can have this key, one value per column of it; nullopt if SQLite alone
  // can tell. Compares texts by the collations of the columns. REQUIRES: no value is NULL.
  virtual Result<std::optional<std::vector<int64_t>>> find(std::span<sqlite3_value* const> key) = 0;
  // Returns the ids of the rows whose keys a value of `among` has, in any order. `interrupted` as in
  // AmongValue::read().
  virtual Result<std::vector<int64_t>> find_set(sqlite3_value* among, const InterruptCheck& interrupted) = 0;
  // Whether find_set() would return what it did last for the same value, because the rows are the same.
  virtual bool has_same_rows() = 0;
  // Makes a column of the key of a row the result of xColumn.
  virtual Status return_part(sqlite3_context* context, int64_t id, int part) = 0;
};

// What the planner and the cursor know of a table that ranks rows: glove_nn, or a table of glove_index. Each
// of its columns has the meaning of a column of glove_nn; the first ones are the row's key (kNeighbor, or
// kKeyPart and those that follow), kSimilarity and kRank. Outlives the plans made with it.
struct RankedColumns {
  std::span<const char* const> names;  // of the columns that plans may name, in declared order
  std::span<const Column> meanings;    // of the same columns
  vtab::InputColumns inputs;
  const char* how_to_ask;  // the end of a message, after "write "
  // Messages, after the name of the table: SQLite passed no query although the statement names one, or it
  // names none.
  const char* query_not_passed;
  const char* no_query;
  RowKeys* keys = nullptr;  // null: kNeighbor is the key
  int key_parts = 0;        // how many columns the key has, if there are keys

  // Returns the column with this meaning; -1 if the table has none.
  int with(Column meaning) const;
  // Returns the meaning of a column as SQLite numbers it, where the rowid is -1; -1 for one that has none.
  int meaning_of(int column) const;
};
extern const RankedColumns kNnColumns;

// Conditions that the search can use to do less work. For tests, the environment variable GLOVE_NN_DISABLE
// lists the names of those to switch off, separated by commas, which must not change the rows. It is read
// when a connection first uses the table.
enum Pushdown : uint32_t {
  kNeighborEqual = 1 << 0,    // neighbor_equal:  neighbor = ?
  kNeighborIn = 1 << 1,       // neighbor_in:     neighbor IN (...)
  kRankRange = 1 << 2,        // rank:        rank <, <=, =, >=, > ?
  kSimilarityRange = 1 << 3,  // similarity:  similarity <, <=, =, >=, > ?, and the same of distance
  kLimitHint = 1 << 4,        // limit:       LIMIT and OFFSET size the first piece
  kOrder = 1 << 5,            // order:       ORDER BY is consumed
  kBatch = 1 << 6,            // batch:       IN over an input arrives whole
  kCache = 1 << 7,            // cache:       answers of earlier scans are kept
};
using Pushdowns = uint32_t;
// Returns all pushdowns except those that `disabled`, the value of the variable or nullptr, names.
Result<Pushdowns> read_pushdowns(const char* disabled);

// The meaning of one argument of xFilter.
enum class Relation {
  kEqual,    // column = argument
  kIn,       // column IN (argument), to be read by sqlite3_vtab_in_first and _next
  kAtMost,   // column <= argument, or <
  kAtLeast,  // column >= argument, or >
  kLimit,    // LIMIT; no column
  kOffset,   // OFFSET; no column
};
struct Argument {
  Relation relation = Relation::kEqual;
  int column = -1;  // its meaning, a Column, kRowid or kKeyPart plus the number of the part
};

// A plan as xBestIndex passes it to xFilter. EXPLAIN QUERY PLAN shows both numbers:
// "SCAN n VIRTUAL TABLE INDEX 0:word= k= rank<=".
//
//   idxNum  idxStr
//   0       one token per argument, in order, separated by spaces (table below)
//   2       the same, and the statement reads rank
//   8       of glove_nn: the same as 0, and the statement sorts by similarity; also with 2
//   4       of an index: no query, all its rows in the order of their keys, or only those of the arguments
//   1       the text of an error, without arguments: this plan cannot be executed
//
//   token                                            the argument
//   word= expr= k= model= backend= neighbor=         the value the column equals
//   recall= among=                                   the same
//   word[] expr[] k[] model[] backend[] neighbor[]   all values of an IN, in one call of xFilter
//   id= id[] rowid= rowid[]                          of an index: as neighbor
//   key1= key2= ... key1[]                           of an index with keys: all columns of the key
//   rank= rank<= rank>= similarity= <= >=            a bound, or a strict bound: SQLite checks again
//   distance= distance<= distance>=                  the same
//   limit offset                                     a hint for the size of the first piece
//
// Each input occurs at most once; neighbor, rank and similarity may occur any number of times.
struct Plan {
  static constexpr int kError = 1;
  static constexpr int kReadsRank = 2;
  static constexpr int kLists = 4;
  static constexpr int kSortsBySimilarity = 8;

  std::vector<Argument> arguments;
  bool reads_rank = false;
  bool lists = false;
  bool sorts_by_similarity = false;

  // Returns the idxStr.
  std::string encode(const RankedColumns& columns) const;
  int number() const {
    return (reads_rank ? kReadsRank : 0) | (lists ? kLists : 0) |
           (sorts_by_similarity ? kSortsBySimilarity : 0);
  }
  // REQUIRES: idx_num and idx_str came from a Plan without kError, and the columns are the same.
  static Plan decode(int idx_num, std::string_view idx_str, const RankedColumns& columns);
};

// Returns how a condition with this operator, one of SQLite's, bounds a column; nullopt if it does not.
std::optional<Relation> range_relation(int op);

// The size of a relation, for estimates. The default is a guess.
struct RelationSize {
  double rows = 400000;
  double dims = 100;
};
// Returns the size of the relation for the literal that the statement gives as the model, which is null if
// there is none.
using SizeOfRelation = std::function<RelationSize(sqlite3_value* model)>;

// Returns the size of the model of that name (nullptr or NULL: the default model) if it is loaded. Opens no
// file.
RelationSize size_of_model(const Catalog& catalog, sqlite3_value* name);

// The body of xBestIndex.
Status best_index(const RankedColumns& columns, sqlite3_index_info* info, Pushdowns pushdowns, sqlite3* db,
                  const SizeOfRelation& size);

}  // namespace glove::sql::nn
