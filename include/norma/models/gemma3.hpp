// SPDX-License-Identifier: MIT
#pragma once

#include <norma/models/system.hpp>
#include <norma/norm/rms_norm.hpp>
#include <norma/residual/policy/peri_ln.hpp>
#include <norma/residual/policy/with_qk_norm.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

/// Gemma 3, its text part (Gemma Team, arXiv 2503.19786, section 2): Gemma 2 with normed queries and keys in place of
/// the caps, and a window in five layers of six. Layers with a window have rotary positions of base 10000; the others
/// of base 1000000, from 4B on slowed eight times. Sizes from the configurations of the checkpoints; from 4B on the
/// vocabulary holds 64 tokens for images. Initial weights are not published: N(0, 0.02) as in transformers'
/// configuration. Names as in transformers' Gemma3ForCausalLM; in files that hold the image encoder too, with the
/// prefix "language_model.".
struct Gemma3 {
  Index width = 1152, heads = 4;
  int layers = 26;
  Index hidden = 6912, kv_heads = 1, head_dim = 256, vocabulary = 262144;
  Index score_width = 256;  ///< scores are divided by its root: head_dim; in 27B, width / heads
  Window window{.size = 512, .global_every = 6};
  Rotary rotary{.width = Rotary::kWholeHead, .base = 1e6, .local_base = 1e4};
  double eps = 1e-6;

  static constexpr Gemma3 m270() { return {.width = 640, .layers = 18, .hidden = 2048}; }
  static constexpr Gemma3 b1() { return {}; }
  static constexpr Gemma3 b4() {
    return large({.width = 2560, .heads = 8, .layers = 34, .hidden = 10240, .kv_heads = 4});
  }
  static constexpr Gemma3 b12() {
    return large({.width = 3840, .heads = 16, .layers = 48, .hidden = 15360, .kv_heads = 8});
  }
  static constexpr Gemma3 b27() {
    return large({.width = 5376,
                  .heads = 32,
                  .layers = 62,
                  .hidden = 21504,
                  .kv_heads = 16,
                  .head_dim = 128,
                  .score_width = 168});
  }

  template <class T>
  LanguageModel<Block<WithQKNorm<PeriLN>, T, RMSNorm, Attention, GeGLUTanh>> network() const {
    return {{.width = width,
             .heads = heads,
             .hidden = hidden,
             .kv_heads = kv_heads,
             .head_dim = head_dim,
             .attention_bias = false,
             .feed_forward_bias = false,
             .score_scale = 1 / std::sqrt(static_cast<double>(score_width)),
             .rotary = rotary,
             .window = window},
            layers,
            {.size = vocabulary, .tied = true, .scale = std::sqrt(static_cast<double>(width))},
            {},
            {.eps = eps, .unit_offset = true}};
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
      {"layers.*.attention.post.gamma", "model.layers.*.post_attention_layernorm.weight"},
      {"layers.*.feed_forward.pre.gamma", "model.layers.*.pre_feedforward_layernorm.weight"},
      {"layers.*.feed_forward.gate.weight", "model.layers.*.mlp.gate_proj.weight"},
      {"layers.*.feed_forward.up.weight", "model.layers.*.mlp.up_proj.weight"},
      {"layers.*.feed_forward.down.weight", "model.layers.*.mlp.down_proj.weight"},
      {"layers.*.feed_forward.post.gamma", "model.layers.*.post_feedforward_layernorm.weight"},
      {"close.gamma", "model.norm.weight"},
      {"embedding.weight", "lm_head.weight", Stored::copy},
  };

 private:
  static constexpr Gemma3 large(Gemma3 gemma) {
    gemma.vocabulary = 262208;
    gemma.window.size = 1024;
    gemma.rotary.factor = 8;
    return gemma;
  }
};

template <>
inline constexpr auto kSizes<Gemma3> = std::array{
    Size<Gemma3>{"m270", Gemma3::m270(), 268'098'176},  Size<Gemma3>{"b1", Gemma3::b1(), 999'885'952},
    Size<Gemma3>{"b4", Gemma3::b4(), 3'880'263'168},    Size<Gemma3>{"b12", Gemma3::b12(), 11'766'034'176},
    Size<Gemma3>{"b27", Gemma3::b27(), 27'009'346'304},
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
