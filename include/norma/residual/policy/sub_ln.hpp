// SPDX-License-Identifier: MIT
// Sub-LN (Wang et al., "Foundation Transformers" (Magneto), arXiv 2210.06423; the authors' code):
//
//   u = x + W_O LN(heads(LN(x)))
//   y = u + W_2 LN(act(W_1 LN(u)))
//
// and a norm once, at the end of the stack, which is required. Learned parameters: the norms', gamma = 1, beta = 0,
// that inside the feed-forward [hidden].
//
//                         gain of the initial weights
//   L layers, one side    sqrt(ln(2 L))
//   encoder of N and M    sqrt(ln(3 M) ln(2 N) / 3)
//   decoder of N and M    sqrt(ln(3 M))
//
// The gain acts on value, attention output, and every matrix of the feed-forward. Cross-attention has neither the gain
// nor the norm before its output: so in the authors' code (torchscale).
#pragma once

#include <norma/residual/table.hpp>

#include <cmath>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct SubLN {
  auto slots(auto at) const {
    constexpr bool kCross = at.role == Role::cross_attention;
    return place()
        .pre(at.norm)
        .before_output(at.only(attention, at.norm))
        .hidden(at.only(feed_forward, at.norm))
        .close(at.norm)
        .gain(kCross ? 1 : gain(at.depth), Kind::value | Kind::output | kFeedForward);
  }

  /// \throws Error for a side of an encoder-decoder without both depths.
  static double gain(const Depth& depth) {
    check_sides("SubLN", depth);
    const double n = depth.encoder_layers, m = depth.decoder_layers, l = depth.layers;
    switch (depth.side) {
      case Side::encoder:
        return std::sqrt(std::log(3 * m) * std::log(2 * n) / 3);
      case Side::decoder:
        return std::sqrt(std::log(3 * m));
      case Side::single:
        break;
    }
    return std::sqrt(std::log(2 * l));
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
