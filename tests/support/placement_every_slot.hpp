// SPDX-License-Identifier: MIT
// A placement that fills every slot there is, on a stream of two parts. No sense in it but to be exact.
#pragma once

#include "placement_streams.hpp"

namespace user {

/// part 0: part 0 + a w + w^2 / 4; part 1: part 1 * part 0 / 4 + w. Backward reads the skip and the branch.
struct Crossed {
  static constexpr bool needs_skip = true, needs_branch = true;
  static constexpr bool writes(int) { return true; }
  Parameter a{};
  void declare(Layout& layout, Index width) { a = layout.add("a", 1, width, Kind::scale, constant(0.5)); }
  template <class T>
  void forward(const T* weights, const Stream<2, const T>& s, MatrixView<const T> w, const Stream<2, T>& to) const {
    const T* factor = a.in(weights).data;
    each(w, [&](Index r, Index i) {
      const T x = s[0].row(r)[i], y = s[1].row(r)[i], v = w.row(r)[i];
      to[0].row(r)[i] = x + factor[i] * v + v * v / 4;
      to[1].row(r)[i] = y * x / 4 + v;
    });
  }
  template <class T>
  void backward(const T* weights, const Stream<2, const T>& s, MatrixView<const T> w, const Stream<2, T>& ds,
                MatrixView<T> dw, T* gradients) const {
    const T* factor = a.in(weights).data;
    T* d_factor = a.in(gradients).data;
    each(w, [&](Index r, Index i) {
      const T x = s[0].row(r)[i], y = s[1].row(r)[i], v = w.row(r)[i], d0 = ds[0].row(r)[i], d1 = ds[1].row(r)[i];
      dw.row(r)[i] = d0 * (factor[i] + v / 2) + d1;
      d_factor[i] += d0 * v;
      ds[0].row(r)[i] = d0 + d1 * y / 4;
      ds[1].row(r)[i] = d1 * x / 4;
    });
  }
};

/// `kGated`: whether the feed-forward has a gate to put a norm on.
template <bool kGated>
struct EverySlot {
  auto slots(auto at) const {
    using Norm = decltype(at.norm);
    const auto table = place<2>()
                           .open(at.norm)
                           .in(at.norm)
                           .pre(then(SumOf<Scale, Norm>{{0.5}, at.norm}, at.norm))
                           .post(at.norm)
                           .join(Crossed{})
                           .out(at.norm)
                           .close(SumOf<Norm, Norm>{at.norm, at.norm})
                           .gain(0.5, Kind::output | norma::kFeedForward)
                           .query(at.only(attention, at.norm))
                           .key(at.only(attention, at.norm))
                           .value(at.only(attention, at.norm))
                           .score_scale(at.only(attention, 0.75))
                           .head_scale(at.only(attention, 1.0))
                           .before_output(at.only(attention, at.norm))
                           .up(at.only(feed_forward, at.norm))
                           .hidden(at.only(feed_forward, at.norm));
    if constexpr (kGated)
      return table.gate(at.only(feed_forward, at.norm));
    else
      return table;
  }
};

}  // namespace user
