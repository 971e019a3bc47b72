// The rows of the table that a live index is over, with their vectors.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "live/blake2b.h"
#include "live/live_search.h"
#include "sql/index/index_progress.h"
#include "sql/index/own_work.h"
#include "sql/index/vector_store.h"
#include "sql/text/text_encoder.h"
#include "sql/values/blob_type.h"

namespace glove::sql {

class KnownTexts;  // sql/index/known_texts.h

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
      : IndexPart(connection, index), vectors_(vectors) {}

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
  std::string fingerprint() const;
  // The name of the model, if the definition of an index of texts has none. REQUIRES: begin() succeeded.
  std::string model_to_store() const { return index_.model.empty() ? model_name_ : std::string(); }

  // The dimensions; 0 while they are not known.
  int64_t dims() const { return dims_; }

  Result<bool> read(int64_t id, std::vector<float>& vector) override;
  // Takes the vector of a text from the index if it is there.
  Result<bool> read_indexed(const live::IndexState& state, int32_t row, std::vector<float>& vector) override;
  // Whether the content has this row, with or without a vector.
  Result<bool> exists(int64_t id);
  Status read_all(const live::UseRow& use) override;

  // Until the next call, read_logged() and read_content() report how far they are; null: nobody asks. The
  // object must outlive its use.
  void report_to(IndexProgress* progress) { command_.progress = progress; }
  // Until the next call, takes vectors of texts from `known`; null: encodes all texts. The object must
  // outlive its use.
  void reuse(KnownTexts* known) { command_.known = known; }

  using UseContent = std::function<Status(const ContentRow& row)>;
  // Passes every logged row, by ascending id, also those that the content no longer has.
  Status read_logged(const UseContent& use);
  // Passes this row if the content has it.
  Status read_row(int64_t id, const UseContent& use);
  // Passes every row of the content, by ascending id.
  Status read_content(const UseContent& use);

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
  Result<RowVector> encode_row(OwnStatement::Run& run, int first_column);
  Result<bool> find_known(int64_t id);
  void check_vector();
  Status choose_model(const std::string& stored);
  Status find_model();
  Status find_encoder();
  Status check_fingerprint(const std::string& expected_fingerprint) const;
  Status pass_rows(OwnStatement& statement, const std::string& table, const UseContent& use);

  VectorStore& vectors_;
  int64_t dims_ = 0;
  OwnStatement one_;
  OwnStatement exists_;
  OwnStatement all_;
  OwnStatement logged_;
  struct {
    IndexProgress* progress = nullptr;
    KnownTexts* known = nullptr;
    std::optional<BlobTypes> types;  // of what was read since begin(), if the dimensions were not known
  } command_;                        // null outside of one
  std::optional<VectorReader> vectors_read_;  // by read_indexed() since begin()
  std::vector<float> vector_;                 // of the current row; of an earlier one if it has none
  double norm_squared_ = 0;                   // of vector_
  std::string fault_;                         // of the current row; empty: none
  int64_t other_dims_ = 0;                    // of the current row, if that is its fault
  KeptEncoder kept_encoder_;
  std::string model_name_;
  ModelPtr model_;
  const TextEncoder* encoder_ = nullptr;
  TextEncoder::Scratch scratch_;
  struct {
    std::string text;
    Digest128 digest{};  // in a command
  } row_;                // the current one
};

}  // namespace glove::sql
