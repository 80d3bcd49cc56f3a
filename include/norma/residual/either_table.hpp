// SPDX-License-Identifier: MIT
// One of two tables, decided at run time by depth: either(condition, a, b) for whole placements.
#pragma once

#include <norma/residual/combine.hpp>
#include <norma/residual/table.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

namespace detail {
struct NotCalibrated {};
template <class... J>
using CalibratedIfAny =
    std::conditional_t<(std::is_base_of_v<CalibratedJoin, J> || ...), CalibratedJoin, NotCalibrated>;
}  // namespace detail

/// One of two joins, which write the same parts.
template <class A, class B>
struct EitherJoin : PlannedJoin, detail::CalibratedIfAny<A, B> {
  static constexpr bool needs_skip = A::needs_skip || B::needs_skip;
  static constexpr bool needs_branch = A::needs_branch || B::needs_branch;
  static constexpr bool writes(int part) { return A::writes(part); }
  struct Tape {
    detail::JoinTape<A> first;
    detail::JoinTape<B> second;
  };
  bool condition;
  A first;
  B second;

  EitherJoin(bool c, A a, B b) : condition(c), first(std::move(a)), second(std::move(b)) {}
  void declare(Layout& layout, Index width) {
    if (condition)
      first.declare(layout, width);
    else
      second.declare(layout, width);
  }
  Tape plan(Plan& p, const Pass& pass) const {
    Tape t{};
    if (condition)
      t.first = detail::plan_join(first, p, pass);
    else
      t.second = detail::plan_join(second, p, pass);
    return t;
  }
  template <class T, std::size_t Parts>
  void forward(const T* weights, const std::array<MatrixView<const T>, Parts>& s, MatrixView<const T> w,
               const std::array<MatrixView<T>, Parts>& to, const Tape& t) const {
    if (condition)
      detail::join_forward(first, weights, s, w, to, t.first);
    else
      detail::join_forward(second, weights, s, w, to, t.second);
  }
  template <class T, std::size_t Parts>
  void backward(const T* weights, const std::array<MatrixView<const T>, Parts>& s, MatrixView<const T> w,
                const std::array<MatrixView<T>, Parts>& ds, MatrixView<T> dw, T* gradients, const Tape& t) const {
    if (condition)
      detail::join_backward(first, weights, s, w, ds, dw, gradients, t.first);
    else
      detail::join_backward(second, weights, s, w, ds, dw, gradients, t.second);
  }
  template <class T, std::size_t Parts>
  void calibrate(T* weights, const std::array<MatrixView<const T>, Parts>& s, MatrixView<const T> w,
                 Calibration& calibration) const {
    if (condition)
      detail::calibrate_join(first, weights, s, w, calibration);
    else
      detail::calibrate_join(second, weights, s, w, calibration);
  }
  template <class T>
  kernels::ScaledSum<T> sum(MatrixView<const T> x, MatrixView<const T> w) const {
    return condition ? first.sum(x, w) : second.sum(x, w);
  }
};
template <class A, class B>
inline constexpr bool kIsScaledSum<EitherJoin<A, B>> = kIsScaledSum<A>&& kIsScaledSum<B>;

namespace detail {

template <int Parts, class A, class B>
constexpr bool write_alike() {
  for (int part = 0; part < Parts; ++part)
    if (A::writes(part) != B::writes(part)) return false;
  return true;
}

/// What one slot holds. Where a table is silent, the join is Add, the gain one and a module absent; a number or a flag
/// cannot be absent, so both tables say it.
template <class S, int Parts, class... F, class... G>
auto either_slot(bool condition, const Table<Parts, F...>& a, const Table<Parts, G...>& b) {
  constexpr bool kJoin = std::is_same_v<S, slot::join>, kGain = std::is_same_v<S, slot::gain>;
  const std::conditional_t<kJoin, Add, std::conditional_t<kGain, Gain, None>> silent{};
  const auto x = a.template get<S>(silent);
  const auto y = b.template get<S>(silent);
  using X = std::remove_const_t<decltype(x)>;
  using Y = std::remove_const_t<decltype(y)>;
  static_assert(!std::is_same_v<S, slot::after_step> || (std::is_same_v<X, Y> && std::is_empty_v<X>),
                "norma: either() of two placements with other hooks: after_step acts on a whole stack");
  if constexpr (std::is_same_v<X, Y>) {
    return condition ? x : y;
  } else if constexpr (kJoin) {
    static_assert(write_alike<Parts, X, Y>(), "norma: either() of two joins that write different parts");
    return EitherJoin<X, Y>(condition, x, y);
  } else {
    static_assert(!std::is_arithmetic_v<X> && !std::is_arithmetic_v<Y>,
                  "norma: either() of two placements of which one alone sets score_scale, head_scale or per_block");
    return either(condition, x, y);
  }
}

template <class... S>
struct SlotList {};

/// `table` and, of the slots listed, those that it has not yet.
template <class Result, class A, class B>
Result either_slots(SlotList<>, bool, const A&, const B&, const Result& table) {
  return table;
}
template <class S, class... Rest, int Parts, class... Known, class A, class B>
auto either_slots(SlotList<S, Rest...>, bool condition, const A& a, const B& b, const Table<Parts, Known...>& table) {
  constexpr SlotList<Rest...> kRest;
  if constexpr (Table<Parts, Known...>::template has<S>) {
    return either_slots(kRest, condition, a, b, table);
  } else {
    const auto value = either_slot<S>(condition, a, b);
    using Value = Filled<S, std::decay_t<decltype(value)>>;
    const Table<Parts, Known..., Value> longer{{static_cast<const Known&>(table)..., {value}}};
    return either_slots(kRest, condition, a, b, longer);
  }
}

}  // namespace detail

template <int Parts, class... F, int OtherParts, class... G>
requires(Parts != OtherParts) auto either(bool, const Table<Parts, F...>& first, const Table<OtherParts, G...>&) {
  static_assert(Parts == OtherParts, "norma: either() of two placements whose streams have other numbers of parts");
  return first;
}
/// The first table or the second. A slot that both fill with the same type is filled with one of the two; a module that
/// the chosen table does not have is absent, without parameters and without a tape.
template <int Parts, class... F, class... G>
auto either(bool condition, const Table<Parts, F...>& first, const Table<Parts, G...>& second) {
  return detail::either_slots(detail::SlotList<typename F::Slot..., typename G::Slot...>{}, condition, first, second,
                              place<Parts>());
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
