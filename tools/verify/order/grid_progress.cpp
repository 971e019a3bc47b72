#include "order/order.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sync/progress.h"

namespace glove::verify {
namespace {

constexpr size_t kMostTogether = 1000;  // choices of a way for each block

constexpr uint64_t kSetBack = ~uint64_t{0};  // what a store of 0 counts as: it comes last

enum class Overlaps { kNot, kSame, kPartly };

Overlaps compare(const MemorySpan& a, const MemorySpan& b) {
  if (a.object != b.object || a.bytes.meet(b.bytes).empty()) return Overlaps::kNot;
  return a == b && !a.somewhere ? Overlaps::kSame : Overlaps::kPartly;
}

// What is known of the number at a place for which some thread waits.
struct WaitedPlace {
  MemorySpan span;
  bool changed = false;  // by anybody
  bool known = true;     // it is the sum of the additions, or the greatest number stored
  bool more = false;     // there may be more additions than those that are certain
  bool adds = false, stores = false;
  bool turns = false;  // each addition counts as one
  uint64_t limit = ~uint64_t{0};
};

// A way of a block through the kernel, and what holds on all paths that go it.
struct Way {
  std::vector<ProgressStep> steps;
  std::set<PredicateId> facts;
  bool goes_with(const Way& other) const {
    return std::ranges::none_of(facts, [&](PredicateId fact) { return other.facts.count(fact ^ 1) > 0; });
  }
};

// Compares the waits of all blocks with what all bring.
class GridProgress : private OrderPart {
 public:
  using OrderPart::OrderPart;

  void check() {
    find_places();
    if (places_.empty() && !waits_) return;
    for (const ProgressEvent& event : log_.events)
      if (event.kind != ProgressEvent::kWait) note_change(event);
    for (const PossibleChange& change : log_.possible) note_possible(change);
    for (auto& [block, ends] : log_.ends) {
      ways_.emplace_back();
      for (const EventLog::End& end : ends)
        if (!report_.ended()) add_way(ways_.back(), end);
    }
    if (report_.ended() || !same_instances()) return;
    chosen_.resize(ways_.size());
    choose(0);
  }

 private:
  void unproved(uint32_t instruction, const std::string& reason) {
    report_.find(FindingKind::kUnproved, false, at(instruction), nullptr, reason, nullptr);
  }

  const Instruction& at(uint32_t instruction) const { return setup_.kernel.code[instruction]; }

  void find_places() {
    for (const ProgressEvent& event : log_.events)
      for (const WaitCause& cause : event.causes) {
        waits_ = true;
        if (cause.span.object == 0 ||
            std::ranges::any_of(places_, [&](const WaitedPlace& p) { return p.span == cause.span; }))
          continue;
        places_.push_back({.span = cause.span});
        for (const MemorySpan& turning : order_.grid.reversing_places())
          places_.back().turns |=
              turning.object == cause.span.object && turning.bytes.lo == cause.span.bytes.lo;
      }
  }

  void note_change(const ProgressEvent& event) {
    for (WaitedPlace& place : places_) {
      const Overlaps overlaps = compare(event.span, place.span);
      if (overlaps == Overlaps::kNot || event.span.object == 0) continue;
      place.changed = true;
      place.adds |= event.kind == ProgressEvent::kAdd;
      place.stores |= event.kind == ProgressEvent::kStore && event.number != 0;
      place.known &=
          overlaps == Overlaps::kSame && event.kind != ProgressEvent::kOther && !(place.adds && place.stores);
      place.limit = std::min(place.limit, event.limit);
    }
  }

  void note_possible(const PossibleChange& change) {
    for (WaitedPlace& place : places_) {
      const Overlaps overlaps = compare(change.span, place.span);
      if (overlaps == Overlaps::kNot) continue;
      place.changed = true;
      place.more = true;
      place.known &= overlaps == Overlaps::kSame && change.adds && !place.stores && !place.turns;
    }
  }

  WaitedPlace* place_of(const MemorySpan& span) {
    const auto found =
        std::ranges::find_if(places_, [&](const WaitedPlace& place) { return place.span == span; });
    return found == places_.end() ? nullptr : &*found;
  }

  // The step of an event; false: it has nothing to do with what any thread waits for.
  bool step_of(const ProgressEvent& event, ProgressStep& step) {
    step.thread = event.thread;
    step.instruction = event.instruction;
    step.certain = event.certain;
    if (event.kind == ProgressEvent::kWait) {
      step.kind = ProgressStep::kWait;
      step.ends = ends_of(event);
      step.certain &= step.ends.size() == event.causes.size();
      return true;
    }
    const auto same = std::ranges::find_if(places_, [&](const WaitedPlace& place) {
      return compare(event.span, place.span) == Overlaps::kSame;
    });
    if (same == places_.end() || event.kind == ProgressEvent::kOther) return false;
    step.kind = event.kind == ProgressEvent::kAdd ? ProgressStep::kAdd : ProgressStep::kStore;
    step.place = static_cast<uint32_t>(same - places_.begin());
    step.number = same->turns ? 1 : event.number;
    if (step.kind == ProgressStep::kStore && step.number == 0) step.number = kSetBack;
    return true;
  }

