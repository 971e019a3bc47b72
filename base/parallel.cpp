#include "base/parallel.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

#include "base/blocked_signals.h"
#include "base/cores.h"

namespace glove {

void run_in_parallel(int threads, int64_t count, const std::function<void(int64_t, int64_t)>& body) {
  if (count <= 0) return;
  const int64_t pieces = std::min<int64_t>(count, threads > 0 ? threads : usable_cores());
  const auto begin_of = [&](int64_t piece) {
    return count / pieces * piece + std::min(piece, count % pieces);
  };
  std::vector<std::thread> workers;
  workers.reserve(static_cast<size_t>(pieces - 1));
  int64_t piece = 1;
  try {
    const BlockedSignals blocked;
    for (; piece < pieces; ++piece) workers.emplace_back(body, begin_of(piece), begin_of(piece + 1));
  } catch (const std::exception&) {
    body(begin_of(piece), count);
  }
  body(0, begin_of(1));
  for (std::thread& worker : workers) worker.join();
}

}  // namespace glove
