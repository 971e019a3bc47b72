#include "sql/nn/among_input.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "base/json.h"
#include "base/require.h"
#include "sql/adapter/arguments.h"
#include "sql/values/json_options.h"

namespace glove::sql::nn {
namespace {

constexpr size_t kComparisonsBetweenChecks = size_t{1} << 16;

// Receives the elements of a JSON array.
class KeyHandler final : public JsonHandler {
 public:
  explicit KeyHandler(std::vector<int64_t>& keys) : keys_(keys) {}

  bool value(JsonValue& value) override {
    if (!inside_) return inside_ = is_array = value.kind == JsonKind::kArray;
    ++elements_;
    if (value.kind == JsonKind::kInteger)
      keys_.push_back(value.integer);
    else if (fault.empty())
      fault = concat("element ", elements_, " of among must be a 64-bit integer, but is ", shown_json(value));
    return false;
  }
  void malformed(size_t position, bool too_large) override {
    if (inside_ && too_large && fault.empty())
      fault = concat("element ", elements_ + 1,
                     " of among must be a 64-bit integer, but is too large for a double");
    else if (inside_)
      malformed_at =
          concat("among is not JSON at byte ", position, ", after ", counted(elements_, "elements"));
  }

  bool is_array = false;
  std::string fault;         // the first one
  std::string malformed_at;  // where the text is not JSON

