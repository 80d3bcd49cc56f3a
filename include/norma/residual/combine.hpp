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
  void backward(const T*, MatrixView<const T>, MatrixView<const T> dy, MatrixView<T> dx, Write write, T*,
                const Tape&) const {
    kernels::scale_write(dy, static_cast<T>(factor), dx, write);
  }
};

namespace detail {

template <class M>
concept HasScalar = requires {
  typename M::Scalar;
};
/// The Scalar of the first that has one.
template <class... M>
struct CommonScalar {};
template <class M, class... Rest>
struct CommonScalar<M, Rest...> : CommonScalar<Rest...> {};
template <HasScalar M, class... Rest>
struct CommonScalar<M, Rest...> {
  using Scalar = typename M::Scalar;
};
/// The parts of the first that is a reader.
template <class... M>
struct PartsOf {};
template <class M, class... Rest>
struct PartsOf<M, Rest...> : PartsOf<Rest...> {};
template <IsReader M, class... Rest>
struct PartsOf<M, Rest...> {
  static constexpr int parts = M::parts;
};

}  // namespace detail

/// A module or reader that is there or not, decided at run time by depth. Absent, it has no parameters and no tape.
template <class M>
struct When : Optional, detail::CommonScalar<M>, detail::PartsOf<M> {
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
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& tape) const
      requires(!detail::IsReader<M>) {
    module.forward(weights, x, y, tape);
  }
  template <class T>
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write,
                T* gradients, const Tape& tape) const requires(!detail::IsReader<M>) {
    module.backward(weights, x, dy, dx, write, gradients, tape);
  }
  template <class T, std::size_t Parts>
  void forward(const T* weights, const std::array<MatrixView<const T>, Parts>& s, MatrixView<T> y,
               const Tape& tape) const requires(detail::IsReader<M>) {
    module.forward(weights, s, y, tape);
  }
  template <class T, std::size_t Parts>
  void backward(const T* weights, const std::array<MatrixView<const T>, Parts>& s, MatrixView<const T> dy,
                const std::array<MatrixView<T>, Parts>& ds, T* gradients, const Tape& tape) const
      requires(detail::IsReader<M>) {
    module.backward(weights, s, dy, ds, gradients, tape);
  }
};
template <class M>
When<M> when(bool condition, M module) {
  return {condition, std::move(module)};
}

/// One of two modules or readers, decided at run time by depth. Next to a reader, a module reads part 0.
template <class A, class B>
struct Either : Optional, detail::CommonScalar<A, B>, detail::PartsOf<A, B> {
  static constexpr bool needs_x = A::needs_x || B::needs_x;
  static constexpr bool kReads = detail::IsReader<A> || detail::IsReader<B>;
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
    if (condition)
      first.declare(layout, width);
    else
      second.declare(layout, width);
  }
  Tape plan(Plan& p, const Pass& pass) const {
    Tape tape{};
    if (condition)
      tape.first = first.plan(p, pass);
    else
      tape.second = second.plan(p, pass);
    return tape;
  }
  template <class T>
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& tape) const requires(!kReads) {
    if (condition)
      first.forward(weights, x, y, tape.first);
    else
      second.forward(weights, x, y, tape.second);
  }
  template <class T>
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write,
                T* gradients, const Tape& tape) const requires(!kReads) {
    if (condition)
      first.backward(weights, x, dy, dx, write, gradients, tape.first);
    else
      second.backward(weights, x, dy, dx, write, gradients, tape.second);
  }
  template <class T, std::size_t Parts>
  void forward(const T* weights, const std::array<MatrixView<const T>, Parts>& s, MatrixView<T> y,
               const Tape& tape) const requires(kReads) {
    if (condition)
      read(first, weights, s, y, tape.first);
    else
      read(second, weights, s, y, tape.second);
  }
  template <class T, std::size_t Parts>
  void backward(const T* weights, const std::array<MatrixView<const T>, Parts>& s, MatrixView<const T> dy,
                const std::array<MatrixView<T>, Parts>& ds, T* gradients, const Tape& tape) const requires(kReads) {
    if (condition)
      read_backward(first, weights, s, dy, ds, gradients, tape.first);
    else
      read_backward(second, weights, s, dy, ds, gradients, tape.second);
  }
};
template <class A, class B>
Either<A, B> either(bool condition, A first, B second) {
  return {condition, std::move(first), std::move(second)};
}

