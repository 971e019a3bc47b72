// NFC, NFD, NFKC and NFKD (UAX #15).
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "text/tokenizers/unicode.h"
#include "text/tokenizers/unicode_tables.h"

namespace glove::tokenizers {
namespace {

constexpr char32_t kSyllables = 0xac00, kSyllablesEnd = 0xd7a4;
constexpr char32_t kLeading = 0x1100, kVowels = 0x1161, kTrailing = 0x11a7;
constexpr char32_t kLeadingCount = 19, kVowelCount = 21, kTrailingCount = 28;

// The UTF-8 of a decomposition, or an empty view.
std::string_view decomposition(char32_t code, bool compatible) {
  const DecompositionTable& table = decomposition_table(compatible);
  const auto found = std::lower_bound(table.codes.begin(), table.codes.end(), code);
  if (found == table.codes.end() || *found != code) return {};
  const auto row = static_cast<size_t>(found - table.codes.begin());
  const size_t begin = table.offsets[row];
  return {reinterpret_cast<const char*>(table.text.data()) + begin, table.offsets[row + 1] - begin};
}

// Returns 0 if the two characters do not compose.
char32_t compose(char32_t first, char32_t second) {
  if (!has(second, kComposes)) return 0;
  if (first >= kLeading && first < kLeading + kLeadingCount && second >= kVowels &&
      second < kVowels + kVowelCount)
    return kSyllables + ((first - kLeading) * kVowelCount + (second - kVowels)) * kTrailingCount;
  if (first >= kSyllables && first < kSyllablesEnd && (first - kSyllables) % kTrailingCount == 0 &&
      second > kTrailing && second < kTrailing + kTrailingCount)
    return first + (second - kTrailing);
  const auto pairs = compositions();
  const auto found =
      std::lower_bound(pairs.begin(), pairs.end(), std::pair(first, second),
                       [](const Composition& left, const std::pair<char32_t, char32_t>& right) {
                         return std::pair(left.first, left.second) < right;
                       });
  const bool same = found != pairs.end() && found->first == first && found->second == second;
  return same ? found->composed : 0;
}

// Receives decomposed characters, and appends them in canonical order and, if asked, composed.
class Reorder {
 public:
  Reorder(bool composes, MarkBuffers& buffers, std::string& out, TextWork& work)
      : composes_(composes), run_(buffers.run), sorted_(buffers.sorted), out_(out), work_(work) {
    run_.clear();
  }

  void add(char32_t code) {
    const uint8_t order = character(code).combining_class;
    if (order == 0 && !run_.empty()) {
      settle();
      const bool alone = run_.size() == 1 && run_[0].combining_class == 0;
      if (const char32_t composed = composes_ && alone ? compose(run_[0].code, code) : 0) {
        run_[0].code = composed;
        return;
      }
      flush();
    }
    run_.push_back({code, order});
  }

  void finish() {
    settle();
    flush();
  }

 private:
  bool has_starter() const { return !run_.empty() && run_[0].combining_class == 0; }

  // Sorts the run, which is a starter (unless it is the first of the text) and the marks behind it, and
  // composes it.
  void settle() {
    if (run_.size() > 1) sort_marks();
    if (composes_ && run_.size() > 1 && has_starter()) compose_run();
  }

  void flush() {
    for (const Mark& mark : run_) {
      append_code(out_, mark.code);
      if (work_.stop()) return;
    }
    run_.clear();
  }

  // A stable sort by class in linear time, because a hostile run may be as long as the text.
  void sort_marks() {
    const size_t first = has_starter();
    size_t starts[256] = {};
    for (size_t i = first; i < run_.size() && !work_.stop(); ++i) ++starts[run_[i].combining_class];
    size_t total = first;
    for (size_t& start : starts) start = std::exchange(total, total + start);
    sorted_.resize(run_.size());
    if (first != 0) sorted_[0] = run_[0];
    for (size_t i = first; i < run_.size() && !work_.stop(); ++i)
      sorted_[starts[run_[i].combining_class]++] = run_[i];
    run_.swap(sorted_);
  }

  void compose_run() {
    size_t kept = 1;
    uint8_t last = 0;  // the class of the last mark that was kept
    for (size_t i = 1; i < run_.size() && !work_.stop(); ++i) {
      const bool blocked = kept > 1 && last >= run_[i].combining_class;
      const char32_t composed = blocked ? 0 : compose(run_[0].code, run_[i].code);
      if (composed != 0) {
        run_[0].code = composed;
      } else {
        last = run_[i].combining_class;
        run_[kept++] = run_[i];
      }
    }
    run_.resize(kept);
  }

  bool composes_;
  std::vector<Mark>& run_;
  std::vector<Mark>& sorted_;
  std::string& out_;
  TextWork& work_;
};

void add_decomposed(char32_t code, bool compatible, Reorder& reorder) {
  if (code >= kSyllables && code < kSyllablesEnd) {
    const char32_t index = code - kSyllables;
    reorder.add(kLeading + index / (kVowelCount * kTrailingCount));
    reorder.add(kVowels + index / kTrailingCount % kVowelCount);
    if (index % kTrailingCount != 0) reorder.add(kTrailing + index % kTrailingCount);
    return;
  }
  std::string_view parts = compatible ? decomposition(code, true) : std::string_view();
  if (parts.empty()) parts = decomposition(code, false);
  for (size_t at = 0; at < parts.size();) reorder.add(next_code(parts, at));
}

}  // namespace

void append_normalized(std::string_view text, Form form, MarkBuffers& buffers, std::string& out,
                       TextWork& work) {
  const bool compatible = form == Form::kNfkc || form == Form::kNfkd;
  const bool composes = form == Form::kNfc || form == Form::kNfkc;
  const auto is_ascii = [&](size_t at) {
    return at >= text.size() || static_cast<unsigned char>(text[at]) < 0x80;
  };
  Reorder reorder(composes, buffers, out, work);
  for (size_t at = 0; at < text.size() && !work.stop();) {
    if (is_ascii(at) && is_ascii(at + 1)) {  // neither composes with anything
      reorder.finish();
      out += text[at++];
      continue;
    }
    const char32_t code = next_code(text, at);
    if (has(code, compatible ? kDecomposesCompatibly : kDecomposes)) {
      add_decomposed(code, compatible, reorder);
    } else {
      reorder.add(code);
    }
  }
  reorder.finish();
}

}  // namespace glove::tokenizers
