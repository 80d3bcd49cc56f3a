// SPDX-License-Identifier: MIT
// Matrices for kernel tests: at any misalignment and row stride, with guard words wherever a kernel has no business.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include <norma/core/float16.hpp>
#include <norma/core/view.hpp>

namespace norma_test {

using norma::Index;

template <class T>
using Bits =
    std::conditional_t<sizeof(T) == 2, std::uint16_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;

template <class T>
Bits<T> bits(T v) {
  return std::bit_cast<Bits<T>>(v);
}

/// A NaN of an unusual payload: read by mistake it spoils the result, written over it is noticed.
template <class T>
constexpr Bits<T> guard_bits() {
  return static_cast<Bits<T>>(sizeof(T) == 2 ? 0x7FC5u : sizeof(T) == 4 ? 0x7FC5A5A5u : 0x7FF8A5A5A5A5A5A5u);
}

/// rows x width elements that begin `offset` elements past a cache line; guard words before, after and between the
/// rows.
template <class T>
class Guarded {
 public:
  Guarded(Index rows, Index width, Index offset = 0, Index gap = 0)
      : rows_(rows),
        width_(width),
        stride_(width + gap),
        words_(static_cast<std::size_t>(rows * stride_ + 4 * kMargin)) {
    for (auto& w : words_) w = guard_bits<T>();
    const auto address = reinterpret_cast<std::uintptr_t>(words_.data());
    const auto skip = static_cast<Index>((64 - address % 64) % 64 / sizeof(T));
    begin_ = skip + kMargin + offset;
  }

  T* data() { return reinterpret_cast<T*>(words_.data() + begin_); }
  const T* data() const { return reinterpret_cast<const T*>(words_.data() + begin_); }
  norma::MatrixView<T> view() { return {data(), rows_, width_, stride_}; }
  norma::MatrixView<const T> in() const { return {data(), rows_, width_, stride_}; }
  T* row(Index r) { return data() + r * stride_; }
  const T* row(Index r) const { return data() + r * stride_; }
  T& operator()(Index r, Index c) { return row(r)[c]; }
  const T& operator()(Index r, Index c) const { return row(r)[c]; }
  Index rows() const { return rows_; }
  Index width() const { return width_; }

  template <class F>
  Guarded& fill(F&& f) {
    for (Index r = 0; r < rows_; ++r)
      for (Index c = 0; c < width_; ++c) (*this)(r, c) = static_cast<T>(f(r, c));
    return *this;
  }
  /// Whether every word outside the rows is as it was made.
  bool intact() const {
    Index at = -begin_, column = 0;
    for (const auto w : words_) {
      const bool inside = at >= 0 && at < rows_ * stride_ && column < width_;
      if (!inside && w != guard_bits<T>()) return false;
      if (++at > 0 && ++column == stride_) column = 0;
    }
    return true;
  }

 private:
  static constexpr Index kMargin = 64;  // a multiple of every alignment, and more than the widest register
  Index rows_, width_, stride_, begin_ = 0;
  std::vector<Bits<T>> words_;
};

template <class T>
bool same_bits(const T* a, const T* b, Index n) {
  return n == 0 || std::memcmp(a, b, static_cast<std::size_t>(n) * sizeof(T)) == 0;
}

/// A small generator (splitmix64), equal on every platform.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }                     ///< [0, 1)
  double normal() { return (uniform() + uniform() + uniform() + uniform() - 2) * 1.7320508; }  ///< about N(0, 1)

 private:
  std::uint64_t state_;
};

/// Of the type that is computed in: 2^-23, 2^-52.
template <class S>
inline constexpr double kUnit = std::numeric_limits<norma::Compute<S>>::epsilon();

/// The value of any scalar, in double (exact) and in long double.
template <class S>
double value(S v) {
  return static_cast<double>(v);
}
template <class S>
long double exact(S v) {
  return static_cast<long double>(value(v));
}

template <class S>
constexpr double largest() {
  if constexpr (norma::kIs16Bit<S>)
    return std::is_same_v<S, norma::half> ? 65504 : 0x1.FEp127;
  else
    return std::numeric_limits<S>::max();
}
/// Half a unit in the last place of a 16-bit type at v: what storing may cost. Nothing for float and double, whose
/// roundings are counted in kUnit.
template <class S>
long double storing(long double v) {
  if constexpr (!norma::kIs16Bit<S>) return 0;
  constexpr bool kHalf = std::is_same_v<S, norma::half>;
  const int least = kHalf ? -14 : -126, exponent = v == 0 ? least : std::max(least, std::ilogb(v));
  return std::ldexp(1.0L, exponent - (kHalf ? 11 : 8));
}

}  // namespace norma_test
