// glove_words(model): the vocabulary of a model, one row per word, in the order of the file.
//
//   SELECT id, word FROM glove_words LIMIT 3;                          -- 0|the  1|,  2|.
//   SELECT id FROM glove_words WHERE word = 'king';                    -- 691
//   SELECT word FROM glove_words WHERE word GLOB 'sqlit*';             -- sqlite ...
//   SELECT word, vector FROM glove_words('main') WHERE id < 1000;      -- vector: a BLOB of float32
//   SELECT word, distance FROM glove_words WHERE like = 'kng' LIMIT 3; -- king|1 ...
//
// `like` is an input, too: all words by the number of changes that make them this text, nearest first; equal
// ones by id.
// `model` is an input, the name of a model, given as an argument or as model = ...; if it is omitted or NULL,
// this is the default model. `vector` costs nothing unless it is read.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "model/model.h"
#include "sql/adapter/input_numbers.h"
#include "sql/adapter/inputs.h"
#include "sql/adapter/interrupt.h"
#include "sql/adapter/table.h"
#include "sql/models/glove_words_plan.h"
#include "sql/register.h"
#include "sql/values/edit_distance.h"

namespace glove::sql {
namespace {

// The rows to visit are the positions [position, end), whose meaning depends on `path`. An id is -1 if a
// damaged model file has no valid one at that position.
struct WordScan {
  sqlite3* db = nullptr;
  ModelPtr model;
  WordsPath path = kAllById;
  std::vector<int32_t> listed;      // kListedWords: ids, ascending; kByDistance: ids
  std::vector<uint16_t> distances;  // kByDistance, of `listed`
  int64_t position = 0;
  int64_t end = 0;

  int64_t id() const {
    if (path == kByWord) return model->vocabulary().sorted_id(position);
    return path == kListedWords || path == kByDistance ? listed[static_cast<size_t>(position)] : position;
  }
};

void visit(WordScan& scan, WordsPath path, int64_t first, int64_t end) {
  scan.path = path;
  scan.position = first;
  scan.end = std::max(first, end);
}

void visit_all(WordScan& scan) {
  visit(scan, kAllById, 0, scan.model->words());
}

bool is_text(sqlite3_value* value) {
  return sqlite3_value_type(value) == SQLITE_TEXT;
}

// True if a word equals the value only if their bytes are equal.
bool is_text_of_bytes(const WordScan& scan, sqlite3_value* value) {
  return is_text(value) && equals_by_bytes(scan.db, text_of(value));
}

// The arguments of xFilter behind the inputs, in the order that idxNum specifies.
class FilterArguments {
 public:
  FilterArguments(int plan, Arguments values)
      : plan_(plan),
        values_(values),
        used_(static_cast<size_t>(std::popcount(static_cast<unsigned>(plan & kWordsInputMask)))) {}
  sqlite3_value* next() { return values_[used_++]; }
  sqlite3_value* next_if(int flag) { return (plan_ & flag) != 0 ? next() : nullptr; }
  bool has(int flag) const { return (plan_ & flag) != 0; }

