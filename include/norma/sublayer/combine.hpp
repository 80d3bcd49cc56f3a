// SPDX-License-Identifier: MIT
// Sublayers made of sublayers: a module before one, and several on the same input, added up.
#pragma once

#include <norma/core/entries.hpp>
#include <norma/core/module.hpp>
#include <norma/kernels/elementwise.hpp>

#include <array>
#include <tuple>
#include <utility>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// y = F(m(x)): a sublayer with a norm, or another module, of its own. Without one (None), F itself. Parameters: those
/// of m, under "norm", and those of F.
template <class M, class F>
class Chain : public Product {
 public:
  using Scalar = typename F::Scalar;
  using T = Scalar;
  static constexpr bool needs_x = M::needs_x || (std::is_base_of_v<Optional, M> && F::needs_x);
  struct Tape {
    MatrixView<T> middle, d_middle;
    typename M::Tape module;
    typename F::Tape sublayer;
  };

  Chain(M module, F sublayer) : module_(std::move(module)), sublayer_(std::move(sublayer)) {}

  Index outputs() const { return sublayer_.outputs(); }
  Index memory_width() const requires(kReadsMemory<F>) { return sublayer_.memory_width(); }
  void declare(Layout& layout, Index width) {
    width_ = width;
    {
      Layout::Level level(layout, "norm");
      module_.declare(layout, width);
    }
    sublayer_.declare(layout, width);
  }
  Tape plan(Plan& p, const Pass& pass) const {
    Tape t{};
    if (active(module_)) {
      t.middle = p.keep_if<T>(F::needs_x, pass.shape.rows(), width_);
      t.d_middle = p.gradient<T>(pass.shape.rows(), width_);
    }
    t.module = p.child(module_, pass);
    t.sublayer = p.child(sublayer_, pass);
    return t;
  }
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& t) const {
    if (!active(module_)) return sublayer_.forward(weights, x, y, t.sublayer);
    module_.forward(weights, x, t.middle, t.module);
    sublayer_.forward(weights, MatrixView<const T>(t.middle), y, t.sublayer);
  }
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write,
                T* gradients, const Tape& t) const {
    if (!active(module_)) return sublayer_.backward(weights, x, dy, dx, write, gradients, t.sublayer);
    sublayer_.backward(weights, MatrixView<const T>(t.middle), dy, t.d_middle, Write::assign, gradients, t.sublayer);
    module_.backward(weights, x, MatrixView<const T>(t.d_middle), dx, write, gradients, t.module);
  }

 private:
  M module_;
  F sublayer_;
  Index width_ = 0;
};

namespace detail {

/// A tuple of tapes that is trivially copyable, as tapes are.
template <std::size_t i, class Tape>
struct TapeAt {
  Tape tape;
};
template <class Places, class... F>
struct TapesOf;
template <std::size_t... i, class... F>
struct TapesOf<std::index_sequence<i...>, F...> : TapeAt<i, typename F::Tape>... {};
template <std::size_t i, class Tape>
Tape& get(TapeAt<i, Tape>& at) {
  return at.tape;
}
template <std::size_t i, class Tape>
const Tape& get(const TapeAt<i, Tape>& at) {
  return at.tape;
}

}  // namespace detail

/// y = sum of F(x) over several sublayers: what a parallel block has in place of one (Wang and Komatsuzaki, GPT-J-6B,
/// 2021). Parameters: each one's, under its name. Of one sublayer it is that sublayer, to the last bit.
template <class First, class... Rest>
class Sum : public Product {
 public:
  using Scalar = typename First::Scalar;
  using T = Scalar;
  using takes = Takes<slot::branch>;  // which the block makes the module of a Chain around each
  static constexpr bool needs_x = (First::needs_x || ... || Rest::needs_x);
  static constexpr std::size_t kTerms = 1 + sizeof...(Rest);
  struct Tape {
    MatrixView<T> term;  // of all but the first
    detail::TapesOf<std::make_index_sequence<kTerms>, First, Rest...> terms;
  };

  Sum(std::array<const char*, kTerms> names, First first, Rest... rest)
      : names_(names), terms_(std::move(first), std::move(rest)...) {}

  Index outputs() const { return std::get<0>(terms_).outputs(); }
  Index memory_width() const requires(kReadsMemory<First> || ... || kReadsMemory<Rest>) {
    Index width = 0;
    each([&](auto i) {
      if constexpr (kReadsMemory<std::tuple_element_t<i, decltype(terms_)>>) width = std::get<i>(terms_).memory_width();
    });
    return width;
  }
  void declare(Layout& layout, Index width) {
    each([&](auto i) {
      Layout::Level level(layout, names_[i]);
      std::get<i>(terms_).declare(layout, width);
    });
  }
  Tape plan(Plan& p, const Pass& pass) const {
    Tape t{};
    if constexpr (kTerms > 1) t.term = p.scratch<T>(pass.shape.rows(), outputs());
    each([&](auto i) { detail::get<i>(t.terms) = p.child(std::get<i>(terms_), pass); });
    return t;
  }
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& t) const {
    each([&](auto i) {
      std::get<i>(terms_).forward(weights, x, i == 0 ? y : t.term, detail::get<i>(t.terms));
      if (i > 0) kernels::add(y, t.term, y);
    });
  }
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write,
                T* gradients, const Tape& t) const {
    each([&](auto i) {
      std::get<i>(terms_).backward(weights, x, dy, dx, i == 0 ? write : Write::add, gradients, detail::get<i>(t.terms));
    });
  }

 private:
  /// f(i) for every term, i a constant.
  template <class F>
  static void each(const F& f) {
    [&]<std::size_t... i>(std::index_sequence<i...>) { (f(std::integral_constant<std::size_t, i>()), ...); }
    (std::make_index_sequence<kTerms>());
  }

  std::array<const char*, kTerms> names_;
  std::tuple<First, Rest...> terms_;
};

template <class M, class F>
inline constexpr bool kReadsMemory<Chain<M, F>> = kReadsMemory<F>;
template <class... F>
inline constexpr bool kReadsMemory<Sum<F...>> = (kReadsMemory<F> || ...);
template <class M, class F, Role R>
inline constexpr bool kServes<Chain<M, F>, R> = kServes<F, R>;
template <class... F, Role R>
inline constexpr bool kServes<Sum<F...>, R> = R == Role::parallel;

}  // namespace norma::inline v0_1::inline NORMA_TARGET
