// SPDX-License-Identifier: MIT
// Post-LN with bottom-to-top connections (Takase et al., "B2T Connection: Serving Stability and Performance in Deep
// Transformers", arXiv 2206.00330; the authors' code):
//
//   u = LN(x + A(x))
//   y = LN(x + u + FFN(u))        the block's input x goes past every norm but the last
//
// With cross-attention, u passes through u = LN(u + C(u)) between the two; a parallel block, which has one norm, is
// Post-LN's. Learned parameters: the norms', gamma = 1,
// beta = 0. No closing norm. Every matrix of a block starts with gain L^(-1/2), L the layers of its stack: so in the
// authors' code.
#pragma once

#include <norma/residual/table.hpp>

#include <cmath>
#include <optional>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// part 0 + part 1 + w, to part 0.
struct AddBoth {
  static constexpr bool needs_skip = false, needs_branch = false;
  static constexpr bool writes(int part) { return part == 0; }
  void declare(Layout&, Index) {}
  template <class T>
  void forward(const T*, const Stream<2, const T>& s, MatrixView<const T> w, const Stream<2, T>& to) const {
    kernels::add(s[0], w, to[0]);
    kernels::add(to[0], s[1], to[0]);
  }
  template <class T>
  void backward(const T*, const Stream<2, const T>&, MatrixView<const T>, const Stream<2, T>& ds, MatrixView<T> dw,
                T*) const {
    kernels::copy<T>(ds[0], dw);
    kernels::add(ds[1], ds[0], ds[1]);
  }
};

/// Part 1 carries the block's input.
struct B2T {
  std::optional<double> gain{};  ///< in place of L^(-1/2)

  auto slots(auto at) const {
    return place<2>()
        .per_block()
        .join(at.only(feed_forward, AddBoth{}))
        .out(at.norm)
        .gain(gain.value_or(1 / std::sqrt(double(at.depth.layers))), kMatrices);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
