#include "text/tokenizers/normalizers.h"

#include "base/utf8.h"
#include "text/tokenizers/byte_alphabet.h"
#include "text/tokenizers/charsmap.h"
#include "text/tokenizers/pattern.h"

namespace glove::tokenizers {
namespace {

class FormNormalizer : public Normalizer {
 public:
  explicit FormNormalizer(Form form) : form_(form) {}
  bool append(std::string_view text, NormalizerBuffers& buffers, std::string& out,
              Work& work) const override {
    append_normalized(text, form_, buffers.marks, out, work);
    return true;
  }

 private:
  Form form_;
};

// Normalizers that look at one character at a time.
class CharacterNormalizer : public Normalizer {
 public:
  // Appends what a character becomes. Returns false if it is removed.
  using Rule = bool (*)(char32_t code, std::string& out);
  explicit CharacterNormalizer(Rule rule) : rule_(rule) {}

  bool append(std::string_view text, NormalizerBuffers&, std::string& out, Work& work) const override {
    bool from_first = true;
    for (size_t at = 0; at < text.size() && !work.stop();) {
      const bool is_first = at == 0;
      const bool kept = rule_(next_code(text, at), out);
      from_first &= kept || !is_first;
    }
    return from_first;
  }

 private:
  Rule rule_;
};

bool lower(char32_t code, std::string& out) {
  append_lower(out, code);
  return true;
}

bool strip_accent(char32_t code, std::string& out) {
  if (has(code, kMark)) return false;
  append_code(out, code);
  return true;
}

// SentencePiece's rules for machine translation.
bool nmt(char32_t code, std::string& out) {
  if ((code >= 1 && code <= 8) || code == 0xb || (code >= 0xe && code <= 0x1f) || code == 0x7f ||
      code == 0x8f || code == 0x9f) {
    return false;
  }
  const bool is_space = code == 9 || code == 0xa || code == 0xc || code == 0xd || code == 0x1680 ||
                        (code >= 0x200b && code <= 0x200f) || code == 0x2028 || code == 0x2029 ||
                        code == 0x2581 || code == 0xfeff || code == 0xfffd;
  append_code(out, is_space ? ' ' : code);
  return true;
}

class Strip : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  bool append(std::string_view text, NormalizerBuffers&, std::string& out, Work& work) const override {
    size_t begin = 0, end = text.size();
    while (left_ && begin < end && is_white(text, begin) && !work.stop()) begin += length_of(text[begin]);
    while (right_ && begin < end && is_white(text, previous(text, end)) && !work.stop())
      end = previous(text, end);
    out += text.substr(begin, end - begin);
    return begin == 0;
  }

 private:
  static bool is_white(std::string_view text, size_t at) { return has(next_code(text, at), kWhite); }

