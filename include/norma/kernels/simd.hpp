// SPDX-License-Identifier: MIT
// A register of lanes for float and double.
//
// Built on the compiler's vector extensions: arithmetic, comparison, shuffles and conversion are the same source for
// every instruction set, the compiler keeps optimising across them, and nothing but always-inlined functions exists at
// link time. Intrinsics appear only where the extensions have no word: fused multiply-add here; masked memory,
// streaming stores and half in simd_memory.hpp.
//
// Every product that is then added is written as fma(); so no compiler has anything left to contract on its own, and
// the same expression gives the same bits wherever it is inlined.
#pragma once

#include <norma/core/float16.hpp>
#include <norma/core/shape.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(NORMA_AVX512) || defined(NORMA_AVX2)
#include <immintrin.h>
#elif defined(NORMA_SSE2)
#include <emmintrin.h>
#elif defined(NORMA_NEON)
#include <arm_neon.h>
#endif

namespace norma::inline v0_1::inline NORMA_TARGET::simd {

#if defined(NORMA_AVX512)
inline constexpr Index kBytes = 64;
#elif defined(NORMA_AVX2)
inline constexpr Index kBytes = 32;
#elif defined(NORMA_SSE2) || defined(NORMA_NEON)
inline constexpr Index kBytes = 16;
#else
inline constexpr Index kBytes = 8;
#endif

#if defined(NORMA_SCALAR)
template <class T>
struct Pack {
  using Native = T;
  static constexpr Index kLanes = 1;
  Native v;
};
#else
template <class T>
struct Pack {
  typedef T Native __attribute__((vector_size(kBytes)));
  static constexpr Index kLanes = kBytes / static_cast<Index>(sizeof(T));
  Native v;
};
#endif
template <class T>
inline constexpr Index kLanes = Pack<T>::kLanes;

template <class T>
NORMA_INLINE Pack<T> broadcast(T s) {
#if defined(NORMA_SCALAR)
  return {s};
#else
  return {s - typename Pack<T>::Native{}};  // a vector minus zero, not plus: -0 stays -0
#endif
}
template <class T>
NORMA_INLINE Pack<T> zero() {
  return {typename Pack<T>::Native{}};
}

template <class T>
NORMA_INLINE Pack<T> operator+(Pack<T> a, Pack<T> b) {
  return {a.v + b.v};
}
template <class T>
NORMA_INLINE Pack<T> operator-(Pack<T> a, Pack<T> b) {
  return {a.v - b.v};
}
template <class T>
NORMA_INLINE Pack<T> operator*(Pack<T> a, Pack<T> b) {
  return {a.v * b.v};
}
template <class T>
NORMA_INLINE Pack<T> maximum(Pack<T> a, Pack<T> b) {
  return {a.v > b.v ? a.v : b.v};
}

/// A barrier for one value: the compiler may not reassociate through it, -ffast-math included.
template <class T>
NORMA_INLINE Pack<T> keep(Pack<T> a) {
#if defined(NORMA_SCALAR)
#if defined(__x86_64__)
  asm("" : "+x"(a.v));
#else
  asm("" : "+w"(a.v));
#endif
#elif defined(NORMA_AVX512)
  asm("" : "+v"(a.v));
#elif defined(NORMA_NEON)
  asm("" : "+w"(a.v));
#else
  asm("" : "+x"(a.v));
#endif
  return a;
}

template <class T>
NORMA_INLINE Pack<T> keep_if_fast(Pack<T> a) {
#if defined(__FAST_MATH__)
  return keep(a);
#else
  return a;
#endif
}

/// a * b + c, rounded once where the instruction set can. Where it cannot, the two are statements of their own, since
/// Clang folds the constants of one as if fused, and -ffast-math is kept from spreading them over what stands around
/// them: one loop would come to other bits than the next.
NORMA_INLINE float fma(float a, float b, float c) {
#if defined(NORMA_HAS_FMA)
  return __builtin_fmaf(a, b, c);
#else
  const auto product = a * b;
  return product + c;
#endif
}
NORMA_INLINE double fma(double a, double b, double c) {
#if defined(NORMA_HAS_FMA)
  return __builtin_fma(a, b, c);
#else
  const auto product = a * b;
  return product + c;
#endif
}
template <class T>
NORMA_INLINE Pack<T> fma(Pack<T> a, Pack<T> b, Pack<T> c) {
  constexpr bool kFloat = sizeof(T) == 4;
#if defined(NORMA_AVX512)
  if constexpr (kFloat)
    return {(typename Pack<T>::Native)_mm512_fmadd_ps((__m512)a.v, (__m512)b.v, (__m512)c.v)};
  else
    return {(typename Pack<T>::Native)_mm512_fmadd_pd((__m512d)a.v, (__m512d)b.v, (__m512d)c.v)};
#elif defined(NORMA_AVX2)
  if constexpr (kFloat)
    return {(typename Pack<T>::Native)_mm256_fmadd_ps((__m256)a.v, (__m256)b.v, (__m256)c.v)};
  else
    return {(typename Pack<T>::Native)_mm256_fmadd_pd((__m256d)a.v, (__m256d)b.v, (__m256d)c.v)};
#elif defined(NORMA_NEON)
  if constexpr (kFloat)
    return {(typename Pack<T>::Native)vfmaq_f32((float32x4_t)c.v, (float32x4_t)a.v, (float32x4_t)b.v)};
  else
    return {(typename Pack<T>::Native)vfmaq_f64((float64x2_t)c.v, (float64x2_t)a.v, (float64x2_t)b.v)};
#elif defined(NORMA_SCALAR)
  static_cast<void>(kFloat);
  return keep_if_fast(Pack<T>{fma(a.v, b.v, c.v)});
#else
  static_cast<void>(kFloat);
  const auto product = a.v * b.v;
  return keep_if_fast(Pack<T>{product + c.v});
#endif
}

#if !defined(NORMA_SCALAR)
namespace detail {
template <class T, Index Count>
struct Lanes {
  typedef T Type __attribute__((vector_size(Count * static_cast<Index>(sizeof(T)))));
};
/// Lanes of `v`, from lane `From` on.
template <class T, Index From, class V, std::size_t... Lane>
NORMA_INLINE typename Lanes<T, sizeof...(Lane)>::Type part(V v, std::index_sequence<Lane...>) {
  return __builtin_shufflevector(v, v, (static_cast<int>(Lane) + static_cast<int>(From))...);
}
template <class T, Index Count, class V>
NORMA_INLINE T reduce_add(V v) {
  if constexpr (Count == 2) {
    return v[0] + v[1];
  } else {
    constexpr auto kHalf = std::make_index_sequence<static_cast<std::size_t>(Count / 2)>();
    return reduce_add<T, Count / 2>(part<T, 0>(v, kHalf) + part<T, Count / 2>(v, kHalf));
  }
}
template <class T, Index Count, class V>
NORMA_INLINE T reduce_maximum(V v) {
  if constexpr (Count == 2) {
    return v[0] > v[1] ? v[0] : v[1];
  } else {
    constexpr auto kHalf = std::make_index_sequence<static_cast<std::size_t>(Count / 2)>();
    const auto low = part<T, 0>(v, kHalf), high = part<T, Count / 2>(v, kHalf);
    return reduce_maximum<T, Count / 2>(low > high ? low : high);
  }
}
}  // namespace detail
#endif

/// Sum of the lanes, halves added to halves: one fixed order.
template <class T>
NORMA_INLINE T reduce_add(Pack<T> a) {
#if defined(NORMA_SCALAR)
  return a.v;
#else
  return detail::reduce_add<T, kLanes<T>>(a.v);
#endif
}

/// The largest lane; any of them where one is NaN.
template <class T>
NORMA_INLINE T reduce_maximum(Pack<T> a) {
#if defined(NORMA_SCALAR)
  return a.v;
#else
  return detail::reduce_maximum<T, kLanes<T>>(a.v);
#endif
}

/// A sum in double of lanes of T.
template <class T>
struct WideSum;
template <>
struct WideSum<double> {
  Pack<double> sum = zero<double>(), error = zero<double>();
  NORMA_INLINE void load(const double* p) { std::memcpy(&sum.v, p, sizeof(sum.v)); }
  NORMA_INLINE void store(double* p) const { std::memcpy(p, &sum.v, sizeof(sum.v)); }
  /// double has no wider type: what rounding takes from the sum is kept beside it (Knuth's two-sum).
  NORMA_INLINE void add(Pack<double> a) {
    const Pack<double> s = keep(sum + a), added = keep(s - sum);
    error = error + (keep(sum - keep(s - added)) + keep(a - added));
    sum = s;
  }
  NORMA_INLINE double total() const { return reduce_add(sum) + reduce_add(error); }
};
template <>
struct WideSum<float> {
#if defined(NORMA_SCALAR)
  double sum = 0;
  NORMA_INLINE void add(Pack<float> a) { sum += static_cast<double>(a.v); }
  NORMA_INLINE double total() const { return sum; }
#else
  Pack<double> low = zero<double>(), high = zero<double>();
  NORMA_INLINE void load(const double* p) {
    std::memcpy(&low.v, p, sizeof(low.v));
    std::memcpy(&high.v, p + kLanes<double>, sizeof(high.v));
  }
  NORMA_INLINE void store(double* p) const {
    std::memcpy(p, &low.v, sizeof(low.v));
    std::memcpy(p + kLanes<double>, &high.v, sizeof(high.v));
  }
  NORMA_INLINE void add(Pack<float> a) {
#if defined(NORMA_AVX512)  // GCC 12 makes four instructions of what follows below; its forms without a mask warn
    constexpr auto kHalf = std::make_index_sequence<8>();
    low.v += (Pack<double>::Native)_mm512_maskz_cvtps_pd(0xFF, (__m256)detail::part<float, 0>(a.v, kHalf));
    high.v += (Pack<double>::Native)_mm512_maskz_cvtps_pd(0xFF, (__m256)detail::part<float, 8>(a.v, kHalf));
#else
    constexpr auto kHalf = std::make_index_sequence<static_cast<std::size_t>(kLanes<double>)>();
    low.v += __builtin_convertvector((detail::part<float, 0>(a.v, kHalf)), Pack<double>::Native);
    high.v += __builtin_convertvector((detail::part<float, kLanes<double>>(a.v, kHalf)), Pack<double>::Native);
#endif
  }
  NORMA_INLINE double total() const { return reduce_add(low + high); }
#endif
};

/// Minus infinity, on the bits for the same reason.
NORMA_INLINE bool is_minus_infinity(float a) { return bits_as<std::uint32_t>(a) == 0xFF800000u; }
NORMA_INLINE bool is_minus_infinity(double a) { return bits_as<std::uint64_t>(a) == 0xFFF0000000000000u; }

/// Finiteness on the bits, which -ffast-math cannot assume away.
NORMA_INLINE bool is_finite(double a) {
  return (bits_as<std::uint64_t>(a) & 0x7FF0000000000000u) != 0x7FF0000000000000u;
}
/// Likewise.
NORMA_INLINE bool is_nan(double a) { return (bits_as<std::uint64_t>(a) & 0x7FFFFFFFFFFFFFFFu) > 0x7FF0000000000000u; }

}  // namespace norma::inline v0_1::inline NORMA_TARGET::simd
