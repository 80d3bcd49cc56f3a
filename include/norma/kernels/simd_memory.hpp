// SPDX-License-Identifier: MIT
// Registers from memory and back: at any address, part of a register, past the caches, and 16-bit values, which are
// floats in registers.
#pragma once

#include <norma/kernels/simd.hpp>

#include <algorithm>

namespace norma::inline v0_1::inline NORMA_TARGET::simd {

/// Lanes of a pack that is stored as S.
template <class S>
inline constexpr Index kLanesOf = kLanes<Compute<S>>;

namespace detail {

/// A pack as it lies in memory.
#if defined(NORMA_SCALAR)
using Raw16 = std::uint16_t;
#else
using Raw16 = Lanes<std::uint16_t, kLanes<float>>::Type;
using Bits32 = Lanes<std::uint32_t, kLanes<float>>::Type;
#endif
template <class S>
struct Memory {
  using Raw = typename Pack<S>::Native;
  static NORMA_INLINE Pack<S> to_pack(Raw raw) { return {raw}; }
  static NORMA_INLINE Raw to_raw(Pack<S> pack) { return pack.v; }
};

/// One lane at a time, where the instruction set has no conversion.
template <class S>
struct Memory16 {
  using Raw = Raw16;
#if defined(NORMA_SCALAR)
  static NORMA_INLINE Pack<float> to_pack(Raw raw) { return {static_cast<float>(S::from_bits(raw))}; }
  static NORMA_INLINE Raw to_raw(Pack<float> pack) { return S(pack.v).bits; }
#else
  static NORMA_INLINE Pack<float> to_pack(Raw raw) {
    Pack<float> pack;
    for (Index i = 0; i < kLanes<float>; ++i) pack.v[i] = static_cast<float>(S::from_bits(raw[i]));
    return pack;
  }
  static NORMA_INLINE Raw to_raw(Pack<float> pack) {
    Raw raw;
    for (Index i = 0; i < kLanes<float>; ++i) raw[i] = S(pack.v[i]).bits;
    return raw;
  }
#endif
};
// The extensions' conversions are one instruction only where GCC 12 finds it; its forms without a mask warn.
#if defined(NORMA_SCALAR)
template <>
struct Memory<bfloat16> : Memory16<bfloat16> {};
#elif defined(NORMA_AVX512)
template <>
struct Memory<bfloat16> {
  using Raw = Raw16;
  static NORMA_INLINE Pack<float> to_pack(Raw raw) {  // word i to the upper half of lane i
    const auto spread = _mm512_set_epi16(15, 0, 14, 0, 13, 0, 12, 0, 11, 0, 10, 0, 9, 0, 8, 0, 7, 0, 6, 0, 5, 0, 4, 0,
                                         3, 0, 2, 0, 1, 0, 0, 0);
    return {
        (Pack<float>::Native)_mm512_maskz_permutexvar_epi16(0xAAAAAAAA, spread, _mm512_castsi256_si512((__m256i)raw))};
  }
  static NORMA_INLINE Raw to_raw(Pack<float> pack) {  // bfloat16::round in six instructions
    const auto v = (__m512i)pack.v;
    const auto biased = _mm512_add_epi32(v, _mm512_set1_epi32(0x7FFF));
    const auto odd = _mm512_test_epi32_mask(v, _mm512_set1_epi32(0x10000));
    const auto nan = _mm512_fpclass_ps_mask((__m512)pack.v, 0x81);
    const auto rounded = _mm512_mask_add_epi32(biased, odd, biased, _mm512_set1_epi32(1));
    const auto quiet = _mm512_mask_or_epi32(rounded, nan, v, _mm512_set1_epi32(0x00400000));
    const auto odd_words = _mm512_set_epi16(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1, 31, 29, 27, 25,
                                            23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    const auto upper = _mm512_maskz_permutexvar_epi16(0xFFFFFFFF, odd_words, quiet);
    return (Raw)_mm512_castsi512_si256(upper);
  }
};
#else
template <>
struct Memory<bfloat16> {
  using Raw = Raw16;
  static NORMA_INLINE Pack<float> to_pack(Raw raw) { return {bits_as<Pack<float>::Native>(widened(raw) << 16)}; }
  static NORMA_INLINE Raw to_raw(Pack<float> pack) {  // bfloat16::round, lane by lane
    const auto v = bits_as<Bits32>(pack.v);
    const auto nan = (v & 0x7FFFFFFFu) > 0x7F800000u;
    const Bits32 rounded = nan ? v | 0x00400000u : v + 0x7FFFu + (v >> 16 & 1u);
    return upper(rounded);
  }

