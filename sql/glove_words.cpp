// glove_words(model): the vocabulary of a model, one row a word, in the file's order.
//
//   SELECT id, word FROM glove_words LIMIT 3;                          -- 0|the  1|,  2|.
//   SELECT id FROM glove_words WHERE word = 'king';                    -- 691
//   SELECT word FROM glove_words WHERE word GLOB 'sqlit*';             -- sqlite ...
//   SELECT word, vector FROM glove_words('main') WHERE id < 1000;      -- vector: a BLOB of float32
//
// `model` is an input: the model's name, as argument or as model = ...; without it, or with NULL, the
// default model. `vector` costs nothing unless it is read.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "model/model.h"
#include "sql/arguments.h"
#include "sql/boundary.h"
#include "sql/glove_words_plan.h"
#include "sql/register.h"
#include "sql/sqlite_features.h"
#include "sql/text_encoding.h"

namespace glove::sql {
namespace {

struct Table : sqlite3_vtab {
  sqlite3* db;
  std::shared_ptr<Connection> connection;
};

// Positions [position, end) of the visited rows; what a position means depends on `path`. An id is -1
// where a damaged model file holds no valid one.
struct Cursor : sqlite3_vtab_cursor {
  explicit Cursor(const Table& table) : sqlite3_vtab_cursor{}, pin(table.connection) {}

  Connection::Pin pin;
  ModelPtr model;
  std::optional<std::string> model_name;  // as given
  WordsPath path = kAllById;
  std::vector<int32_t> listed;  // kListedWords: ids, ascending
  int64_t position = 0;
  int64_t end = 0;

  int64_t id() const {
    switch (path) {
      case kByWord:
        return model->vocabulary().sorted_id(position);
      case kListedWords:
        return listed[static_cast<size_t>(position)];
      default:
        return position;
    }
  }
};

Cursor& cursor_of(sqlite3_vtab_cursor* cursor) {
  return *static_cast<Cursor*>(cursor);
}

void visit(Cursor& cursor, WordsPath path, int64_t first, int64_t end) {
  cursor.path = path;
  cursor.position = first;
  cursor.end = std::max(first, end);
}

void visit_all(Cursor& cursor) {
  visit(cursor, kAllById, 0, cursor.model->words());
}

bool is_text(sqlite3_value* value) {
  return sqlite3_value_type(value) == SQLITE_TEXT;
}

// True if a word equals the value only where its bytes do.
bool is_text_of_bytes(const Cursor& cursor, sqlite3_value* value) {
  return is_text(value) && equals_by_bytes(static_cast<Table*>(cursor.pVtab)->db, text_of(value));
}

// The arguments of xFilter, one after another, as idxNum promises them.
class FilterArguments {
 public:
  FilterArguments(int plan, sqlite3_value** values) : plan_(plan), values_(values) {}
  sqlite3_value* next() { return values_[used_++]; }
  sqlite3_value* next_if(int flag) { return (plan_ & flag) != 0 ? next() : nullptr; }
  bool has(int flag) const { return (plan_ & flag) != 0; }

