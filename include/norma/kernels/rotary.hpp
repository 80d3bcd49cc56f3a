// SPDX-License-Identifier: MIT
// Rotary position embedding (Su et al., arXiv 2104.09864, equation 34): pair i of a head, at position p, turns by the
// angle p * base^(-2i / width), or a smaller one: see Rotary::factor. Only the first `width` of a head turn. Position 0
// is the identity; backward turns back.
#pragma once

#include <norma/core/view.hpp>
#include <norma/kernels/simd.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// How far pair i of `half` turns from one token to the next.
inline double rotary_frequency(const Rotary& rotary, Index i, Index half) noexcept {
  const double frequency = std::pow(rotary.base, -static_cast<double>(i) / static_cast<double>(half));
  double spared = 0;
  if (rotary.original_context > 0) {
    const double turns = static_cast<double>(rotary.original_context) * frequency / (2 * std::numbers::pi);
    spared = std::clamp((turns - rotary.low_turns) / (rotary.high_turns - rotary.low_turns), 0.0, 1.0);
  }
  return frequency * (spared + (1 - spared) / rotary.factor);
}

/// cosines and sines: [rows, width / 2]; positions: [rows], or null for 0, 1, 2, ...
template <class T>
void rotary_angles(const Index* positions, const Rotary& rotary, MatrixView<T> cosines, MatrixView<T> sines) noexcept {
  for (Index i = 0; i < cosines.columns; ++i) {
    const double frequency = rotary_frequency(rotary, i, cosines.columns);
    for (Index r = 0; r < cosines.rows; ++r) {
      const double angle = static_cast<double>(positions != nullptr ? positions[r] : r) * frequency;
      cosines.row(r)[i] = static_cast<T>(std::cos(angle));
      sines.row(r)[i] = static_cast<T>(std::sin(angle));
    }
  }
}

/// Turns every head of every row of x in place; row r by the angles of row r modulo their number. `direction` -1 turns
/// back. x: [rows, heads x head_dim]. Pairs are (i, i + width / 2), or (2i, 2i + 1) if interleaved.
template <class T>
void rotate(MatrixView<T> x, Index head_dim, MatrixView<const T> cosines, MatrixView<const T> sines, bool interleaved,
            T direction) noexcept {
  const Index half = cosines.columns;
  for (Index r = 0; r < x.rows; ++r) {
    const T *c = cosines.row(r % cosines.rows), *s = sines.row(r % sines.rows);
    for (Index h = 0; h < x.columns; h += head_dim)
      for (Index i = 0; i < half; ++i) {
        T& a = x.row(r)[h + (interleaved ? 2 * i : i)];
        T& b = x.row(r)[h + (interleaved ? 2 * i + 1 : i + half)];
        const T sine = direction * s[i], turned = simd::fma(a, c[i], -(b * sine));
        b = simd::fma(b, c[i], a * sine);
        a = turned;
      }
  }
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