 private:
#if defined(NORMA_AVX2)
  static NORMA_INLINE Bits32 widened(Raw16 v) { return (Bits32)_mm256_cvtepu16_epi32((__m128i)v); }
  static NORMA_INLINE Raw16 upper(Bits32 v) {
    v >>= 16;
    return (Raw16)_mm_packus_epi32(_mm256_castsi256_si128((__m256i)v), _mm256_extracti128_si256((__m256i)v, 1));
  }
#else
  static NORMA_INLINE Bits32 widened(Raw16 v) { return __builtin_convertvector(v, Bits32); }
  static NORMA_INLINE Raw16 upper(Bits32 v) { return __builtin_convertvector(v >> 16, Raw16); }
#endif
};
#endif
#if defined(NORMA_AVX512)
template <>
struct Memory<half> {
  using Raw = Raw16;
  static NORMA_INLINE Pack<float> to_pack(Raw raw) {
    return {(Pack<float>::Native)_mm512_maskz_cvtph_ps(0xFFFF, (__m256i)raw)};
  }
  static NORMA_INLINE Raw to_raw(Pack<float> pack) {
    return (Raw)_mm512_maskz_cvtps_ph(0xFFFF, (__m512)pack.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
};
#elif defined(NORMA_AVX2) && defined(__F16C__)
template <>
struct Memory<half> {
  using Raw = Raw16;
  static NORMA_INLINE Pack<float> to_pack(Raw raw) { return {(Pack<float>::Native)_mm256_cvtph_ps((__m128i)raw)}; }
  static NORMA_INLINE Raw to_raw(Pack<float> pack) {
    return (Raw)_mm256_cvtps_ph((__m256)pack.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
};
#elif defined(NORMA_NEON)
template <>
struct Memory<half> {
  using Raw = Raw16;
  static NORMA_INLINE Pack<float> to_pack(Raw raw) {
    return {(Pack<float>::Native)vcvt_f32_f16(vreinterpret_f16_u16((uint16x4_t)raw))};
  }
  static NORMA_INLINE Raw to_raw(Pack<float> pack) {
    return (Raw)vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)pack.v));
  }
};
#else
template <>
struct Memory<half> : Memory16<half> {};
#endif

/// Copies bytes < 2 Piece, in pieces of fixed size.
template <std::size_t Piece>
NORMA_INLINE void copy_pieces(char* to, const char* from, std::size_t bytes) {
  const bool here = (bytes & Piece) != 0;
  if (here) std::memcpy(to, from, Piece);
  if constexpr (Piece > 2) copy_pieces<Piece / 2>(to + (here ? Piece : 0), from + (here ? Piece : 0), bytes);
}

/// The first `count` elements of a register, where there is no masked access. Once or twice a row, and long: not
/// inline.
template <class Raw, class S>
NORMA_OUT_OF_LINE Raw load_pieces(const S* p, Index count) {
  Raw raw{};
  if constexpr (sizeof(raw) > sizeof(S))
    copy_pieces<sizeof(raw) / 2>(reinterpret_cast<char*>(&raw), reinterpret_cast<const char*>(p),
                                 static_cast<std::size_t>(count) * sizeof(S));
  return raw;
}
template <class Raw, class S>
NORMA_OUT_OF_LINE void store_pieces(S* p, Raw raw, Index count) {
  if constexpr (sizeof(raw) > sizeof(S))
    copy_pieces<sizeof(raw) / 2>(reinterpret_cast<char*>(p), reinterpret_cast<const char*>(&raw),
                                 static_cast<std::size_t>(count) * sizeof(S));
}

#if defined(NORMA_AVX2)
/// The first `count` lanes of Bytes each.
template <int Bytes>
NORMA_INLINE __m256i first_mask(Index count) {
  if constexpr (Bytes == 4)
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  else
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}
#endif

}  // namespace detail

template <class S>
NORMA_INLINE Pack<Compute<S>> load(const S* p) {  // p need not be aligned
  typename detail::Memory<S>::Raw raw;
  std::memcpy(&raw, p, sizeof(raw));
  return detail::Memory<S>::to_pack(raw);
}
template <class S>
NORMA_INLINE void store(S* p, Pack<Compute<S>> a) {
  const auto raw = detail::Memory<S>::to_raw(a);
  std::memcpy(p, &raw, sizeof(raw));
}

/// The first `count` lanes from memory, the others zero. Reads nothing beyond p[count - 1].
template <class S>
NORMA_INLINE Pack<Compute<S>> load_first(const S* p, Index count) {
  using Raw = typename detail::Memory<S>::Raw;
#if defined(NORMA_AVX512)
  const unsigned mask = (1u << count) - 1;
  if constexpr (sizeof(S) == 2)
    return detail::Memory<S>::to_pack((Raw)_mm256_maskz_loadu_epi16(static_cast<__mmask16>(mask), p));
  else if constexpr (sizeof(S) == 4)
    return {(Raw)_mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), p)};
  else
    return {(Raw)_mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), p)};
