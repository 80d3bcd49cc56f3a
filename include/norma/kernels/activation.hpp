// SPDX-License-Identifier: MIT
// Activation functions and their derivatives, one value at a time.
#pragma once

#include <norma/kernels/simd.hpp>

#include <cmath>

namespace norma::inline v0_1::inline NORMA_TARGET::activation {

/// max(x, 0), derivative 0 at 0.
struct ReLU {
  template <class T>
  static T value(T x) {
    return x < T(0) ? T(0) : x;  // NaN stays NaN
  }
  template <class T>
  static T derivative(T x) {
    return x > T(0) ? T(1) : x <= T(0) ? T(0) : x;
  }
};

/// x Phi(x), Phi the normal distribution function (Hendrycks and Gimpel, arXiv 1606.08415, section 2).
struct GELU {
  template <class T>
  static T value(T x) {
    // erfc keeps the digits of the left tail, where 1 + erf has none left.
    return T(0.5) * x * std::erfc(T(-0.70710678118654752440) * x);
  }
  template <class T>
  static T derivative(T x) {
    const T density = T(0.39894228040143267794) * std::exp(T(-0.5) * x * x);
    const T slope = density == T(0) ? T(0) : x * density;  // not infinity times zero
    return simd::fma(T(0.5), std::erfc(T(-0.70710678118654752440) * x), slope);
  }
};

/// The tanh form of GELU (the same paper, section 2): 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
struct GELUTanh {
  template <class T>
  static T value(T x) {
    // 0.5 (1 + tanh(u)) is the logistic function of 2u, which keeps the digits of the left tail.
    return x == T(0) ? x : x / (T(1) + std::exp(T(-2) * inner(x)));
  }
  template <class T>
  static T derivative(T x) {
    const T e = std::exp(T(-2) * inner(x)), sigma = T(1) / (T(1) + e);
    const T slope = T(2) * T(0.79788456080286535588) * simd::fma(T(3 * 0.044715) * x, x, T(1));
    // 1 - sigma is e sigma, and one of the two keeps its digits.
    const T bend = sigma * (x > T(0) ? e * sigma : T(1) - sigma);
    return bend == T(0) ? sigma : simd::fma(x * bend, slope, sigma);
  }

 private:
  template <class T>
  static T inner(T x) {
    return T(0.79788456080286535588) * simd::fma(T(0.044715) * x * x, x, x);
  }
};

/// x sigma(x), also called Swish (the same paper, and Ramachandran et al., arXiv 1710.05941).
struct SiLU {
  template <class T>
  static T value(T x) {
    return x == T(0) ? x : x / (T(1) + std::exp(-x));
  }
  template <class T>
  static T derivative(T x) {
    const T e = std::exp(-x), sigma = T(1) / (T(1) + e);
    const T bend = sigma * (x > T(0) ? e * sigma : T(1) - sigma);
    return bend == T(0) ? sigma : simd::fma(x, bend, sigma);
  }
};

/// max(x, 0)^2 (So et al., Primer, arXiv 2109.08668, section 4.1).
struct SquaredReLU {
  template <class T>
  static T value(T x) {
    const T r = ReLU::value(x);
    return r * r;
  }
  template <class T>
  static T derivative(T x) {
    return T(2) * ReLU::value(x);
  }
};

/// x sigma(1.702 x) (Hendrycks and Gimpel, arXiv 1606.08415, section 2; CLIP's choice).
struct QuickGELU {
  template <class T>
  static T value(T x) {
    return x == T(0) ? x : x / (T(1) + std::exp(T(-1.702) * x));
  }
  template <class T>
  static T derivative(T x) {
    const T sigma = T(1) / (T(1) + std::exp(T(-1.702) * x));
    const T bend = T(1.702) * sigma * (T(1) - sigma);
    return bend == T(0) ? sigma : simd::fma(x, bend, sigma);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::activation
