// SPDX-License-Identifier: MIT
#pragma once

#include <norma/block/layers.hpp>
#include <norma/models/system.hpp>
#include <norma/norm/rms_norm.hpp>
#include <norma/residual/policy/gated_cross_attention.hpp>
#include <norma/residual/policy/pre_ln.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

/// A language model that sees: before every few layers of a host a block of gated cross-attention to an image encoder's
/// output (Call::memory), as in Flamingo (Alayrac et al., arXiv 2204.14198, section 2.2). Flamingo's host, Chinchilla,
/// is not public; here it is LLaMA, as in IDEFICS, the public code whose names these are (transformers'
/// IdeficsForVisionText2Text, without its norms on queries and keys, its resampler and its additional tokens). Gates
/// are 0 at first, so that it begins as its host; the rest N(0, 0.02), as in that code's configuration. Which image a
/// token sees is Call::memory_keep. Of a file's image encoder and resampler, which make the memory, nothing is loaded;
/// norms on queries and keys, and additional tokens, are left over: such a checkpoint computes something else.
struct VLMDecoder {
  using Reading = GatedCrossAttention;
  Index width = 4096, heads = 32;
  int layers = 32;
  Index hidden = 11008, vocabulary = 32000, memory_width = 1280;
  int memory_every = 4;
  double eps = 1e-6;

  /// The sizes of IDEFICS' 9B and 80B, over LLaMA's 7B and 65B, beside ViT-H/14.
  static constexpr VLMDecoder b9() { return {}; }
  static constexpr VLMDecoder b80() { return {.width = 8192, .heads = 64, .layers = 80, .hidden = 22016, .eps = 1e-5}; }

  template <class T>
  LanguageModel<Before<CrossAttentionBlock<Reading, T, RMSNorm, CrossAttention, SwiGLU>,
                       Block<PreLN, T, RMSNorm, Attention, SwiGLU>>>
  network() const {
    return {{.width = width,
             .heads = heads,
             .hidden = hidden,
             .memory_width = memory_width,
             .memory_every = memory_every,
             .attention_bias = false,
             .feed_forward_bias = false,
             .rotary = {.width = Rotary::kWholeHead}},
            layers,
            {.size = vocabulary},
            {},
            {.eps = eps}};
  }
  Normal init() const { return {0.02}; }

  static constexpr Name kNames[] = {
      {"embedding.weight", "model.embed_tokens.weight"},
      {"layers.*.before.cross_attention.pre.gamma", "model.gated_cross_attn_layers.#.input_layernorm.weight"},
      {"layers.*.before.cross_attention.query.weight", "model.gated_cross_attn_layers.#.cross_attn.q_proj.weight"},
      {"layers.*.before.cross_attention.key.weight", "model.gated_cross_attn_layers.#.cross_attn.k_proj.weight"},
      {"layers.*.before.cross_attention.value.weight", "model.gated_cross_attn_layers.#.cross_attn.v_proj.weight"},
      {"layers.*.before.cross_attention.output.weight", "model.gated_cross_attn_layers.#.cross_attn.o_proj.weight"},
      {"layers.*.before.cross_attention.gate", "model.gated_cross_attn_layers.#.alpha_cross_attn"},
      {"layers.*.before.feed_forward.pre.gamma", "model.gated_cross_attn_layers.#.post_attention_layernorm.weight"},
      {"layers.*.before.feed_forward.gate.weight", "model.gated_cross_attn_layers.#.mlp.gate_proj.weight"},
      {"layers.*.before.feed_forward.up.weight", "model.gated_cross_attn_layers.#.mlp.up_proj.weight"},
      {"layers.*.before.feed_forward.down.weight", "model.gated_cross_attn_layers.#.mlp.down_proj.weight"},
      {"layers.*.before.feed_forward.gate", "model.gated_cross_attn_layers.#.alpha_dense"},
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
      {"", "model.layers.*.self_attn.rotary_emb.inv_freq"},
      {"", "model.vision_model.**"},
      {"", "model.perceiver_resampler.**"},
  };
};

/// Without the image encoder.
template <>
inline constexpr auto kSizes<VLMDecoder> = std::array{
    Size<VLMDecoder>{"b9", VLMDecoder::b9(), 8'172'933'136},
    Size<VLMDecoder>{"b80", VLMDecoder::b80(), 79'211'077'672},
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