#else
#if defined(NORMA_AVX2)
  if constexpr (sizeof(S) == 4)
    return {(Raw)_mm256_maskload_ps(p, detail::first_mask<4>(count))};
  else if constexpr (sizeof(S) == 8)
    return {(Raw)_mm256_maskload_pd(p, detail::first_mask<8>(count))};
  else
#endif
    return count == kLanesOf<S> ? load(p) : detail::Memory<S>::to_pack(detail::load_pieces<Raw>(p, count));
#endif
}
template <class S>
NORMA_INLINE void store_first(S* p, Pack<Compute<S>> a, Index count) {
  const auto raw = detail::Memory<S>::to_raw(a);
#if defined(NORMA_AVX512)
  const unsigned mask = (1u << count) - 1;
  if constexpr (sizeof(S) == 2)
    _mm256_mask_storeu_epi16(p, static_cast<__mmask16>(mask), (__m256i)raw);
  else if constexpr (sizeof(S) == 4)
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>(mask), (__m512)raw);
  else
    _mm512_mask_storeu_pd(p, static_cast<__mmask8>(mask), (__m512d)raw);
#else
#if defined(NORMA_AVX2)
  if constexpr (sizeof(S) == 4)
    return _mm256_maskstore_ps(p, detail::first_mask<4>(count), (__m256)raw);
  else if constexpr (sizeof(S) == 8)
    return _mm256_maskstore_pd(p, detail::first_mask<8>(count), (__m256d)raw);
  else
#endif
  {
    if (count == kLanesOf<S>) return store(p, a);
    detail::store_pieces(p, raw, count);
  }
#endif
}

/// The first `count` lanes of a, the others `fill`.
template <class T>
NORMA_INLINE Pack<T> first(Pack<T> a, Index count, T fill = T(0)) {
#if defined(NORMA_SCALAR)
  return {count > 0 ? a.v : fill};
#else
  using Int = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typename detail::Lanes<Int, kLanes<T>>::Type lane;
  for (Index i = 0; i < kLanes<T>; ++i) lane[i] = static_cast<Int>(i);
  return {lane < static_cast<Int>(count) ? a.v : broadcast(fill).v};
#endif
}

