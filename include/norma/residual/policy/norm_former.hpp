// SPDX-License-Identifier: MIT
// NormFormer (Shleifer, Weston and Ott, "NormFormer", arXiv 2110.09456, equations 1 to 4):
//
//   u = x + LN(HeadScaleMHA(LN(x)))                       head i times gamma_i before the output projection
//   y = rho * u + W_2 LN(act(W_1 LN(u)))                  rho: one factor per channel, if scale_skip
//
// and a norm once, at the end of the stack, which is required. Learned parameters: gamma_i = 1, one per head; rho = 1,
// [width]; the norms', gamma = 1, beta = 0, that inside the feed-forward [hidden]. The authors' code leaves rho out of
// models from 1.3 billion parameters on. Cross-attention is as in Pre-LN. The authors' released code scales heads after
// the output projection; here they are scaled before it, as the paper says.
#pragma once

#include <norma/residual/table.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// rho x + w, rho one factor per channel, 1 at first; x + w where it is off.
struct SkipScale {
  static constexpr bool needs_skip = true, needs_branch = false;
  static constexpr bool writes(int part) { return part == 0; }
  bool on = true;
  Parameter rho{};

  void declare(Layout& layout, Index width) {
    if (on) rho = layout.add("rho", 1, width, Kind::scale, constant(1));
  }
  template <class T>
  void forward(const T* weights, const Stream<1, const T>& s, MatrixView<const T> w, const Stream<1, T>& to) const {
    if (on)
      kernels::scale_columns_add(rho.in(weights).data, s[0], w, to[0]);
    else
      kernels::add(s[0], w, to[0]);
  }
  template <class T>
  void backward(const T* weights, const Stream<1, const T>& s, MatrixView<const T>, const Stream<1, T>& ds,
                MatrixView<T> dw, T* gradients) const {
    kernels::copy<T>(ds[0], dw);
    if (!on) return;
    kernels::add_column_dots(s[0], ds[0], rho.in(gradients).data);
    kernels::scale_columns(rho.in(weights).data, ds[0], ds[0]);
  }
};

struct NormFormer {
  bool scale_skip = true;

  auto slots(auto at) const {
    return place()
        .pre(at.norm)
        .post(at.only(attention, at.norm))
        .join(at.only(feed_forward, SkipScale{scale_skip}))
        .head_scale(at.only(attention, 1.0))
        .hidden(at.only(feed_forward, at.norm))
        .close(at.norm);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
