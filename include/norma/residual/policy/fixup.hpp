// SPDX-License-Identifier: MIT
// Fixup (Zhang, Dauphin and Ma, "Fixup Initialization: Residual Learning Without Normalization", arXiv 1901.09321,
// its three rules), for branches of m = 2 matrices:
//
//   x' = x + s (W_2 f(W_1 (x + b1) + b2) + ...) + b4              for every sublayer
//
// with a scalar bias before every matrix and activation and at the end of the branch, and a scalar multiplier:
// attention has b1 before query, key and value and b2 before the output; the feed-forward b1 before its first matrices,
// b2 before the activation and b3 before the last. The first matrix of a branch (value; up and gate) has gain
// L^(-1 / (2 m - 2)) = L^(-1/2), L the number of branches; the last (attention output; down) and a language model's
// head are zero. The rules are given from general knowledge of the paper; the exponent's sign, which copies of it lost,
// from a secondary text. That query and key keep their gain, being inside the softmax, and that L counts both stacks of
// an encoder-decoder, is this library's reading. Learned parameters: the scalars, 0 and 1 at first. No norms, and no
// closing norm. Branches start at zero.
#pragma once

#include <norma/residual/combine.hpp>
#include <norma/residual/learned.hpp>
#include <norma/residual/table.hpp>

#include <cmath>
#include <optional>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct Fixup {
  std::optional<double> branches{};  ///< L: else of all blocks; beside an encoder two per block, and three of a decoder

  auto slots(auto at) const {
    using T = typename decltype(at)::Scalar;
    const LearnedShift<T> bias{};
    const auto table =
        place()
            .pre(bias)
            .post(then(LearnedFactor<T>{}, bias))
            .gain(1 / std::sqrt(branches.value_or(count(at.depth, at.sublayers))), Kind::value | Kind::up)
            .gain(0, kResidualOutput | Kind::head);
    if constexpr (at.role == Role::feed_forward)
      return table.before_activation(bias).hidden(bias);
    else if constexpr (at.role == Role::attention || at.role == Role::cross_attention)
      return table.before_output(bias);
    else
      return table;
  }

  static double count(const Depth& depth, int sublayers = 2) {
    if (depth.side == Side::single) return double(sublayers) * depth.layers;
    return 2.0 * depth.encoder_layers + 3.0 * depth.decoder_layers;
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