  // How a wait may end; nothing if it is taken to end, or if that is unproved.
  std::vector<WaitEnd> ends_of(const ProgressEvent& wait) {
    std::vector<WaitEnd> ends;
    bool always = false, data = true;
    for (const WaitCause& cause : wait.causes) {
      const WaitedPlace* place = place_of(cause.span);
      const Symbol& object = table_.symbol(cause.span.object);
      const bool meets_alone =
          setup_.blocks == 1 && object.kind == SymbolKind::kObject &&
          object.detail == kWorkspace;  // at the barrier of a cooperative grid of one block
      always |= cause.kind == WaitCause::kAlways || meets_alone;
      data &= place != nullptr && !place->changed;
      if (cause.kind == WaitCause::kNumber && place != nullptr && place->changed && place->known)
        ends.push_back({static_cast<uint32_t>(place - places_.data()), cause.number, cause.exactly});
    }
    if (always) return {};
    if (data)
      report_.assume("the loop at " + setup_.source_line(at(wait.instruction)) +
                     " ends, although no thread of the launch writes what it waits for");
    else if (ends.empty())
      unproved(wait.instruction,
               "a loop waits here for what threads write, and that this always comes is not understood");
    return ends;
  }

  std::vector<ProgressStep> steps_until(uint32_t last) {
    std::vector<uint32_t> events;
    for (uint32_t event = last; event != 0; event = log_.events[event].before) events.push_back(event);
    std::vector<ProgressStep> steps;
    std::map<uint32_t, uint32_t> places;
    for (auto event = events.rbegin(); event != events.rend(); ++event) {
      ProgressStep step;
      if (!step_of(log_.events[*event], step)) continue;
      for (const uint32_t wait : log_.events[*event].after) step.after.push_back(places.at(wait));
      places[*event] = static_cast<uint32_t>(steps.size());
      steps.push_back(std::move(step));
    }
    report_.tick();
    return steps;
  }

  void add_way(std::vector<Way>& ways, const EventLog::End& end) {
    std::vector<ProgressStep> steps = steps_until(end.last);
    for (Way& way : ways) {
      if (way.steps != steps) continue;
      std::erase_if(way.facts, [&](PredicateId fact) { return end.facts.count(fact) == 0; });
      return;
    }
    ways.push_back({std::move(steps), end.facts});
  }

  // Whether paths that go on as others did have done the same until then.
  bool same_instances() {
    std::set<std::pair<uint32_t, uint32_t>> seen;
    for (const auto& pair : log_.instances) {
      if (pair.first == pair.second || !seen.insert(pair).second) continue;
      const std::vector<ProgressStep> steps = steps_until(pair.first), others = steps_until(pair.second);
      if (report_.ended()) return false;
      if (steps == others) continue;
      const auto& longer = steps.size() > others.size() ? steps : others;
      unproved(longer.back().instruction, "blocks wait for each other in a loop, and how often is not known");
      return false;
    }
    return true;
  }

  // Whether what is stored at each place never becomes less: a greater number comes behind each smaller one,
  // in its thread or by what the threads wait for.
  bool monotonous(Progress& progress) {
    std::vector<StepPlace> changes;
    for (uint32_t b = 0; b < chosen_.size(); ++b)
      for (uint32_t i = 0; i < chosen_[b]->steps.size(); ++i)
        if (step({b, i}).kind != ProgressStep::kWait) changes.push_back({b, i});
    const bool more = std::ranges::any_of(places_, [](const WaitedPlace& place) { return place.more; });
    for (const StepPlace& less : changes) {
      bool has_run = false;
      for (const StepPlace& other : changes) {
        if (step(other).place != step(less).place || step(other).kind == ProgressStep::kAdd ||
            step(other).number <= step(less).number)
          continue;
        if (other.block == less.block && step(other).thread == step(less).thread && less.step < other.step)
          continue;
        if (!std::exchange(has_run, true)) progress.run(less);
        if (!more && !progress.done(other)) continue;
        unproved(step(other).instruction, "threads wait for a number here that may become less again");
        return false;
      }
    }
    return true;
  }

  // Chooses ways for the blocks from `block` on that go with those of the blocks before.
  void choose(size_t block) {
    if (block == ways_.size()) return judge();
    for (const Way& way : ways_[block]) {
      if (std::any_of(chosen_.begin(), chosen_.begin() + static_cast<long>(block),
                      [&](const Way* other) { return !way.goes_with(*other); }))
        continue;
      chosen_[block] = &way;
      if (together_ > kMostTogether || report_.ended()) return;
      choose(block + 1);
    }
  }

