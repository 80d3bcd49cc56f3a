// SPDX-License-Identifier: MIT
// Version, namespaces and inlining. Macros all start with NORMA_.
#pragma once

#include <norma/core/standard.hpp>

#define NORMA_VERSION_MAJOR 0
#define NORMA_VERSION_MINOR 1
#define NORMA_VERSION_PATCH 0

/// norma::v0_1 holds plain values (Error, Shape, Depth, views) that mean the same in every translation unit. Code whose
/// machine code depends on compiler flags lives one namespace deeper, NORMA_TARGET: so two units built for different
/// instruction sets, with and without assertions or exceptions, or with other libraries' products, never share a
/// function at link time.
#if defined(NORMA_SCALAR)
#define NORMA_TARGET_ISA scalar
#elif defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && defined(__AVX512BW__)
#define NORMA_AVX512 1
#define NORMA_TARGET_ISA avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define NORMA_AVX2 1
#define NORMA_TARGET_ISA avx2
#elif defined(__SSE2__)
#define NORMA_SSE2 1
#if defined(__AVX__)  // the same kernels, in instructions that SSE2 alone does not have
#define NORMA_TARGET_ISA avx
#elif defined(__SSE4_1__)
#define NORMA_TARGET_ISA sse4
#else
#define NORMA_TARGET_ISA sse2
#endif
#elif defined(__ARM_NEON) && defined(__aarch64__)
#define NORMA_NEON 1
#define NORMA_TARGET_ISA neon
#else
#define NORMA_SCALAR 1
#define NORMA_TARGET_ISA scalar
#endif

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define NORMA_HAS_FMA 1
#define NORMA_TARGET_FMA fma
#else
#define NORMA_TARGET_FMA nofma
#endif
#if defined(__FAST_MATH__)
#define NORMA_TARGET_MATH fast
#else
#define NORMA_TARGET_MATH ieee
#endif
#if defined(NDEBUG) && !defined(NORMA_ENABLE_ASSERT)
#define NORMA_TARGET_CHECKS ndebug
#else
#define NORMA_TARGET_CHECKS checked
#endif

#if defined(__cpp_exceptions)
#define NORMA_TARGET_ERRORS throws
#else
#define NORMA_TARGET_ERRORS nothrow
#endif

#if defined(NORMA_BACKEND_BLAS) && defined(NORMA_BACKEND_ONEDNN)
#error "norma: NORMA_BACKEND_BLAS and NORMA_BACKEND_ONEDNN are both defined; one library multiplies"
#elif defined(NORMA_BACKEND_BLAS)
#define NORMA_TARGET_PRODUCT blas
#elif defined(NORMA_BACKEND_ONEDNN)
#define NORMA_TARGET_PRODUCT onednn
#else
#define NORMA_TARGET_PRODUCT own
#endif

#define NORMA_JOIN_(a, b, c, d, e, f) a##_##b##_##c##_##d##_##e##_##f
#define NORMA_JOIN(a, b, c, d, e, f) NORMA_JOIN_(a, b, c, d, e, f)
#define NORMA_TARGET                                                                                          \
  NORMA_JOIN(NORMA_TARGET_ISA, NORMA_TARGET_FMA, NORMA_TARGET_MATH, NORMA_TARGET_CHECKS, NORMA_TARGET_ERRORS, \
             NORMA_TARGET_PRODUCT)

#define NORMA_INLINE inline __attribute__((always_inline))
#define NORMA_INLINE_LAMBDA __attribute__((always_inline))
#define NORMA_COLD __attribute__((noinline, cold))
/// A loop over a row: the call costs nothing beside it, and one copy serves every caller.
#define NORMA_OUT_OF_LINE __attribute__((noinline))

/// Before a loop over registers: unroll it whole, or its accumulators live in memory.
#if defined(__clang__)
#define NORMA_UNROLL _Pragma("clang loop unroll(full)")
#else
#define NORMA_UNROLL _Pragma("GCC unroll 16")
#endif

namespace norma::inline v0_1 {

struct Version {
  int major, minor, patch;
};
inline constexpr Version version{NORMA_VERSION_MAJOR, NORMA_VERSION_MINOR, NORMA_VERSION_PATCH};

}  // namespace norma::inline v0_1