 private:
  int plan_;
  Arguments values_;
  size_t used_;
};

// --- by id -----------------------------------------------------------------------------------

void visit_one_id(WordScan& scan, sqlite3_value* value) {
  const int64_t id = whole_number(value).value_or(-1);
  visit(scan, kOneId, id, id >= 0 && id < scan.model->words() ? id + 1 : id);
}

// Narrows the scan by integer bounds; SQLite checks other bounds.
void visit_by_id(WordScan& scan, FilterArguments& arguments) {
  sqlite3_value* const lower = arguments.next_if(kWordsHasLower);
  sqlite3_value* const upper = arguments.next_if(kWordsHasUpper);
  const int64_t words = scan.model->words();
  int64_t first = 0;
  int64_t end = words;
  if (lower != nullptr && sqlite3_value_type(lower) == SQLITE_INTEGER)
    first = std::clamp<int64_t>(sqlite3_value_int64(lower), 0, words);
  if (upper != nullptr && sqlite3_value_type(upper) == SQLITE_INTEGER)
    end = std::clamp<int64_t>(sqlite3_value_int64(upper), -1, words - 1) + 1;
  visit(scan, kAllById, first, end);
}

// --- by word ---------------------------------------------------------------------------------

void visit_one_word(WordScan& scan, sqlite3_value* value) {
  if (is_null(value)) return visit(scan, kOneWord, 0, 0);
  if (!is_text_of_bytes(scan, value)) return visit_all(scan);
  scan.listed.clear();
  scan.model->vocabulary().find_all(text_of(value), scan.listed);
  visit(scan, kListedWords, 0, static_cast<int64_t>(scan.listed.size()));
}

Status visit_listed_words(WordScan& scan, sqlite3_value* list) {
  std::vector<int32_t> ids;
  sqlite3_value* value = nullptr;
  int code = sqlite3_vtab_in_first(list, &value);
  for (; code == SQLITE_OK && value != nullptr; code = sqlite3_vtab_in_next(list, &value)) {
    if (is_null(value)) continue;
    if (!is_text_of_bytes(scan, value)) {
      visit_all(scan);
      return Status();
    }
    scan.model->vocabulary().find_all(text_of(value), ids);
  }
  if (code == SQLITE_NOMEM) throw std::bad_alloc();
  if (code != SQLITE_OK && code != SQLITE_DONE)
    return Status(ErrorCode::kInvalidArgument, "glove_words: the list of word IN (...) could not be read");
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  scan.listed = std::move(ids);
  visit(scan, kListedWords, 0, static_cast<int64_t>(scan.listed.size()));
  return Status();
}

// Returns the first sorted position after all words that begin with `prefix`.
int64_t end_of_prefix(const Vocabulary& vocabulary, std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return vocabulary.size();
  ++prefix.back();
  return vocabulary.lower_bound(prefix);
}

// True if an upper bound may narrow the scan. If SQLite compares words with a column of numeric affinity,
// words that look like numbers are numbers, which sort before all text; such words must not be cut off.
bool narrows_from_above(std::string_view bound, bool is_literal) {
  return is_literal || (!bound.empty() && static_cast<unsigned char>(bound.front()) > '9');
}

// Returns the bytes that every match of a GLOB pattern begins with: those before its first wildcard or NUL,
// which also ends the pattern, and before U+FFFD, U+FFFE or U+FFFF, which GLOB considers equal to each other
// and to bytes that are not valid UTF-8. If the pattern contains such bytes, returns the ASCII bytes before
// them.
std::string_view prefix_of_pattern(std::string_view pattern) {
  std::string_view prefix = pattern.substr(0, pattern.find_first_of(std::string_view("*?[\0", 4)));
  for (const char* equal_to_others : {"\xef\xbf\xbd", "\xef\xbf\xbe", "\xef\xbf\xbf"})
    prefix = prefix.substr(0, prefix.find(equal_to_others));
  if (is_valid_utf8(prefix)) return prefix;
  const auto is_ascii = [](char byte) { return static_cast<unsigned char>(byte) < 0x80; };
  return prefix.substr(0, static_cast<size_t>(std::ranges::find_if_not(prefix, is_ascii) - prefix.begin()));
}

void visit_by_word(WordScan& scan, FilterArguments& arguments) {
  const Vocabulary& vocabulary = scan.model->vocabulary();
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
  visit(scan, kByWord, first, end);
}

// --- by distance -----------------------------------------------------------------------------

// NULL (nullptr) is like no word.
Status visit_by_distance(WordScan& scan, sqlite3_value* value) {
  scan.listed.clear();
  if (value != nullptr) {
    InterruptPoller poller(scan.db);
    auto words = words_by_distance(scan.model->vocabulary(), text_of(value), poller);
    if (!words.ok()) return {words.error().code, "glove_words: " + words.error().message};
    scan.listed = std::move(words.value().ids);
    scan.distances = std::move(words.value().distances);
  }
  visit(scan, kByDistance, 0, static_cast<int64_t>(scan.listed.size()));
  return {};
}

// --- the table -------------------------------------------------------------------------------

class GloveWords;

class WordCursor {
 public:
  WordCursor(GloveWords& table, Connection::Pin& models);

