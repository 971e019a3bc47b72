#include "analysis/layout.h"

#include <cmath>
#include <utility>

#include "base/float_environment.h"
#include "base/random.h"
#include "base/require.h"
#include "base/thread_pool.h"

namespace glove {
namespace {

constexpr int kPushingRows = 10;
constexpr double kPush = 20;
constexpr double kFirstFactor = 0.8;
constexpr double kLongestForce = 4;
constexpr double kStartLength = 4;      // root mean square distance from the mean
constexpr int64_t kRowsPerChunk = 256;  // well under 1 ms

struct Place {
  double x = 0;
  double y = 0;
};

// The places around their mean, scaled. Places that are all equal are exactly 0, and those so close that
// their squares vanish are not scaled.
std::vector<Place> starting_places(const PlaneLayout& start) {
  const auto rows = static_cast<double>(start.x.size());
  std::vector<Place> places(start.x.size());
  Place sum;
  for (size_t i = 0; i < places.size(); ++i) {
    places[i] = {start.x[i] - start.x[0], start.y[i] - start.y[0]};
    sum = {sum.x + places[i].x, sum.y + places[i].y};
  }
  double squares = 0;
  for (Place& place : places) {
    place = {place.x - sum.x / rows, place.y - sum.y / rows};
    squares += place.x * place.x + place.y * place.y;
  }
  const double length = std::sqrt(squares / rows);
  if (!(length > 0) || !std::isfinite(length)) return places;
  for (Place& place : places) place = {place.x / length * kStartLength, place.y / length * kStartLength};
  return places;
}

class LayoutSteps {
 public:
  LayoutSteps(const NeighborGraph& graph, std::vector<Place> start)
      : graph_(graph), places_(std::move(start)), next_(places_.size()) {}

  // Errors: an interrupt.
  Status step(int64_t number, int threads, const InterruptCheck& interrupted) {
    const double factor =
        kFirstFactor * (1 - static_cast<double>(number) / static_cast<double>(kLayoutSteps));
    const auto work = [&](int, int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) move(number, row, factor);
    };
    GLOVE_RETURN_IF_ERROR(ThreadPool::for_pieces(threads, static_cast<int64_t>(places_.size()), kRowsPerChunk,
                                                 interrupted, work));
    std::swap(places_, next_);
    return {};
  }

  PlaneLayout result() const {
    const auto rows = static_cast<double>(places_.size());
    Place sum;
    for (const Place& place : places_) sum = {sum.x + place.x, sum.y + place.y};
    PlaneLayout layout;
    for (const Place& place : places_) {
      layout.x.push_back(place.x - sum.x / rows);
      layout.y.push_back(place.y - sum.y / rows);
    }
    return layout;
  }

 private:
  void move(int64_t step, int64_t row, double factor) {
    const Place at = places_[static_cast<size_t>(row)];
    Place force;
    for (int64_t e = graph_.first[static_cast<size_t>(row)]; e < graph_.first[static_cast<size_t>(row) + 1];
         ++e) {
      const NeighborGraph::Edge edge = graph_.edges[static_cast<size_t>(e)];
      const Place other = places_[static_cast<size_t>(edge.row)];
      const double dx = other.x - at.x;
      const double dy = other.y - at.y;
      const double pull = edge.weight / (1 + (dx * dx + dy * dy));
      force = {force.x + pull * dx, force.y + pull * dy};
    }
    const uint64_t rows = places_.size();
    SplitMix64 random(static_cast<uint64_t>(step) * rows + static_cast<uint64_t>(row));
    for (int i = 0; i < kPushingRows; ++i) {
      const Place other = places_[((random.next() >> 32) * rows) >> 32];  // a push by itself is 0
      const double dx = other.x - at.x;
      const double dy = other.y - at.y;
      const double near = 1 + (dx * dx + dy * dy);
      const double push = kPush / (near * near);
      force = {force.x - push * dx, force.y - push * dy};
    }
    const double length = std::sqrt(force.x * force.x + force.y * force.y);
    const double scale = length > kLongestForce ? factor * (kLongestForce / length) : factor;
    next_[static_cast<size_t>(row)] = {at.x + scale * force.x, at.y + scale * force.y};
  }

  const NeighborGraph& graph_;
  std::vector<Place> places_;
  std::vector<Place> next_;
};

}  // namespace

Result<PlaneLayout> lay_out(const NeighborGraph& graph, PlaneLayout start, int threads,
                            const InterruptCheck& interrupted, const ProgressReport& progress) {
  GLOVE_REQUIRE(ScopedFloatEnvironment::is_set());
  if (graph.rows() == 0) return start;
  LayoutSteps layout(graph, starting_places(start));
  for (int64_t step = 0; step < kLayoutSteps; ++step) {
    if (progress) progress("step", step, kLayoutSteps);
    GLOVE_RETURN_IF_ERROR(layout.step(step, threads, interrupted));
  }
  return layout.result();
}

}  // namespace glove
