// SPDX-License-Identifier: MIT
#pragma once

#include <norma/models/system.hpp>
#include <norma/residual/policy/sandwich.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

/// CogView (Ding et al., arXiv 2105.13290, section 2, the authors' code): one decoder of text and image tokens,
/// Sandwich-LN, learned positions, GELU in its tanh form, a tied head. Initial weights N(0, 0.02), those that write to
/// the stream divided by sqrt(2 layers). Two devices of the paper for 16-bit numbers, which change no result but for
/// eps, are left out: the rescaled norm and the rescaled softmax. The weights are not in a format that norma reads.
struct CogView {
  Index width = 2560, heads = 40;
  int layers = 48;
  Index vocabulary = 58240;  ///< 58219, of which 8192 are of images, padded
  Index positions = 1089;
  double eps = 1e-5;

  static constexpr CogView b4() { return {}; }

  template <class T>
  LanguageModel<Block<Sandwich, T, LayerNorm, Attention, GELUTanh>> network() const {
    return {{.width = width, .heads = heads},
            layers,
            {.size = vocabulary, .tied = true, .positions = {PositionTable::learned, positions}},
            {},
            {.eps = eps}};
  }
  Normal init() const { return {0.02, true}; }
};

template <>
inline constexpr auto kSizes<CogView> = std::array{Size<CogView>{"b4", CogView::b4(), 3'928'849'920}};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
