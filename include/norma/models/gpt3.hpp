// SPDX-License-Identifier: MIT
#pragma once

#include <norma/models/gpt2.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

/// GPT-3 (Brown et al., arXiv 2005.14165, section 2.1 and table 2.1): GPT-2, its initial weights too, with layers whose
/// attention is dense and locally banded in turn, as in the Sparse Transformer (Child et al., arXiv 1904.10509). The
/// paper gives neither the band's width nor which kind comes first: here 256 tokens, and the band. Two rows of the
/// table do not multiply out: XL's 24 heads of 128 in a width of 2048 are 16 here, 13B's width 5140 of 40 heads of 128
/// is 5120; so their sums are those in the rows' names. The vocabulary is GPT-2's. No weights were published.
struct GPT3 {
  Index width = 768, heads = 12;
  int layers = 12;
  Index vocabulary = 50257, positions = 2048;
  Window window{.size = 256, .global_every = 2};
  double eps = 1e-5;

  static constexpr GPT3 small() { return {}; }
  static constexpr GPT3 medium() { return {.width = 1024, .heads = 16, .layers = 24}; }
  static constexpr GPT3 large() { return {.width = 1536, .heads = 16, .layers = 24}; }
  static constexpr GPT3 xl() { return {.width = 2048, .heads = 16, .layers = 24}; }
  static constexpr GPT3 b2_7() { return {.width = 2560, .heads = 32, .layers = 32}; }
  static constexpr GPT3 b6_7() { return {.width = 4096, .heads = 32, .layers = 32}; }
  static constexpr GPT3 b13() { return {.width = 5120, .heads = 40, .layers = 40}; }
  static constexpr GPT3 b175() { return {.width = 12288, .heads = 96, .layers = 96}; }

  template <class T>
  LanguageModel<Block<PreLN, T, LayerNorm, Attention, GELUTanh>> network() const {
    return {{.width = width, .heads = heads, .window = window},
            layers,
            {.size = vocabulary, .tied = true, .positions = {PositionTable::learned, positions}},
            {},
            {.eps = eps}};
  }
  auto init() const { return GPT2{}.init(); }
};

template <>
inline constexpr auto kSizes<GPT3> = std::array{
    Size<GPT3>{"small", GPT3::small(), 125'226'240}, Size<GPT3>{"medium", GPT3::medium(), 355'871'744},
    Size<GPT3>{"large", GPT3::large(), 760'300'032}, Size<GPT3>{"xl", GPT3::xl(), 1'315'723'264},
    Size<GPT3>{"b2_7", GPT3::b2_7(), 2'651'553'280}, Size<GPT3>{"b6_7", GPT3::b6_7(), 6'658'404'352},
    Size<GPT3>{"b13", GPT3::b13(), 12'853'386'240},  Size<GPT3>{"b175", GPT3::b175(), 174'604'259'328},
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
