// SPDX-License-Identifier: MIT
// Placements with streams of several parts, written as a user would: against the public headers only.
#pragma once

#include <array>

#include "placement_scales.hpp"

namespace user {

using norma::SumOf;
using norma::SumParts;

/// part i becomes skip[i] * part i + branch[i] * w.
template <int N>
struct Affine {
  static constexpr bool needs_skip = false, needs_branch = false;
  static constexpr bool writes(int) { return true; }
  std::array<double, N> skip, branch;

  void declare(Layout&, Index) {}
  template <class T>
  void forward(const T*, const Stream<N, const T>& s, MatrixView<const T> w, const Stream<N, T>& to) const {
    for (std::size_t p = 0; p < N; ++p)
      each(w, [&](Index r, Index i) {
        to[p].row(r)[i] = static_cast<T>(skip[p]) * s[p].row(r)[i] + static_cast<T>(branch[p]) * w.row(r)[i];
      });
  }
  template <class T>
  void backward(const T*, const Stream<N, const T>&, MatrixView<const T>, const Stream<N, T>& ds, MatrixView<T> dw,
                T*) const {
    each(dw, [&](Index r, Index i) {
      T sum = 0;
      for (std::size_t p = 0; p < N; ++p) {
        sum += static_cast<T>(branch[p]) * ds[p].row(r)[i];
        ds[p].row(r)[i] *= static_cast<T>(skip[p]);
      }
      dw.row(r)[i] = sum;
    });
  }
};

/// A reader: part P as it is.
template <int P>
struct Part {
  static constexpr int parts = 2;
  static constexpr bool needs_x = false;
  struct Tape {};
  void declare(Layout&, Index) {}
  Tape plan(Plan&, const Pass&) const { return {}; }
  template <class T>
  void forward(const T*, const Stream<2, const T>& s, MatrixView<T> y, const Tape&) const {
    each(y, [&](Index r, Index i) { y.row(r)[i] = s[P].row(r)[i]; });
  }
  template <class T>
  void backward(const T*, const Stream<2, const T>&, MatrixView<const T> dy, const Stream<2, T>& ds, T*,
                const Tape&) const {
    each(dy, [&](Index r, Index i) { ds[P].row(r)[i] += dy.row(r)[i]; });
  }
};
/// part P + w, to part P.
template <int P>
struct AddTo {
  static constexpr bool needs_skip = false, needs_branch = false;
  static constexpr bool writes(int part) { return part == P; }
  void declare(Layout&, Index) {}
  template <class T>
  void forward(const T*, const Stream<2, const T>& s, MatrixView<const T> w, const Stream<2, T>& to) const {
    each(w, [&](Index r, Index i) { to[P].row(r)[i] = s[P].row(r)[i] + w.row(r)[i]; });
  }
  template <class T>
  void backward(const T*, const Stream<2, const T>&, MatrixView<const T>, const Stream<2, T>& ds, MatrixView<T> dw,
                T*) const {
    each(dw, [&](Index r, Index i) { dw.row(r)[i] = ds[P].row(r)[i]; });
  }
};
/// Reversible residuals (Reformer, arXiv 2001.04451, equation 9): a += A(LN b), b += F(LN a). The joins of a block
/// write different parts.
struct Reversible {
  auto slots(auto at) const {
    const auto close = SumOf<decltype(at.norm), decltype(at.norm)>{at.norm, at.norm};
    if constexpr (at.role == norma::Role::feed_forward)
      return place<2>().pre(then(Part<0>{}, at.norm)).join(AddTo<1>{}).close(close);
    else
      return place<2>().pre(then(Part<1>{}, at.norm)).join(AddTo<0>{}).close(close);
  }
};

}  // namespace user
