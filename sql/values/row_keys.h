// Keys of rows that are no single integers, as JSON: a value or, of several columns, an array of values. A
// BLOB is an array with its bytes as hexadecimal text.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/status.h"
#include "sql/adapter/arguments.h"

namespace glove::sql {

// A value of one column of a key: SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT or SQLITE_BLOB.
struct KeyPart {
  int type = SQLITE_INTEGER;
  int64_t integer = 0;
  double real = 0;
  std::string bytes;
};

// Returns the key as JSON. REQUIRES: no value is NULL.
std::string json_key(Arguments key);

// Passes each key of a set to use(), which has one part per column: of a JSON array of such keys, or of the
// BLOB that glove_keys() makes of integers. The error of anything else is the end of a message, without the
// name of the table. Another error is an interrupt.
using UseKey = std::function<Status(std::span<const KeyPart> key)>;
Status read_keys(sqlite3_value* set, size_t columns, const UseKey& use, const InterruptCheck& interrupted);

}  // namespace glove::sql
