// SPDX-License-Identifier: MIT
#pragma once

#include <norma/models/system.hpp>
#include <norma/residual/policy/pre_ln.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

/// PaLM (Chowdhery et al., arXiv 2204.02311, section 2): attention and feed-forward side by side behind one LayerNorm,
/// multi-query attention, SwiGLU, rotary positions, no biases, in norms neither; a tied head, whose logits are divided
/// by sqrt(width). Initial weights N(0, 1 / fan_in), embeddings N(0, 1) (section 5). The paper does not say how much of
/// a head turns (here all of it, in halves) nor eps. No weights were published.
struct PaLM {
  Index width = 4096, heads = 16, head_dim = 256;
  int layers = 32;
  Index vocabulary = 256000;
  double eps = 1e-6;

  static constexpr PaLM b8() { return {}; }
  static constexpr PaLM b62() { return {.width = 8192, .heads = 32, .layers = 64}; }
  static constexpr PaLM b540() { return {.width = 18432, .heads = 48, .layers = 118}; }

  template <class T>
  LanguageModel<ParallelBlock<PreLN, T, LayerNorm, Attention, SwiGLU>> network() const {
    return {{.width = width,
             .heads = heads,
             .kv_heads = 1,
             .head_dim = head_dim,
             .attention_bias = false,
             .feed_forward_bias = false,
             .rotary = {.width = Rotary::kWholeHead}},
            layers,
            {.size = vocabulary, .tied = true, .head = {.scale = 1 / std::sqrt(static_cast<double>(width))}},
            {},
            {.eps = eps, .with_beta = false}};
  }
  auto init() const { return ForKinds{Kind::embedding, Normal{1}, LeCunNormal{}}; }
};

template <>
inline constexpr auto kSizes<PaLM> = std::array{
    Size<PaLM>{"b8", PaLM::b8(), 8'632'012'800},
    Size<PaLM>{"b62", PaLM::b62(), 62'495'662'080},
    Size<PaLM>{"b540", PaLM::b540(), 540'356'474'880},
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
