// SPDX-License-Identifier: MIT
// For streams of several parts: a join that adds the branch to each, and readers that make one matrix of them.
#pragma once

#include <norma/kernels/residual_sum.hpp>
#include <norma/residual/combine.hpp>
#include <norma/residual/join.hpp>

#include <array>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// Part i becomes part i + factors[i] * w.
template <int Parts>
struct AddToParts {
  static constexpr bool needs_skip = false, needs_branch = false;
  static constexpr bool writes(int) { return true; }
  std::array<double, Parts> factors;

  void declare(Layout&, Index) {}
  template <class T>
  void forward(const T*, const Stream<Parts, const T>& s, MatrixView<const T> w, const Stream<Parts, T>& to) const {
    for (std::size_t i = 0; i < Parts; ++i) kernels::scale_add(w, static_cast<T>(factors[i]), s[i], to[i]);
  }
  template <class T>
  void backward(const T*, const Stream<Parts, const T>&, MatrixView<const T>, const Stream<Parts, T>& ds,
                MatrixView<T> dw, T*) const {
    kernels::scale(ds[0], static_cast<T>(factors[0]), dw);
    for (std::size_t i = 1; i < Parts; ++i) kernels::scale_add(ds[i], static_cast<T>(factors[i]), dw, dw);
  }
};

/// A reader: a(part 0) + b(part 1), a and b modules, at least one of them with a Scalar. Parameters: theirs, under
/// "part0" and "part1".
template <class A, class B>
struct SumOf : detail::CommonScalar<A, B> {
  static_assert(detail::HasScalar<A> || detail::HasScalar<B>,
                "norma: SumOf(a, b) needs a module with a Scalar, such as a norm");
  using T = typename detail::CommonScalar<A, B>::Scalar;
  static constexpr int parts = 2;
  static constexpr bool needs_x = A::needs_x || B::needs_x;
  struct Tape {
    MatrixView<T> term;
    typename A::Tape a;
    typename B::Tape b;
  };
  A a;
  B b;
  Index width = 0;

  SumOf(A first, B second) : a(std::move(first)), b(std::move(second)) {}
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
    Tape t{};
    t.term = p.scratch<T>(pass.shape.rows(), width);
    t.a = p.child(a, pass);
    t.b = p.child(b, pass);
    return t;
  }
  void forward(const T* weights, const Stream<2, const T>& s, MatrixView<T> y, const Tape& t) const {
    a.forward(weights, s[0], y, t.a);
    b.forward(weights, s[1], t.term, t.b);
    kernels::add(y, t.term, y);
  }
  void backward(const T* weights, const Stream<2, const T>& s, MatrixView<const T> dy, const Stream<2, T>& ds,
                T* gradients, const Tape& t) const {
    a.backward(weights, s[0], dy, ds[0], Write::add, gradients, t.a);
    b.backward(weights, s[1], dy, ds[1], Write::add, gradients, t.b);
  }
};

/// A reader: the sum of all parts.
template <int Parts>
struct SumParts {
  static constexpr int parts = Parts;
  static constexpr bool needs_x = false;
  struct Tape {};
  void declare(Layout&, Index) {}
  Tape plan(Plan&, const Pass&) const { return {}; }
  template <class T>
  void forward(const T*, const Stream<Parts, const T>& s, MatrixView<T> y, const Tape&) const {
    kernels::copy(s[0], y);
    for (std::size_t i = 1; i < Parts; ++i) kernels::add(y, s[i], y);
  }
  template <class T>
  void backward(const T*, const Stream<Parts, const T>&, MatrixView<const T> dy, const Stream<Parts, T>& ds, T*,
                const Tape&) const {
    for (const auto& part : ds) kernels::add(part, dy, part);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