  Status start(int plan, const char* plan_text, Arguments values) {
    GLOVE_RETURN_IF_ERROR(inputs_.read(plan, plan_text, values));
    if ((plan & kWordsModelChecked) != 0 && inputs_[kWordsModel] == nullptr)
      return invalid_argument(
          "glove_words: with this many conditions a NULL model cannot mean the default model; name "
          "the model or omit the condition");
    GLOVE_ASSIGN_OR_RETURN(scan_.model, model_input(models_, inputs_[kWordsModel], "glove_words"));
    FilterArguments arguments(plan, values);
    const int path = plan >> kWordsPathShift & kWordsPathMask;
    if (path == kAllById) visit_by_id(scan_, arguments);
    if (path == kOneId) visit_one_id(scan_, arguments.next());
    if (path == kOneWord) visit_one_word(scan_, arguments.next());
    if (path == kByWord) visit_by_word(scan_, arguments);
    if (path == kListedWords) return visit_listed_words(scan_, arguments.next());
    if (path != kByDistance) return {};
    rowids_.start(concat(scan_.model->id(), ' ', inputs_.key()));
    return visit_by_distance(scan_, inputs_[kWordsLike]);
  }

  // Leaves some rows and the last one to next(), which checks that the file of the model has not been damaged
  // meanwhile.
  bool next_buffered() noexcept {
    constexpr int64_t kRowsBetweenChecks = 256;
    const int64_t following = scan_.position + 1;
    if (following >= scan_.end || following % kRowsBetweenChecks == 0) return false;
    scan_.position = following;
    return true;
  }
  Status next() {
    ++scan_.position;
    return check_health(*scan_.model, scan_.db);
  }

  bool at_end() const noexcept { return scan_.position >= scan_.end; }

  Status column(sqlite3_context* context, int column) const;

  // Identifies the model, how it was given, and the word, because SQLite merges the branches of an OR by
  // rowid.
  Result<int64_t> rowid() {
    GLOVE_ASSIGN_OR_RETURN(const int64_t id, current_id());
    if (scan_.path == kByDistance) return rowids_.rowid(id);
    const auto model = static_cast<int64_t>(scan_.model->id());
    return (model * 2 + (inputs_[kWordsModel] != nullptr ? 1 : 0)) << 31 | id;
  }

 private:
  Result<int64_t> current_id() const {
    const int64_t id = scan_.id();
    if (id >= 0) return id;
    return Error{ErrorCode::kCorrupt,
                 concat("glove_words: ", scan_.model->path(),
                        ": the sorted order of the words is damaged at position ", scan_.position)};
  }

  Connection::Pin& models_;
  vtab::InputValues inputs_;
  vtab::ScanRowids rowids_;  // of kByDistance
  WordScan scan_;
};

Status WordCursor::column(sqlite3_context* context, int column) const {
  GLOVE_ASSIGN_OR_RETURN(const int64_t id, current_id());
  const size_t bytes = static_cast<size_t>(scan_.model->dims()) * sizeof(float);
  if (kWordsInputs.contains(column)) return inputs_.return_input(context, column);
  if (column == kWordsId) sqlite3_result_int64(context, id);
  if (column == kWordsWord) return_text(context, scan_.model->vocabulary().word(id));
  if (column == kWordsNorm) sqlite3_result_double(context, std::sqrt(scan_.model->norm_squared(id)));
  if (column == kWordsVector)
    sqlite3_result_blob64(context, scan_.model->vector(id), bytes, SQLITE_TRANSIENT);
  if (column == kWordsDistance && scan_.path == kByDistance)
    sqlite3_result_int(context, scan_.distances[static_cast<size_t>(scan_.position)]);
  return {};
}

class GloveWords {
 public:
  static constexpr const char* kName = "glove_words";
  static constexpr const char* kSchema =
      "CREATE TABLE glove_words(id INTEGER, word TEXT, norm REAL, model TEXT HIDDEN, like TEXT HIDDEN, "
      "vector BLOB HIDDEN, distance INTEGER HIDDEN)";
  using Cursor = WordCursor;

  explicit GloveWords(Connection& connection) : connection_(connection) {}

  Status plan(sqlite3_index_info* info) { return plan_words(info, connection_.db()); }
  const Connection& connection() const { return connection_; }

  vtab::InputNumbers numbers_;

 private:
  Connection& connection_;
};

WordCursor::WordCursor(GloveWords& table, Connection::Pin& models)
    : models_(models), inputs_(kWordsInputs), rowids_(table.numbers_, GloveWords::kName) {
  scan_.db = table.connection().db();
}

}  // namespace

// Not INNOCUOUS, because it depends on the models of the process and may open $GLOVE_MODEL, so an untrusted
// schema must not read it. Not DIRECTONLY, because it writes nothing.
constexpr SqlObject kGloveWords = vtab::table_object<GloveWords>();

}  // namespace glove::sql
