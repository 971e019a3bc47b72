#include "text/tokenizers/tokenizer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <span>
#include <utility>

#include "base/concat.h"
#include "text/tokenizers/added_tokens.h"
#include "text/tokenizers/json.h"
#include "text/tokenizers/model.h"
#include "text/tokenizers/normalizers.h"
#include "text/tokenizers/post_processor.h"
#include "text/tokenizers/pre_tokenizers.h"
#include "text/tokenizers/unicode.h"

namespace glove {

using namespace tokenizers;

namespace {

// The ids of short pieces that a scratch has met lately: words repeat, and encoding one costs more than
// finding it here. One place per piece: of two pieces with the same place, the later one has it.
class PieceCache {
 public:
  // Forgets everything, unless `owner`, the number of a tokenizer, is that of the last call.
  void use_for(uint64_t owner) {
    if (owner_ == owner) return;
    entries_.assign(kEntries, {});
    owner_ = owner;
  }

  // Appends the ids of a piece and returns true, if they are known.
  bool append(std::string_view piece, std::vector<uint32_t>& ids) const {
    if (piece.size() > kMostBytes) return false;
    const Key key = key_of(piece);
    const Entry& entry = entries_[place(key)];
    if (entry.key != key) return false;
    ids.insert(ids.end(), entry.ids.begin(), entry.ids.begin() + entry.count);
    return true;
  }

  void keep(std::string_view piece, std::span<const uint32_t> ids) {
    if (piece.size() > kMostBytes || ids.size() > kMostIds) return;
    const Key key = key_of(piece);
    Entry& entry = entries_[place(key)];
    entry.key = key;
    entry.count = static_cast<uint32_t>(ids.size());
    std::copy(ids.begin(), ids.end(), entry.ids.begin());
  }

 private:
  static constexpr size_t kEntries = 4096;
  static constexpr size_t kMostBytes = 23;
  static constexpr size_t kMostIds = 7;
  using Key = std::array<uint64_t, 3>;  // the bytes, zeros, and the length, so that no key is all zeros

  struct Entry {
    Key key{};
    uint32_t count = 0;
    std::array<uint32_t, kMostIds> ids{};
  };

  static Key key_of(std::string_view piece) {
    char bytes[24] = {};
    std::memcpy(bytes, piece.data(), piece.size());
    bytes[kMostBytes] = static_cast<char>(piece.size());
    Key key;
    std::memcpy(key.data(), bytes, sizeof bytes);
    return key;
  }

  static size_t place(const Key& key) {
    constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15u;
    const uint64_t mixed = ((key[0] * kMultiplier ^ key[1]) * kMultiplier ^ key[2]) * kMultiplier;
    return mixed >> 52;
  }

  std::vector<Entry> entries_;
  uint64_t owner_ = 0;
};

}  // namespace

struct Tokenizer::Parts {
  std::unique_ptr<const TokenModel> model;
  std::optional<Normalizers> normalizers;
  std::optional<PreTokenizers> pre_tokenizers;
  AddedTokens added;
  PostProcessor post_processor;
  bool names_unknown = false;
  uint64_t number = 0;  // no two tokenizers of a process have the same

