// SPDX-License-Identifier: MIT
// nGPT (Loshchilov et al., "nGPT: Normalized Transformer with Representation Learning on the Hypersphere", arXiv
// 2410.01131; the authors' code). Norm(x) = x / |x|, per row:
//
//   h' = Norm(h + |a| (Norm(F(h)) - h))           for every sublayer F; a: [width]
//   q  = s_qk Norm(q),  k = s_qk Norm(k)          per head, after rotary positions; softmax scale sqrt(head_dim)
//   feed-forward:  s_u act(s_v sqrt(width) x)     s_u, s_v: [hidden]; x the activation's argument, s_u on the product
//   logits:        s_z (h W^T)                    of a language model
//
// Gated, s_u times the product is s_u times its linear factor; the code has one more sqrt(width) there, which, without
// biases, the norm of the branch takes back. Each scale is stored small and read times a constant, so that an optimiser
// moves it at the pace of the matrices: stored 1 / sqrt(width) at first and read as 0.05 (a) or 1 (s_qk, s_z); s_u and
// s_v are stored as 1. With fewer key heads than heads, which the authors do not have, queries and keys have scales of
// their own (s_q, s_k).
//
// All matrices have unit length along the width of the stream, when they are drawn and after every step:
// network.after_step(weights). The authors have no biases (Dimensions::attention_bias and feed_forward_bias), no weight
// decay and no warm-up, and SwiGLU. The stream enters with rows of unit length, as an embedding's are. No closing norm.
#pragma once

#include <norma/kernels/residual_sum.hpp>
#include <norma/norm/scale_norm.hpp>
#include <norma/residual/combine.hpp>
#include <norma/residual/learned.hpp>
#include <norma/residual/table.hpp>

#include <algorithm>
#include <cmath>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// x + |a| (w - x), a = times * alpha. Parameter: alpha [width], `stored` at first.
template <class T>
struct Lerp : PlannedJoin {
  static constexpr bool needs_skip = true, needs_branch = true;
  static constexpr bool writes(int part) { return part == 0; }
  double stored, times;
  Parameter alpha{};

  struct Tape {
    MatrixView<T> factors, d_factors;  // 1 - |a| and |a|
    kernels::ColumnSums<T> sums;
    Executor executor;
  };

  Lerp(double first, double read_times) : stored(first), times(read_times) {}
  void declare(Layout& layout, Index width) { alpha = layout.add("alpha", 1, width, Kind::scale, constant(stored)); }
  Tape plan(Plan& p, const Pass& pass) const {
    return {p.scratch<T>(2, alpha.columns), p.gradient<T>(2, alpha.columns),
            kernels::ColumnSums<T>::plan(p, pass.shape.rows(), 2 * alpha.columns), p.executor()};
  }
  void forward(const T* weights, const Stream<1, const T>& s, MatrixView<const T> w, const Stream<1, T>& to,
               const Tape& t) const {
    kernels::residual_sum_forward(sum(weights, s, w, t), to[0], t.executor);
  }
  void backward(const T* weights, const Stream<1, const T>& s, MatrixView<const T> w, const Stream<1, T>& ds,
                MatrixView<T> dw, T* gradients, const Tape& t) const {
    T *const d_skip = t.d_factors.row(0), *const d_branch = t.d_factors.row(1);
    kernels::fill(t.d_factors, T(0));
    kernels::residual_sum_backward<T, T>(sum(weights, s, w, t), ds[0], dw, d_skip, d_branch, t.sums, t.executor);
    const T* const value = alpha.in(weights).data;
    T* const gradient = alpha.in(gradients).data;
    for (Index i = 0; i < alpha.columns; ++i)
      gradient[i] = simd::fma(static_cast<T>(value[i] < 0 ? -times : times), d_branch[i] - d_skip[i], gradient[i]);
  }

