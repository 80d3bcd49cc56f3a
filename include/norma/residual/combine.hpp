// SPDX-License-Identifier: MIT
// Modules made of modules: chained, or chosen by depth at run time.
#pragma once

#include <norma/core/module.hpp>
#include <norma/kernels/elementwise.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// x times a constant.
struct Scale {
  static constexpr bool needs_x = false;
  double factor = 1;
  struct Tape {};
  void declare(Layout&, Index) {}
  Tape plan(Plan&, const Pass&) const { return {}; }
  template <class T>
  void forward(const T*, MatrixView<const T> x, MatrixView<T> y, const Tape&) const {
    kernels::scale(x, static_cast<T>(factor), y);
  }
  template <class T>
  void backward(const T*, MatrixView<const T>, MatrixView<const T> dy, MatrixView<T> dx, Write write, T*, const Tape&) const {
    kernels::scale_write(dy, static_cast<T>(factor), dx, write);
  }
};

/// A module that is there or not, decided at run time by depth. Absent, it has no parameters and no tape.
template <class M>
struct When : Optional {
  static constexpr bool needs_x = M::needs_x;
  using Tape = typename M::Tape;
  bool condition;
  M module;

  When(bool c, M m) : condition(c), module(std::move(m)) {}
  bool active() const { return condition && norma::active(module); }
  void declare(Layout& layout, Index width) {
    if (active()) module.declare(layout, width);
  }
  Tape plan(Plan& p, const Pass& pass) const { return active() ? module.plan(p, pass) : Tape{}; }
  template <class T>
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& tape) const {
    module.forward(weights, x, y, tape);
  }
  template <class T>
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write, T* gradients,
                const Tape& tape) const {
    module.backward(weights, x, dy, dx, write, gradients, tape);
  }
};
template <class M>
When<M> when(bool condition, M module) {
  return {condition, std::move(module)};
}

/// One of two modules, decided at run time by depth.
template <class A, class B>
struct Either : Optional {
  static constexpr bool needs_x = A::needs_x || B::needs_x;
  struct Tape {
    typename A::Tape first;
    typename B::Tape second;
  };
  bool condition;
  A first;
  B second;

  Either(bool c, A a, B b) : condition(c), first(std::move(a)), second(std::move(b)) {}
  bool active() const { return condition ? norma::active(first) : norma::active(second); }
  void declare(Layout& layout, Index width) {
    if (condition) first.declare(layout, width);
    else second.declare(layout, width);
  }
  Tape plan(Plan& p, const Pass& pass) const {
    Tape tape{};
    if (condition) tape.first = first.plan(p, pass);
    else tape.second = second.plan(p, pass);
    return tape;
  }
  template <class T>
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& tape) const {
    if (condition) first.forward(weights, x, y, tape.first);
    else second.forward(weights, x, y, tape.second);
  }
  template <class T>
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write, T* gradients,
                const Tape& tape) const {
    if (condition) first.backward(weights, x, dy, dx, write, gradients, tape.first);
    else second.backward(weights, x, dy, dx, write, gradients, tape.second);
  }
};
template <class A, class B>
Either<A, B> either(bool condition, A first, B second) {
  return {condition, std::move(first), std::move(second)};
}

namespace detail {

template <class M>
concept HasScalar = requires { typename M::Scalar; };
template <class A, class B>
struct CommonScalar {};
template <class A, class B>
  requires HasScalar<A>
struct CommonScalar<A, B> {
  using Scalar = typename A::Scalar;
};
template <class A, class B>
  requires(HasScalar<B> && !HasScalar<A>)
struct CommonScalar<A, B> {
  using Scalar = typename B::Scalar;
};
/// A chain that starts with a reader is a reader.
template <class A>
struct PartsOf {};
template <IsReader A>
struct PartsOf<A> {
  static constexpr int parts = A::parts;
};

}  // namespace detail

/// b after a. `a` may be a reader. At least one of them has a Scalar.
template <class A, class B>
struct Then : detail::CommonScalar<A, B>, detail::PartsOf<A> {
  static_assert(detail::HasScalar<A> || detail::HasScalar<B>, "norma: then(a, b) needs a module with a Scalar, such as a norm");
  using T = typename detail::CommonScalar<A, B>::Scalar;
  static constexpr bool needs_x = A::needs_x;
  struct Tape {
    MatrixView<T> middle, d_middle;
    typename A::Tape first;
    typename B::Tape second;
  };
  A first;
  B second;
  Index width = 0;

  Then(A a, B b) : first(std::move(a)), second(std::move(b)) {}
  void declare(Layout& layout, Index w) {
    width = w;
    {
      Layout::Level level(layout, "0");
      first.declare(layout, w);
    }
    Layout::Level level(layout, "1");
    second.declare(layout, w);
  }
  Tape plan(Plan& p, const Pass& pass) const {
    const Index rows = pass.shape.rows();
    Tape tape{p.keep_if<T>(B::needs_x, rows, width), p.gradient<T>(rows, width), {}, {}};
    tape.first = p.child(first, pass);
    tape.second = p.child(second, pass);
    return tape;
  }
  /// In: a matrix, or a stream where `a` is a reader.
  template <class In>
  void forward(const T* weights, const In& x, MatrixView<T> y, const Tape& tape) const {
    first.forward(weights, x, tape.middle, tape.first);
    second.forward(weights, MatrixView<const T>(tape.middle), y, tape.second);
  }
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write, T* gradients,
                const Tape& tape) const
    requires(!detail::IsReader<A>)
  {
    second.backward(weights, MatrixView<const T>(tape.middle), dy, tape.d_middle, Write::assign, gradients, tape.second);
    first.backward(weights, x, MatrixView<const T>(tape.d_middle), dx, write, gradients, tape.first);
  }
  template <std::size_t N>
  void backward(const T* weights, const std::array<MatrixView<const T>, N>& s, MatrixView<const T> dy,
                const std::array<MatrixView<T>, N>& ds, T* gradients, const Tape& tape) const
    requires(detail::IsReader<A>)
  {
    second.backward(weights, MatrixView<const T>(tape.middle), dy, tape.d_middle, Write::assign, gradients, tape.second);
    first.backward(weights, s, MatrixView<const T>(tape.d_middle), ds, gradients, tape.first);
  }
};
template <class A, class B>
Then<A, B> then(A first, B second) {
  return {std::move(first), std::move(second)};
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
