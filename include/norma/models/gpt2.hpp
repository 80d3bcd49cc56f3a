// SPDX-License-Identifier: MIT
#pragma once

#include <norma/models/system.hpp>
#include <norma/residual/policy/pre_ln.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

/// GPT-2 (Radford et al., 2019, section 2.3): Pre-LN with a closing LayerNorm, learned positions, GELU in its tanh
/// form, a tied head. Initial weights N(0, 0.02), positions N(0, 0.01), as in the authors' code; those that write to
/// the stream divided by sqrt(2 layers), as in the paper. Names as in transformers' GPT2Model; of GPT2LMHeadModel, with
/// the prefix "transformer.".
struct GPT2 {
  Index width = 768, heads = 12;
  int layers = 12;
  Index vocabulary = 50257, positions = 1024;
  double eps = 1e-5;

  static constexpr GPT2 small() { return {}; }
  static constexpr GPT2 medium() { return {.width = 1024, .heads = 16, .layers = 24}; }
  static constexpr GPT2 large() { return {.width = 1280, .heads = 20, .layers = 36}; }
  static constexpr GPT2 xl() { return {.width = 1600, .heads = 25, .layers = 48}; }

  template <class T>
  LanguageModel<Block<PreLN, T, LayerNorm, Attention, GELUTanh>> network() const {
    return {{.width = width, .heads = heads, .projections = Projections::fused},
            layers,
            {.size = vocabulary, .tied = true, .positions = {PositionTable::learned, positions}},
            {},
            {.eps = eps}};
  }
  auto init() const { return ForKinds{Kind::position, Normal{0.01}, Normal{0.02, true}}; }

  static constexpr Name kNames[] = {
      {"embedding.weight", "wte.weight"},
      {"positions.weight", "wpe.weight"},
      {"layers.*.attention.pre.gamma", "h.*.ln_1.weight"},
      {"layers.*.attention.pre.beta", "h.*.ln_1.bias"},
      {"layers.*.attention.query_key_value.weight", "h.*.attn.c_attn.weight", Stored::transposed},
      {"layers.*.attention.query_key_value.bias", "h.*.attn.c_attn.bias"},
      {"layers.*.attention.output.weight", "h.*.attn.c_proj.weight", Stored::transposed},
      {"layers.*.attention.output.bias", "h.*.attn.c_proj.bias"},
      {"layers.*.feed_forward.pre.gamma", "h.*.ln_2.weight"},
      {"layers.*.feed_forward.pre.beta", "h.*.ln_2.bias"},
      {"layers.*.feed_forward.up.weight", "h.*.mlp.c_fc.weight", Stored::transposed},
      {"layers.*.feed_forward.up.bias", "h.*.mlp.c_fc.bias"},
      {"layers.*.feed_forward.down.weight", "h.*.mlp.c_proj.weight", Stored::transposed},
      {"layers.*.feed_forward.down.bias", "h.*.mlp.c_proj.bias"},
      {"close.gamma", "ln_f.weight"},
      {"close.beta", "ln_f.bias"},
      {"", "h.*.attn.bias"},  // the causal mask
  };
};

template <>
inline constexpr auto kSizes<GPT2> = std::array{
    Size<GPT2>{"small", GPT2::small(), 124'439'808},
    Size<GPT2>{"medium", GPT2::medium(), 354'823'168},
    Size<GPT2>{"large", GPT2::large(), 774'030'080},
    Size<GPT2>{"xl", GPT2::xl(), 1'557'611'200},
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
