// Extended grapheme clusters (UAX #29), for Precompiled. Pairs of regional indicators are not joined: no
// cluster with one is short enough to be looked up as a whole.
#include "text/tokenizers/unicode.h"

namespace glove::tokenizers {
namespace {

bool is_control(ClusterKind kind) {
  return kind == ClusterKind::kCarriageReturn || kind == ClusterKind::kLineFeed ||
         kind == ClusterKind::kControl;
}

// Rules GB6 to GB8.
bool joins_syllable(ClusterKind left, ClusterKind right) {
  using enum ClusterKind;
  if (left == kHangulL)
    return right == kHangulL || right == kHangulV || right == kHangulLV || right == kHangulLVT;
  if (left == kHangulV || left == kHangulLV) return right == kHangulV || right == kHangulT;
  return (left == kHangulT || left == kHangulLVT) && right == kHangulT;
}

// The characters of a cluster so far.
class Cluster {
 public:
  explicit Cluster(const Character& first) { add(first); }

  // Whether the next character belongs to the cluster.
  bool takes(const Character& next) const {
    using enum ClusterKind;
    if (last_ == kCarriageReturn) return next.cluster == kLineFeed;
    if (is_control(last_) || is_control(next.cluster)) return false;
    if (joins_syllable(last_, next.cluster)) return true;
    if (next.cluster == kExtend || next.cluster == kJoiner || next.cluster == kSpacingMark) return true;
    if (last_ == kPrepend) return true;
    if (linked_ && next.conjunct == ConjunctKind::kConsonant) return true;
    return picture_joined_ && next.cluster == kPictograph;
  }

  void add(const Character& next) {
    using enum ClusterKind;
    picture_joined_ = picture_ && next.cluster == kJoiner;
    picture_ = next.cluster == kPictograph || (picture_ && next.cluster == kExtend);
    if (next.conjunct == ConjunctKind::kConsonant) {
      consonant_ = true;
      linked_ = false;
    } else if (next.conjunct == ConjunctKind::kNone) {
      consonant_ = linked_ = false;
    } else if (next.conjunct == ConjunctKind::kLinker) {
      linked_ = consonant_;
    }
    last_ = next.cluster;
  }

 private:
  ClusterKind last_ = ClusterKind::kOther;
  bool picture_ = false;         // a pictograph and any number of kExtend
  bool picture_joined_ = false;  // the same and a joiner
  bool consonant_ = false;       // a consonant and any number of linkers and kExtend
  bool linked_ = false;          // the same with a linker
};

}  // namespace

size_t cluster_end(std::string_view text, size_t begin, TextWork& work) {
  size_t end = begin;
  Cluster cluster(character(next_code(text, end)));
  while (end < text.size() && !work.stop()) {
    size_t after = end;
    const Character& next = character(next_code(text, after));
    if (!cluster.takes(next)) break;
    cluster.add(next);
    end = after;
  }
  return end;
}

}  // namespace glove::tokenizers
