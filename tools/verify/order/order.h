// The parts of a run that know what memory there is, what was done to it, and what orders that.
#pragma once

#include "order/races.h"
#include "order/wait_log.h"

namespace glove::verify {

// Owns them; they refer to each other.
struct Order : Part {
  explicit Order(const Part& run);
  Order(const Order&) = delete;

  Places places;
  Operands operands;
  ReadOnlyMemory read_only;
  Locations locations;
  Tickets tickets;
  GridOrder grid;
  AccessLog records;
  RaceReports reports;
  BlockRaces block;
  GridRaces blocks;
  WaitLog waits;
};

}  // namespace glove::verify