template <class S>
NORMA_INLINE Pack<Compute<S>> load_up_to(const S* p, Index count) {
  return count == kLanesOf<S> ? load(p) : load_first(p, count);
}
template <class S>
NORMA_INLINE void store_up_to(S* p, Pack<Compute<S>> a, Index count) {
  if (count == kLanesOf<S>)
    store(p, a);
  else
    store_first(p, a, count);
}
/// As it comes back from memory.
template <class S>
NORMA_INLINE Pack<Compute<S>> rounded(Pack<Compute<S>> a) {
  return detail::Memory<S>::to_pack(detail::Memory<S>::to_raw(a));
}

/// Past the caches, to an address that is a multiple of the pack's size. stream_fence() before others read it.
template <class S>
NORMA_INLINE void stream(S* p, Pack<Compute<S>> a) {
  [[maybe_unused]] const auto raw = detail::Memory<S>::to_raw(a);
#if defined(__SSE2__) && !defined(NORMA_SCALAR)
  if constexpr (sizeof(raw) == 8)
    _mm_stream_si64(reinterpret_cast<long long*>(p), bits_as<long long>(raw));
  else if constexpr (sizeof(raw) == 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(p), bits_as<__m128i>(raw));
#if defined(NORMA_AVX2) || defined(NORMA_AVX512)
  else if constexpr (sizeof(raw) == 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(p), bits_as<__m256i>(raw));
#endif
#if defined(NORMA_AVX512)
  else
    _mm512_stream_si512(reinterpret_cast<__m512i*>(p), bits_as<__m512i>(raw));
#endif
#else
  store(p, a);
#endif
}
NORMA_INLINE void stream_fence() {
#if defined(__SSE2__) && !defined(NORMA_SCALAR)
  _mm_sfence();
#endif
}

/// Elements from p to the next address that stream() takes.
template <class S>
NORMA_INLINE Index elements_to_stream(const S* p) {
  constexpr auto kSize = sizeof(typename detail::Memory<S>::Raw);
  return static_cast<Index>((kSize - reinterpret_cast<std::uintptr_t>(p) % kSize) % kSize / sizeof(S));
}

/// Calls body(i, count) over [0, n): full packs, then one part of a pack with count < kLanes.
template <class T, class F>
NORMA_INLINE void for_each_pack(Index n, F&& body) {
  Index i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) body(i, kLanes<T>);
  if (i < n) body(i, n - i);
}
/// The same for long bodies: one copy of it.
template <class T, class F>
NORMA_INLINE void for_each_pack_once(Index n, F&& body) {
  for (Index i = 0; i < n; i += kLanes<T>) body(i, (std::min)(kLanes<T>, n - i));
}
/// Likewise, with a part of `head` < kLanes elements before the full packs. The two parts come first: so they share one
/// copy of the body.
template <class T, class F>
NORMA_INLINE void for_each_pack_after(Index head, Index n, F&& body) {
  head = (std::min)(head, n);
  const Index end = head + (n - head) / kLanes<T> * kLanes<T>;
  const struct { Index begin, count; } parts[] = {{0, head}, {end, n - end}};
  for (const auto& part : parts)  // the upper bound, which holds anyway, rids the copy of what full packs need
    if (part.count > 0 && part.count < kLanes<T>) body(part.begin, part.count);
  for (Index i = head; i < end; i += kLanes<T>) body(i, kLanes<T>);
}

/// sums += x, in double.
template <class T>
NORMA_INLINE void add_to(double* sums, const T* x, Index n) {
  Index i = 0;
#if !defined(NORMA_SCALAR)
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    WideSum<T> sum;
    sum.load(sums + i);
    sum.add(load(x + i));
    sum.store(sums + i);
  }
#endif
  for (; i < n; ++i) sums[i] += static_cast<double>(x[i]);
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::simd
