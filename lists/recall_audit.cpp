#include "lists/recall_audit.h"

#include <cmath>
#include <cstdio>

namespace glove {
namespace {

constexpr double kDeviations95 = 1.96;
// If no one in n audits has shown a miss, 95 % of the time the share of misses is below this / n.
constexpr double kNoMiss95 = 3;

// The promise is not kept if the mean is below it by more than kTolerance, and by so many standard errors
// that chance is no explanation, although this is asked after every audit.
constexpr double kTolerance = 0.01;
constexpr double kDriftDeviations = 4;
constexpr int64_t kLeastDriftAudits = 32;

double standard_error(int64_t count, double sum, double squares) {
  const auto n = static_cast<double>(count);
  return std::sqrt(std::max(0.0, squares / n - sum / n * (sum / n)) / n);
}

}  // namespace

std::string audit_text(const AuditedRecall& audited) {
  char text[96] = {};
  std::snprintf(text, sizeof(text), "%.3f (%.3f-%.3f), %lld audits", audited.observed, audited.low,
                audited.high, static_cast<long long>(audited.audits));
  // Of the host's locale; the one between the sentence's parts stays.
  std::replace(std::begin(text), std::find(std::begin(text), std::end(text), ')'), ',', '.');
  return text;
}

void RecallAudit::Tally::add(const Tally& other) {
  count += other.count;
  promised += other.promised;
  observed += other.observed;
  observed_squares += other.observed_squares;
  off += other.off;
  off_squares += other.off_squares;
}

AuditedRecall RecallAudit::Tally::audited() const {
  if (count == 0) return {};
  const auto n = static_cast<double>(count);
  const double mean = observed / n;
  const double error = kDeviations95 * standard_error(count, observed, observed_squares);
  return {count, promised / n, mean, std::max(0.0, mean - std::max(error, kNoMiss95 / n)),
          std::min(1.0, mean + error)};
}

bool RecallAudit::Tally::shows_drift() const {
  if (count < kLeastDriftAudits) return false;
  const auto n = static_cast<double>(count);
  return off / n + kDriftDeviations * standard_error(count, off, off_squares) + 1 / n < -kTolerance;
}

bool RecallAudit::add(double promised, double observed) {
  const double off = observed - promised;
  const Tally audit{1, promised, observed, observed * observed, off, off * off};
  const Lock lock(mutex_);
  all_.add(audit);
  recent_.add(audit);
  auto place = std::ranges::find(by_promise_, promised, &std::pair<double, Tally>::first);
  if (place == by_promise_.end() && by_promise_.size() < kMostTallies)
    place = by_promise_.insert(place, {promised, Tally()});
  if (place != by_promise_.end()) place->second.add(audit);
  Tally both = before_recent_;
  both.add(recent_);
  if (recent_.count == kRecent) before_recent_ = std::exchange(recent_, Tally());
  if (!all_.shows_drift() && !both.shows_drift()) return false;
  return !has_drifted_.exchange(true, std::memory_order_relaxed);
}

bool RecallAudit::is_new(uint64_t hash) {
  const Lock lock(mutex_);
  if (audited_.size() == kMostHashes) audited_.clear();
  return audited_.insert(hash).second;
}

AuditedRecall RecallAudit::of(double promised) const {
  const Lock lock(mutex_);
  const auto place = std::ranges::find(by_promise_, promised, &std::pair<double, Tally>::first);
  return place == by_promise_.end() ? AuditedRecall() : place->second.audited();
}

AuditedRecall RecallAudit::all() const {
  const Lock lock(mutex_);
  return all_.audited();
}

}  // namespace glove
