#include "text/tokenizers/normalizers.h"

#include "base/concat.h"
#include "text/tokenizers/charsmap.h"
#include "text/tokenizers/pattern.h"

namespace glove::tokenizers {
namespace {

class FormNormalizer : public Normalizer {
 public:
  explicit FormNormalizer(Form form) : form_(form) {}
  void append(std::string_view text, NormalizerBuffers& buffers, std::string& out,
              TextWork& work) const override {
    append_normalized(text, form_, buffers.marks, out, work);
  }

 private:
  Form form_;
};

// Normalizers that look at one character at a time.
class CharacterNormalizer : public Normalizer {
 public:
  // Appends what a character becomes.
  using Rule = void (*)(char32_t code, std::string& out);
  explicit CharacterNormalizer(Rule rule) : rule_(rule) {}

  void append(std::string_view text, NormalizerBuffers&, std::string& out, TextWork& work) const override {
    for (size_t at = 0; at < text.size() && !work.stop();) rule_(next_code(text, at), out);
  }

 private:
  Rule rule_;
};

void lower(char32_t code, std::string& out) {
  append_lower(out, code);
}

void strip_accent(char32_t code, std::string& out) {
  if (!has(code, kMark)) append_code(out, code);
}

// SentencePiece's rules for machine translation.
void nmt(char32_t code, std::string& out) {
  if ((code >= 1 && code <= 8) || code == 0xb || (code >= 0xe && code <= 0x1f) || code == 0x7f ||
      code == 0x8f || code == 0x9f)
    return;
  const bool is_space = code == 9 || code == 0xa || code == 0xc || code == 0xd || code == 0x1680 ||
                        (code >= 0x200b && code <= 0x200f) || code == 0x2028 || code == 0x2029 ||
                        code == 0x2581 || code == 0xfeff || code == 0xfffd;
  append_code(out, is_space ? ' ' : code);
}

class Strip : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void append(std::string_view text, NormalizerBuffers&, std::string& out, TextWork& work) const override {
    size_t begin = 0, end = text.size();
    while (left_ && begin < end && is_white(text, begin) && !work.stop()) begin += length_of(text[begin]);
    while (right_ && begin < end && is_white(text, previous(text, end)) && !work.stop())
      end = previous(text, end);
    out += text.substr(begin, end - begin);
  }

 private:
  static bool is_white(std::string_view text, size_t at) { return has(next_code(text, at), kWhite); }

  bool left_, right_;
};

class Replace : public Normalizer {
 public:
  Replace(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void append(std::string_view text, NormalizerBuffers&, std::string& out, TextWork& work) const override {
    for (size_t at = 0; at < text.size() && !work.stop();) {
      const Match match = pattern_.find(text, at, work);
      out += text.substr(at, match.begin - at);
      if (match.begin == text.size()) break;
      out += content_;
      if (work.is_too_large(out.size())) break;
      at = match.end;
    }
  }

  // The reference ascribes a replacement to the last character that it replaces.
  size_t origin_after(std::string_view text, size_t origin, NormalizerBuffers& buffers, std::string& out,
                      TextWork& work) const override {
    const Match match = pattern_.find(text, 0, work);
    if (match.begin < origin && match.end > origin) return match.begin;
    return Normalizer::origin_after(text, origin, buffers, out, work);
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class Prepend : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  void append(std::string_view text, NormalizerBuffers&, std::string& out, TextWork&) const override {
    if (!text.empty()) out += prefix_;
    out += text;
  }

 private:
  std::string prefix_;
};

class Precompiled : public Normalizer {
 public:
  explicit Precompiled(Charsmap map) : map_(std::move(map)) {}
  void append(std::string_view text, NormalizerBuffers&, std::string& out, TextWork& work) const override {
    map_.append_normalized(text, out, work);
  }

  // The reference does not account for characters that are removed at the beginning.
  size_t origin_after(std::string_view text, size_t origin, NormalizerBuffers&, std::string& out,
                      TextWork& work) const override {
    out.clear();
    for (size_t begin = 0, end = origin; out.empty() && begin < text.size() && !work.stop();) {
      map_.append_normalized(text.substr(begin, end - begin), out, work);
      begin = end;
      if (begin < text.size()) end += length_of(text[begin]);
    }
    return out.size();
  }

 private:
  Charsmap map_;
};

class ByteLevelNormalizer : public Normalizer {
 public:
  void append(std::string_view text, NormalizerBuffers&, std::string& out, TextWork& work) const override {
    append_spelled(text, out, work);
  }
};

using Made = std::unique_ptr<const Normalizer>;

[[gnu::cold]] Result<Made> read_strip(const JsonField& field) {
  GLOVE_ASSIGN_OR_RETURN(const bool left, field.boolean("strip_left"));
  GLOVE_ASSIGN_OR_RETURN(const bool right, field.boolean("strip_right"));
  return Made(std::make_unique<Strip>(left, right));
}

[[gnu::cold]] Result<Made> read_replace(const JsonField& field) {
  GLOVE_ASSIGN_OR_RETURN(const JsonField given, field.at("pattern"));
  GLOVE_ASSIGN_OR_RETURN(Pattern pattern, Pattern::read(given));
  GLOVE_ASSIGN_OR_RETURN(std::string content, field.string("content"));
  return Made(std::make_unique<Replace>(std::move(pattern), std::move(content)));
}

[[gnu::cold]] Status read_steps(const JsonField& field, std::vector<Made>& steps) {
  GLOVE_ASSIGN_OR_RETURN(const std::string type, field.string("type"));
  if (type != "Sequence") {
    GLOVE_ASSIGN_OR_RETURN(Made step, read_normalizer(field, type));
    steps.push_back(std::move(step));
    return {};
  }
  GLOVE_ASSIGN_OR_RETURN(const JsonField list, field.at("normalizers"));
  return list.each([&](const JsonField& element) { return read_steps(element, steps); });
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

size_t Normalizer::origin_after(std::string_view text, size_t origin, NormalizerBuffers& buffers,
                                std::string& out, TextWork& work) const {
  out.clear();
  append(text.substr(0, origin), buffers, out, work);
  return out.size();
}

std::string_view Normalizers::apply(std::string_view text, NormalizerBuffers& buffers, size_t& origin,
                                    TextWork& work) const {
  std::string* out = &buffers.first;
  for (const auto& step : steps_) {
    if (work.stop()) break;
    if (origin > 0) origin = step->origin_after(text, origin, buffers, *out, work);
    out->clear();
    step->append(text, buffers, *out, work);
    if (work.is_too_large(out->size())) break;
    text = *out;
    out = out == &buffers.first ? &buffers.second : &buffers.first;
  }
  return text;
}

}  // namespace glove::tokenizers
