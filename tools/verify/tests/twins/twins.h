// A kernel in a right and a wrong form: the file is compiled once as it is and once with -DWRONG. Options of
// the program stand in the line above the kernel, those of a launch file behind "launch:".
#pragma once

#include <cuda_pipeline.h>

#define KERNEL extern "C" __global__ void
#ifdef WRONG
#define EITHER(right, wrong) wrong
#define RIGHT(...)
#define WRONGLY(...) __VA_ARGS__
#else
#define EITHER(right, wrong) right
#define RIGHT(...) __VA_ARGS__
#define WRONGLY(...)
#endif

#define BAR_SYNC(id, count) asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory")
#define BAR_ARRIVE(id, count) asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(count) : "memory")
