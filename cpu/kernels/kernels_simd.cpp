// The SIMD kernels of every instruction set, in one object file. Only Highway's headers are used:
// kernels.cpp, not Highway's library, selects the table at run time.
#define HWY_IS_DEBUG_BUILD 0  // its checks would need the library
#if defined(__aarch64__)
// On Arm only NEON is compiled, without the cryptographic instructions that Highway's own dispatch requires.
#define HWY_COMPILE_ONLY_STATIC
#define TOOLCHAIN_MISS_SYS_AUXV_H
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE_256 | HWY_SVE2 | HWY_SVE2_128)
#else
#define HWY_DISABLED_TARGETS HWY_SSSE3
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/x86_features.h"
#include "cpu/kernels/kernels.h"
#include "lists/half.h"
#include "lists/list_codes.h"
#include "lists/planes.h"
#include "model/cap_bound.h"
#include "model/nibbles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/kernels_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for each instruction set
#include <hwy/highway.h>

#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define GLOVE_KERNELS_ATTRIBUTES HWY_TARGET_STR
#define GLOVE_KERNELS_DOT "cpu/kernels/dot_pairs-inl.h"
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
#include "cpu/kernels/kernels-inl.h"
#include "cpu/kernels/kernels_undefine-inl.h"
#endif

// A scan for one query is limited by memory, and finer query codes leave fewer candidates. The next two
// targets therefore also scan single queries with codes of 16 bits.

// Highway 1.0's own VNNI target requires an instruction set that some processors with VNNI lack.
#if HWY_TARGET == HWY_AVX3
#define GLOVE_KERNELS_ATTRIBUTES HWY_TARGET_STR ",avx512vnni,amx-tile,amx-int8"
#define GLOVE_KERNELS_AMX "cpu/kernels/amx_scan-inl.h"
#define GLOVE_KERNELS_DOT "cpu/kernels/dot_vnni-inl.h"
#define GLOVE_KERNELS_FLOATS avx512
#define GLOVE_KERNELS_NAMESPACE avx512vnni
#define GLOVE_KERNELS_NAME "avx512vnni"
#include "cpu/kernels/kernels-inl.h"
#include "cpu/kernels/kernels_undefine-inl.h"
#endif

#if defined(__aarch64__)
// The baseline of all such processors.
#define GLOVE_KERNELS_DOT "cpu/kernels/dot_neon-inl.h"
#define GLOVE_KERNELS_NAMESPACE neon
#define GLOVE_KERNELS_NAME "neon"
#include "cpu/kernels/kernels-inl.h"
#include "cpu/kernels/kernels_undefine-inl.h"
#endif

#if defined(__wasm_simd128__)
#if !HWY_HAVE_FLOAT64
#include "cpu/kernels/wasm_doubles-inl.h"
#endif
#define GLOVE_KERNELS_DOT "cpu/kernels/dot_pairs-inl.h"
#define GLOVE_KERNELS_NAMESPACE simd128
#define GLOVE_KERNELS_NAME "simd128"
#include "cpu/kernels/kernels-inl.h"
#include "cpu/kernels/kernels_undefine-inl.h"
#endif

#if defined(GLOVE_HAS_NEONDOTPROD)
#if !defined(__ARM_FEATURE_DOTPROD)
#define GLOVE_KERNELS_ATTRIBUTES "arch=armv8.2-a+dotprod"
#endif
#define GLOVE_KERNELS_DOT "cpu/kernels/dot_neon_dotprod-inl.h"
#define GLOVE_KERNELS_FLOATS neon
#define GLOVE_KERNELS_NAMESPACE neondotprod
#define GLOVE_KERNELS_NAME "neondotprod"
#include "cpu/kernels/kernels-inl.h"
#include "cpu/kernels/kernels_undefine-inl.h"
#endif
