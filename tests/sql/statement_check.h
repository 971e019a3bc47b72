// Statements over a glove_index and a glove_nn, made of a string of choices and compared with the same
// statements over plain tables that hold the ranking of a brute-force scan.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace glove::testing {

// Runs as many statements as the choices make: changes of the table, transactions, savepoints, commands,
// schema changes, and searches in joins, CTEs, windows, aggregates and subqueries with conditions on every
// column. Returns an empty string, or what differed, with all statements that led there.
std::string check_statements(std::span<const uint8_t> choices);

}  // namespace glove::testing
