// GLOVE_REQUIRE(condition) states what the caller of a function, or a loop or structure, must have made true.
// The presets debug, asan, fuzz and tsan check it and stop the process with the condition and its place if it
// is false (GLOVE_ASSERTIONS); a release contains nothing of it. The condition must have no effects, and take
// constant time, or logarithmic. What no program can compute stands in comments alone.
#pragma once

#ifdef GLOVE_ASSERTIONS
#undef NDEBUG
#include <cassert>
#define GLOVE_REQUIRE(...) assert((__VA_ARGS__))
#else
#define GLOVE_REQUIRE(...) static_cast<void>(sizeof((__VA_ARGS__) ? 1 : 0))
#endif