 private:
  int plan_;
  sqlite3_value** values_;
  int used_ = 0;
};

// --- by id -----------------------------------------------------------------------------------

// The id that the value equals as SQLite compares numbers; nullopt: none.
std::optional<int64_t> id_equal_to(sqlite3_value* value, int64_t words) {
  std::optional<int64_t> id;
  switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_INTEGER:
      id = sqlite3_value_int64(value);
      break;
    case SQLITE_FLOAT: {
      const double number = sqlite3_value_double(value);
      if (number >= 0 && number < static_cast<double>(words) && number == std::floor(number))
        id = static_cast<int64_t>(number);
      break;
    }
    default:
      break;
  }
  return id && *id >= 0 && *id < words ? id : std::nullopt;
}

void visit_one_id(Cursor& cursor, sqlite3_value* value) {
  const std::optional<int64_t> id = id_equal_to(value, cursor.model->words());
  visit(cursor, kOneId, id.value_or(0), id ? *id + 1 : 0);
}

// Bounds that are integers narrow the scan; SQLite checks the others.
void visit_by_id(Cursor& cursor, sqlite3_value* lower, sqlite3_value* upper) {
  const int64_t words = cursor.model->words();
  int64_t first = 0;
  int64_t end = words;
  if (lower != nullptr && sqlite3_value_type(lower) == SQLITE_INTEGER)
    first = std::clamp<int64_t>(sqlite3_value_int64(lower), 0, words);
  if (upper != nullptr && sqlite3_value_type(upper) == SQLITE_INTEGER)
    end = std::clamp<int64_t>(sqlite3_value_int64(upper), -1, words - 1) + 1;
  visit(cursor, kAllById, first, end);
}

// --- by word ---------------------------------------------------------------------------------

void visit_one_word(Cursor& cursor, sqlite3_value* value) {
  if (is_null(value)) return visit(cursor, kOneWord, 0, 0);
  if (!is_text_of_bytes(cursor, value)) return visit_all(cursor);
  const std::optional<int32_t> id = cursor.model->vocabulary().find_exact(text_of(value));
  visit(cursor, kOneWord, id.value_or(0), id ? *id + 1 : 0);
}

Status visit_listed_words(Cursor& cursor, sqlite3_value* list) {
  std::vector<int32_t> ids;
  sqlite3_value* value = nullptr;
  int code = sqlite3_vtab_in_first(list, &value);
  for (; code == SQLITE_OK && value != nullptr; code = sqlite3_vtab_in_next(list, &value)) {
    if (is_null(value)) continue;
    if (!is_text_of_bytes(cursor, value)) {
      visit_all(cursor);
      return Status();
    }
    if (const auto id = cursor.model->vocabulary().find_exact(text_of(value))) ids.push_back(*id);
  }
  if (code == SQLITE_NOMEM) throw std::bad_alloc();
  if (code != SQLITE_OK && code != SQLITE_DONE)
    return Status(ErrorCode::kInvalidArgument, "glove_words: the list of word IN (...) could not be read");
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  cursor.listed = std::move(ids);
  visit(cursor, kListedWords, 0, static_cast<int64_t>(cursor.listed.size()));
  return Status();
}

// The first sorted position above every word that begins with `prefix`.
int64_t end_of_prefix(const Vocabulary& vocabulary, std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return vocabulary.size();
  ++prefix.back();
  return vocabulary.lower_bound(prefix);
}

// An upper bound narrows only if no word that looks like a number can be below it otherwise: compared
// with a column of numeric affinity, such words are numbers, and those sort before every text.
bool narrows_from_above(std::string_view bound, bool is_literal) {
  return is_literal || (!bound.empty() && static_cast<unsigned char>(bound.front()) > '9');
}

// The bytes that every match of a GLOB pattern begins with: up to its first wildcard, or NUL, which ends it
// too, and up to U+FFFD, which GLOB takes for equal to bytes that are no UTF-8. Of a pattern with such bytes,
// what is ASCII.
std::string_view prefix_of_pattern(std::string_view pattern) {
  std::string_view prefix = pattern.substr(0, pattern.find_first_of(std::string_view("*?[\0", 4)));
  prefix = prefix.substr(0, prefix.find(kReplacementCharacter));
  if (is_valid_utf8(prefix)) return prefix;
  const auto is_ascii = [](char byte) { return static_cast<unsigned char>(byte) < 0x80; };
  return {prefix.begin(), std::ranges::find_if_not(prefix, is_ascii)};
}

void visit_by_word(Cursor& cursor, FilterArguments& arguments) {
  const Vocabulary& vocabulary = cursor.model->vocabulary();
  int64_t first = 0;
  int64_t end = vocabulary.size();
  if (sqlite3_value* lower = arguments.next_if(kWordsHasLower); lower != nullptr && is_text(lower))
    first = vocabulary.lower_bound(text_of(lower));
  if (sqlite3_value* upper = arguments.next_if(kWordsHasUpper); upper != nullptr && is_text(upper)) {
    const std::string_view bound = text_of(upper);
    if (narrows_from_above(bound, arguments.has(kWordsUpperIsLiteral)))
      end = vocabulary.lower_bound(std::string(bound) + '\0');  // the least word above the bound
  }
  if (sqlite3_value* pattern = arguments.next_if(kWordsHasPattern); pattern != nullptr && is_text(pattern)) {
    const std::string prefix(prefix_of_pattern(text_of(pattern)));
    first = std::max(first, vocabulary.lower_bound(prefix));
    end = std::min(end, end_of_prefix(vocabulary, prefix));
  }
  visit(cursor, kByWord, first, end);
}

// --- the callbacks ---------------------------------------------------------------------------

Status take_model(Cursor& cursor, FilterArguments& arguments) {
  cursor.model_name.reset();
  sqlite3_value* name = arguments.next_if(kWordsHasModel);
  if (name != nullptr && is_null(name) && arguments.has(kWordsModelChecked))
    return Status(ErrorCode::kInvalidArgument,
                  "glove_words: with this many conditions a NULL model cannot mean the default; name the "
                  "model, or leave the condition out");
  const Arguments values(&name, name == nullptr ? 0 : 1);
  GLOVE_ASSIGN_OR_RETURN(cursor.model, model_argument(cursor.pin, values, 0, "glove_words"));
  if (name != nullptr && !is_null(name)) cursor.model_name = std::string(text_of(name));
  return Status();
}

Status filter_words(Cursor& cursor, int plan, FilterArguments arguments) {
  const auto path = static_cast<WordsPath>(plan & kWordsPathMask);
  if (path == kModelMissing)
    return Status(ErrorCode::kInvalidArgument,
                  "glove_words: this query gives the model only after the words were asked for; write "
                  "model = ... as a condition of its own, in an outer join in ON");
  GLOVE_RETURN_IF_ERROR(take_model(cursor, arguments));
  switch (path) {
    case kOneId:
      visit_one_id(cursor, arguments.next());
      return Status();
    case kOneWord:
      visit_one_word(cursor, arguments.next());
      return Status();
    case kListedWords:
      return visit_listed_words(cursor, arguments.next());
    case kByWord:
      visit_by_word(cursor, arguments);
      return Status();
    default: {
      sqlite3_value* lower = arguments.next_if(kWordsHasLower);
      visit_by_id(cursor, lower, arguments.next_if(kWordsHasUpper));
      return Status();
    }
  }
}

Status return_column(sqlite3_context* context, const Cursor& cursor, int column) {
  const int64_t id = cursor.id();
  if (id < 0)
    return Status(ErrorCode::kCorrupt, "glove_words: " + cursor.model->path() +
                                           ": the sorted order of the words is damaged at position " +
                                           std::to_string(cursor.position));
  switch (column) {
    case kWordsId:
      sqlite3_result_int64(context, id);
      break;
    case kWordsWord:
      return_text(context, cursor.model->vocabulary().word(id));
      break;
    case kWordsNorm:
      sqlite3_result_double(context, std::sqrt(cursor.model->norm_squared(id)));
      break;
    case kWordsModel:
      if (!cursor.model_name)
        return Status(ErrorCode::kInvalidArgument,
                      "glove_words: the model was not given, so it cannot be read; add model = '...'");
      return_text(context, *cursor.model_name);
      break;
    case kWordsVector:
      sqlite3_result_blob64(context, cursor.model->vector(id),
                            static_cast<sqlite3_uint64>(cursor.model->dims()) * sizeof(float),
                            SQLITE_TRANSIENT);
      break;
    default:
      break;
  }
  return Status();
}

int connect(sqlite3* db, void* engine, int, const char* const*, sqlite3_vtab** table, char**) {
  if (const int code = sqlite3_declare_vtab(db, kWordsDeclaration); code != SQLITE_OK) return code;
  try {
    auto made = std::make_unique<Table>();
    made->db = db;
    made->connection = Connection::of(db, *static_cast<Engine*>(engine));
    *table = made.release();
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  }
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<Table*>(table);
  return SQLITE_OK;
}

int best_index(sqlite3_vtab* table, sqlite3_index_info* info) {
  return plan_words(info, static_cast<Table*>(table)->db);
}

int open(sqlite3_vtab* table, sqlite3_vtab_cursor** cursor) {
  return guard(table, [&] {
    *cursor = new Cursor(*static_cast<Table*>(table));
    return Status();
  });
}

int close(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* cursor, int plan, const char*, int, sqlite3_value** values) {
  return guard(cursor->pVtab,
               [&] { return filter_words(cursor_of(cursor), plan, FilterArguments(plan, values)); });
}

// Now and then, and at the end, looks whether the rows were read from a file that is still what it was.
int next(sqlite3_vtab_cursor* base) {
  constexpr int64_t kRowsBetweenChecks = 256;
  Cursor& cursor = cursor_of(base);
  ++cursor.position;
  if (cursor.position < cursor.end && cursor.position % kRowsBetweenChecks != 0) return SQLITE_OK;
  return guard(base->pVtab, [&] { return cursor.model->health(); });
}

int eof(sqlite3_vtab_cursor* cursor) {
  return cursor_of(cursor).position >= cursor_of(cursor).end;
}

int column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int index) {
  return guard(context, [&] { return return_column(context, cursor_of(cursor), index); });
}

// Identifies the model and the word: SQLite merges the halves of an OR by it.
int rowid(sqlite3_vtab_cursor* cursor, sqlite3_int64* result) {
  const Cursor& at = cursor_of(cursor);
  *result = static_cast<sqlite3_int64>(at.model->id() << 31 | static_cast<uint64_t>(at.id()));
  return SQLITE_OK;
}

// Without xCreate the table is eponymous only: it exists, and nobody can create another.
const sqlite3_module kModule = [] {
  sqlite3_module module{};
  module.xConnect = connect;
  module.xBestIndex = best_index;
  module.xDisconnect = disconnect;
  module.xOpen = open;
  module.xClose = close;
  module.xFilter = filter;
  module.xNext = next;
  module.xEof = eof;
  module.xColumn = column;
  module.xRowid = rowid;
  return module;
}();

}  // namespace

int register_glove_words(sqlite3* db, Engine& engine) {
  // Not INNOCUOUS: it depends on the models of the process and may open $GLOVE_MODEL, so a schema that
  // one does not trust must not read it. Not DIRECTONLY: it writes nothing.
  return sqlite3_create_module_v2(db, "glove_words", &kModule, &engine, nullptr);
}

}  // namespace glove::sql