/// b after a. `a` may be a reader. At least one of them has a Scalar. A member that is absent at run time passes its
/// input on; without both the chain is absent. (An absent reader's output is part 0.)
template <class A, class B>
struct Then : Optional, detail::CommonScalar<A, B>, detail::PartsOf<A> {
  static_assert(detail::HasScalar<A> || detail::HasScalar<B>,
                "norma: then(a, b) needs a module with a Scalar, such as a norm");
  using T = typename detail::CommonScalar<A, B>::Scalar;
  static constexpr bool needs_x = A::needs_x || (std::is_base_of_v<Optional, A> && B::needs_x);
  static constexpr bool kReads = detail::IsReader<A>;
  struct Tape {
    MatrixView<T> middle, d_middle;  // where both are active
    typename A::Tape first;
    typename B::Tape second;
  };
  A first;
  B second;
  Index width = 0;

  Then(A a, B b) : first(std::move(a)), second(std::move(b)) {}
  bool active() const { return norma::active(first) || norma::active(second); }
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
    Tape tape{};
    if (norma::active(first) && norma::active(second)) {
      tape.middle = p.keep_if<T>(B::needs_x, rows, width);
      tape.d_middle = p.gradient<T>(rows, width);
    }
    tape.first = p.child(first, pass);
    tape.second = p.child(second, pass);
    return tape;
  }
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& tape) const requires(!kReads) {
    if (!norma::active(second)) return first.forward(weights, x, y, tape.first);
    if (!norma::active(first)) return second.forward(weights, x, y, tape.second);
    first.forward(weights, x, tape.middle, tape.first);
    second.forward(weights, MatrixView<const T>(tape.middle), y, tape.second);
  }
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write,
                T* gradients, const Tape& tape) const requires(!kReads) {
    if (!norma::active(second)) return first.backward(weights, x, dy, dx, write, gradients, tape.first);
    if (!norma::active(first)) return second.backward(weights, x, dy, dx, write, gradients, tape.second);
    second.backward(weights, MatrixView<const T>(tape.middle), dy, tape.d_middle, Write::assign, gradients,
                    tape.second);
    first.backward(weights, x, MatrixView<const T>(tape.d_middle), dx, write, gradients, tape.first);
  }
  template <std::size_t Parts>
  void forward(const T* weights, const std::array<MatrixView<const T>, Parts>& s, MatrixView<T> y,
               const Tape& tape) const requires(kReads) {
    if (!norma::active(second)) return first.forward(weights, s, y, tape.first);
    if (!norma::active(first)) return second.forward(weights, s[0], y, tape.second);
    first.forward(weights, s, tape.middle, tape.first);
    second.forward(weights, MatrixView<const T>(tape.middle), y, tape.second);
  }
  template <std::size_t Parts>
  void backward(const T* weights, const std::array<MatrixView<const T>, Parts>& s, MatrixView<const T> dy,
                const std::array<MatrixView<T>, Parts>& ds, T* gradients, const Tape& tape) const requires(kReads) {
    if (!norma::active(second)) return first.backward(weights, s, dy, ds, gradients, tape.first);
    if (!norma::active(first)) return second.backward(weights, s[0], dy, ds[0], Write::add, gradients, tape.second);
    second.backward(weights, MatrixView<const T>(tape.middle), dy, tape.d_middle, Write::assign, gradients,
                    tape.second);
    first.backward(weights, s, MatrixView<const T>(tape.d_middle), ds, gradients, tape.first);
  }
};
template <class A, class B>
Then<A, B> then(A first, B second) {
  return {std::move(first), std::move(second)};
}

template <class M>
inline constexpr bool kInPlace<When<M>> = kInPlace<M>;
template <class A, class B>
inline constexpr bool kInPlace<Either<A, B>> = kInPlace<A>&& kInPlace<B>;
template <class A, class B>
inline constexpr bool kInPlace<Then<A, B>> = kInPlace<A>&& kInPlace<B>;

}  // namespace norma::inline v0_1::inline NORMA_TARGET
