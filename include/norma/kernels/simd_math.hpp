// SPDX-License-Identifier: MIT
// Exponentials of packs. Of float by polynomials of our own, the same for every lane; of double, lane by lane, by the
// standard library. NaN comes through, and infinities are right.
//
// Coefficients: minimax polynomials by Remez' algorithm, computed with 40 digits and rounded to float.
#pragma once

#include <norma/kernels/simd.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace norma::inline v0_1::inline NORMA_TARGET::simd {

template <class T>
NORMA_INLINE Pack<T> operator/(Pack<T> a, Pack<T> b) {
  return {a.v / b.v};
}
template <class T>
NORMA_INLINE Pack<T> operator-(Pack<T> a) {
  return {-a.v};
}
/// yes where a < b, else no.
template <class T>
NORMA_INLINE Pack<T> if_less(Pack<T> a, Pack<T> b, Pack<T> yes, Pack<T> no) {
  return {a.v < b.v ? yes.v : no.v};
}
template <class T>
NORMA_INLINE Pack<T> magnitude(Pack<T> a) {
  return if_less(a, zero<T>(), -a, a);
}

/// c[0] + c[1] x + c[2] x^2 + ..., by Horner's rule.
template <class T>
NORMA_INLINE Pack<T> polynomial(Pack<T>, T c) {
  return broadcast(c);
}
template <class T, class... Rest>
NORMA_INLINE Pack<T> polynomial(Pack<T> x, T c, Rest... rest) {
  return fma(polynomial(x, rest...), x, broadcast(c));
}

namespace detail {
#if !defined(NORMA_SCALAR)
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
template <class T>
using BitLanes = typename Lanes<BitsOf<T>, kLanes<T>>::Type;
/// Of infinity: all bits of the exponent.
template <class T>
inline constexpr BitsOf<T> kInfinityBits = static_cast<BitsOf<T>>(sizeof(T) == 4 ? 0x7F800000LL : 0x7FF0000000000000LL);
#endif
}  // namespace detail

// NaN is told on the bits: -ffast-math takes comparisons with it as it likes.
#if defined(NORMA_SCALAR)
/// x where it is NaN, else y.
template <class T>
NORMA_INLINE Pack<T> unless_nan(Pack<T> x, Pack<T> y) {
  return is_nan(static_cast<double>(x.v)) ? x : y;
}
#else
namespace detail {
template <class T>
NORMA_INLINE BitLanes<T> nan_lanes(Pack<T> x) {
  BitLanes<T> bits;
  std::memcpy(&bits, &x.v, sizeof(bits));
  return (bits & (std::numeric_limits<BitsOf<T>>::max)()) > kInfinityBits<T>;
}
/// x where the lane of `which` is all ones, else y.
template <class T>
NORMA_INLINE Pack<T> select(BitLanes<T> which, Pack<T> x, Pack<T> y) {
  BitLanes<T> a, b;
  std::memcpy(&a, &x.v, sizeof(a));
  std::memcpy(&b, &y.v, sizeof(b));
  b = (a & which) | (b & ~which);
  std::memcpy(&y.v, &b, sizeof(b));
  return y;
}
template <class T, std::size_t... Lane>
NORMA_INLINE Pack<T> choose(std::uint64_t bits, Pack<T> a, T b, std::index_sequence<Lane...>) {
  constexpr BitLanes<T> kBits = {(BitsOf<T>(1) << Lane)...};
  const BitLanes<T> other = BitLanes<T>{} + bits_as<BitsOf<T>>(b);
  Pack<T> all_b;
  std::memcpy(&all_b.v, &other, sizeof(other));
  return select<T>(((BitLanes<T>{} + static_cast<BitsOf<T>>(bits)) & kBits) != 0, a, all_b);
}
}  // namespace detail
/// x where it is NaN, else y.
template <class T>
NORMA_INLINE Pack<T> unless_nan(Pack<T> x, Pack<T> y) {
  return detail::select(detail::nan_lanes(x), x, y);
}
#endif

/// Lane j of a where bit j is set, else b. On the bits, for b may be infinite.
template <class T>
NORMA_INLINE Pack<T> choose(std::uint64_t bits, Pack<T> a, T b) {
#if defined(NORMA_SCALAR)
  return (bits & 1) != 0 ? a : Pack<T>{b};
#else
  return detail::choose(bits, a, b, std::make_index_sequence<static_cast<std::size_t>(kLanes<T>)>());
#endif
}

/// Whether all lanes that it has seen are finite; on the bits, too.
template <class T>
class Finite {
 public:
#if defined(NORMA_SCALAR)
  NORMA_INLINE void look_at(Pack<T> a) { all_ = all_ && is_finite(static_cast<double>(a.v)); }
  NORMA_INLINE bool all() const { return all_; }

 private:
  bool all_ = true;
#else
  NORMA_INLINE void look_at(Pack<T> a) {
    detail::BitLanes<T> bits;
    std::memcpy(&bits, &a.v, sizeof(bits));
    others_ |= (bits & detail::kInfinityBits<T>) == detail::kInfinityBits<T>;
  }
  NORMA_INLINE bool all() const {
    detail::BitsOf<T> lanes[kLanes<T>], any = 0;
    std::memcpy(lanes, &others_, sizeof(lanes));
    for (const auto lane : lanes) any |= lane;
    return any == 0;
  }

