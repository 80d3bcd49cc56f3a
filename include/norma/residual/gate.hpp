// SPDX-License-Identifier: MIT
// Joins with a learned factor: on the branch, one number or one per channel, or on the skip. Sums of their gradients
// have the same bits on any number of workers.
#pragma once

#include <norma/kernels/residual_sum.hpp>
#include <norma/residual/join.hpp>

#include <cmath>

namespace norma::inline v0_1::inline NORMA_TARGET {

namespace detail {

/// What the joins of this file share: they write part 0, and sum one row of gradients.
template <class T>
struct FactorJoin : PlannedJoin {
  static constexpr bool writes(int part) { return part == 0; }
  struct Tape {
    kernels::ColumnSums<T> sums;
    Executor executor;
  };
  Index channels = 0;

  Tape plan(Plan& p, const Pass& pass) const {
    return {kernels::ColumnSums<T>::plan(p, pass.shape.rows(), channels), p.executor()};
  }
};

}  // namespace detail

/// x + g w with one learned number: g itself, or its tanh. Parameter: gate, shared as far as `scope` says.
template <class T>
class ScalarGate : public detail::FactorJoin<T> {
 public:
  enum class Squash { none, tanh };
  static constexpr bool needs_skip = false, needs_branch = true;
  using typename detail::FactorJoin<T>::Tape;

  explicit ScalarGate(double initial = 0, Scope scope = Scope::site, Squash squash = Squash::none)
      : initial_(initial), scope_(scope), squash_(squash) {}

  void declare(Layout& layout, Index width) {
    this->channels = width;
    gate_ = layout.shared(scope_, "gate", 1, 1, Kind::scale, constant(initial_));
  }
  void forward(const T* weights, const Stream<1, const T>& s, MatrixView<const T> w, const Stream<1, T>& to,
               const Tape& t) const {
    kernels::residual_sum_forward(sum(weights, s, w), to[0], t.executor);
  }
  void backward(const T* weights, const Stream<1, const T>& s, MatrixView<const T> w, const Stream<1, T>& ds,
                MatrixView<T> dw, T* gradients, const Tape& t) const {
    T d_factor = 0;
    kernels::residual_sum_backward<T, T>(sum(weights, s, w), ds[0], dw, nullptr, &d_factor, t.sums, t.executor);
    const T f = factor(weights), slope = squash_ == Squash::tanh ? simd::fma(-f, f, T(1)) : T(1);
    T& gradient = *gate_.in(gradients).data;
    gradient = simd::fma(slope, d_factor, gradient);
  }

 private:
  T factor(const T* weights) const {
    const T g = *gate_.in(weights).data;
    return squash_ == Squash::tanh ? std::tanh(g) : g;
  }
  kernels::ChannelSum<T, T> sum(const T* weights, const Stream<1, const T>& s, MatrixView<const T> w) const {
    return {s[0], w, {}, {.scalar = static_cast<double>(factor(weights))}};
  }

  double initial_;
  Scope scope_;
  Squash squash_;
  Parameter gate_{};
};

/// x + lambda w, lambda one learned number per channel. Parameter: lambda [width].
template <class T>
class ChannelGate : public detail::FactorJoin<T> {
 public:
  static constexpr bool needs_skip = false, needs_branch = true;
  using typename detail::FactorJoin<T>::Tape;

  explicit ChannelGate(double initial) : initial_(initial) {}

  void declare(Layout& layout, Index width) {
    this->channels = width;
    lambda_ = layout.add("lambda", 1, width, Kind::scale, constant(initial_));
  }
  void forward(const T* weights, const Stream<1, const T>& s, MatrixView<const T> w, const Stream<1, T>& to,
               const Tape& t) const {
    kernels::residual_sum_forward(sum(weights, s, w), to[0], t.executor);
  }
  void backward(const T* weights, const Stream<1, const T>& s, MatrixView<const T> w, const Stream<1, T>& ds,
                MatrixView<T> dw, T* gradients, const Tape& t) const {
    kernels::residual_sum_backward<T, T>(sum(weights, s, w), ds[0], dw, nullptr, lambda_.in(gradients).data, t.sums,
                                         t.executor);
  }

 private:
  kernels::ChannelSum<T, T> sum(const T* weights, const Stream<1, const T>& s, MatrixView<const T> w) const {
    return {s[0], w, {}, {.channel = lambda_.in(weights).data}};
  }

  double initial_;
  Parameter lambda_{};
};

/// omega x + w, omega one learned number per channel, 1 at first. Parameter: `name` [width].
template <class T>
class ChannelSkip : public detail::FactorJoin<T> {
 public:
  static constexpr bool needs_skip = true, needs_branch = false;
  using typename detail::FactorJoin<T>::Tape;

  explicit ChannelSkip(const char* name) : name_(name) {}

  void declare(Layout& layout, Index width) {
    this->channels = width;
    omega_ = layout.add(name_, 1, width, Kind::scale, constant(1));
  }
  void forward(const T* weights, const Stream<1, const T>& s, MatrixView<const T> w, const Stream<1, T>& to,
               const Tape& t) const {
    kernels::residual_sum_forward(sum(weights, s, w), to[0], t.executor);
  }
  void backward(const T* weights, const Stream<1, const T>& s, MatrixView<const T> w, const Stream<1, T>& ds,
                MatrixView<T> dw, T* gradients, const Tape& t) const {
    kernels::residual_sum_backward<T, T>(sum(weights, s, w), ds[0], dw, omega_.in(gradients).data, nullptr, t.sums,
                                         t.executor);
  }

  const Parameter& parameter() const { return omega_; }

 private:
  kernels::ChannelSum<T, T> sum(const T* weights, const Stream<1, const T>& s, MatrixView<const T> w) const {
    return {s[0], w, {.channel = omega_.in(weights).data}, {}};
  }

  const char* name_;
  Parameter omega_{};
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
