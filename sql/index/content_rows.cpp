#include "sql/index/content_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/crc32.h"
#include "base/log.h"
#include "base/timer.h"
#include "base/utf8.h"
#include "model/byte_sink.h"
#include "model/exact_dot.h"
#include "model/limits.h"
#include "search/query.h"
#include "sql/adapter/interrupt.h"
#include "sql/index/key_table.h"
#include "sql/index/known_texts.h"
#include "sql/values/row_vector.h"

namespace glove::sql {
namespace {

constexpr double kUsBeforeCount = 200'000;
constexpr size_t kMostShown = 60;  // bytes of a text in a message

// True if the text is that of a number, as SQLite writes it.
bool is_number(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  return !text.empty() && text.front() != 'e' &&
         text.find_first_not_of("0123456789+-.e") == std::string_view::npos &&
         text.find_first_of(kDigits) != std::string_view::npos;
}

std::string hexadecimal(uint32_t number) {
  std::array<char, 8> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return std::string(digits.data(), end);
}

std::string checksums(const Model& model) {
  uint32_t vectors = 0;
  for (const ModelPart& part : model.parts()) vectors = crc32_continue(vectors, bytes_of(part.vectors));
  uint32_t words = 0;
  for (int64_t id = 0; id < model.words(); ++id) {
    const std::string_view word = model.vocabulary().word(id);
    const auto length = static_cast<uint32_t>(word.size());
    words = crc32_continue(words, bytes_of(std::span(&length, 1)));
    words = crc32_continue(words, word);
  }
  if (const auto& counts = model.source().counts; counts != nullptr)
    words = crc32_continue(words, bytes_of(std::span<const double>(*counts)));
  std::string encoding;
  if (const StoredTokenizerPtr& tokenizer = model.source().tokenizer; tokenizer != nullptr) {
    uint32_t crc = crc32_continue(0, tokenizer->json);
    crc = crc32_continue(crc, bytes_of(tokenizer->weights));
    encoding = ":" + std::to_string(static_cast<int>(tokenizer->rules)) + (tokenizer->normalize ? "n" : "") +
               hexadecimal(crc);
  }
  return std::to_string(model.words()) + "x" + std::to_string(model.dims()) + ":" + hexadecimal(vectors) +
         ":" + hexadecimal(words) + encoding;
}

// Returns a text that is equal for two models, options and versions of this extension only if they make the
// same vectors of texts, except with a probability of about 2^-32: checksums of the vectors, the words and
// the frequencies, the version of the encoder, and the options. The first call for a model reads all of it.
std::string model_fingerprint(Engine& engine, const ModelPtr& model, std::string_view options) {
  const std::string key = "fingerprint " + std::to_string(model->id());
  auto known = engine.results().find<std::string>(key);
  if (known == nullptr) {
    known = std::make_shared<const std::string>(checksums(*model));
    engine.results().add(key, known, static_cast<int64_t>(known->size()));
  }
  return *known + ":" + std::to_string(kTextVectorVersion) + ":" + std::string(options);
}

}  // namespace

Status ContentRows::prepare_statements() {
  if (logged_.prepared()) return {};
  const std::string id = row_id(index_);
  const std::string from = " FROM " + row_source(index_);
  GLOVE_RETURN_IF_ERROR(prepare(one_, "SELECT " + id + columns("d") + from + " WHERE " + id + " = ?"));
  GLOVE_RETURN_IF_ERROR(prepare(exists_, "SELECT 1" + from + " WHERE " + id + " = ?"));
  GLOVE_RETURN_IF_ERROR(prepare(all_, "SELECT " + id + ", 1" + columns("d") + from + " ORDER BY " + id));
  const std::string content = " LEFT JOIN " + index_.content_table() + " d ON ";
  const std::string joined =
      index_.has_key_table
          ? " l LEFT JOIN " + index_.object("_key") + " k ON k.id = l.id" + content + is_entry_of_row(index_)
          : " l" + content + id + " = l.id";
  return prepare(logged_, "SELECT l.id, d." + quoted_name(index_.key.front().name) + " IS NOT NULL" +
                              columns("d") + " FROM " + index_.object("_log") + joined + " ORDER BY l.id");
}

Status ContentRows::begin(int64_t dims, const std::string& stored_model) {
  dims_ = dims;
  encoder_ = nullptr;
  vectors_read_.reset();
  command_.types.reset();
  if (dims == 0 && index_.dims == 0) command_.types.emplace();
  GLOVE_RETURN_IF_ERROR(prepare_statements());
  GLOVE_RETURN_IF_ERROR(choose_model(stored_model));
  return index_.is_text ? find_encoder() : Status();
}

Status ContentRows::begin(int64_t dims, const IndexConfig& config) {
  GLOVE_RETURN_IF_ERROR(begin(dims, config.model));
  return check_fingerprint(config.fingerprint);
}

Status ContentRows::check_model(const IndexConfig& config) {
  if (!index_.is_text) return {};
  dims_ = config.dims;
  encoder_ = nullptr;
  GLOVE_RETURN_IF_ERROR(choose_model(config.model));
  GLOVE_RETURN_IF_ERROR(find_model());
  return check_fingerprint(config.fingerprint);
}

// Sets model_name_, unless the index needs no model.
Status ContentRows::choose_model(const std::string& stored) {
  model_name_ = index_.model.empty() ? stored : index_.model;
  if (!index_.is_text || !model_name_.empty()) return {};
  const Result<CatalogEntry> entry = connection_.find(std::nullopt);  // opens $GLOVE_MODEL
  if (!entry.ok()) return {entry.error().code, index_.name + ": " + entry.error().message};
  const CatalogSnapshotPtr models = connection_.models();
  if (models->entries().size() == 1) {
    model_name_ = entry.value().name;
    return {};
  }
  ShortList names;
  for (const CatalogEntry& model : models->entries()) names.add(model.name);
  return index_error(index_,
                     "model may be left out only while one model is loaded; "
                     "name the one that makes the vectors of the texts, as in model='",
                     models->entries().front().name, "'; these are loaded: ", names.text());
}

Status ContentRows::check_fingerprint(const std::string& expected_fingerprint) const {
  const std::string found = fingerprint();
  if (found == expected_fingerprint) return {};
  if (!index_.is_text)
    return damaged_index(index_, "it has the fingerprint ", quoted_value(expected_fingerprint),
                         " of a model, but its vectors are in '", index_.content, "'");
  return index_error(index_, "the model '", model_name_, "' has the fingerprint ", found,
                     ", but the vectors of the index were made by one with ", expected_fingerprint,
                     "; load that model under this name, or run ", index_.command("rebuild"),
                     " to adopt this one");
}

std::string ContentRows::fingerprint() const {
  return index_.is_text ? model_fingerprint(connection_.engine(), model_, index_.options) : std::string();
}

// The indexed columns, each with a comma before it.
std::string ContentRows::columns(const char* table) const {
  std::string text;
  for (const std::string& column : index_.columns)
    text += std::string(", ") + table + "." + quoted_name(column);
  return text;
}

// Sets model_, and dims_ if they are not known yet.
Status ContentRows::find_model() {
  Result<CatalogEntry> entry = connection_.find(model_name_);
  if (!entry.ok()) return {entry.error().code, index_.name + ": " + entry.error().message};
  model_ = entry.value().model;
  if (index_.is_text && dims_ == 0) dims_ = model_->dims();
  if (dims_ == 0 || dims_ == model_->dims()) return {};
  return index_error(
      index_, "the model '", model_name_, "' has ", model_->dims(), " dimensions, but the index has ", dims_,
      "; load a model of ", dims_, " dimensions under this name",
      index_.is_text && index_.dims == 0 ? ", or run " + index_.command("rebuild") + " to adopt this one"
                                         : "");
}

Status ContentRows::find_encoder() {
  GLOVE_RETURN_IF_ERROR(find_model());
  std::optional<std::string_view> options;
  if (!index_.options.empty()) options = index_.options;
  GLOVE_ASSIGN_OR_RETURN(encoder_, kept_encoder_.find(connection_, model_, options, index_.name));
  return {};
}

Result<bool> ContentRows::encode_query(std::string_view text, std::vector<float>& vector) {
  if (!index_.has_model()) {
    const std::string shown = escaped(text, kMostShown);  // SQLite converts a number to a text
    return Error{ErrorCode::kInvalidArgument,
                 index_.name + ": the query is " + (is_number(text) ? shown : "the text '" + shown + "'") +
                     ", but the index has no model to make a vector of it; pass a BLOB of float32 or a JSON "
                     "array, or create the index with model='...'"};
  }
  if (encoder_ == nullptr) GLOVE_RETURN_IF_ERROR(find_encoder());
  InterruptPoller poller(db());
  GLOVE_ASSIGN_OR_RETURN(const bool found, encoder_->encode(*model_, text, scratch_, poller));
  vector = scratch_.vector;
  return found;
}

// Sets norm_squared_, or fault_ if vector_ cannot be indexed.
void ContentRows::check_vector() {
  const auto length = static_cast<int64_t>(vector_.size());
  norm_squared_ = exact_dot(vector_.data(), vector_.data(), length);
  // The norm is finite if and only if the components are: no sum of squares of floats overflows double.
  if (length == dims_ && length > 0 && std::isfinite(norm_squared_)) return;
  const auto bad = std::find_if(vector_.begin(), vector_.end(), [](float x) { return !std::isfinite(x); });
  const std::string has = "has a vector of " + component_count(vector_.size());
  if (length == 0) {
    fault_ = "has a vector without components";
  } else if (length > kMaxDims) {
    fault_ = has + "; the most is " + std::to_string(kMaxDims);
  } else if (dims_ != 0 && length != dims_) {
    fault_ =
        has + ", but the index has " + std::to_string(dims_) + " dimensions" + float64_remedy(length, dims_);
    other_dims_ = length;
  } else if (bad != vector_.end()) {
    fault_ = "has a vector whose component " + std::to_string(bad - vector_.begin() + 1) + " is " +
             (std::isnan(*bad) ? "NaN" : "infinite");
  }
}

// Takes the vector of row_.text, which is that of the row `id`, from what the index has. Returns false if it
// has none.
Result<bool> ContentRows::find_known(int64_t id) {
  if (command_.progress == nullptr) return false;
  row_.digest = blake2b_128(row_.text);
  if (command_.known == nullptr) return false;
  GLOVE_ASSIGN_OR_RETURN(const auto vector, command_.known->find(id, row_.digest));
  if (vector.empty()) return false;
  vector_.assign(vector.begin(), vector.end());
  norm_squared_ = exact_dot(vector_.data(), vector_.data(), static_cast<int64_t>(vector_.size()));
  return true;
}

Result<RowVector> ContentRows::encode_row(OwnStatement::Run& run, int first_column) {
  if (encoder_ == nullptr) GLOVE_RETURN_IF_ERROR(find_encoder());  // another scan began and failed
  row_.text.clear();
  for (size_t i = 0; i < index_.columns.size(); ++i) {
    const int column = first_column + static_cast<int>(i);
    if (i > 0) row_.text += '\n';
    if (!run.null(column)) row_.text += run.text(column);
  }
  GLOVE_ASSIGN_OR_RETURN(const bool known, find_known(run.integer(0)));
  if (known) return RowVector::kVector;
  InterruptPoller poller(db());
  const Result<bool> found = encoder_->encode(*model_, row_.text, scratch_, poller);
  if (!found.ok() && found.error().code == ErrorCode::kInterrupted) return found.error();
  if (!found.ok()) {
    fault_ = "has a text without a vector: " + found.error().message;
    return RowVector::kInvalid;
  }
  if (!found.value()) return RowVector::kNone;
  vector_ = scratch_.vector;
  norm_squared_ = exact_dot(vector_.data(), vector_.data(), static_cast<int64_t>(vector_.size()));
  return RowVector::kVector;
}

// Reads the vector of the current row into vector_, or what is wrong with it into fault_.
Result<RowVector> ContentRows::vector_of(OwnStatement::Run& run, int first_column) {
  fault_.clear();
  other_dims_ = 0;
  if (index_.is_text) return encode_row(run, first_column);
  sqlite3_value* const value = run.value(first_column);
  if (is_null(value)) return RowVector::kNone;
  InterruptPoller poller(db());
  const Status read = read_row_vector(value, vector_, poller);
  if (command_.types && read.ok() && is_blob(value)) command_.types->add(vector_);
  if (read.ok())
    check_vector();
  else if (read.error().code == ErrorCode::kInterrupted)
    return read.error();
  else
    fault_ = read.error().message;
  if (!fault_.empty()) return RowVector::kInvalid;
  if (dims_ == 0) dims_ = static_cast<int64_t>(vector_.size());
  return RowVector::kVector;
}

Result<bool> ContentRows::read(int64_t id, std::vector<float>& vector) {
  OwnStatement::Run run(one_);
  run.bind(id);
  GLOVE_ASSIGN_OR_RETURN(const bool exists, run.next());
  if (!exists) return false;
  GLOVE_ASSIGN_OR_RETURN(const RowVector found, vector_of(run, 1));
  if (found != RowVector::kVector) return false;
  std::swap(vector, vector_);
  return true;
}

Result<bool> ContentRows::read_indexed(const live::IndexState& state, int32_t row,
                                       std::vector<float>& vector) {
  const int64_t id = state.parts->id_of(row);
  if (!index_.is_text) return read(id, vector);
  GLOVE_ASSIGN_OR_RETURN(const bool there, exists(id));
  if (!there) return false;
  const auto [segment, segment_row] = state.parts->place_of(row);
  if (state.segment_ids[segment] == 0) return read(id, vector);
  if (!vectors_read_) vectors_read_.emplace(vectors_, state.dims);
  GLOVE_ASSIGN_OR_RETURN(const auto stored, vectors_read_->read(state.segment_ids[segment], segment_row));
  // The running statement may have joined segments since it began. The codes tell.
  const live::Segment& codes = *state.parts->segments()[segment];
  if (codes.is_outline() || !codes.has_codes_of(segment_row, stored)) return read(id, vector);
  vector.assign(stored.begin(), stored.end());
  return true;
}

Status ContentRows::read_row(int64_t id, const UseContent& use) {
  OwnStatement::Run run(one_);
  run.bind(id);
  GLOVE_ASSIGN_OR_RETURN(const bool exists, run.next());
  if (!exists) return {};
  GLOVE_ASSIGN_OR_RETURN(const RowVector found, vector_of(run, 1));
  const std::span<const float> vector =
      found == RowVector::kVector ? std::span<const float>(vector_) : std::span<const float>();
  return use({id, found, vector, norm_squared_, fault_, row_.digest});
}

Result<bool> ContentRows::exists(int64_t id) {
  OwnStatement::Run run(exists_);
  run.bind(id);
  return run.next();
}

// Passes the rows of the statement, which has a row for each row of `table`.
Status ContentRows::pass_rows(OwnStatement& statement, const std::string& table, const UseContent& use) {
  OwnStatement::Run run(statement);
  ProgressLog log(connection_.engine().log(), index_.name + ": reading the rows of '" + index_.content + "'");
  const Timer timer;
  int64_t total = 0;  // counted only when reading them takes long, because counting does so too
  for (int64_t rows = 1;; ++rows) {
    GLOVE_ASSIGN_OR_RETURN(const bool more, run.next());
    if (!more) return {};
    if (total == 0 && timer.microseconds() > kUsBeforeCount) {
      GLOVE_ASSIGN_OR_RETURN(total, query("SELECT count(*) FROM " + table).next_integer());
      total = std::max<int64_t>(total, 1);
    }
    if (command_.progress != nullptr) {
      command_.progress->set("row", rows, total);
    } else {
      log.set("row", rows, total);
      log.tick();
    }
    RowVector found = RowVector::kNone;
    if (run.integer(1) != 0) {
      GLOVE_ASSIGN_OR_RETURN(found, vector_of(run, 2));
    }
    const std::span<const float> vector =
        found == RowVector::kVector ? std::span<const float>(vector_) : std::span<const float>();
    GLOVE_RETURN_IF_ERROR(use({run.integer(0), found, vector, norm_squared_, fault_, row_.digest}));
  }
}

Status ContentRows::read_all(const live::UseRow& use) {
  return pass_rows(all_, index_.content_table(), [&](const ContentRow& row) {
    return row.found == RowVector::kVector ? use(row.id, row.vector) : Status();
  });
}

Status ContentRows::read_logged(const UseContent& use) {
  return pass_rows(logged_, index_.object("_log"), use);
}

Status ContentRows::read_content(const UseContent& use) {
  return pass_rows(all_, index_.content_table(), use);
}

Status ContentRows::check_types() const {
  return !command_.types ? Status()
                         : command_.types->check(index_.name + ", in the column '" + index_.columns.front() +
                                                     "' of '" + index_.content + "'",
                                                 ", or give the argument dims if they are float32");
}

std::string ContentRows::row_text(int64_t id) const {
  if (!index_.has_key_table) return std::to_string(id);
  const Result<std::string> key = KeyTable(connection_, index_).text(id);
  return key.ok() ? key.value() : std::to_string(id);
}

Error ContentRows::fault_of_row(int64_t id, const std::string& fault) const {
  return {ErrorCode::kInvalidArgument,
          index_.name + ": the row " + row_text(id) + " of '" + index_.content + "' " + fault +
              (index_.is_text ? "; change the text" : "; correct the row or set its vector to NULL") +
              ", or create the index with invalid='skip'" + remedy_of_length(other_dims_)};
}

std::string ContentRows::remedy_of_length(int64_t length) const {
  if (index_.is_text || index_.dims != 0 || length == 0) return {};
  const std::string column = quoted_name(index_.columns.front());
  OwnQuery run = query("SELECT " + column + " FROM " + index_.content_table() + " WHERE " + column +
                       " NOT NULL LIMIT 1");
  const Result<bool> found = run.next();
  std::vector<float> vector;
  if (!found.ok() || !found.value() || !read_row_vector(run.value(0), vector).ok()) return {};
  if (static_cast<int64_t>(vector.size()) != length) return {};
  return "; if all rows of '" + index_.content + "' have " + std::to_string(length) +
         " dimensions now, run " + index_.command("rebuild");
}

}  // namespace glove::sql
