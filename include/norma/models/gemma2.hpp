// SPDX-License-Identifier: MIT
#pragma once

#include <norma/models/system.hpp>
#include <norma/norm/rms_norm.hpp>
#include <norma/residual/policy/peri_ln.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

/// Gemma 2 (Gemma Team, arXiv 2408.00118, section 2 and table 1): RMSNorm before and after each sublayer, its factor
/// 1 + gamma, GeGLU in its tanh form, fewer key and value heads, rotary positions, a window of 4096 tokens in every
/// other layer from the first on, scores capped at 50 and logits at 30, embeddings times sqrt(width), a tied head.
/// Initial weights are not published: N(0, 0.02) as in transformers' configuration. Names as in transformers'
/// Gemma2ForCausalLM.
struct Gemma2 {
  Index width = 2304, heads = 8;
  int layers = 26;
  Index hidden = 9216, kv_heads = 4, head_dim = 256, vocabulary = 256000;
  Index score_width = 256;  ///< scores are divided by its root: head_dim; in 27B, width / heads
  Window window{.size = 4096, .global_every = 2};
  double score_cap = 50, logit_cap = 30, eps = 1e-6;

  static constexpr Gemma2 b2() { return {}; }
  static constexpr Gemma2 b9() { return {.width = 3584, .heads = 16, .layers = 42, .hidden = 14336, .kv_heads = 8}; }
  static constexpr Gemma2 b27() {
    return {
        .width = 4608, .heads = 32, .layers = 46, .hidden = 36864, .kv_heads = 16, .head_dim = 128, .score_width = 144};
  }

  template <class T>
  LanguageModel<Block<PeriLN, T, RMSNorm, Attention, GeGLUTanh>> network() const {
    return {
        {.width = width,
         .heads = heads,
         .hidden = hidden,
         .kv_heads = kv_heads,
         .head_dim = head_dim,
         .attention_bias = false,
         .feed_forward_bias = false,
         .score_scale = 1 / std::sqrt(static_cast<double>(score_width)),
         .rotary = {.width = Rotary::kWholeHead},
         .window = window,
         .score_cap = score_cap},
        layers,
        {.size = vocabulary, .tied = true, .scale = std::sqrt(static_cast<double>(width)), .head = {.cap = logit_cap}},
        {},
        {.eps = eps, .unit_offset = true}};
  }
  Normal init() const { return {0.02}; }

  static constexpr Name kNames[] = {
      {"embedding.weight", "model.embed_tokens.weight"},
      {"layers.*.attention.pre.gamma", "model.layers.*.input_layernorm.weight"},
      {"layers.*.attention.query.weight", "model.layers.*.self_attn.q_proj.weight"},
      {"layers.*.attention.key.weight", "model.layers.*.self_attn.k_proj.weight"},
      {"layers.*.attention.value.weight", "model.layers.*.self_attn.v_proj.weight"},
      {"layers.*.attention.output.weight", "model.layers.*.self_attn.o_proj.weight"},
      {"layers.*.attention.post.gamma", "model.layers.*.post_attention_layernorm.weight"},
      {"layers.*.feed_forward.pre.gamma", "model.layers.*.pre_feedforward_layernorm.weight"},
      {"layers.*.feed_forward.gate.weight", "model.layers.*.mlp.gate_proj.weight"},
      {"layers.*.feed_forward.up.weight", "model.layers.*.mlp.up_proj.weight"},
      {"layers.*.feed_forward.down.weight", "model.layers.*.mlp.down_proj.weight"},
      {"layers.*.feed_forward.post.gamma", "model.layers.*.post_feedforward_layernorm.weight"},
      {"close.gamma", "model.norm.weight"},
      {"embedding.weight", "lm_head.weight", Stored::copy},
  };
};

template <>
inline constexpr auto kSizes<Gemma2> = std::array{
    Size<Gemma2>{"b2", Gemma2::b2(), 2'614'341'888},
    Size<Gemma2>{"b9", Gemma2::b9(), 9'241'705'984},
    Size<Gemma2>{"b27", Gemma2::b27(), 27'227'128'320},
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