 private:
  detail::BitLanes<T> others_{};
#endif
};

namespace detail {

/// f of every lane by itself: through memory that the compiler cannot see through, so that -ffast-math makes no vector
/// of it in one place that rounds unlike the next.
template <class T, class F>
NORMA_INLINE Pack<T> each_lane(Pack<T> x, const F& f) {
  T lanes[kLanes<T>];
  std::memcpy(lanes, &x.v, sizeof(lanes));
  for (Index i = 0; i < kLanes<T>; ++i) {
    asm("" : "+m"(lanes[i]));
    lanes[i] = f(lanes[i]);
  }
  std::memcpy(&x.v, lanes, sizeof(lanes));
  return x;
}

#if !defined(NORMA_SCALAR)
/// 2^n y, for n from -252 to 254: rounded once where the result is subnormal, infinite where it is too large.
NORMA_INLINE Pack<float> scale_by_power(Pack<float> y, typename Lanes<std::int32_t, kLanes<float>>::Type n) {
  const auto half = n >> 1, rest = n - half;
  const auto power = [](auto exponent) NORMA_INLINE_LAMBDA {
    const auto bits = (exponent + 127) << 23;
    Pack<float> p;
    std::memcpy(&p.v, &bits, sizeof(bits));
    return p;
  };
  return keep_if_fast(y * power(half)) * power(rest);
}
#endif

}  // namespace detail

/// e^x, within a unit in the last place.
template <class T>
NORMA_INLINE Pack<T> exp(Pack<T> x) {
#if !defined(NORMA_SCALAR)
  if constexpr (sizeof(T) == 4) {
    // x = n log 2 + r, |r| <= log(2) / 2; log 2 in two parts, of which the first times n is exact. Beyond the limits
    // the result is 0 or infinite.
    const Pack<float> given = x;
    x = detail::select(detail::nan_lanes(x), zero<float>(), x);  // which is no number to round
    x = if_less(x, broadcast(-104.0f), broadcast(-104.0f), x);
    x = if_less(broadcast(89.0f), x, broadcast(89.0f), x);
    const Pack<float> turns = x * broadcast(1.44269504f);
    const auto n = __builtin_convertvector((turns + if_less(turns, zero<float>(), broadcast(-0.5f), broadcast(0.5f))).v,
                                           typename detail::Lanes<std::int32_t, kLanes<float>>::Type);
    const Pack<float> whole{__builtin_convertvector(n, typename Pack<float>::Native)};
    const Pack<float> r = fma(whole, broadcast(2.12194440e-4f), keep_if_fast(fma(whole, broadcast(-0.693359375f), x)));
    const Pack<float> bend =
        polynomial(r, 0.499999930505f, 0.16666514793f, 0.0416684568744f, 0.0083694187243f, 0.00138131389199f);
    const Pack<float> y = fma(bend * r, r, r) + broadcast(1.0f);
    return unless_nan(given, detail::scale_by_power(y, n));
  }
#endif
  return detail::each_lane(x, [](T v) { return std::exp(v); });
}

/// The upper tail of the normal distribution, 1 - Phi(a), and its density at a, for a >= 0.
template <class T>
struct NormalTail {
  Pack<T> tail, density;
};
/// Within 8 units in the last place up to a = 4; beyond, what rounding a^2 / 2 takes is added.
template <class T>
NORMA_INLINE NormalTail<T> normal_tail(Pack<T> a) {
  const Pack<T> e = exp(broadcast(T(-0.5)) * a * a);
  const Pack<T> density = broadcast(T(0.39894228040143267794)) * e;
#if !defined(NORMA_SCALAR)
  if constexpr (sizeof(T) == 4) {
    // The tail over e^(-a^2 / 2) falls slowly, and is nearly a polynomial in t = 1 / (1 + 0.3 a).
    const Pack<float> t = broadcast(1.0f) / fma(broadcast(0.3f), a, broadcast(1.0f));
    const Pack<float> p =
        polynomial(t, 0.119686716667f, 0.119571317628f, 0.110239346228f, 0.0783722231716f, 0.0962049330139f,
                   -0.0795092102294f, 0.191883387736f, -0.228284894128f, 0.112464853338f, -0.0206286751576f);
    return {p * t * e, density};
  }
#endif
  // erfc keeps the digits of the tail, where 1 - erf has none left.
  return {detail::each_lane(a, [](T v) { return T(0.5) * std::erfc(T(0.70710678118654752440) * v); }), density};
}

/// Within 2 units in the last place.
template <class T>
NORMA_INLINE Pack<T> tanh(Pack<T> x) {
#if !defined(NORMA_SCALAR)
  if constexpr (sizeof(T) == 4) {
    // 1 - 2 / (e^(2a) + 1) loses digits where a is small: there x (1 + x^2 p(x^2)).
    const Pack<float> a = magnitude(x), one = broadcast(1.0f), square = x * x;
    const Pack<float> outside = one - broadcast(2.0f) / (exp(a + a) + one);
    const Pack<float> bend =
        polynomial(square, -0.333332816426f, 0.13331424782f, -0.0537376121204f, 0.0206304084755f, -0.00569351657892f);
    const Pack<float> inside = fma(bend * square, x, x);
    return if_less(a, broadcast(0.625f), inside, if_less(x, zero<float>(), -outside, outside));
  }
#endif
  return detail::each_lane(x, [](T v) { return std::tanh(v); });
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::simd
