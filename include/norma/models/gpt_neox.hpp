// SPDX-License-Identifier: MIT
#pragma once

#include <norma/models/system.hpp>
#include <norma/residual/policy/pre_ln_per_branch.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

/// GPT-NeoX-20B (Black et al., arXiv 2204.06745, section 2.1): attention and feed-forward side by side, each behind a
/// LayerNorm of its own, rotary positions on a quarter of each head, a head of its own without a bias. Initial weights
/// N(0, 2 / (5 width)) ("small init"), what writes to the stream 2 / (layers sqrt(width)) ("Wang init"). Names as in
/// transformers' GPTNeoXForCausalLM. GELU in its tanh form, as in the configuration of its checkpoint.
struct GPTNeoX {
  Index width = 6144, heads = 64;
  int layers = 44;
  Index vocabulary = 50432;
  double rotary_share = 0.25;
  double eps = 1e-5;

  static constexpr GPTNeoX b20() { return {}; }

  /// For another GELU.
  template <class T, template <class, class> class FeedForwardType = GELUTanh>
  LanguageModel<ParallelBlock<PreLNPerBranch, T, LayerNorm, Attention, FeedForwardType>> network() const {
    const auto turned = static_cast<Index>(rotary_share * static_cast<double>(width / heads));
    return {{.width = width, .heads = heads, .projections = Projections::fused_per_head, .rotary = {.width = turned}},
            layers,
            {.size = vocabulary},
            {},
            {.eps = eps}};
  }
  auto init() const { return ForKinds{kResidualOutput, WangInit{}, SmallInit{}}; }

  static constexpr Name kNames[] = {
      {"embedding.weight", "gpt_neox.embed_in.weight"},
      {"layers.*.parallel.attention.norm.gamma", "gpt_neox.layers.*.input_layernorm.weight"},
      {"layers.*.parallel.attention.norm.beta", "gpt_neox.layers.*.input_layernorm.bias"},
      {"layers.*.parallel.attention.query_key_value.weight", "gpt_neox.layers.*.attention.query_key_value.weight",
       Stored::per_head},
      {"layers.*.parallel.attention.query_key_value.bias", "gpt_neox.layers.*.attention.query_key_value.bias",
       Stored::per_head},
      {"layers.*.parallel.attention.output.weight", "gpt_neox.layers.*.attention.dense.weight"},
      {"layers.*.parallel.attention.output.bias", "gpt_neox.layers.*.attention.dense.bias"},
      {"layers.*.parallel.feed_forward.norm.gamma", "gpt_neox.layers.*.post_attention_layernorm.weight"},
      {"layers.*.parallel.feed_forward.norm.beta", "gpt_neox.layers.*.post_attention_layernorm.bias"},
      {"layers.*.parallel.feed_forward.up.weight", "gpt_neox.layers.*.mlp.dense_h_to_4h.weight"},
      {"layers.*.parallel.feed_forward.up.bias", "gpt_neox.layers.*.mlp.dense_h_to_4h.bias"},
      {"layers.*.parallel.feed_forward.down.weight", "gpt_neox.layers.*.mlp.dense_4h_to_h.weight"},
      {"layers.*.parallel.feed_forward.down.bias", "gpt_neox.layers.*.mlp.dense_4h_to_h.bias"},
      {"close.gamma", "gpt_neox.final_layer_norm.weight"},
      {"close.beta", "gpt_neox.final_layer_norm.bias"},
      {"head.weight", "embed_out.weight"},
      {"head.weight", "lm_head.weight", Stored::copy},  // the same, as transformers 5 calls it
      {"", "gpt_neox.layers.*.attention.bias"},         // the causal mask, what it writes, and rotary frequencies
      {"", "gpt_neox.layers.*.attention.masked_bias"},
      {"", "gpt_neox.layers.*.attention.rotary_emb.inv_freq"},
  };
};

/// Pythia (Biderman et al., arXiv 2304.01373, table 1): GPT-NeoX in smaller sizes, with the exact GELU of its
/// checkpoints' configurations. The vocabulary is padded by how many devices shared it.
struct Pythia {
  Index width = 512, heads = 8;
  int layers = 6;
  Index vocabulary = 50304;
  double rotary_share = 0.25;
  double eps = 1e-5;

  static constexpr Pythia m70() { return {}; }
  static constexpr Pythia m160() { return {.width = 768, .heads = 12, .layers = 12}; }
  static constexpr Pythia m410() { return {.width = 1024, .heads = 16, .layers = 24}; }
  static constexpr Pythia b1() { return {.width = 2048, .heads = 8, .layers = 16}; }
  static constexpr Pythia b1_4() { return {.width = 2048, .heads = 16, .layers = 24}; }
  static constexpr Pythia b2_8() { return {.width = 2560, .heads = 32, .layers = 32}; }
  static constexpr Pythia b6_9() { return {.width = 4096, .heads = 32, .layers = 32, .vocabulary = 50432}; }
  static constexpr Pythia b12() { return {.width = 5120, .heads = 40, .layers = 36, .vocabulary = 50688}; }

  template <class T>
  auto network() const {
    return GPTNeoX{width, heads, layers, vocabulary, rotary_share, eps}.network<T, GELU>();
  }
  auto init() const { return GPTNeoX{}.init(); }

  static constexpr auto& kNames = GPTNeoX::kNames;
};

template <>
inline constexpr auto kSizes<GPTNeoX> = std::array{Size<GPTNeoX>{"b20", GPTNeoX::b20(), 20'554'567'680}};
template <>
inline constexpr auto kSizes<Pythia> = std::array{
    Size<Pythia>{"m70", Pythia::m70(), 70'426'624},      Size<Pythia>{"m160", Pythia::m160(), 162'322'944},
    Size<Pythia>{"m410", Pythia::m410(), 405'334'016},   Size<Pythia>{"b1", Pythia::b1(), 1'011'781'632},
    Size<Pythia>{"b1_4", Pythia::b1_4(), 1'414'647'808}, Size<Pythia>{"b2_8", Pythia::b2_8(), 2'775'208'960},
    Size<Pythia>{"b6_9", Pythia::b6_9(), 6'857'302'016}, Size<Pythia>{"b12", Pythia::b12(), 11'846'072'320},
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
