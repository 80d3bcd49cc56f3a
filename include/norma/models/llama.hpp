// SPDX-License-Identifier: MIT
#pragma once

#include <norma/models/system.hpp>
#include <norma/norm/rms_norm.hpp>
#include <norma/residual/policy/pre_ln.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

/// LLaMA (Touvron et al., arXiv 2302.13971, section 2.2 and table 2): Pre-LN with RMSNorm, SwiGLU of about 8/3 width,
/// rotary positions, no biases, a head of its own. Llama 2 (arXiv 2307.09288, section 2.2) has fewer key and value
/// heads in its largest size; Llama 3, 3.1 and 3.2 (arXiv 2407.21783, section 3.2 and table 3; those of 3.2 from the
/// configurations of the checkpoints) in every size, another vocabulary and base, from 3.1 on slowed rotary positions
/// for longer contexts, and a tied head in the small sizes. Initial weights are not published: N(0, 0.02) as in
/// transformers' configuration. Names as in transformers' LlamaForCausalLM, whose rotary pairs are halves; the authors'
/// files have the rows of query and key in the order of neighbouring pairs.
struct LLaMA {
  Index width = 4096, heads = 32;
  int layers = 32;
  Index hidden = 11008, kv_heads = 0, vocabulary = 32000;
  bool tied = false;
  Rotary rotary{.width = Rotary::kWholeHead};
  double eps = 1e-5;

  /// LLaMA.
  static constexpr LLaMA b7() { return {.eps = 1e-6}; }
  static constexpr LLaMA b13() { return {.width = 5120, .heads = 40, .layers = 40, .hidden = 13824, .eps = 1e-6}; }
  static constexpr LLaMA b33() { return {.width = 6656, .heads = 52, .layers = 60, .hidden = 17920, .eps = 1e-6}; }
  static constexpr LLaMA b65() { return {.width = 8192, .heads = 64, .layers = 80, .hidden = 22016}; }
  /// Llama 2.
  static constexpr LLaMA v2_7b() { return {}; }
  static constexpr LLaMA v2_13b() { return {.width = 5120, .heads = 40, .layers = 40, .hidden = 13824}; }
  static constexpr LLaMA v2_70b() { return {.width = 8192, .heads = 64, .layers = 80, .hidden = 28672, .kv_heads = 8}; }
  /// Llama 3.
  static constexpr LLaMA v3_8b() { return v3(4096, 32, 32, 14336); }
  static constexpr LLaMA v3_70b() { return v3(8192, 64, 80, 28672); }
  /// Llama 3.1.
  static constexpr LLaMA v3_1_8b() { return slowed(v3_8b(), 8); }
  static constexpr LLaMA v3_1_70b() { return slowed(v3_70b(), 8); }
  static constexpr LLaMA v3_1_405b() { return slowed(v3(16384, 128, 126, 53248), 8); }
  /// Llama 3.2.
  static constexpr LLaMA v3_2_1b() { return slowed(v3(2048, 32, 16, 8192, true), 32); }
  static constexpr LLaMA v3_2_3b() { return slowed(v3(3072, 24, 28, 8192, true), 32); }

  template <class T>
  LanguageModel<Block<PreLN, T, RMSNorm, Attention, SwiGLU>> network() const {
    return {{.width = width,
             .heads = heads,
             .hidden = hidden,
             .kv_heads = kv_heads,
             .attention_bias = false,
             .feed_forward_bias = false,
             .rotary = rotary},
            layers,
            {.size = vocabulary, .tied = tied},
            {},
            {.eps = eps}};
  }
  Normal init() const { return {0.02}; }

  static constexpr Name kNames[] = {
      {"embedding.weight", "model.embed_tokens.weight"},
      {"layers.*.attention.pre.gamma", "model.layers.*.input_layernorm.weight"},
      {"layers.*.attention.query.weight", "model.layers.*.self_attn.q_proj.weight"},
      {"layers.*.attention.key.weight", "model.layers.*.self_attn.k_proj.weight"},
      {"layers.*.attention.value.weight", "model.layers.*.self_attn.v_proj.weight"},
      {"layers.*.attention.output.weight", "model.layers.*.self_attn.o_proj.weight"},
      {"layers.*.feed_forward.pre.gamma", "model.layers.*.post_attention_layernorm.weight"},
      {"layers.*.feed_forward.gate.weight", "model.layers.*.mlp.gate_proj.weight"},
      {"layers.*.feed_forward.up.weight", "model.layers.*.mlp.up_proj.weight"},
      {"layers.*.feed_forward.down.weight", "model.layers.*.mlp.down_proj.weight"},
      {"close.gamma", "model.norm.weight"},
      {"head.weight", "lm_head.weight"},
      {"embedding.weight", "lm_head.weight", Stored::copy},
      {"", "model.layers.*.self_attn.rotary_emb.inv_freq"},
  };

 private:
  static constexpr LLaMA v3(Index width, Index heads, int layers, Index hidden, bool tied = false) {
    return {.width = width,
            .heads = heads,
            .layers = layers,
            .hidden = hidden,
            .kv_heads = 8,
            .vocabulary = 128256,
            .tied = tied,
            .rotary = {.width = Rotary::kWholeHead, .base = 500000}};
  }
  static constexpr LLaMA slowed(LLaMA llama, double factor) {
    llama.rotary.factor = factor;
    llama.rotary.original_context = 8192;
    return llama;
  }
};

template <>
inline constexpr auto kSizes<LLaMA> = std::array{
    Size<LLaMA>{"b7", LLaMA::b7(), 6'738'415'616},
    Size<LLaMA>{"b13", LLaMA::b13(), 13'015'864'320},
    Size<LLaMA>{"b33", LLaMA::b33(), 32'528'943'616},
    Size<LLaMA>{"b65", LLaMA::b65(), 65'285'660'672},
    Size<LLaMA>{"v2_7b", LLaMA::v2_7b(), 6'738'415'616},
    Size<LLaMA>{"v2_13b", LLaMA::v2_13b(), 13'015'864'320},
    Size<LLaMA>{"v2_70b", LLaMA::v2_70b(), 68'976'648'192},
    Size<LLaMA>{"v3_8b", LLaMA::v3_8b(), 8'030'261'248},
    Size<LLaMA>{"v3_70b", LLaMA::v3_70b(), 70'553'706'496},
    Size<LLaMA>{"v3_1_8b", LLaMA::v3_1_8b(), 8'030'261'248},
    Size<LLaMA>{"v3_1_70b", LLaMA::v3_1_70b(), 70'553'706'496},
    Size<LLaMA>{"v3_1_405b", LLaMA::v3_1_405b(), 405'853'388'800},
    Size<LLaMA>{"v3_2_1b", LLaMA::v3_2_1b(), 1'235'814'400},
    Size<LLaMA>{"v3_2_3b", LLaMA::v3_2_3b(), 3'212'749'824},
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
