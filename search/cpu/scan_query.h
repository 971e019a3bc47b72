// The scan's name for a quantised query.
#pragma once

#include "search/quantized_query.h"

namespace glove::cpu {

using ScanQuery = QuantizedQuery;

inline ScanQuery make_scan_query(const Query& query, int32_t max_code) {
  return quantize_query(query, max_code);
}

}  // namespace glove::cpu
