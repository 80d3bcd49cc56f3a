// SPDX-License-Identifier: MIT
// Modules with learned factors and shifts. Sums of their gradients have the same bits on any number of workers.
#pragma once

#include <norma/core/module.hpp>
#include <norma/kernels/elementwise.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

namespace detail {

/// A learned number for the whole matrix: what its two forms share.
template <class T>
struct LearnedNumber {
  using Scalar = T;
  struct Tape {
    kernels::ColumnSums<T> sums;
    Executor executor;
  };
  Index width = 0;
  Parameter number{};

  Tape plan(Plan& p, const Pass& pass) const {
    return {kernels::ColumnSums<T>::plan(p, pass.shape.rows(), width), p.executor()};
  }
};

}  // namespace detail

/// y = f x. Parameter: factor [1], 1 at first.
template <class T>
struct LearnedFactor : detail::LearnedNumber<T> {
  using typename detail::LearnedNumber<T>::Tape;
  static constexpr bool needs_x = true;

  void declare(Layout& layout, Index w) {
    this->width = w;
    this->number = layout.add("factor", 1, 1, Kind::scale, constant(1));
  }
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape&) const {
    kernels::scale(x, *this->number.in(weights).data, y);
  }
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write,
                T* gradients, const Tape& t) const {
    t.sums.over_rows(t.executor, x.rows, [&](Index first, Index last, T* partial, double*) {
      const MatrixView<T> to{partial, 1, x.columns};
      for (Index r = first; r < last; ++r) kernels::multiply_add<T>(dy.middle_rows(r, 1), x.middle_rows(r, 1), to);
    });
    t.sums.add_sum_to(this->number.in(gradients).data, 0, x.columns);
    kernels::scale_write(dy, *this->number.in(weights).data, dx, write);
  }
};

/// y = x + b, one b for all channels. Parameter: shift [1], 0 at first.
template <class T>
struct LearnedShift : detail::LearnedNumber<T> {
  using typename detail::LearnedNumber<T>::Tape;
  static constexpr bool needs_x = false;

  void declare(Layout& layout, Index w) {
    this->width = w;
    this->number = layout.add("shift", 1, 1, Kind::bias, constant(0));
  }
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape&) const {
    const auto b = simd::broadcast(*this->number.in(weights).data);
    kernels::transform(
        y, [&](auto p) NORMA_INLINE_LAMBDA { return p + b; }, x);
  }
  void backward(const T*, MatrixView<const T>, MatrixView<const T> dy, MatrixView<T> dx, Write write, T* gradients,
                const Tape& t) const {
    kernels::column_sums(t.executor, dy, t.sums);
    t.sums.add_sum_to(this->number.in(gradients).data, 0, dy.columns);
    kernels::scale_write(dy, T(1), dx, write);
  }
};

/// y = times * s x, s one learned number per channel; of several groups, row r has those of group r mod groups: per
/// head, where rows are heads. Parameter: `name` [groups, width], of the site: who asks for it again shares it.
template <class T>
struct LearnedScale {
  using Scalar = T;
  static constexpr bool needs_x = true;

  const char* name;
  double initial = 1, times = 1;
  Index groups = 1;
  Parameter scale{};

  struct Tape {
    kernels::ColumnSums<T> sums;
    Executor executor;
  };

  void declare(Layout& layout, Index width) {
    scale = layout.shared(Scope::site, name, groups, width, Kind::scale, constant(initial));
  }
  Tape plan(Plan& p, const Pass& pass) const {
    return {kernels::ColumnSums<T>::plan(p, pass.shape.rows(), groups * scale.columns), p.executor()};
  }
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& t) const {
    t.executor.split(x.rows, 1, [&](Index, Index begin, Index end) {
      for (Index r = begin; r < end; ++r) multiply(weights, r, x.middle_rows(r, 1), y.middle_rows(r, 1), Write::assign);
    });
  }
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write,
                T* gradients, const Tape& t) const {
    t.sums.over_rows(t.executor, x.rows, [&](Index first, Index last, T* partial, double*) {
      for (Index r = first; r < last; ++r) {
        const MatrixView<T> to{partial + r % groups * x.columns, 1, x.columns};
        kernels::multiply_add<T>(dy.middle_rows(r, 1), x.middle_rows(r, 1), to);
        multiply(weights, r, dy.middle_rows(r, 1), dx.middle_rows(r, 1), write);
      }
    });
    t.sums.add_to(scale.in(gradients).data, 0, groups * x.columns, times);
  }

 private:
  /// One row of y = times * s x, assigned or added.
  void multiply(const T* weights, Index r, MatrixView<const T> x, MatrixView<T> y, Write write) const {
    const MatrixView<const T> s{scale.in(weights).row(r % groups), 1, x.columns};
    const auto factor = simd::broadcast(static_cast<T>(times));
    if (write == Write::assign)
      kernels::transform(
          y, [&](auto p, auto q) NORMA_INLINE_LAMBDA { return factor * p * q; }, s, x);
    else
      kernels::transform(
          y, [&](auto p, auto q, auto z) NORMA_INLINE_LAMBDA { return simd::fma(factor * p, q, z); }, s, x,
          MatrixView<const T>(y));
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
