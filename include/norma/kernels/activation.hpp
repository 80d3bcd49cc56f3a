// SPDX-License-Identifier: MIT
// Activation functions and their derivatives, a pack at a time; every lane by itself, so that an element's bits do not
// depend on where in a row it stands.
#pragma once

#include <norma/kernels/simd_math.hpp>
#include <norma/kernels/simd_memory.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::activation {

using simd::Pack;

/// x.
struct Identity {
  template <class T>
  static NORMA_INLINE Pack<T> value(Pack<T> x) {
    return x;
  }
  template <class T>
  static NORMA_INLINE Pack<T> derivative(Pack<T>) {
    return simd::broadcast(T(1));
  }
};

/// max(x, 0), derivative 0 at 0.
struct ReLU {
  template <class T>
  static NORMA_INLINE Pack<T> value(Pack<T> x) {
    return unless_nan(x, if_less(x, simd::zero<T>(), simd::zero<T>(), x));
  }
  template <class T>
  static NORMA_INLINE Pack<T> derivative(Pack<T> x) {
    const Pack<T> zero = simd::zero<T>(), one = simd::broadcast(T(1));
    return unless_nan(x, if_less(zero, x, one, zero));
  }
};

/// x Phi(x), Phi the normal distribution function (Hendrycks and Gimpel, arXiv 1606.08415, section 2).
struct GELU {
  template <class T>
  static NORMA_INLINE Pack<T> value(Pack<T> x) {
    return x * phi(x, simd::normal_tail(simd::magnitude(x)).tail);
  }
  template <class T>
  static NORMA_INLINE Pack<T> derivative(Pack<T> x) {
    const auto [tail, density] = simd::normal_tail(simd::magnitude(x));
    const Pack<T> zero = simd::zero<T>();
    const Pack<T> slope = if_less(zero, density, x * density, density);  // not infinity times zero
    return phi(x, tail) + slope;
  }

 private:
  template <class T>
  static NORMA_INLINE Pack<T> phi(Pack<T> x, Pack<T> tail) {
    return if_less(simd::zero<T>(), x, simd::broadcast(T(1)) - tail, tail);
  }
};

/// x sigma(z(x)): the common part of those below. `derivative` needs z's, too.
struct Gated {
  /// sigma(z) = 1 / (1 + e^-z).
  template <class T>
  static NORMA_INLINE Pack<T> value(Pack<T> x, Pack<T> z) {
    return if_less(simd::magnitude(x), simd::broadcast(smallest<T>()), x * simd::broadcast(T(0.5)),
                   x / (simd::broadcast(T(1)) + simd::exp(-z)));
  }
  template <class T>
  static NORMA_INLINE Pack<T> derivative(Pack<T> x, Pack<T> z, Pack<T> slope) {
    const Pack<T> one = simd::broadcast(T(1)), zero = simd::zero<T>();
    const Pack<T> e = simd::exp(-z), sigma = one / (one + e);
    // 1 - sigma is e sigma, and one of the two keeps its digits.
    const Pack<T> bend = sigma * if_less(zero, z, e * sigma, one - sigma);
    return if_less(zero, bend, fma(x * bend, slope, sigma), sigma);
  }

 private:
  /// Below it, z is next to nothing, and a subnormal x or a zero keeps what it has.
  template <class T>
  static constexpr T smallest() {
    return T(1e-30);
  }
};

/// The tanh form of GELU (the same paper, section 2): 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
struct GELUTanh {
  template <class T>
  static NORMA_INLINE Pack<T> value(Pack<T> x) {
    return Gated::value(x, twice_inner(x));
  }
  template <class T>
  static NORMA_INLINE Pack<T> derivative(Pack<T> x) {
    const Pack<T> slope = simd::broadcast(T(2 * 0.79788456080286535588)) *
                          fma(simd::broadcast(T(3 * 0.044715)) * x, x, simd::broadcast(T(1)));
    return Gated::derivative(x, twice_inner(x), slope);
  }

 private:
  /// 0.5 (1 + tanh(u)) is the logistic function of 2u, which keeps the digits of the left tail.
  template <class T>
  static NORMA_INLINE Pack<T> twice_inner(Pack<T> x) {
    return simd::broadcast(T(2 * 0.79788456080286535588)) * fma(simd::broadcast(T(0.044715)) * x * x, x, x);
  }
};

/// x sigma(x), also called Swish (the same paper, and Ramachandran et al., arXiv 1710.05941).
struct SiLU {
  template <class T>
  static NORMA_INLINE Pack<T> value(Pack<T> x) {
    return Gated::value(x, x);
  }
  template <class T>
  static NORMA_INLINE Pack<T> derivative(Pack<T> x) {
    return Gated::derivative(x, x, simd::broadcast(T(1)));
  }
};

/// max(x, 0)^2 (So et al., Primer, arXiv 2109.08668, section 4.1).
struct SquaredReLU {
  template <class T>
  static NORMA_INLINE Pack<T> value(Pack<T> x) {
    const Pack<T> r = ReLU::value(x);
    return r * r;
  }
  template <class T>
  static NORMA_INLINE Pack<T> derivative(Pack<T> x) {
    return simd::broadcast(T(2)) * ReLU::value(x);
  }
};

/// x sigma(1.702 x) (Hendrycks and Gimpel, arXiv 1606.08415, section 2; CLIP's choice).
struct QuickGELU {
  template <class T>
  static NORMA_INLINE Pack<T> value(Pack<T> x) {
    return Gated::value(x, simd::broadcast(T(1.702)) * x);
  }
  template <class T>
  static NORMA_INLINE Pack<T> derivative(Pack<T> x) {
    return Gated::derivative(x, simd::broadcast(T(1.702)) * x, simd::broadcast(T(1.702)));
  }
};

/// tanh(x), of a head that pools (BERT).
struct Tanh {
  template <class T>
  static NORMA_INLINE Pack<T> value(Pack<T> x) {
    return simd::tanh(x);
  }
  template <class T>
  static NORMA_INLINE Pack<T> derivative(Pack<T> x) {
    const Pack<T> y = simd::tanh(x), one = simd::broadcast(T(1));
    return (one - y) * (one + y);
  }
};

/// Of one number.
template <class Act, class T>
T value(T x) {
  T lanes[simd::kLanes<T>];
  simd::store(lanes, Act::value(simd::broadcast(x)));
  return lanes[0];
}
template <class Act, class T>
T derivative(T x) {
  T lanes[simd::kLanes<T>];
  simd::store(lanes, Act::derivative(simd::broadcast(x)));
  return lanes[0];
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::activation
