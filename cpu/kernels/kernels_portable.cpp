// The kernels for every other processor: those of kernels-inl.h with vectors of 128 bits that Highway
// emulates by loops, of which a compiler makes what the processor has. They return the same results as all
// others.
#define HWY_IS_DEBUG_BUILD 0  // its checks would need the library
#define HWY_COMPILE_ONLY_EMU128
// Highway leaves this target out where a compiler breaks one of its operations, as GCC before 12.3 breaks
// MulHigh (bug 106322). No kernel uses those: MulHigh, MulFixedPoint15, MulEven, MulOdd,
// SatWidenMulPairwiseAdd and SumOfMulQuadAccumulate.
#define HWY_BROKEN_EMU128 0

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "cpu/kernels/kernels.h"
#include "lists/half.h"
#include "lists/list_codes.h"
#include "lists/planes.h"
#include "model/cap_bound.h"
#include "model/nibbles.h"

#if !defined(__wasm_simd128__)
#include <hwy/highway.h>

#define GLOVE_KERNELS_DOT "cpu/kernels/dot_plain-inl.h"
#define GLOVE_KERNELS_NAMESPACE scalar
#define GLOVE_KERNELS_NAME "scalar"
#include "cpu/kernels/kernels-inl.h"
#endif