 private:
  kernels::ChannelSum<T, T> sum(const T* weights, const Stream<1, const T>& s, MatrixView<const T> w,
                                const Tape& t) const {
    for (Index i = 0; i < alpha.columns; ++i) {
      const T a = std::fabs(static_cast<T>(times) * alpha.in(weights).data[i]);
      t.factors.row(0)[i] = 1 - a;
      t.factors.row(1)[i] = a;
    }
    return {s[0], w, {.channel = t.factors.row(0)}, {.channel = t.factors.row(1)}};
  }
};

/// A hook: every matrix of unit length along the width of the stream, rows of what reads it and columns of what writes
/// to it.
struct UnitMatrices {
  template <class T>
  void operator()(const ParameterInfo& parameter, MatrixView<T> w) const {
    if (contains(Kind::norm | Kind::bias | Kind::scale | Kind::position, parameter.kind)) return;
    if (contains(kResidualOutput, parameter.kind)) {
      for (Index c = 0; c < w.columns; c += kAtOnce)
        scale_columns(w.middle_columns(c, (std::min)(kAtOnce, w.columns - c)));
    } else {
      for (Index r = 0; r < w.rows; ++r) scale_row(w.row(r), w.columns);
    }
  }

 private:
  static constexpr Index kAtOnce = 64;  // columns, in the order in which they lie in memory

  // A vector of zeros has no direction, and stays.
  template <class T>
  static void scale_row(T* row, Index count) {
    double squares = 0;
    for (Index i = 0; i < count; ++i)
      squares = simd::fma(static_cast<double>(row[i]), static_cast<double>(row[i]), squares);
    const double length = squares == 0 ? 1 : std::sqrt(squares);
    for (Index i = 0; i < count; ++i) row[i] = static_cast<T>(static_cast<double>(row[i]) / length);
  }
  template <class T>
  static void scale_columns(MatrixView<T> w) {
    double lengths[kAtOnce] = {};
    for (Index r = 0; r < w.rows; ++r) {
      const T* const row = w.row(r);
      for (Index i = 0; i < w.columns; ++i)
        lengths[i] = simd::fma(static_cast<double>(row[i]), static_cast<double>(row[i]), lengths[i]);
    }
    for (double& length : lengths) length = length == 0 ? 1 : std::sqrt(length);
    for (Index r = 0; r < w.rows; ++r) {
      T* const row = w.row(r);
      for (Index i = 0; i < w.columns; ++i) row[i] = static_cast<T>(static_cast<double>(row[i]) / lengths[i]);
    }
  }
};

struct NGPT {
  double rate = 0.05;  ///< what |a| starts from

  auto slots(auto at) const {
    using T = typename decltype(at)::Scalar;
    const ScaleNorm<T> unit{.eps = 1e-12, .with_g = false};  // eps: for rows of zeros, such as padding
    const double width = static_cast<double>(at.dims.width), stored = 1 / std::sqrt(width);
    const auto table = place()
                           .post(unit)
                           .join(Lerp<T>(stored, rate / stored))
                           .out(unit)
                           .logits(LearnedScale<T>{.name = "s_z", .initial = stored, .times = 1 / stored})
                           .after_step(UnitMatrices{});
    if constexpr (at.role == Role::feed_forward) {
      return table.before_activation(LearnedScale<T>{.name = "s_v", .times = std::sqrt(width)})
          .hidden(LearnedScale<T>{.name = "s_u"});
    } else if constexpr (at.role == Role::attention || at.role == Role::cross_attention) {
      const Index heads = at.dims.heads, key_heads = at.dims.key_value_heads();
      const auto scaled = [&](const char* own_name, Index groups) {
        const char* const name = heads == key_heads ? "s_qk" : own_name;
        return then(unit, LearnedScale<T>{.name = name, .initial = stored, .times = 1 / stored, .groups = groups});
      };
      return table.rotated_query(scaled("s_q", heads))
          .rotated_key(scaled("s_k", key_heads))
          .score_scale(std::sqrt(static_cast<double>(at.dims.head_width())));
    } else {
      return table;
    }
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
