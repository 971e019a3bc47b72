// The SIMD kernels of every x86 instruction set that Highway knows, in one object file. Highway is
// used as headers only: which table runs is decided in kernels.cpp, not by its library.
#define HWY_IS_DEBUG_BUILD 0  // its checks would need the library
#define HWY_DISABLED_TARGETS HWY_SSSE3

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "loader/quantize.h"
#include "search/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "search/cpu/kernels_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for each instruction set
#include <hwy/highway.h>

#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define GLOVE_KERNELS_ATTRIBUTES HWY_TARGET_STR
#define GLOVE_KERNELS_VNNI 0
#if HWY_TARGET == HWY_SSE4
#define GLOVE_KERNELS_NAMESPACE sse4
#define GLOVE_KERNELS_NAME "sse4"
#elif HWY_TARGET == HWY_AVX2
#define GLOVE_KERNELS_NAMESPACE avx2
#define GLOVE_KERNELS_NAME "avx2"
#else
#define GLOVE_KERNELS_NAMESPACE avx512
#define GLOVE_KERNELS_NAME "avx512"
#endif
#include "search/cpu/kernels-inl.h"
#undef GLOVE_KERNELS_ATTRIBUTES
#undef GLOVE_KERNELS_VNNI
#undef GLOVE_KERNELS_NAMESPACE
#undef GLOVE_KERNELS_NAME
#endif

// Highway 1.0's own target with VNNI asks for an instruction set that not all such processors have.
#if HWY_TARGET == HWY_AVX3
#define GLOVE_KERNELS_ATTRIBUTES HWY_TARGET_STR ",avx512vnni"
#define GLOVE_KERNELS_VNNI 1
#define GLOVE_KERNELS_NAMESPACE avx512vnni
#define GLOVE_KERNELS_NAME "avx512vnni"
#include "search/cpu/kernels-inl.h"
#undef GLOVE_KERNELS_ATTRIBUTES
#undef GLOVE_KERNELS_VNNI
#undef GLOVE_KERNELS_NAMESPACE
#undef GLOVE_KERNELS_NAME
#endif
