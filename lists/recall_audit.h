// Compares the recall that approximate searches promise with what audits observe: queries that were answered
// exactly as well (docs/recall.md).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace glove {

// What some audits have observed.
struct AuditedRecall {
  int64_t audits = 0;   // 0: the rest means nothing
  double promised = 0;  // means over the audits
  double observed = 0;
  double low = 0, high = 0;  // of an interval that has the true mean with a probability of 95 %
};

// From so many audits on, an answer's evidence is what they observed.
constexpr int64_t kAuditsOfEvidence = 100;

// Returns a text such as "0.991 (0.988-0.994), 512 audits".
std::string audit_text(const AuditedRecall& audited);

// The audits of the searches that use one calibration. Thread-safe.
class RecallAudit {
 public:
  // Adds an audit: the recall that the query asked for, and the share of its nearest rows that it was given.
  // Returns true if this audit is the first to show that the promise is not kept.
  bool add(double promised, double observed);

  // Counts an approximate query, of which one in `every` is audited. Returns how many of them one audit is
  // for: no more than kOftenEvery for the first kOftenAudited queries of a calibration, of which nothing is
  // known yet; 0, for none, if `every` is.
  int64_t audits_one_in(int64_t every) {
    const int64_t before = queries_.fetch_add(1, std::memory_order_relaxed);
    return before < kOftenAudited ? std::min(every, kOftenEvery) : every;
  }

  // Returns true the first time that it is asked about a query, of which `hash` stands. Audits of one query
  // say nothing of others, however often it is asked. May say so again after 2^16 others.
  bool is_new(uint64_t hash);

  // Returns what the audits of queries with this recall have observed; of up to kMostTallies of these.
  AuditedRecall of(double promised) const;
  AuditedRecall all() const;

  // Whether the audits have shown that the promise is not kept, so that searches must be exact.
  bool has_drifted() const { return has_drifted_.load(std::memory_order_relaxed); }

 private:
  struct Tally {
    int64_t count = 0;
    double promised = 0, observed = 0, observed_squares = 0;  // sums
    double off = 0, off_squares = 0;                          // the same of observed - promised
    void add(const Tally& other);
    AuditedRecall audited() const;
    bool shows_drift() const;
  };
  static constexpr size_t kMostTallies = 64;
  static constexpr int64_t kRecent = 256;
  static constexpr int64_t kOftenAudited = 512;
  static constexpr int64_t kOftenEvery = 16;
  static constexpr size_t kMostHashes = size_t{1} << 16;

  mutable ForkSafeMutex mutex_;
  Tally all_ GLOVE_GUARDED_BY(mutex_);
  // The last audits in two pieces, so that a long good past hides no drift.
  Tally recent_ GLOVE_GUARDED_BY(mutex_);         // fewer than kRecent
  Tally before_recent_ GLOVE_GUARDED_BY(mutex_);  // kRecent, or none yet
  std::vector<std::pair<double, Tally>> by_promise_ GLOVE_GUARDED_BY(mutex_);
  std::unordered_set<uint64_t> audited_ GLOVE_GUARDED_BY(mutex_);
  std::atomic<bool> has_drifted_ = false;
  std::atomic<int64_t> queries_ = 0;
};

// Chooses the queries of a process that are audited. Thread-safe.
class AuditClock {
 public:
  // Counts an approximate query. Returns true for one in `every`, and never if that is 0.
  bool strikes(int64_t every) {
    if (every == 0 || count_.fetch_add(1, std::memory_order_relaxed) + 1 < every) return false;
    count_.store(0, std::memory_order_relaxed);
    return true;
  }
  // The query cannot be audited: the next one is due.
  void postpone(int64_t every) { count_.store(every - 1, std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> count_ = 0;
};

}  // namespace glove
