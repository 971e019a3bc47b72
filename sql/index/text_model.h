// The model that makes the vectors of an index of texts, or of queries that are texts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "live/blake2b.h"
#include "sql/index/own_work.h"
#include "sql/text/text_encoder.h"

namespace glove::sql {

// Belongs to the ContentRows of one connection. Errors begin with the name of the index.
class TextModel : IndexPart {
 public:
  TextModel(Connection& connection, const IndexDefinition& index) : IndexPart(connection, index) {}

  // Sets name(): that of the definition, else `stored`, else of the only model that is loaded.
  Status choose(const std::string& stored);
  const std::string& name() const { return model_name_; }

  // Finds the model, or also its encoder unless it is known. Sets `dims` if it is 0; an error if the model
  // has others. REQUIRES: choose() succeeded.
  Status find(int64_t& dims);
  Status find_encoder(int64_t& dims);

  // The fingerprint of the model of an index of texts, by which the index knows it again; empty for others.
  std::string fingerprint() const;
  // Also accepts that of a former version of the encoder, by which texts are encoded from now on until
  // choose() is called.
  Status check_fingerprint(const std::string& expected_fingerprint);
  // That of the vectors of a neural model; nullopt if it is not known, or another one than an index can have.
  Result<std::optional<RowMetric>> metric();
  // An error if the vectors are meant for another metric than that of the index, and its definition has none.
  Status check_metric() const;

  // Those of TextEncoder; 0 without an encoder.
  int texts_at_once() const { return encoder_ == nullptr ? 0 : encoder_->texts_at_once(); }
  Status encode_all(std::span<TextToEncode> texts);
  // Returns false if the text has no vector. Keeps what a neural model makes. REQUIRES: find_encoder()
  // succeeded.
  Result<bool> encode(std::string_view text, bool is_query, std::vector<float>& vector);

  // The vector that a neural model made of a text before; null if none is kept. Valid until the next call.
  const std::vector<float>* find_made(const Digest128& digest, bool is_query);
  void keep_made(const Digest128& digest, bool is_query, std::span<const float> vector);

 private:
  KeptEncoder kept_encoder_;
  std::string model_name_;
  bool is_former_ = false;  // texts are encoded by version 1 of the encoder
  ModelPtr model_;
  const TextEncoder* encoder_ = nullptr;
  TextEncoder::Scratch scratch_;
  std::map<std::pair<bool, Digest128>, std::vector<float>> made_;  // true: of queries
  uint64_t made_by_ = 0;                                           // the model's id
};

}  // namespace glove::sql
