// The places of glove_map: its options, and the cache of its fits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "analysis/plane.h"
#include "base/status.h"
#include "sql/adapter/connection.h"
#include "sql/values/toolbox_inputs.h"

namespace glove::sql {

// With more words the neighbours would take minutes, and a place for each would show less than clusters do.
constexpr int64_t kMostNeighborWords = 50'000;

enum class MapMethod { kAuto, kNeighbors, kPca };

// option     value                        meaning
// method     "auto", "neighbors", "pca"   how the places are found; "auto" (default) means neighbors for up
//                                         to kMostNeighborWords words, and pca for more
// unit_rows  true, false                  for pca: divides each row by its length first, and leaves zero rows
//                                         out (default true), as neighbors always does
struct MapOptions {
  MapMethod method = MapMethod::kAuto;
  bool unit_rows = true;
};

// Reads the options and chooses the method; an error if the method cannot place this many words.
Result<MapOptions> read_map_options(sqlite3_value* value, std::string_view table, int64_t words);

// Returns a string that identifies everything that the places depend on.
std::string map_key(const ToolboxSubject& subject, const MapOptions& options);

// Returns the places of the subject's rows. Computes them unless the process has them in its cache; a layout
// by neighbours is recorded in glove_stats. `backend` is "auto" or the name of the backend that searches.
// `table` begins the messages. REQUIRES: read_map_options() made the options; the subject has rows.
Result<std::shared_ptr<const PlanePlaces>> find_map(Connection& connection, std::string_view table,
                                                    const ToolboxSubject& subject, const MapOptions& options,
                                                    const std::string& backend);

}  // namespace glove::sql