  void judge() {
    if (!report_.tick()) return;
    if (++together_ > kMostTogether) {
      for (const Way* way : chosen_)
        for (const ProgressStep& step : way->steps)
          if (step.kind == ProgressStep::kWait)
            return unproved(step.instruction, "there are too many ways in which the blocks may meet");
      return;
    }
    std::vector<const std::vector<ProgressStep>*> blocks;
    for (const Way* way : chosen_) blocks.push_back(&way->steps);
    Progress progress(blocks, places_.size());
    if (!monotonous(progress)) return;
    progress.run({});
    const std::vector<StepPlace> stuck = progress.stuck();
    std::set<uint32_t> reported;
    for (const StepPlace& where : stuck)
      if (reported.insert(step(where).instruction).second) report_stuck(progress, stuck, where);
    if (!stuck.empty()) return;
    for (uint32_t b = 0; b < blocks.size(); ++b)
      for (uint32_t i = 0; i < blocks[b]->size(); ++i) check_wait(progress, {b, i});
  }

  const ProgressStep& step(const StepPlace& where) const { return chosen_[where.block]->steps[where.step]; }
  std::string name(const StepPlace& where) const {
    return "thread " + std::to_string(step(where).thread) + " of block " + std::to_string(where.block);
  }
  bool one_way() const {
    return std::ranges::all_of(ways_, [](const auto& ways) { return ways.size() == 1; });
  }

  // The wait does not end, although those before it have.
  void report_stuck(const Progress& progress, const std::vector<StepPlace>& stuck, const StepPlace& where) {
    const ProgressStep& wait = step(where);
    bool certain = one_way(), never = true;
    for (const StepPlace& other : stuck) certain &= step(other).certain;
    for (const WaitEnd& end : wait.ends) {
      certain &= !places_[end.place].more;
      never &= progress.total(end.place) < end.number;
    }
    const WaitEnd& end = wait.ends.front();
    const Instruction* other = nullptr;
    for (const StepPlace& next : stuck)
      if (step(next).instruction != wait.instruction) other = &at(step(next).instruction);
    const std::string number = std::to_string(end.number);
    const std::string why =
        never ? "it waits for " + number + ", and all that " +
                    (certain ? "the launch brings there is " : "is certain to come is ") +
                    std::to_string(progress.total(end.place))
              : "it waits for " + number + ", which comes only behind waits that do not end before";
    report_.find(certain ? FindingKind::kDeadlock : FindingKind::kUnproved, certain, at(wait.instruction),
                 never ? nullptr : other,
                 name(where) + (certain ? " waits" : " may wait") + " for ever: " + why, nullptr);
  }

  // A wait that ends in the best order: what was brought stays, and no more than the wait allows comes before
  // its thread looks.
  void check_wait(Progress& progress, const StepPlace& where) {
    const ProgressStep& wait = step(where);
    if (wait.kind != ProgressStep::kWait || wait.ends.empty()) return;
    for (const WaitEnd& end : wait.ends) {
      report_.assume(std::string(places_[end.place].stores ? "flags" : "counters of grid barriers") +
                     " are zero before the launch, and all blocks are resident");
      if (progress.total(end.place) > places_[end.place].limit)
        return unproved(wait.instruction, "threads wait for a counter here that may begin anew");
    }
    const bool stays = std::ranges::any_of(
        wait.ends, [&](const WaitEnd& e) { return !e.exactly && progress.total(e.place) != kSetBack; });
    if (stays) return;
    if (!report_.tick()) return;
    progress.run(where);
    const WaitEnd& end = wait.ends.front();
    const uint64_t number = progress.number(end.place);
    const bool enough = end.exactly ? number == end.number : number >= end.number && number != kSetBack;
    if (enough && !places_[end.place].more) return;
    const bool passes = number > end.number && one_way() && wait.certain;
    report_.find(passes ? FindingKind::kDeadlock : FindingKind::kUnproved, false, at(wait.instruction),
                 nullptr,
                 name(where) + " may wait for ever: it waits for " + (end.exactly ? "exactly " : "") +
                     std::to_string(end.number) + ", and before it looks there may be " +
                     (places_[end.place].more ? std::string("more")
                      : number == kSetBack    ? std::string("0 again")
                                              : std::to_string(number)),
                 nullptr);
  }

  const EventLog& log_ = order_.waits.log();
  bool waits_ = false;
  std::vector<WaitedPlace> places_;
  std::vector<std::vector<Way>> ways_;  // by block
  std::vector<const Way*> chosen_;
  size_t together_ = 0;
};

}  // namespace

void check_progress(Order& order) {
  if (order.waits.log().complete) GridProgress(order).check();
}

}  // namespace glove::verify