  Status encode_piece(std::string_view piece, Scratch::Buffers& buffers, TextWork& work,
                      std::vector<uint32_t>& ids) const;
  Status encode_text(std::string_view text, bool is_first, Scratch::Buffers& buffers, TextWork& work,
                     std::vector<uint32_t>& ids) const;
};

struct Tokenizer::Scratch::Buffers {
  std::string source;  // well-formed
  NormalizerBuffers normalizers;
  PieceList pieces;
  ModelBuffers model;
  PieceCache cache;
  std::vector<Section> sections, normalized_sections;
};

Result<std::shared_ptr<const Tokenizer>> Tokenizer::parse(std::string_view json, const std::string& file,
                                                          const InterruptCheck& interrupted,
                                                          std::optional<size_t> most_ids) {
  InterruptPoll poll(interrupted);
  const JsonSource source{file, poll};
  GLOVE_ASSIGN_OR_RETURN(const Json document, parse_json(json, source));
  const JsonField root(document, "", source);
  if (root.has("version")) {
    GLOVE_ASSIGN_OR_RETURN(const std::string version, root.string("version"));
    if (version != "1.0")
      return root.unsupported("has the version " + quoted_value(version) + ": only 1.0 is supported");
  }
  static std::atomic<uint64_t> last_number{0};
  const auto parts = std::make_shared<Parts>();
  parts->number = ++last_number;
  GLOVE_ASSIGN_OR_RETURN(const JsonField model, root.at("model"));
  GLOVE_ASSIGN_OR_RETURN(parts->model, read_model(model));
  GLOVE_RETURN_IF_ERROR(poll.check());
  parts->names_unknown = model.has("unk_token");
  if (const auto field = root.find("normalizer")) {
    GLOVE_ASSIGN_OR_RETURN(parts->normalizers, Normalizers::read(*field));
  }
  if (const auto field = root.find("pre_tokenizer")) {
    GLOVE_ASSIGN_OR_RETURN(parts->pre_tokenizers, PreTokenizers::read(*field));
  }
  if (const auto field = root.find("added_tokens")) {
    const Normalizers* normalizers = parts->normalizers ? &*parts->normalizers : nullptr;
    GLOVE_ASSIGN_OR_RETURN(parts->added, AddedTokens::read(*field, parts->model->vocabulary(), normalizers));
  }
  GLOVE_ASSIGN_OR_RETURN(parts->post_processor, PostProcessor::read(root));
  if (most_ids) GLOVE_RETURN_IF_ERROR(parts->post_processor.limit(*most_ids));
  GLOVE_RETURN_IF_ERROR(poll.check());
  return std::shared_ptr<const Tokenizer>(new Tokenizer(parts));
}

size_t Tokenizer::vocabulary_size() const {
  return std::max(parts_->model->vocabulary().id_limit(), parts_->added.vocabulary().id_limit());
}

std::string_view Tokenizer::token(uint32_t id) const {
  const std::string_view added = parts_->added.vocabulary().token(id);
  return added.data() == nullptr ? parts_->model->vocabulary().token(id) : added;
}

std::optional<uint32_t> Tokenizer::id_of(std::string_view token) const {
  const auto added = parts_->added.vocabulary().find(token);
  return added ? added : parts_->model->vocabulary().find(token);
}

std::optional<uint32_t> Tokenizer::unknown_id() const {
  return parts_->model->unknown_id();
}

bool Tokenizer::names_unknown() const {
  return parts_->names_unknown;
}

Status Tokenizer::Parts::encode_piece(std::string_view piece, Scratch::Buffers& buffers, TextWork& work,
                                      std::vector<uint32_t>& ids) const {
  if (!model->is_slow()) return model->encode(piece, buffers.model, work, ids);
  if (buffers.cache.append(piece, ids)) return {};
  const size_t first = ids.size();
  GLOVE_RETURN_IF_ERROR(model->encode(piece, buffers.model, work, ids));
  if (!work.stopped()) buffers.cache.keep(piece, std::span(ids).subspan(first));
  return {};
}

// Appends the ids of a part of the source between added tokens that stand there as they are.
Status Tokenizer::Parts::encode_text(std::string_view text, bool is_first, Scratch::Buffers& buffers,
                                     TextWork& work, std::vector<uint32_t>& ids) const {
  const bool needs_origin = is_first && pre_tokenizers && pre_tokenizers->needs_origin();
  size_t origin = needs_origin ? length_of(text[0]) : 0;
  if (normalizers) text = normalizers->apply(text, buffers.normalizers, origin, work);
  added.split_normalized(text, buffers.normalized_sections, work);
  for (const Section& section : buffers.normalized_sections) {
    if (work.stop()) return {};
    if (section.id != Trie::kNone) {
      ids.push_back(section.id);
      continue;
    }
    PieceList& pieces = buffers.pieces;
    pieces.start(text.substr(section.begin, section.end - section.begin),
                 origin > section.begin ? origin - section.begin : 0);
    if (pre_tokenizers) pre_tokenizers->apply(pieces, work);
    for (const Span span : pieces.spans()) {
      if (work.stop()) return {};
      GLOVE_RETURN_IF_ERROR(encode_piece(pieces.text(span), buffers, work, ids));
    }
  }
  return {};
}

Status Tokenizer::encode(std::string_view text, bool add_special_tokens, Scratch& scratch,
                         const InterruptCheck& interrupted, std::vector<uint32_t>& ids) const {
  constexpr size_t kMostKept = size_t{1} << 20;  // a scratch gives the memory of longer texts back
  InterruptPoll poll(interrupted);
  TextWork work(poll, text.size());
  if (scratch.buffers_ == nullptr)
    scratch.buffers_ = {new Scratch::Buffers, [](Scratch::Buffers* buffers) { delete buffers; }};
  Scratch::Buffers& buffers = *scratch.buffers_;
  const size_t first = ids.size();
  if (parts_->model->is_slow()) buffers.cache.use_for(parts_->number);
  Status status;
  const std::string_view source = well_formed(text, buffers.source, work);
  parts_->added.split_source(source, buffers.sections, work);
  for (const Section& section : buffers.sections) {
    if (!status.ok() || work.stop()) break;
    if (section.id != Trie::kNone) {
      ids.push_back(section.id);
    } else {
      const std::string_view part = source.substr(section.begin, section.end - section.begin);
      status = parts_->encode_text(part, section.begin == 0, buffers, work, ids);
    }
  }
  if (text.size() > kMostKept) scratch = Scratch();
  if (work.stopped()) return work.status();
  if (status.ok()) scratch.was_cut_ = parts_->post_processor.apply(add_special_tokens, first, ids);
  return status;
}

}  // namespace glove
