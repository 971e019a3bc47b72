#include "text/tokenizers/normalizers.h"

#include <memory>

#include "base/concat.h"
#include "text/tokenizers/pattern.h"

namespace glove::tokenizers {
namespace {

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

// Makes a normalizer that looks at one character at a time, and appends what it becomes.
Normalizer of_characters(void (*rule)(char32_t code, std::string& out)) {
  return {[rule](std::string_view text, NormalizerBuffers&, std::string& out, TextWork& work) {
    for (size_t at = 0; at < text.size() && !work.stop();) rule(next_code(text, at), out);
  }};
}

Normalizer of_form(Form form) {
  return {[form](std::string_view text, NormalizerBuffers& buffers, std::string& out, TextWork& work) {
    append_normalized(text, form, buffers.marks, out, work);
  }};
}

[[gnu::cold]] Result<Normalizer> read_strip(const JsonField& field) {
  GLOVE_ASSIGN_OR_RETURN(const bool left, field.boolean("strip_left"));
  GLOVE_ASSIGN_OR_RETURN(const bool right, field.boolean("strip_right"));
  return Normalizer{[=](std::string_view text, NormalizerBuffers&, std::string& out, TextWork& work) {
    const auto is_white = [text](size_t at) { return has(next_code(text, at), kWhite); };
    size_t begin = 0, end = text.size();
    while (left && begin < end && is_white(begin) && !work.stop()) begin += length_of(text[begin]);
    while (right && begin < end && is_white(previous(text, end)) && !work.stop()) end = previous(text, end);
    out += text.substr(begin, end - begin);
  }};
}

[[gnu::cold]] Result<Normalizer> read_replace(const JsonField& field) {
  GLOVE_ASSIGN_OR_RETURN(const JsonField given, field.at("pattern"));
  GLOVE_ASSIGN_OR_RETURN(Pattern read, Pattern::read(given));
  GLOVE_ASSIGN_OR_RETURN(const std::string content, field.string("content"));
  const auto pattern = std::make_shared<const Pattern>(std::move(read));
  const auto append_replaced = [=](std::string_view text, std::string& out, TextWork& work) {
    for (size_t at = 0; at < text.size() && !work.stop();) {
      const Match match = pattern->find(text, at, work);
      out += text.substr(at, match.begin - at);
      if (match.begin == text.size()) break;
      out += content;
      if (work.is_too_large(out.size())) break;
      at = match.end;
    }
  };
  return Normalizer{[=](std::string_view text, NormalizerBuffers&, std::string& out, TextWork& work) {
                      append_replaced(text, out, work);
                    },
                    // The reference ascribes a replacement to the last character that it replaces.
                    [=](std::string_view text, size_t origin, std::string& out, TextWork& work) {
                      const Match match = pattern->find(text, 0, work);
                      if (match.begin < origin && match.end > origin) return match.begin;
                      out.clear();
                      append_replaced(text.substr(0, origin), out, work);
                      return out.size();
                    }};
}

[[gnu::cold]] Result<Normalizer> read_prepend(const JsonField& field) {
  GLOVE_ASSIGN_OR_RETURN(const std::string prefix, field.string("prepend"));
  return Normalizer{[=](std::string_view text, NormalizerBuffers&, std::string& out, TextWork&) {
    if (!text.empty()) out += prefix;
    out += text;
  }};
}

// Makes a step of a type other than Sequence.
[[gnu::cold]] Result<Normalizer> read_normalizer(const JsonField& field, const std::string& type) {
  if (type == "BertNormalizer") return read_bert_normalizer(field);
  if (type == "NFC") return of_form(Form::kNfc);
  if (type == "NFD") return of_form(Form::kNfd);
  if (type == "NFKC") return of_form(Form::kNfkc);
  if (type == "NFKD") return of_form(Form::kNfkd);
  if (type == "Lowercase")
    return of_characters([](char32_t code, std::string& out) { append_lower(out, code); });
  if (type == "StripAccents")
    return of_characters([](char32_t code, std::string& out) {
      if (!has(code, kMark)) append_code(out, code);
    });
  if (type == "Nmt") return of_characters(nmt);
  if (type == "Strip") return read_strip(field);
  if (type == "Replace") return read_replace(field);
  if (type == "Prepend") return read_prepend(field);
  if (type == "Precompiled") return read_precompiled(field);
  if (type == "ByteLevel")
    return Normalizer{[](std::string_view text, NormalizerBuffers&, std::string& out, TextWork& work) {
      append_spelled(text, out, work);
    }};
  return field.unsupported("has the type " + quoted_value(type) +
                           ", which is not supported: BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, "
                           "NFKD, Nmt, Precompiled, "
                           "Prepend, Replace, Sequence, Strip and StripAccents are");
}

}  // namespace

Result<Normalizers> Normalizers::read(const JsonField& field) {
  Normalizers normalizers;
  GLOVE_RETURN_IF_ERROR(
      field.each_step("normalizers", [&](const JsonField& step, const std::string& type) -> Status {
        GLOVE_ASSIGN_OR_RETURN(normalizers.steps_.emplace_back(), read_normalizer(step, type));
        return {};
      }));
  return normalizers;
}

std::string_view Normalizers::apply(std::string_view text, NormalizerBuffers& buffers, size_t& origin,
                                    TextWork& work) const {
  std::string* out = &buffers.first;
  for (const auto& step : steps_) {
    if (work.stop()) break;
    if (origin > 0 && step.origin_after != nullptr) {
      origin = step.origin_after(text, origin, *out, work);
    } else if (origin > 0) {
      out->clear();
      step.append(text.substr(0, origin), buffers, *out, work);
      origin = out->size();
    }
    out->clear();
    step.append(text, buffers, *out, work);
    if (work.is_too_large(out->size())) break;
    text = *out;
    out = out == &buffers.first ? &buffers.second : &buffers.first;
  }
  return text;
}

}  // namespace glove::tokenizers
