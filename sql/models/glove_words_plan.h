// The plans of glove_words, which xBestIndex (plan_words) passes to xFilter.
#pragma once

#include "sql/adapter/inputs.h"

namespace glove::sql {

enum WordsColumn : int {
  kWordsId,
  kWordsWord,
  kWordsNorm,
  kWordsModel,
  kWordsLike,
  kWordsVector,
  kWordsDistance
};

extern const vtab::InputColumns kWordsInputs;

// idxNum consists of the inputs that are given (vtab::plan_inputs) in the low two bits, a path in the next
// three, and flags. The arguments of xFilter are the inputs, followed by those of the path.
//
//   path            visits                                 arguments        order of the rows
//   kAllById        ids from a lower to an upper bound     [lower] [upper]  id
//   kOneId          one id                                 id               -
//   kOneWord        one word; all if the value is not TEXT word             -
//   kListedWords    the words of an IN list; all if a      list             id
//                   value is not TEXT
//   kByDistance     all by the distance from `like`        -                distance, id
//   kByWord         the sorted words within bounds,        [lower] [upper]  word
//                   and within the prefix of a GLOB        [pattern]
//
// SQLite checks every condition again except those on the model and like, so visiting too many rows is always
// correct, and strict bounds are treated like the others.
enum WordsPath : int { kAllById, kOneId, kOneWord, kListedWords, kByDistance, kByWord };

constexpr int kWordsInputMask = 0x3;
constexpr int kWordsPathShift = 2;
constexpr int kWordsPathMask = 0x7;
constexpr int kWordsHasLower = 0x20;
constexpr int kWordsHasUpper = 0x40;
constexpr int kWordsHasPattern = 0x80;
constexpr int kWordsUpperIsLiteral = 0x100;  // its value is TEXT written in the statement itself
constexpr int kWordsModelChecked = 0x200;    // SQLite checks the model too, so NULL cannot mean the default

// The body of xBestIndex. If `db` stores text as UTF-8, its BINARY order is that of the sorted words.
Status plan_words(sqlite3_index_info* info, sqlite3* db);

}  // namespace glove::sql