  bool left_, right_;
};

class Replace : public Normalizer {
 public:
  Replace(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  bool append(std::string_view text, NormalizerBuffers&, std::string& out, Work& work) const override {
    bool from_first = true;
    for (size_t at = 0; at < text.size() && !work.stop();) {
      const Match match = pattern_.find(text, at, work);
      out += text.substr(at, match.begin - at);
      if (match.begin == text.size()) break;
      out += content_;
      // The reference ascribes the replacement to the last character that it replaces.
      if (match.begin == 0) from_first = !content_.empty() && match.end == length_of(text[0]);
      at = match.end;
    }
    return from_first;
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class Prepend : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  bool append(std::string_view text, NormalizerBuffers&, std::string& out, Work&) const override {
    if (!text.empty()) out += prefix_;
    out += text;
    return true;
  }

 private:
  std::string prefix_;
};

class Precompiled : public Normalizer {
 public:
  explicit Precompiled(Charsmap map) : map_(std::move(map)) {}
  bool append(std::string_view text, NormalizerBuffers&, std::string& out, Work& work) const override {
    map_.append_normalized(text, out, work);
    return true;
  }

 private:
  Charsmap map_;
};

class ByteLevelNormalizer : public Normalizer {
 public:
  bool append(std::string_view text, NormalizerBuffers&, std::string& out, Work& work) const override {
    append_spelled(text, out, work);
    return true;
  }
};

using Made = std::unique_ptr<const Normalizer>;

Result<Made> read_strip(const JsonField& field) {
  GLOVE_ASSIGN_OR_RETURN(const bool left, field.boolean("strip_left"));
  GLOVE_ASSIGN_OR_RETURN(const bool right, field.boolean("strip_right"));
  return Made(std::make_unique<Strip>(left, right));
}

Result<Made> read_replace(const JsonField& field) {
  GLOVE_ASSIGN_OR_RETURN(const JsonField given, field.at("pattern"));
  GLOVE_ASSIGN_OR_RETURN(Pattern pattern, Pattern::read(given));
  GLOVE_ASSIGN_OR_RETURN(std::string content, field.string("content"));
  return Made(std::make_unique<Replace>(std::move(pattern), std::move(content)));
}

Status read_steps(const JsonField& field, std::vector<Made>& steps) {
  GLOVE_ASSIGN_OR_RETURN(const std::string type, field.string("type"));
  if (type != "Sequence") {
    GLOVE_ASSIGN_OR_RETURN(Made step, read_normalizer(field, type));
    steps.push_back(std::move(step));
    return {};
  }
  GLOVE_ASSIGN_OR_RETURN(const JsonField list, field.at("normalizers"));
  GLOVE_ASSIGN_OR_RETURN(const std::vector<JsonField> elements, list.elements());
  for (const JsonField& element : elements) GLOVE_RETURN_IF_ERROR(read_steps(element, steps));
  return {};
}

}  // namespace

Result<Made> read_normalizer(const JsonField& field, const std::string& type) {
  if (type == "BertNormalizer") return read_bert_normalizer(field);
  if (type == "NFC") return Made(std::make_unique<FormNormalizer>(Form::kNfc));
  if (type == "NFD") return Made(std::make_unique<FormNormalizer>(Form::kNfd));
  if (type == "NFKC") return Made(std::make_unique<FormNormalizer>(Form::kNfkc));
  if (type == "NFKD") return Made(std::make_unique<FormNormalizer>(Form::kNfkd));
  if (type == "Lowercase") return Made(std::make_unique<CharacterNormalizer>(lower));
  if (type == "StripAccents") return Made(std::make_unique<CharacterNormalizer>(strip_accent));
  if (type == "Nmt") return Made(std::make_unique<CharacterNormalizer>(nmt));
  if (type == "Strip") return read_strip(field);
  if (type == "Replace") return read_replace(field);
  if (type == "ByteLevel") return Made(std::make_unique<ByteLevelNormalizer>());
  if (type == "Prepend") {
    GLOVE_ASSIGN_OR_RETURN(std::string prefix, field.string("prepend"));
    return Made(std::make_unique<Prepend>(std::move(prefix)));
  }
  if (type == "Precompiled") {
    GLOVE_ASSIGN_OR_RETURN(Charsmap map, Charsmap::read(field));
    return Made(std::make_unique<Precompiled>(std::move(map)));
  }
  return field.unsupported("has the type " + quoted_value(type) +
                           ", which is not supported: BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, "
                           "NFKD, Nmt, Precompiled, "
                           "Prepend, Replace, Sequence, Strip and StripAccents are");
}

Result<Normalizers> Normalizers::read(const JsonField& field) {
  Normalizers normalizers;
  GLOVE_RETURN_IF_ERROR(read_steps(field, normalizers.steps_));
  return normalizers;
}

std::string_view Normalizers::apply(std::string_view text, NormalizerBuffers& buffers, bool& from_first,
                                    Work& work) const {
  std::string* out = &buffers.first;
  for (const auto& step : steps_) {
    if (work.stopped()) break;
    out->clear();
    from_first &= step->append(text, buffers, *out, work);
    text = *out;
    out = out == &buffers.first ? &buffers.second : &buffers.first;
  }
  return text;
}

}  // namespace glove::tokenizers
