// SPDX-License-Identifier: MIT
// T-Fixup (Huang et al., "Improving Transformer Optimization Through Better Initialization", ICML 2020; the authors'
// code):
//
//   x' = x + F(x)                 for every sublayer F
//
//                         value, attention output, feed-forward      embedding
//   encoder of N          0.67 N^(-1/4)                              (9 N)^(-1/4)
//   decoder of M          (9 M)^(-1/4), cross-attention too          (9 M)^(-1/4)
//
// are the gains of the initial weights. A stack that is neither side takes the decoder's if its blocks have three
// sublayers, cross-attention among them, else the encoder's.
// They multiply what the initialiser draws: Xavier, and for the embedding a normal of std 1 / sqrt(width), which is
// TFixup::Scheme (that the code starts from these two is common knowledge, not checked). No norms, no warm-up, no
// learned parameters and no closing norm.
#pragma once

#include <norma/init/initialize.hpp>
#include <norma/residual/table.hpp>

#include <cmath>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct TFixup {
  auto slots(auto at) const {
    const auto [sublayer, embedding] = gains(at.depth, at.sublayers);
    return place().gain(sublayer, Kind::value | Kind::output | kFeedForward).gain(embedding, Kind::embedding);
  }

  struct Gains {
    double sublayer, embedding;
  };
  static Gains gains(const Depth& depth, int sublayers = 2) {
    const bool decoder = depth.side == Side::decoder || (depth.side == Side::single && sublayers == 3);
    const double ninth = std::pow(9.0 * depth.layers, -0.25);
    return {decoder ? ninth : 0.67 * std::pow(depth.layers, -0.25), ninth};
  }

  /// Xavier normal, and a normal of std 1 / sqrt(width) for embeddings.
  struct Scheme {
    double draw(const ParameterInfo& p, const Rng& rng, std::uint64_t i) const {
      if (p.kind == Kind::embedding) return rng.normal(i) / std::sqrt(static_cast<double>(p.at.columns));
      return XavierNormal{}.draw(p, rng, i);
    }
  };
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
