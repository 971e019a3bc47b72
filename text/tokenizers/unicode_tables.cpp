#include "text/tokenizers/unicode_tables.h"

namespace glove::tokenizers {
namespace {

#include "text/tokenizers/unicode_tables.inc"

}  // namespace

const CharacterTable& character_table() {
  static constexpr CharacterTable table{kBlocks, kPages, kRecords, kCharacters};
  return table;
}

const DecompositionTable& decomposition_table(bool compatible) {
  static constexpr DecompositionTable canonical{kCanonicalCodes, kCanonicalOffsets, kCanonicalLengths,
                                                kCanonicalText};
  static constexpr DecompositionTable others{kCompatibleCodes, kCompatibleOffsets, kCompatibleLengths,
                                             kCompatibleText};
  return compatible ? others : canonical;
}

std::span<const Composition> compositions() {
  return kCompositions;
}

std::span<const LowerCaseRange> lower_ranges() {
  return kLowerRanges;
}

}  // namespace glove::tokenizers
