#include "sql/index/content_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/concat.h"
#include "base/log.h"
#include "base/timer.h"
#include "model/exact_dot.h"
#include "model/limits.h"
#include "search/query.h"
#include "sql/adapter/interrupt.h"
#include "sql/index/index_store.h"
#include "sql/index/key_table.h"
#include "sql/values/row_vector.h"

namespace glove::sql {
namespace {

constexpr double kUsBeforeCount = 200'000;
constexpr int64_t kMostWaiting = 4096;  // rows, whose vectors are in memory
constexpr size_t kMostShown = 60;       // bytes of a text in a message

constexpr const char* kNoVector = "has a text without a vector: ";

// True if the text is that of a number, as SQLite writes it.
bool is_number(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  return !text.empty() && text.front() != 'e' &&
         text.find_first_not_of("0123456789+-.e") == std::string_view::npos &&
         text.find_first_of(kDigits) != std::string_view::npos;
}

// Whether all of these columns are NULL.
bool are_null(OwnStatement::Run& run, int first_column, size_t columns) {
  int column = first_column;
  while (column < first_column + static_cast<int>(columns) && run.null(column)) ++column;
  return column == first_column + static_cast<int>(columns);
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
                              columns("d") + " FROM " + index_.object("_log") + joined +
                              " WHERE l.id <= ? ORDER BY l.id");
}

Status ContentRows::begin(int64_t dims, const std::string& stored_model) {
  dims_ = dims;
  stored_read_.reset();
  encoded_ = 0;
  command_.types.reset();
  if (dims == 0 && index_.dims == 0 && index_.type == ElementType::kFloat32) command_.types.emplace();
  GLOVE_RETURN_IF_ERROR(prepare_statements());
  GLOVE_RETURN_IF_ERROR(model_.choose(stored_model));
  return index_.is_text ? model_.find_encoder(dims_) : Status();
}

Status ContentRows::begin(int64_t dims, const IndexConfig& config) {
  GLOVE_RETURN_IF_ERROR(begin(dims, config.model));
  return model_.check_fingerprint(config.fingerprint);
}

Status ContentRows::check_model(const IndexConfig& config) {
  if (!index_.is_text) return {};
  dims_ = config.dims;
  GLOVE_RETURN_IF_ERROR(model_.choose(config.model));
  GLOVE_RETURN_IF_ERROR(model_.find(dims_));
  return model_.check_fingerprint(config.fingerprint);
}

// The indexed columns, each with a comma before it.
std::string ContentRows::columns(const char* table) const {
  std::string text;
  for (const std::string& column : index_.columns)
    text += std::string(", ") + table + "." + quoted_name(column);
  return text;
}

Result<bool> ContentRows::encode_query(std::string_view text, std::vector<float>& vector) {
  if (!index_.has_model()) {
    const std::string shown = escaped(text, kMostShown);  // SQLite converts a number to a text
    return Error{ErrorCode::kInvalidArgument,
                 index_.name + ": the query is " + (is_number(text) ? shown : "the text '" + shown + "'") +
                     ", but the index has no model to make a vector of it; pass a BLOB of float32 or a JSON "
                     "array, or create the index with model='...'"};
  }
  GLOVE_RETURN_IF_ERROR(model_.find_encoder(dims_));
  return model_.encode(text, /*is_query=*/true, vector);
}

// Sets norm_squared_, or fault_ if vector_ cannot be indexed.
void ContentRows::check_vector() {
  const auto length = static_cast<int64_t>(vector_.size());
  norm_squared_ = exact_dot(vector_.data(), vector_.data(), length);
  // The norm is finite if and only if the components are: no sum of squares of floats overflows double.
  if (length == dims_ && length > 0 && std::isfinite(norm_squared_)) return;
  const auto bad = std::find_if(vector_.begin(), vector_.end(), [](float x) { return !std::isfinite(x); });
  const std::string has = "has a vector of " + length_text(index_.type, vector_.size());
  if (length == 0) {
    fault_ = "has a vector without components";
  } else if (dims_of(index_.type, length) > kMaxDims) {
    fault_ = has + "; the most is " + std::to_string(kMaxDims);
  } else if (dims_ != 0 && length != dims_) {
    fault_ = has + ", but the index has " + std::to_string(dims_of(index_.type, dims_)) + " dimensions" +
             remedy_of_type(index_.type, length, dims_);
    other_dims_ = length;
  } else if (bad != vector_.end()) {
    fault_ = "has a vector whose component " + std::to_string(bad - vector_.begin() + 1) + " is " +
             (std::isnan(*bad) ? "NaN" : "infinite");
  }
}

// Takes the vector of row_.text, which is that of the row `id`, from what the index has. Returns false if it
// has none.
Result<bool> ContentRows::find_known(int64_t id) {
  if (command_.progress == nullptr && !encodes_slowly()) return false;
  row_.digest = blake2b_128(row_.text);
  const std::vector<float>* const made = model_.find_made(row_.digest, /*is_query=*/false);
  if (made != nullptr) vector_ = *made;
  if (made != nullptr) return true;
  if (command_.known == nullptr) return false;
  GLOVE_ASSIGN_OR_RETURN(const auto vector, command_.known->find(id, row_.digest));
  if (vector.empty()) return false;
  vector_.assign(vector.begin(), vector.end());
  return true;
}

Result<bool> ContentRows::read_text(OwnStatement::Run& run, int first_column) {
  GLOVE_RETURN_IF_ERROR(model_.find_encoder(dims_));  // another scan may have begun and failed
  row_.text.clear();
  for (size_t i = 0; i < index_.columns.size(); ++i) {
    const int column = first_column + static_cast<int>(i);
    if (i > 0) row_.text += '\n';
    if (!run.null(column)) row_.text += run.text(column);
  }
  return find_known(run.integer(0));
}

Result<RowVector> ContentRows::encode_row(OwnStatement::Run& run, int first_column) {
  if (are_null(run, first_column, index_.columns.size())) return RowVector::kNone;
  GLOVE_ASSIGN_OR_RETURN(const bool known, read_text(run, first_column));
  if (!known) {
    if (encodes_slowly()) GLOVE_RETURN_IF_ERROR(check_encode_limit(++encoded_));
    const Result<bool> found = model_.encode(row_.text, /*is_query=*/false, vector_);
    if (!found.ok() && found.error().code == ErrorCode::kInterrupted) return found.error();
    if (!found.ok()) fault_ = kNoVector + found.error().message;
    if (!found.ok() || !found.value()) return found.ok() ? RowVector::kNone : RowVector::kInvalid;
  }
  norm_squared_ = exact_dot(vector_.data(), vector_.data(), std::ssize(vector_));
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
  Status read = read_row_vector(value, vector_, poller, index_.type);
  if (read.ok() && is_blob(value)) read = check_type(vector_, index_.type, "has a");
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
  if (!stored_read_) stored_read_.emplace(vectors_, state.dims);
  const int64_t segment_id = state.segment_ids[segment];
  GLOVE_ASSIGN_OR_RETURN(const auto stored, stored_read_->vectors.read(segment_id, segment_row));
  // The running statement may have joined segments since it began. The codes tell, or else the text.
  const live::Segment& codes = *state.parts->segments()[segment];
  if (codes.is_outline() || !codes.has_codes_of(segment_row, stored)) {
    if (!encodes_slowly() || stored.empty()) return read(id, vector);
    OwnStatement::Run run(one_);
    run.bind(id);
    GLOVE_ASSIGN_OR_RETURN(const bool is_row, run.next());
    if (!is_row) return false;
    GLOVE_RETURN_IF_ERROR(read_text(run, 1));
    GLOVE_ASSIGN_OR_RETURN(const auto digest, stored_read_->digests.read(segment_id, segment_row));
    if (digest.empty() || !(digest_of(digest) == row_.digest)) return read(id, vector);
  }
  vector.assign(stored.begin(), stored.end());
  return true;
}

Status ContentRows::read_rows(std::span<const int64_t> ids, const UseContent& use) {
  waiting_.clear();
  for (const int64_t id : ids) {
    OwnStatement::Run run(one_);
    run.bind(id);
    GLOVE_ASSIGN_OR_RETURN(const bool exists, run.next());
    if (exists) GLOVE_RETURN_IF_ERROR(take(run, id, 1, use));
  }
  return pass_waiting(use);
}

Result<bool> ContentRows::exists(int64_t id) {
  OwnStatement::Run run(exists_);
  run.bind(id);
  return run.next();
}

// Passes the row whose vector was read last.
Status ContentRows::pass(int64_t id, RowVector found, const UseContent& use) {
  const std::span<const float> vector =
      found == RowVector::kVector ? std::span<const float>(vector_) : std::span<const float>();
  return use({id, found, vector, norm_squared_, fault_, row_.digest});
}

// Passes the current row of a statement, or lets it wait for others that are encoded with it. It has the
// content from `first_column` on; 0: none.
Status ContentRows::take(OwnStatement::Run& run, int64_t id, int first_column, const UseContent& use) {
  const bool exists = first_column > 0;
  if (!encodes_slowly()) {
    RowVector found = RowVector::kNone;
    if (exists) {
      GLOVE_ASSIGN_OR_RETURN(found, vector_of(run, first_column));
    }
    return pass(id, found, use);
  }
  if (waiting_.empty()) to_encode_.clear();
  WaitingRow& row = waiting_.emplace_back();
  row.id = id;
  if (exists && !are_null(run, first_column, index_.columns.size()) &&
      !std::ranges::binary_search(command_.unread, id)) {
    GLOVE_ASSIGN_OR_RETURN(const bool known, read_text(run, first_column));
    row.digest = row_.digest;
    if (known)
      row.vector = vector_;
    else
      row.place = std::ssize(to_encode_);
    if (!known) to_encode_.push_back({row_.text, {}, {}});
  }
  GLOVE_RETURN_IF_ERROR(check_encode_limit(encoded_ + std::ssize(to_encode_)));
  const int64_t most = command_.progress == nullptr ? kMostWaiting : model_.texts_at_once();
  const bool waits = std::ssize(to_encode_) < most && std::ssize(waiting_) < kMostWaiting;
  return waits ? Status() : pass_waiting(use);
}

// Encodes what waiting rows need, on several threads, and passes them.
Status ContentRows::pass_waiting(const UseContent& use) {
  if (waiting_.empty()) return {};
  encoded_ += std::ssize(to_encode_);
  GLOVE_RETURN_IF_ERROR(model_.encode_all(to_encode_));
  for (WaitingRow& row : waiting_) {
    fault_.clear();
    RowVector found = row.vector.empty() ? RowVector::kNone : RowVector::kVector;
    if (row.place >= 0) {
      TextToEncode& text = to_encode_[static_cast<size_t>(row.place)];
      texts_cut_ += text.was_cut ? 1 : 0;
      found = text.fault.ok() ? RowVector::kVector : RowVector::kInvalid;
      if (!text.fault.ok()) fault_ = kNoVector + text.fault.error().message;
      row.vector = std::move(text.vector);
    }
    vector_ = std::move(row.vector);
    norm_squared_ = exact_dot(vector_.data(), vector_.data(), std::ssize(vector_));
    row_.digest = row.digest;
    if (row.place >= 0 && found == RowVector::kVector && command_.progress == nullptr)
      model_.keep_made(row.digest, /*is_query=*/false, vector_);
    GLOVE_RETURN_IF_ERROR(pass(row.id, found, use));
  }
  waiting_.clear();
  return {};
}

// An error unless a search may encode so many texts, which are not in the index.
Status ContentRows::check_encode_limit(int64_t texts) {
  if (command_.progress != nullptr) return {};
  GLOVE_ASSIGN_OR_RETURN(const int64_t limit, connection_.engine().settings().encode_limit());
  if (texts <= limit) return {};
  return index_error(index_, "more than ", limit,
                     " texts are not encoded yet, and a search would have to encode them first; run ",
                     index_.command("sync"), ", or raise glove_config('encode_limit')");
}

// Passes the rows of the statement, which has a row for each row of `table`.
Status ContentRows::pass_rows(OwnStatement::Run& run, const std::string& table, const UseContent& use) {
  ProgressLog log(connection_.engine().log(), index_.name + ": reading the rows of '" + index_.content + "'");
  const Timer timer;
  int64_t total = 0;  // counted only when reading them takes long, because counting does so too
  waiting_.clear();
  for (int64_t rows = 1;; ++rows) {
    GLOVE_ASSIGN_OR_RETURN(const bool more, run.next());
    if (!more) GLOVE_RETURN_IF_ERROR(pass_waiting(use));
    if (!more && texts_cut_ > 0)
      connection_.engine().log().write(concat(index_.name, ": ", std::exchange(texts_cut_, 0),
                                              " texts are longer than the model '", model_.name(),
                                              "' reads, so only their beginnings count"));
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
    GLOVE_RETURN_IF_ERROR(take(run, run.integer(0), run.integer(1) != 0 ? 2 : 0, use));
  }
}

Status ContentRows::read_all(const live::UseRow& use) {
  OwnStatement::Run run(all_);
  return pass_rows(run, index_.content_table(), [&](const ContentRow& row) {
    return row.found == RowVector::kVector ? use(row.id, row.vector) : Status();
  });
}

Status ContentRows::read_logged(const UseContent& use, int64_t last) {
  OwnStatement::Run run(logged_);
  run.bind(last);
  return pass_rows(run, index_.object("_log"), use);
}

Status ContentRows::read_content(const UseContent& use) {
  OwnStatement::Run run(all_);
  return pass_rows(run, index_.content_table(), use);
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
  if (!found.ok() || !found.value() || !read_row_vector(run.value(0), vector, {}, index_.type).ok())
    return {};
  if (static_cast<int64_t>(vector.size()) != length) return {};
  return "; if all rows of '" + index_.content + "' have " + std::to_string(dims_of(index_.type, length)) +
         " dimensions now, run " + index_.command("rebuild");
}

}  // namespace glove::sql
