// What is said about races.
#pragma once

#include "order/access_log.h"

namespace glove::verify {

// Reports pairs of accesses that nothing orders, each pair of instructions once.
class RaceReports : private Part {
 public:
  RaceReports(const Part& run, AccessLog& records) : Part(run), records_(records) {}

  // One race of two instructions is enough; so are a few attempts to prove that there is none.
  bool already_reported(const AccessRecord& a, const AccessRecord& b) const;
  // Reports a race of two lanes at addresses that are not known, if these can meet.
  void compare(uint32_t record, int lane, Value address, uint32_t other, int other_lane, Value other_address,
               unsigned other_bytes);
  void report(const AccessRecord& a, int lane_a, const AccessRecord& b, int lane_b, const std::string& place,
              bool exact, Overlap overlap, bool same_value);

 private:
  void explain(const AccessRecord& a, int lane_a, const AccessRecord& b, int lane_b, Finding& finding) const;
  Access public_access(const AccessRecord& record, int lane) const;

  AccessLog& records_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> reported_;  // instructions -> how often
};

}  // namespace glove::verify
