// SPDX-License-Identifier: MIT
// Placements with streams of several parts, written as a user would: against the public headers only.
#pragma once

#include <array>

#include "placement_scales.hpp"

namespace user {

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

/// A reader: a(part 0) + b(part 1).
template <class A, class B>
struct SumOf {
  using Scalar = typename B::Scalar;
  using T = Scalar;
  static constexpr int parts = 2;
  static constexpr bool needs_x = true;
  struct Tape {
    MatrixView<T> term;
    typename A::Tape a;
    typename B::Tape b;
  };
  A a;
  B b;
  Index width = 0;

  void declare(Layout& layout, Index w) {
    width = w;
    {
      Layout::Level level(layout, "part0");
      a.declare(layout, w);
    }
    Layout::Level level(layout, "part1");
    b.declare(layout, w);
  }
  Tape plan(Plan& p, const Pass& pass) const {
    Tape t{p.scratch<T>(pass.shape.rows(), width), {}, {}};
    t.a = p.child(a, pass);
    t.b = p.child(b, pass);
    return t;
  }
  void forward(const T* weights, const Stream<2, const T>& s, MatrixView<T> y, const Tape& t) const {
    a.forward(weights, s[0], y, t.a);
    b.forward(weights, s[1], t.term, t.b);
    each(y, [&](Index r, Index i) { y.row(r)[i] += t.term.row(r)[i]; });
  }
  void backward(const T* weights, const Stream<2, const T>& s, MatrixView<const T> dy, const Stream<2, T>& ds,
                T* gradients, const Tape& t) const {
    a.backward(weights, s[0], dy, ds[0], Write::add, gradients, t.a);
    b.backward(weights, s[1], dy, ds[1], Write::add, gradients, t.b);
  }
};

/// ResiDual (arXiv 2304.14802): part 0 is x, the post chain; part 1 is r, the dual. Output: alpha x + LN(r).
struct ResiDual {
  double alpha = 1;
  auto slots(auto at) const {
    return place<2>()
        .join(Affine<2>{{1, 1}, {1, 1}})
        .out(at.norm)
        .close(SumOf<Scale, decltype(at.norm)>{{alpha}, at.norm});
  }
};

/// SiameseNorm (arXiv 2602.08064): part 0 is normalised at each site, part 1 never; c = sqrt(2 layer).
struct SiameseNorm {
  auto slots(auto at) const {
    using Norm = decltype(at.norm);
    const double c = std::sqrt(2.0 * at.depth.layer);
    return place<2>()
        .in(at.norm)
        .pre(then(SumOf<Scale, Norm>{{1}, at.norm}, at.norm))
        .join(Affine<2>{{1, 1}, {1 / c, 1}})
        .close(then(SumOf<Norm, Norm>{at.norm, at.norm}, at.norm));
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
