// SPDX-License-Identifier: MIT
// Joins: how the branch w comes back to the stream. Elementwise; a join says which parts it writes and what it reads
// again.
//
//   static constexpr bool needs_skip, needs_branch        backward reads the stream before the join, or the branch
//   static constexpr bool writes(int part)                parts it does not write pass through as they are
//   void declare(Layout&, Index width)
//   void forward(const T* weights, const Stream<Parts, const T>& s, MatrixView<const T> w,
//                const Stream<Parts, T>& to) const
//   void backward(const T* weights, const Stream<Parts, const T>& s, MatrixView<const T> w, const Stream<Parts, T>& ds,
//                 MatrixView<T> dw, T* gradients) const   ds: gradient of the joined stream, becomes that of s; dw
//                 assigned
//
// A join derived from PlannedJoin also has, as modules do,
//
//   struct Tape
//   Tape plan(Plan&, const Pass&) const           scratch and what forward keeps beside stream and branch
//
// and takes its tape as the last argument of forward and backward.
//
// A join derived from CalibratedJoin sets its parameters from what it is about to join, in a pass that measures:
//
//   void calibrate(T* weights, const Stream<Parts, const T>& s, MatrixView<const T> w, Calibration&) const
#pragma once

#include <norma/core/module.hpp>
#include <norma/kernels/elementwise.hpp>
#include <norma/kernels/residual_norm.hpp>

#include <concepts>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// Base of joins with a tape.
struct PlannedJoin {};

/// A pass that measures: which rows count, and what runs from site to site of a stack.
struct Calibration {
  double running = 1;              ///< a join may read what the one before it left here
  const Index* lengths = nullptr;  ///< [batch] tokens that count; null: all
  Index tokens = 1;

  bool counts(Index row) const { return lengths == nullptr || row % tokens < lengths[row / tokens]; }
};
/// Base of joins that measure.
struct CalibratedJoin {};

namespace detail {

template <class J>
inline constexpr bool kPlannedJoin = std::is_base_of_v<PlannedJoin, J>;
/// The tape of a join that has none.
struct NoTape {};
template <class J>
struct JoinTapeOf {
  using Type = NoTape;
};
template <class J>
requires(kPlannedJoin<J>) struct JoinTapeOf<J> {
  using Type = typename J::Tape;
};
template <class J>
using JoinTape = typename JoinTapeOf<J>::Type;

template <class J>
concept DeclaredJoin = requires(J& own, Layout& layout) {
  own.declare(layout, Index());
  { J::writes(0) } -> std::same_as<bool>;
  { J::needs_skip } -> std::convertible_to<bool>;
  { J::needs_branch } -> std::convertible_to<bool>;
};
template <class J, int Parts, class T, class... Tape>
concept JoinWith = DeclaredJoin<J> &&
    requires(const J& j, const T* weights, T* gradients, const Stream<Parts, const T>& s, const Stream<Parts, T>& ds,
             MatrixView<const T> w, MatrixView<T> dw, const Tape&... tape) {
  j.forward(weights, s, w, ds, tape...);
  j.backward(weights, s, w, ds, dw, gradients, tape...);
};
template <class J, int Parts, class T>
concept JoinOf = (kPlannedJoin<J> && JoinWith<J, Parts, T, JoinTape<J>>) || (!kPlannedJoin<J> && JoinWith<J, Parts, T>);

}  // namespace detail

/// Joins a branch to a stream of several parts.
template <class J, int Parts>
concept Join = detail::JoinOf<J, Parts, float> || detail::JoinOf<J, Parts, double>;

/// Whether a join makes part 0 a kernels::ScaledSum of skip and branch, which sum(x, w) tells, and writes no other:
/// then the norm after it may take both in one visit.
template <class J>
inline constexpr bool kIsScaledSum = false;

namespace detail {

/// A join with its tape, or without one.
template <class J>
JoinTape<J> plan_join(const J& join, Plan& p, const Pass& pass) {
  if constexpr (kPlannedJoin<J>)
    return p.child(join, pass);
  else
    return {};
}
template <class J, class T, std::size_t Parts>
void join_forward(const J& join, const T* weights, const std::array<MatrixView<const T>, Parts>& s,
                  MatrixView<const T> w, const std::array<MatrixView<T>, Parts>& to, const JoinTape<J>& tape) {
  if constexpr (kPlannedJoin<J>)
    join.forward(weights, s, w, to, tape);
  else
    join.forward(weights, s, w, to);
}
template <class J, class T, std::size_t Parts>
void join_backward(const J& join, const T* weights, const std::array<MatrixView<const T>, Parts>& s,
                   MatrixView<const T> w, const std::array<MatrixView<T>, Parts>& ds, MatrixView<T> dw, T* gradients,
                   const JoinTape<J>& tape) {
  if constexpr (kPlannedJoin<J>)
    join.backward(weights, s, w, ds, dw, gradients, tape);
  else
    join.backward(weights, s, w, ds, dw, gradients);
}
/// What a pass that measures does to it.
template <class J, class T, std::size_t Parts>
void calibrate_join(const J& join, T* weights, const std::array<MatrixView<const T>, Parts>& s, MatrixView<const T> w,
                    Calibration& calibration) {
  if constexpr (std::is_base_of_v<CalibratedJoin, J>) join.calibrate(weights, s, w, calibration);
}

}  // namespace detail

/// x + w: the residual connection. Other parts of the stream pass through.
struct Add {
  static constexpr bool needs_skip = false, needs_branch = false;
  static constexpr bool writes(int part) { return part == 0; }
  void declare(Layout&, Index) {}
  template <class T, std::size_t Parts>
  void forward(const T*, const std::array<MatrixView<const T>, Parts>& s, MatrixView<const T> w,
               const std::array<MatrixView<T>, Parts>& to) const {
    kernels::add(s[0], w, to[0]);
  }
  template <class T, std::size_t Parts>
  void backward(const T*, const std::array<MatrixView<const T>, Parts>&, MatrixView<const T>,
                const std::array<MatrixView<T>, Parts>& ds, MatrixView<T> dw, T*) const {
    kernels::copy<T>(ds[0], dw);
  }
  template <class T>
  static kernels::ScaledSum<T> sum(MatrixView<const T> x, MatrixView<const T> w) {
    return {x, w};
  }
};
template <>
inline constexpr bool kIsScaledSum<Add> = true;

/// alpha x + w.
struct ScaledSkip {
  static constexpr bool needs_skip = false, needs_branch = false;
  static constexpr bool writes(int part) { return part == 0; }
  double alpha;
  void declare(Layout&, Index) {}
  template <class T>
  void forward(const T*, const Stream<1, const T>& s, MatrixView<const T> w, const Stream<1, T>& to) const {
    kernels::scale_add(s[0], static_cast<T>(alpha), w, to[0]);
  }
  template <class T>
  void backward(const T*, const Stream<1, const T>&, MatrixView<const T>, const Stream<1, T>& ds, MatrixView<T> dw,
                T*) const {
    kernels::copy<T>(ds[0], dw);
    kernels::scale<T>(ds[0], static_cast<T>(alpha), ds[0]);
  }
  template <class T>
  kernels::ScaledSum<T> sum(MatrixView<const T> x, MatrixView<const T> w) const {
    return {x, w, alpha};
  }
};
template <>
inline constexpr bool kIsScaledSum<ScaledSkip> = true;
inline ScaledSkip scaled_skip(double alpha) { return {alpha}; }

}  // namespace norma::inline v0_1::inline NORMA_TARGET
