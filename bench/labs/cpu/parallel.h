// The threads of the CPU ladders.
#pragma once

#include <cstdint>
#include <functional>

#include "base/thread_pool.h"

namespace glove::labs {

// Calls work(part) for parts 0 to parts - 1 on the threads of the pool.
inline void in_parallel(int threads, int64_t parts, const std::function<void(int64_t)>& work) {
  ThreadPool::instance().run(threads, parts, [&](int, int64_t part) { work(part); }, {});
}

}  // namespace glove::labs
