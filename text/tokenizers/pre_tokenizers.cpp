#include "text/tokenizers/pre_tokenizers.h"

#include <array>
#include <iterator>
#include <optional>
#include <span>

#include "base/concat.h"
#include "text/tokenizers/pattern.h"
#include "text/tokenizers/unicode.h"
#include "text/tokenizers/unicode_tables.h"

namespace glove::tokenizers {
namespace {

// What becomes of matches. Of "the-final--countdown" with '-' as the pattern:
enum class SplitBehavior {
  kRemoved,             // the final countdown
  kIsolated,            // the - final - - countdown
  kMergedWithPrevious,  // the- final- - countdown
  kMergedWithNext,      // the -final - -countdown
  kContiguous,          // the - final -- countdown
};

// Reads the member "behavior".
[[gnu::cold]] Result<SplitBehavior> read_behavior(const JsonField& field) {
  GLOVE_ASSIGN_OR_RETURN(const std::string behavior, field.string("behavior"));
  if (behavior == "Removed") return SplitBehavior::kRemoved;
  if (behavior == "Isolated") return SplitBehavior::kIsolated;
  if (behavior == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (behavior == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (behavior == "Contiguous") return SplitBehavior::kContiguous;
  return field.corrupt("has the behavior " + quoted_value(behavior) +
                       ": it must be Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

// Receives the matches and what is between them, in order and covering a piece, and passes parts on.
template <class Sink>
class Splitter {
 public:
  Splitter(SplitBehavior behavior, const Sink& sink) : behavior_(behavior), sink_(sink) {}

  void add(size_t begin, size_t end, bool is_match) {
    if (begin == end) return;
    switch (behavior_) {
      case SplitBehavior::kRemoved:
        if (!is_match) sink_(begin, end);
        return;
      case SplitBehavior::kIsolated:
        sink_(begin, end);
        return;
      case SplitBehavior::kMergedWithPrevious:
        return add_or_extend(begin, end, is_match && !was_match_, is_match);
      case SplitBehavior::kMergedWithNext:
        return add_or_extend(begin, end, was_match_ && !is_match, is_match);
      case SplitBehavior::kContiguous:
        return add_or_extend(begin, end, is_match == was_match_, is_match);
    }
  }

  // After the last add().
  void finish() {
    if (held_.begin < held_.end) sink_(held_.begin, held_.end);
    held_ = {0, 0};
  }

 private:
  void add_or_extend(size_t begin, size_t end, bool extends, bool is_match) {
    was_match_ = is_match;
    if (extends && held_.begin < held_.end) {
      held_.end = end;
      return;
    }
    finish();
    held_ = {begin, end};
  }

  SplitBehavior behavior_;
  const Sink& sink_;
  Span held_ = {0, 0};  // the part that may still grow, if not empty
  bool was_match_ = false;
};

// Splits at what find(piece, at, work) returns from `at` on or, if it `inverts`, at what is between that.
template <class Find>
PreTokenizer split_at_found(const Find& find, SplitBehavior behavior, bool inverts) {
  return {[=](PieceList& pieces, TextWork& work) {
    pieces.split(work, [&](std::string_view piece, const auto& sink) {
      Splitter splitter(behavior, sink);
      for (size_t at = 0; at < piece.size() && !work.stop();) {
        const Match match = find(piece, at, work);
        splitter.add(at, match.begin, inverts);
        splitter.add(match.begin, match.end, !inverts);
        at = match.end;
      }
      splitter.finish();
    });
  }};
}

// Splits at characters with a property.
PreTokenizer split_at(uint16_t flags, SplitBehavior behavior) {
  const auto find = [flags](std::string_view piece, size_t at, TextWork& work) {
    for (size_t end = at; at < piece.size() && !work.stop(); at = end)
      if (has(next_code(piece, end), flags)) return Match{at, end};
    return Match{piece.size(), piece.size()};
  };
  return split_at_found(find, behavior, false);
}

// At white space, which is dropped, and around each punctuation character, in one pass.
void split_as_bert(PieceList& pieces, TextWork& work) {
  pieces.split(work, [&](std::string_view piece, const auto& sink) {
    size_t begin = 0;
    for (size_t at = 0; at < piece.size() && !work.stop();) {
      const size_t from = at;
      const uint16_t flags = character(next_code(piece, at)).flags;
      if ((flags & (kWhite | kPunctuation)) == 0) continue;
      sink(begin, from);
      if ((flags & kWhite) == 0) sink(from, at);
      begin = at;
    }
    sink(begin, piece.size());
  });
}

// Before each character of another script than the one before it. Characters without a script stay with
// those before them, and are dropped at the beginning.
void split_at_scripts(PieceList& pieces, TextWork& work) {
  pieces.split(work, [&, ranges = script_ranges()](std::string_view piece, const auto& sink) {
    size_t begin = piece.size();
    uint32_t last = 0;
    for (size_t at = 0; at < piece.size() && !work.stop();) {
      const size_t from = at;
      const auto range = std::ranges::upper_bound(ranges, next_code(piece, at), {}, &ScriptRange::first);
      const uint32_t script = std::prev(range)->script;
      if (script == 0 || script == last) continue;
      sink(begin, from);
      begin = from;
      last = script;
    }
    sink(begin, piece.size());
  });
}

// The matches of \w+|[^\w\s]+
void split_words(PieceList& pieces, TextWork& work) {
  pieces.split(work, [&](std::string_view piece, const auto& sink) {
    size_t begin = 0;
    uint16_t kind = kWhite;  // of the characters from `begin` on
    for (size_t at = 0; at < piece.size() && !work.stop();) {
      const size_t from = at;
      const uint16_t next = character(next_code(piece, at)).flags & (kWord | kWhite);
      if (next == kind) continue;
      if (kind != kWhite) sink(begin, from);
      begin = from;
      kind = next;
    }
    if (kind != kWhite) sink(begin, piece.size());
  });
}

PreTokenizer split_at_matches(const Pattern& pattern, SplitBehavior behavior, bool inverts) {
  const auto find = [=](std::string_view piece, size_t at, TextWork& work) {
    return pattern.find(piece, at, work);
  };
  return split_at_found(find, behavior, inverts);
}

// SentencePiece's way to keep spaces, as "▁" at the beginning of words.
[[gnu::cold]] Result<PreTokenizer> read_metaspace(const JsonField& field) {
  GLOVE_ASSIGN_OR_RETURN(const std::string replacement, field.string("replacement"));
  if (replacement.empty() || replacement.size() != length_of(replacement[0]))
    return field.corrupt("must have one character as its 'replacement'");
  GLOVE_ASSIGN_OR_RETURN(const std::string scheme, field.string("prepend_scheme", "always"));
  if (scheme != "always" && scheme != "first" && scheme != "never")
    return field.corrupt("has the prepend_scheme " + quoted_value(scheme) +
                         ": it must be 'always', 'first' or 'never'");
  GLOVE_ASSIGN_OR_RETURN(const bool adds_space, field.boolean("add_prefix_space", true));
  if (!adds_space && scheme != "never")
    return field.corrupt("has an add_prefix_space that contradicts its prepend_scheme");
  GLOVE_ASSIGN_OR_RETURN(const bool splits, field.boolean("split", true));
  const bool always = scheme == "always", first = scheme == "first";
  const auto apply = [=](PieceList& pieces, TextWork& work) {
    pieces.rewrite(work, [&](std::string_view piece, std::string& out, const PieceSink& sink) {
      size_t begin = out.size();
      const bool has_prefix = piece.starts_with(' ') || piece.starts_with(replacement);
      const bool prepends = always || (first && pieces.is_first(piece));
      if (prepends && !has_prefix) out += replacement;
      for (size_t at = 0; at < piece.size() && !work.stop();) {
        const size_t length = piece[at] == ' ' ? 1 : length_of(piece[at]);
        const std::string_view character = piece.substr(at, length);
        const bool is_mark = piece[at] == ' ' || character == replacement;
        if (is_mark && splits) {
          sink(begin, out.size());
          begin = out.size();
        }
        out += is_mark ? std::string_view(replacement) : character;
        at += length;
      }
      sink(begin, out.size());
    });
  };
  return PreTokenizer{apply, first};
}

// The characters of all bytes, each of one or two bytes.
std::array<std::string, 256> alphabet() {
  std::array<std::string, 256> characters;
  char32_t next = 256;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool is_printable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    append_code(characters[byte], is_printable ? byte : next++);
  }
  return characters;
}

// The words of GPT-2, which cover the whole text.
constexpr std::string_view kWords =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// GPT-2's way to cut a text into words, and to spell their bytes.
[[gnu::cold]] Result<PreTokenizer> read_byte_level(const JsonField& field) {
  GLOVE_ASSIGN_OR_RETURN(const bool adds_space, field.boolean("add_prefix_space"));
  GLOVE_ASSIGN_OR_RETURN(const bool finds_words, field.boolean("use_regex", true));
  const std::optional<Pattern> words = finds_words ? Pattern::expression(kWords) : std::nullopt;
  return PreTokenizer{[=](PieceList& pieces, TextWork& work) {
    pieces.rewrite(work, [&](std::string_view piece, std::string& out, const PieceSink& sink) {
      std::string_view text = piece;
      if (adds_space && !piece.starts_with(' ')) {
        pieces.scratch.assign(1, ' ').append(piece);
        text = pieces.scratch;
      }
      for (size_t begin = 0; begin < text.size() && !work.stop();) {
        const size_t end = words ? words->find(text, begin, work).end : text.size();
        const size_t from = out.size();
        append_spelled(text.substr(begin, end - begin), out, work);
        sink(from, out.size());
        begin = end;
      }
    });
  }};
}

[[gnu::cold]] Result<PreTokenizer> read_split(const JsonField& field) {
  GLOVE_ASSIGN_OR_RETURN(const JsonField given, field.at("pattern"));
  GLOVE_ASSIGN_OR_RETURN(const Pattern pattern, Pattern::read(given));
  GLOVE_ASSIGN_OR_RETURN(const SplitBehavior behavior, read_behavior(field));
  GLOVE_ASSIGN_OR_RETURN(const bool inverts, field.boolean("invert"));
  return split_at_matches(pattern, behavior, inverts);
}

[[gnu::cold]] Result<PreTokenizer> read_delimiter(const JsonField& field) {
  GLOVE_ASSIGN_OR_RETURN(const std::string delimiter, field.string("delimiter"));
  if (delimiter.empty() || delimiter.size() != length_of(delimiter[0]))
    return field.corrupt("must have one character as its 'delimiter'");
  return split_at_matches(Pattern(delimiter), SplitBehavior::kRemoved, false);
}

[[gnu::cold]] Result<PreTokenizer> read_digits(const JsonField& field) {
  GLOVE_ASSIGN_OR_RETURN(const bool individual, field.boolean("individual_digits"));
  return split_at(kNumeric, individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
}

[[gnu::cold]] Result<PreTokenizer> read_punctuation(const JsonField& field) {
  if (!field.has("behavior")) return split_at(kPunctuation, SplitBehavior::kIsolated);
  GLOVE_ASSIGN_OR_RETURN(const SplitBehavior behavior, read_behavior(field));
  return split_at(kPunctuation, behavior);
}

// Makes a step of a type other than Sequence.
[[gnu::cold]] Result<PreTokenizer> read_pre_tokenizer(const JsonField& field, const std::string& type) {
  if (type == "BertPreTokenizer") return PreTokenizer{split_as_bert};
  if (type == "Whitespace") return PreTokenizer{split_words};
  if (type == "WhitespaceSplit") return split_at(kWhite, SplitBehavior::kRemoved);
  if (type == "UnicodeScripts") return PreTokenizer{split_at_scripts};
  if (type == "Digits") return read_digits(field);
  if (type == "Split") return read_split(field);
  if (type == "CharDelimiterSplit") return read_delimiter(field);
  if (type == "Metaspace") return read_metaspace(field);
  if (type == "ByteLevel") return read_byte_level(field);
  if (type == "Punctuation") return read_punctuation(field);
  return field.unsupported(
      "has the type " + quoted_value(type) +
      ", which is not supported: BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, Metaspace, "
      "Punctuation, Sequence, Split, UnicodeScripts, Whitespace and WhitespaceSplit are");
}

}  // namespace

void append_spelled(std::string_view bytes, std::string& out, TextWork& work) {
  static const std::array<std::string, 256> characters = alphabet();
  for (const char byte : bytes) {
    if (work.stop()) return;
    out += characters[static_cast<unsigned char>(byte)];
  }
}

Result<PreTokenizers> PreTokenizers::read(const JsonField& field) {
  PreTokenizers pre_tokenizers;
  GLOVE_RETURN_IF_ERROR(
      field.each_step("pretokenizers", [&](const JsonField& step, const std::string& type) -> Status {
        GLOVE_ASSIGN_OR_RETURN(pre_tokenizers.steps_.emplace_back(), read_pre_tokenizer(step, type));
        return {};
      }));
  return pre_tokenizers;
}

}  // namespace glove::tokenizers
