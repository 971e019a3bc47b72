#include "text/tokenizers/unicode_tables.h"

#include <cstddef>
#include <vector>

#include "text/packed_numbers.h"

namespace glove::tokenizers {
namespace {

#include "text/tokenizers/unicode_tables.inc"

// `runs` are pairs of a value and how many times it follows.
std::vector<uint8_t> repeat(std::span<const uint8_t> runs) {
  std::vector<uint8_t> values;
  for (size_t i = 0; i < runs.size(); i += 2) values.insert(values.end(), runs[i + 1], runs[i]);
  return values;
}

// The code points of decompositions, and where their texts begin.
struct DecompositionRows {
  explicit DecompositionRows(std::span<const uint8_t> packed) {
    const std::vector<uint32_t> numbers = unpack_numbers(packed, 2);
    offsets.push_back(0);
    for (size_t i = 0; i < numbers.size(); i += 2) {
      codes.push_back(numbers[i]);
      offsets.push_back(static_cast<uint16_t>(offsets.back() + numbers[i + 1]));
    }
  }

  std::vector<uint32_t> codes;
  std::vector<uint16_t> offsets;
};

}  // namespace

const CharacterTable& character_table() {
  static const auto& records = *new auto(repeat(kRecordRuns));
  static const CharacterTable table{kBlocks, kPages, records, kCharacters};
  return table;
}

const DecompositionTable& decomposition_table(bool compatible) {
  static const auto& canonical_rows = *new DecompositionRows(kCanonicalRows);
  static const auto& other_rows = *new DecompositionRows(kCompatibleRows);
  static const DecompositionTable canonical{canonical_rows.codes, canonical_rows.offsets, kCanonicalText};
  static const DecompositionTable others{other_rows.codes, other_rows.offsets, kCompatibleText};
  return compatible ? others : canonical;
}

std::span<const Composition> compositions() {
  static const auto& rows = *new auto(unpack_rows<Composition>(kCompositions, 3, [](const uint32_t* row) {
    return Composition{row[0], row[1], row[2]};
  }));
  return rows;
}

std::span<const ScriptRange> script_ranges() {
  static const auto& rows = *new auto(unpack_rows<ScriptRange>(kScripts, 2, [](const uint32_t* row) {
    return ScriptRange{row[0], row[1]};
  }));
  return rows;
}

std::span<const LowerCaseRange> lower_ranges() {
  static const auto& rows = *new auto(unpack_rows<LowerCaseRange>(kLowerRanges, 4, [](const uint32_t* row) {
    return LowerCaseRange{row[0], row[1], static_cast<int>(row[2]), static_cast<int>(row[3])};
  }));
  return rows;
}

}  // namespace glove::tokenizers
