// SPDX-License-Identifier: MIT
#pragma once

#include <norma/models/system.hpp>
#include <norma/norm/rms_norm.hpp>
#include <norma/residual/policy/pre_ln.hpp>
#include <norma/residual/policy/with_qk_norm.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

/// Qwen 3, its dense sizes (Qwen Team, arXiv 2505.09388, section 2 and table 1): Pre-LN with RMSNorm, queries and keys
/// normed per head, whose width is 128 in every size, fewer key and value heads, SwiGLU, rotary positions of base
/// 1000000, no biases, a tied head up to 4B. Widths from the configurations of the checkpoints. Initial weights are not
/// published: N(0, 0.02) as in transformers' configuration. Names as in transformers' Qwen3ForCausalLM.
struct Qwen3 {
  Index width = 4096, heads = 32;
  int layers = 36;
  Index hidden = 12288, kv_heads = 8, head_dim = 128, vocabulary = 151936;
  bool tied = false;
  Rotary rotary{.width = Rotary::kWholeHead, .base = 1e6};
  double eps = 1e-6;

  static constexpr Qwen3 b0_6() { return {.width = 1024, .heads = 16, .layers = 28, .hidden = 3072, .tied = true}; }
  static constexpr Qwen3 b1_7() { return {.width = 2048, .heads = 16, .layers = 28, .hidden = 6144, .tied = true}; }
  static constexpr Qwen3 b4() { return {.width = 2560, .hidden = 9728, .tied = true}; }
  static constexpr Qwen3 b8() { return {}; }
  static constexpr Qwen3 b14() { return {.width = 5120, .heads = 40, .layers = 40, .hidden = 17408}; }
  static constexpr Qwen3 b32() { return {.width = 5120, .heads = 64, .layers = 64, .hidden = 25600}; }

  template <class T>
  LanguageModel<Block<WithQKNorm<PreLN>, T, RMSNorm, Attention, SwiGLU>> network() const {
    return {{.width = width,
             .heads = heads,
             .hidden = hidden,
             .kv_heads = kv_heads,
             .head_dim = head_dim,
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
      {"layers.*.attention.query_entry.gamma", "model.layers.*.self_attn.q_norm.weight"},
      {"layers.*.attention.key.weight", "model.layers.*.self_attn.k_proj.weight"},
      {"layers.*.attention.key_entry.gamma", "model.layers.*.self_attn.k_norm.weight"},
      {"layers.*.attention.value.weight", "model.layers.*.self_attn.v_proj.weight"},
      {"layers.*.attention.output.weight", "model.layers.*.self_attn.o_proj.weight"},
      {"layers.*.feed_forward.pre.gamma", "model.layers.*.post_attention_layernorm.weight"},
      {"layers.*.feed_forward.gate.weight", "model.layers.*.mlp.gate_proj.weight"},
      {"layers.*.feed_forward.up.weight", "model.layers.*.mlp.up_proj.weight"},
      {"layers.*.feed_forward.down.weight", "model.layers.*.mlp.down_proj.weight"},
      {"close.gamma", "model.norm.weight"},
      {"head.weight", "lm_head.weight"},
      {"embedding.weight", "lm_head.weight", Stored::copy},
  };
};

template <>
inline constexpr auto kSizes<Qwen3> = std::array{
    Size<Qwen3>{"b0_6", Qwen3::b0_6(), 596'049'920},  Size<Qwen3>{"b1_7", Qwen3::b1_7(), 1'720'574'976},
    Size<Qwen3>{"b4", Qwen3::b4(), 4'022'468'096},    Size<Qwen3>{"b8", Qwen3::b8(), 8'190'735'360},
    Size<Qwen3>{"b14", Qwen3::b14(), 14'768'307'200}, Size<Qwen3>{"b32", Qwen3::b32(), 32'762'123'264},
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