 private:
  std::vector<int64_t>& keys_;
  bool inside_ = false;
  int64_t elements_ = 0;
};

Error not_keys(std::string_view fault) {
  return invalid_argument(fault, kHowToAdmit);
}

// Takes an integer of at most 18 digits as JSON writes it, other than -0. Returns false if there is none.
bool take_integer(std::string_view& text, int64_t& integer) {
  constexpr size_t kMostDigits = 18;
  const auto is_digit = [&text](size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  size_t digits = 0;
  integer = 0;
  for (; digits < kMostDigits && is_digit(digits); ++digits) integer = 10 * integer + (text[digits] - '0');
  if (digits == 0 || is_digit(digits) || (text.front() == '0' && (digits > 1 || is_negative))) return false;
  if (is_negative) integer = -integer;
  text.remove_prefix(digits);
  return true;
}

// Reads an array of such integers, in a tenth of the time of read_json(). Returns false if the text is
// anything else, which may be as good. Errors: an interrupt.
Result<bool> read_plain_keys(std::string_view text, std::vector<int64_t>& keys,
                             const InterruptCheck& interrupted) {
  const auto skip_spaces = [&text] {
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\n\r")));
  };
  const auto take = [&text](char wanted) {
    const bool found = text.starts_with(wanted);
    if (found) text.remove_prefix(1);
    return found;
  };
  InterruptPoll poll(interrupted);
  skip_spaces();
  if (!take('[')) return false;
  do {
    skip_spaces();
    if (!take_integer(text, keys.emplace_back())) return false;
    skip_spaces();
    if (keys.size() % kComparisonsBetweenChecks == 0) GLOVE_RETURN_IF_ERROR(poll.check());
  } while (take(','));
  if (!take(']')) return false;
  skip_spaces();
  return text.empty();
}

Status read_json_keys(std::string_view text, std::vector<int64_t>& keys, const InterruptCheck& interrupted) {
  GLOVE_ASSIGN_OR_RETURN(const bool is_plain, read_plain_keys(text, keys, interrupted));
  if (is_plain) return {};
  keys.clear();
  KeyHandler handler(keys);
  GLOVE_ASSIGN_OR_RETURN(const bool is_json, read_json(text, handler, interrupted));
  if (!handler.fault.empty()) return not_keys(handler.fault);
  if (!handler.malformed_at.empty()) return not_keys(handler.malformed_at);
  if (!is_json || !handler.is_array) {
    constexpr size_t kMostShown = 60;
    return not_keys(concat("among must be a JSON array of integers or a BLOB of keys, but is the text ",
                           json_text(text.substr(0, kMostShown)), text.size() > kMostShown ? "..." : ""));
  }
  return {};
}

Status read_blob_keys(std::span<const std::byte> bytes, std::vector<int64_t>& keys) {
  if (bytes.size() % sizeof(int64_t) != 0)
    return not_keys(concat("among is a BLOB of ", counted(static_cast<int64_t>(bytes.size()), "bytes"),
                           ", but each key has 8, so that key ", bytes.size() / sizeof(int64_t) + 1,
                           " is incomplete"));
  // In pieces, so that no large vector is filled with zeros first.
  std::array<int64_t, 512> piece;
  keys.reserve(bytes.size() / sizeof(int64_t));
  for (size_t first = 0; first < bytes.size(); first += sizeof(piece)) {
    const size_t size = std::min(sizeof(piece), bytes.size() - first);
    std::memcpy(piece.data(), bytes.data() + first, size);
    keys.insert(keys.end(), piece.begin(), piece.begin() + size / sizeof(int64_t));
  }
  return {};
}

// Whether the keys are ascending and without duplicates. Has no branches, so that the compiler uses vectors.
bool are_ascending(std::span<const int64_t> keys) {
  bool ascending = true;
  for (size_t i = 1; i < keys.size(); ++i) ascending &= keys[i - 1] < keys[i];
  return ascending;
}

struct SortStopped {};

// Sorts the keys and removes duplicates.
Status make_set(std::vector<int64_t>& keys, const InterruptCheck& interrupted) {
  InterruptPoll poll(interrupted);
  size_t comparisons = 0;
  const auto is_below = [&](int64_t a, int64_t b) {
    if (++comparisons % kComparisonsBetweenChecks == 0 && poll.stop()) throw SortStopped();
    return a < b;
  };
  try {
    std::sort(keys.begin(), keys.end(), is_below);
  } catch (const SortStopped&) {
    return interrupted_error();
  }
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return {};
}

constexpr int64_t kWordsBetweenChecks = int64_t{1} << 16;

// The keys of a model, in order.
struct ModelKeys {
  std::vector<int64_t> keys;  // ascending
  std::vector<int32_t> rows;  // rows[i] has keys[i]

  int64_t bytes() const {
    return static_cast<int64_t>(keys.size() * sizeof(keys[0]) + rows.size() * sizeof(rows[0]));
  }
};

// A damaged file may contain words that are no integers, which have no key, or equal ones, of which the first
// has it.
Result<ModelKeys> read_keys(const Model& model, const InterruptCheck& interrupted) {
  std::vector<std::pair<int64_t, int32_t>> found;
  found.reserve(static_cast<size_t>(model.words()));
  for (int64_t row = 0; row < model.words(); ++row) {
    if (row % kWordsBetweenChecks == 0) GLOVE_RETURN_IF_ERROR(check_interrupt(interrupted));
    if (const auto key = integer_key(model.vocabulary().word(row)))
      found.emplace_back(*key, static_cast<int32_t>(row));
  }
  if (!std::is_sorted(found.begin(), found.end())) std::sort(found.begin(), found.end());
  ModelKeys keys;
  keys.keys.reserve(found.size());
  keys.rows.reserve(found.size());
  for (const auto& [key, row] : found) {
    if (!keys.keys.empty() && keys.keys.back() == key) continue;
    keys.keys.push_back(key);
    keys.rows.push_back(row);
  }
  GLOVE_RETURN_IF_ERROR(model.health(interrupted));
  return keys;
}

}  // namespace

const char* const kHowToAdmit =
    "; write among = (SELECT glove_keys(id) FROM doc WHERE ...), or among = '[1, 2]'";

Result<AmongValuePtr> AmongValue::read(sqlite3_value* value, const InterruptCheck& interrupted) {
  const int type = sqlite3_value_type(value);
  if (type != SQLITE_BLOB && type != SQLITE_TEXT)
    return not_keys(concat("among must be the set of all admissible keys, but is ", shown_value(value)));
  std::vector<int64_t> keys;
  if (type == SQLITE_BLOB) {
    GLOVE_RETURN_IF_ERROR(read_blob_keys(blob_of(value), keys));
  } else {
    GLOVE_RETURN_IF_ERROR(read_json_keys(text_of(value), keys, interrupted));
  }
  const bool is_set = are_ascending(keys);
  std::shared_ptr<AmongValue> read(new AmongValue);
  read->json_ = type == SQLITE_TEXT;
  if (!is_set || read->json_) read->given_ = text_or_blob(value);
  if (!is_set) GLOVE_RETURN_IF_ERROR(make_set(keys, interrupted));
  keys.shrink_to_fit();
  read->keys_ = std::make_shared<const KeySet>(std::move(keys));
  return AmongValuePtr(std::move(read));
}

Result<AmongValuePtr> AmongValue::of(sqlite3_value* value, std::vector<int64_t> keys,
                                     const InterruptCheck& interrupted) {
  GLOVE_RETURN_IF_ERROR(make_set(keys, interrupted));
  std::shared_ptr<AmongValue> made(new AmongValue);
  made->json_ = sqlite3_value_type(value) == SQLITE_TEXT;
  made->given_ = text_or_blob(value);
  made->keys_ = std::make_shared<const KeySet>(std::move(keys));
  return AmongValuePtr(std::move(made));
}

std::string_view AmongValue::given() const {
  const auto keys = std::as_bytes(keys_->keys());
  if (json_ || !given_.empty()) return given_;
  return {reinterpret_cast<const char*>(keys.data()), keys.size()};
}

bool AmongValue::is(sqlite3_value* value) const {
  return sqlite3_value_type(value) == (json_ ? SQLITE_TEXT : SQLITE_BLOB) && text_or_blob(value) == given();
}

void AmongValue::return_to(sqlite3_context* context) const {
  const std::string_view bytes = given();
  if (json_)
    return_text(context, bytes);
  else  // a null pointer would be NULL
    sqlite3_result_blob64(context, bytes.empty() ? "" : bytes.data(), bytes.size(), SQLITE_TRANSIENT);
}

Result<AmongValuePtr> LastAmong::read(sqlite3_value* value, RowKeys* keys,
                                      const InterruptCheck& interrupted) {
  AmongValuePtr last = last_.lock();
  if (last != nullptr && last->is(value) && (keys == nullptr || keys->has_same_rows())) return last;
  kept_.reset();
  last_.reset();  // of another state, if what follows fails
  AmongValuePtr fresh;
  if (keys != nullptr) {
    GLOVE_ASSIGN_OR_RETURN(std::vector<int64_t> ids, keys->find_set(value, interrupted));
    GLOVE_ASSIGN_OR_RETURN(fresh, AmongValue::of(value, std::move(ids), interrupted));
  } else {
    GLOVE_ASSIGN_OR_RETURN(fresh, AmongValue::read(value, interrupted));
  }
  last_ = fresh;
  if (fresh->bytes() <= kMostBytes) kept_ = fresh;
  return fresh;
}

Result<RowMaskPtr> rows_with_keys(Engine& engine, const Model& model, const KeySet& keys,
                                  const InterruptCheck& interrupted) {
  GLOVE_REQUIRE(model.vocabulary().key_type() == KeyType::kInteger);
  const auto read = [&] { return read_keys(model, interrupted); };
  GLOVE_ASSIGN_OR_RETURN(const auto known,
                         engine.results().find_or_add<ModelKeys>("keys:" + std::to_string(model.id()), read));
  auto mask = std::make_shared<RowMask>(model);
  GLOVE_RETURN_IF_ERROR(mask->admit(keys, known->keys, known->rows, interrupted));
  mask->complete(model);
  return RowMaskPtr(std::move(mask));
}

}  // namespace glove::sql::nn
