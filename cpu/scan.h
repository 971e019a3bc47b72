// A search on the CPU: the codes of all rows against a batch of queries, on several threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cpu/kernels.h"
#include "model/model.h"
#include "search/backend.h"
#include "search/query.h"

namespace glove::cpu {

// How and where to work. References outlive the call.
struct ScanContext {
  const Kernels& kernels;
  const Model& model;
  int threads;  // at most, the calling one included
  const InterruptCheck& interrupted;
};

// Backend::propose: admissible rows only, with their dots.
Result<std::vector<Candidates>> propose(const ScanContext& context, std::span<const Query> queries, int64_t k,
                                        ScanCost& cost);

// Backend::score_all.
Status score_all(const ScanContext& context, const Query& query, std::span<double> dots, ScanCost& cost);

// What the processor calls itself ("AMD EPYC 9654 96-Core Processor"), or "CPU".
std::string processor_name();

}  // namespace glove::cpu
