// SPDX-License-Identifier: MIT
// DeepNorm (Wang et al., "DeepNet: Scaling Transformers to 1,000 Layers", arXiv 2203.00555, sections 4.1 to 4.3):
//
//   x' = LN(alpha x + F(x))       for every sublayer F, cross-attention too
//
//                         alpha                        beta
//   L layers, one side    (2 L)^(1/4)                  (8 L)^(-1/4)
//   encoder of N and M    0.81 (N^4 M)^(1/16)          0.87 (N^4 M)^(-1/16)
//   decoder of N and M    (3 M)^(1/4)                  (12 M)^(-1/4)
//
// beta is the gain of the initial weights: value, attention output, and every matrix of the feed-forward; never query
// and key. It acts at init only. Layers count blocks, not sublayers. Learned parameters: the norms'. No closing norm.
#pragma once

#include <norma/residual/table.hpp>

#include <cmath>
#include <optional>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct DeepNorm {
  std::optional<double> alpha{}, beta{};  ///< in place of the paper's constants

  auto slots(auto at) const {
    const auto [a, b] = constants(at.depth);
    return place()
        .join(scaled_skip(alpha.value_or(a)))
        .out(at.norm)
        .gain(beta.value_or(b), Kind::value | Kind::output | kFeedForward);
  }

  struct Constants {
    double alpha, beta;
  };
  /// \throws Error for a side of an encoder-decoder without both depths.
  static Constants constants(const Depth& depth) {
    check_sides("DeepNorm", depth);
    const double n = depth.encoder_layers, m = depth.decoder_layers, l = depth.layers;
    switch (depth.side) {
      case Side::encoder:
        return {0.81 * std::pow(n * n * n * n * m, 1.0 / 16), 0.87 * std::pow(n * n * n * n * m, -1.0 / 16)};
      case Side::decoder:
        return {std::pow(3 * m, 0.25), std::pow(12 * m, -0.25)};
      case Side::single:
        break;
    }
    return {std::pow(2 * l, 0.25), std::pow(8 * l, -0.25)};
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
