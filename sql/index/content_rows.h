// The rows of the table that a live index is over, with their vectors.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "live/blake2b.h"
#include "live/live_search.h"
#include "sql/index/index_progress.h"
#include "sql/index/own_work.h"
#include "sql/index/text_model.h"
#include "sql/index/vector_store.h"
#include "sql/values/blob_type.h"

namespace glove::sql {

class KnownTexts;  // sql/index/index_store.h

// What a row of the content has.
enum class RowVector {
  kNone,     // no row, NULL, or a text without words of the model
  kInvalid,  // a vector that cannot be indexed
  kVector,
};

// A row of the content. What it refers to is valid until the next row is read.
struct ContentRow {
  int64_t id;
  RowVector found;
  std::span<const float> vector;  // empty unless found is kVector
  double norm_squared;            // D(x, x) of the vector, finite
  const std::string& fault;  // for kInvalid, the end of a message, as in "has a vector of 3 components ..."
  const Digest128& digest;   // of the text, in a command of an index of texts
};

// Reads the content as the running statement sees it. Belongs to the table object of one connection, which
// outlives it, like `index`.
class ContentRows final : public live::RowSource, IndexPart {
 public:
  ContentRows(Connection& connection, const IndexDefinition& index, VectorStore& vectors)
      : IndexPart(connection, index), vectors_(vectors), model_(connection, index) {}

  // Must be called before each use in a statement. For an index of texts, finds the model: that of the
  // definition, else the one of this name, else the only one that is loaded. `dims`: those of the index; 0:
  // the first vector that is read sets them.
  Status begin(int64_t dims, const std::string& stored_model);
  // The same, and an error if the model of an index of texts has another fingerprint than the config.
  Status begin(int64_t dims, const IndexConfig& config);

  // An error if a search of an index of texts would not find its model, or another one. Until the next
  // begin(), nothing else may be called.
  Status check_model(const IndexConfig& config);

  // The fingerprint of the model of an index of texts, by which the index knows it again; empty for others.
  // REQUIRES: begin() succeeded.
  std::string fingerprint() const { return model_.fingerprint(); }
  // The name of the model, if the definition of an index of texts has none. REQUIRES: begin() succeeded.
  std::string model_to_store() const { return index_.model.empty() ? model_.name() : std::string(); }

  // The dimensions; 0 while they are not known.
  int64_t dims() const { return dims_; }

  Result<bool> read(int64_t id, std::vector<float>& vector) override;
  // Takes the vector of a text from the index if it is there.
  Result<bool> read_indexed(const live::IndexState& state, int32_t row, std::vector<float>& vector) override;
  // Whether the content has this row, with or without a vector.
  Result<bool> exists(int64_t id);
  Status read_all(const live::UseRow& use) override;
  bool is_slow() const override { return encodes_slowly(); }

  // Until the next call, read_logged() and read_content() report how far they are; null: nobody asks. The
  // object must outlive its use.
  void report_to(IndexProgress* progress) { command_.progress = progress; }
  // Until the next call, takes vectors of texts from `known`; null: encodes all texts. A neural model does
  // not encode the rows `unread`, ascending, which then have no vector. Both must outlive their use.
  void reuse(KnownTexts* known, std::span<const int64_t> unread = {}) {
    command_.known = known;
    command_.unread = unread;
  }

  using UseContent = std::function<Status(const ContentRow& row)>;
  // Passes every logged row up to this id, by ascending id, also those that the content no longer has.
  Status read_logged(const UseContent& use, int64_t last = std::numeric_limits<int64_t>::max());
  // Passes those of these rows that the content has, in this order.
  Status read_rows(std::span<const int64_t> ids, const UseContent& use);
  // Passes every row of the content, by ascending id.
  Status read_content(const UseContent& use);

  // Whether a neural model makes the vectors. REQUIRES: begin() succeeded.
  bool encodes_slowly() const { return index_.is_text && model_.texts_at_once() > 0; }
  // An error if the model's vectors are meant to be compared by another metric and the definition has none.
  Status check_metric() const { return model_.check_metric(); }

  // Makes the vector of a query of a text. Returns false if the text has none.
  Result<bool> encode_query(std::string_view text, std::vector<float>& vector);

  // An error if the BLOBs that were read since begin() look like those of another type, unless the dimensions
  // had been known.
  Status check_types() const;
  // Returns the key of a row for messages.
  std::string row_text(int64_t id) const;
  // The error of the row that was read last, which cannot be indexed.
  Error fault_of_row(int64_t id, const std::string& fault) const;
  // Returns what to do about a vector that is not as long as those of the index, for the end of a message: it
  // names 'rebuild' if the first row of the content is as long as the vector. Empty: nothing.
  std::string remedy_of_length(int64_t length) const;

 private:
  Status prepare_statements();
  std::string columns(const char* table) const;
  Result<RowVector> vector_of(OwnStatement::Run& run, int first_column);
  // A row whose text is encoded together with those of others.
  struct WaitingRow {
    int64_t id = 0;
    std::vector<float> vector;  // if it is known
    Digest128 digest{};
    int64_t place = -1;  // in to_encode_; below 0: it has no text there
  };

  Result<RowVector> encode_row(OwnStatement::Run& run, int first_column);
  // Reads the text of the current row into row_. Returns whether its vector is known.
  Result<bool> read_text(OwnStatement::Run& run, int first_column);
  Status pass(int64_t id, RowVector found, const UseContent& use);
  Status take(OwnStatement::Run& run, int64_t id, int first_column, const UseContent& use);
  Status pass_waiting(const UseContent& use);
  Status check_encode_limit(int64_t texts);
  Result<bool> find_known(int64_t id);
  void check_vector();
  Status pass_rows(OwnStatement::Run& run, const std::string& table, const UseContent& use);

  VectorStore& vectors_;
  int64_t dims_ = 0;
  OwnStatement one_;
  OwnStatement exists_;
  OwnStatement all_;
  OwnStatement logged_;
  struct {
    IndexProgress* progress = nullptr;
    KnownTexts* known = nullptr;
    std::span<const int64_t> unread;
    std::optional<BlobTypes> types;  // of what was read since begin(), if the dimensions were not known
  } command_;                        // null outside of one
  std::optional<StoredTextReader> stored_read_;  // by read_indexed() since begin()
  std::vector<float> vector_;                    // of the current row; of an earlier one if it has none
  double norm_squared_ = 0;                      // of vector_
  std::string fault_;                            // of the current row; empty: none
  int64_t other_dims_ = 0;                       // of the current row, if that is its fault
  std::vector<WaitingRow> waiting_;
  std::vector<TextToEncode> to_encode_;  // the texts of waiting rows
  int64_t encoded_ = 0;                  // texts for searches, since begin()
  int64_t texts_cut_ = 0;
  TextModel model_;
  struct {
    std::string text;
    Digest128 digest{};  // in a command
  } row_;                // the current one
};

}  // namespace glove::sql
