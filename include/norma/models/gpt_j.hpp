// SPDX-License-Identifier: MIT
#pragma once

#include <norma/models/system.hpp>
#include <norma/residual/policy/pre_ln.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

/// GPT-J (Wang and Komatsuzaki, GPT-J-6B, 2021, the authors' code, mesh-transformer-jax): attention and feed-forward
/// side by side behind one LayerNorm, rotary positions on 64 of each head's 256 in neighbouring pairs, no biases in
/// attention, GELU in its tanh form, a head of its own with a bias. Initial weights truncated normal: 1 / sqrt(fan_in),
/// embeddings 1 / sqrt(vocabulary), what writes to the stream 2 / (layers sqrt(width)). Names as in transformers'
/// GPTJForCausalLM.
struct GPTJ {
  Index width = 4096, heads = 16;
  int layers = 28;
  Index vocabulary = 50400;  ///< 50257, padded
  Rotary rotary{.width = 64, .interleaved = true};
  double eps = 1e-5;

  static constexpr GPTJ b6() { return {}; }

  template <class T>
  LanguageModel<ParallelBlock<PreLN, T, LayerNorm, Attention, GELUTanh>> network() const {
    return {{.width = width, .heads = heads, .attention_bias = false, .rotary = rotary},
            layers,
            {.size = vocabulary, .head = {.bias = true}},
            {},
            {.eps = eps}};
  }
  auto init() const {
    const Normal embedding{1 / std::sqrt(static_cast<double>(vocabulary))};
    return Truncated{ForKinds{Kind::embedding, embedding, ForKinds{kResidualOutput, WangInit{}, LeCunNormal{}}}};
  }

  static constexpr Name kNames[] = {
      {"embedding.weight", "transformer.wte.weight"},
      {"layers.*.parallel.pre.gamma", "transformer.h.*.ln_1.weight"},
      {"layers.*.parallel.pre.beta", "transformer.h.*.ln_1.bias"},
      {"layers.*.parallel.attention.query.weight", "transformer.h.*.attn.q_proj.weight"},
      {"layers.*.parallel.attention.key.weight", "transformer.h.*.attn.k_proj.weight"},
      {"layers.*.parallel.attention.value.weight", "transformer.h.*.attn.v_proj.weight"},
      {"layers.*.parallel.attention.output.weight", "transformer.h.*.attn.out_proj.weight"},
      {"layers.*.parallel.feed_forward.up.weight", "transformer.h.*.mlp.fc_in.weight"},
      {"layers.*.parallel.feed_forward.up.bias", "transformer.h.*.mlp.fc_in.bias"},
      {"layers.*.parallel.feed_forward.down.weight", "transformer.h.*.mlp.fc_out.weight"},
      {"layers.*.parallel.feed_forward.down.bias", "transformer.h.*.mlp.fc_out.bias"},
      {"close.gamma", "transformer.ln_f.weight"},
      {"close.beta", "transformer.ln_f.bias"},
      {"head.weight", "lm_head.weight"},
      {"head.bias", "lm_head.bias"},
      {"", "transformer.h.*.attn.bias"},  // the causal mask, and what it writes
      {"", "transformer.h.*.attn.masked_bias"},
  };
};

template <>
inline constexpr auto kSizes<GPTJ> = std::array{Size<GPTJ>{"b6", GPTJ::b6(), 6'050'882'784}};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
