// SPDX-License-Identifier: MIT
#pragma once

#include <norma/models/system.hpp>
#include <norma/norm/rms_norm.hpp>
#include <norma/residual/policy/output_norm.hpp>
#include <norma/residual/policy/with_qk_norm.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

/// OLMo 2 (Team OLMo, arXiv 2501.00656, section 2 and table 1; sizes 1B and 32B from the configurations of the
/// checkpoints): RMSNorm on the output of each sublayer and on all queries and all keys of a token, SwiGLU, rotary
/// positions of base 500000, no biases, a head of its own. Initial weights N(0, 0.02). Names as in transformers'
/// Olmo2ForCausalLM.
struct OLMo2 {
  Index width = 4096, heads = 32;
  int layers = 32;
  Index hidden = 11008, kv_heads = 0, vocabulary = 100352;
  Rotary rotary{.width = Rotary::kWholeHead, .base = 500000};
  double eps = 1e-6;

  static constexpr OLMo2 b1() { return {.width = 2048, .heads = 16, .layers = 16, .hidden = 8192}; }
  static constexpr OLMo2 b7() { return {}; }
  static constexpr OLMo2 b13() { return {.width = 5120, .heads = 40, .layers = 40, .hidden = 13824}; }
  static constexpr OLMo2 b32() { return {.width = 5120, .heads = 40, .layers = 64, .hidden = 27648, .kv_heads = 8}; }

  template <class T>
  LanguageModel<Block<WithQKNorm<OutputNorm, WholeQKNorm>, T, RMSNorm, Attention, SwiGLU>> network() const {
    return {{.width = width,
             .heads = heads,
             .hidden = hidden,
             .kv_heads = kv_heads,
             .attention_bias = false,
             .feed_forward_bias = false,
             .rotary = rotary},
            layers,
            {.size = vocabulary},
            {},
            {.eps = eps}};
  }
  Normal init() const { return {0.02}; }

  static constexpr Name kNames[] = {
      {"embedding.weight", "model.embed_tokens.weight"},
      {"layers.*.attention.query.weight", "model.layers.*.self_attn.q_proj.weight"},
      {"layers.*.attention.query_entry.gamma", "model.layers.*.self_attn.q_norm.weight"},
      {"layers.*.attention.key.weight", "model.layers.*.self_attn.k_proj.weight"},
      {"layers.*.attention.key_entry.gamma", "model.layers.*.self_attn.k_norm.weight"},
      {"layers.*.attention.value.weight", "model.layers.*.self_attn.v_proj.weight"},
      {"layers.*.attention.output.weight", "model.layers.*.self_attn.o_proj.weight"},
      {"layers.*.attention.post.gamma", "model.layers.*.post_attention_layernorm.weight"},
      {"layers.*.feed_forward.gate.weight", "model.layers.*.mlp.gate_proj.weight"},
      {"layers.*.feed_forward.up.weight", "model.layers.*.mlp.up_proj.weight"},
      {"layers.*.feed_forward.down.weight", "model.layers.*.mlp.down_proj.weight"},
      {"layers.*.feed_forward.post.gamma", "model.layers.*.post_feedforward_layernorm.weight"},
      {"close.gamma", "model.norm.weight"},
      {"head.weight", "lm_head.weight"},
  };
};

template <>
inline constexpr auto kSizes<OLMo2> = std::array{
    Size<OLMo2>{"b1", OLMo2::b1(), 1'484'916'736},
    Size<OLMo2>{"b7", OLMo2::b7(), 7'298'617'344},
    Size<OLMo2>{"b13", OLMo2::b13(), 13'716'198'400},
    Size<OLMo2>{"b32", OLMo2::b32(), 32'234'279'936},
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
