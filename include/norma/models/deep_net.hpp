// SPDX-License-Identifier: MIT
#pragma once

#include <norma/models/system.hpp>
#include <norma/residual/policy/deep_norm.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

/// DeepNet (Wang et al., arXiv 2203.00555, section 4 and figure 2), a decoder of any depth up to the paper's 1000
/// layers: the first Transformer with DeepNorm in place of Post-LN, so sinusoids, embeddings times sqrt(width), ReLU, a
/// tied head. Initial weights Xavier's with DeepNorm's gains; embeddings N(0, 1 / width), as in the authors' code. The
/// paper's own sizes are encoder-decoders; width and heads here are those of its experiments on depth. Names as in
/// torchscale's Decoder.
struct DeepNet {
  Index width = 512, heads = 8;
  int layers = 100;
  Index hidden = 2048, vocabulary = 64000, positions = 1024;
  double eps = 1e-5;

  template <class T>
  LanguageModel<Block<DeepNorm, T, LayerNorm, Attention, ReLU>> network() const {
    return {{.width = width, .heads = heads, .hidden = hidden},
            layers,
            {.size = vocabulary,
             .tied = true,
             .scale = std::sqrt(static_cast<double>(width)),
             .positions = {PositionTable::sinusoid, positions}},
            {},
            {.eps = eps}};
  }
  auto init() const {
    return ForKinds{Kind::embedding, Normal{1 / std::sqrt(static_cast<double>(width))}, XavierNormal{}};
  }

  static constexpr Name kNames[] = {
      {"embedding.weight", "embed_tokens.weight"},
      {"layers.*.attention.query.weight", "layers.*.self_attn.q_proj.weight"},
      {"layers.*.attention.query.bias", "layers.*.self_attn.q_proj.bias"},
      {"layers.*.attention.key.weight", "layers.*.self_attn.k_proj.weight"},
      {"layers.*.attention.key.bias", "layers.*.self_attn.k_proj.bias"},
      {"layers.*.attention.value.weight", "layers.*.self_attn.v_proj.weight"},
      {"layers.*.attention.value.bias", "layers.*.self_attn.v_proj.bias"},
      {"layers.*.attention.output.weight", "layers.*.self_attn.out_proj.weight"},
      {"layers.*.attention.output.bias", "layers.*.self_attn.out_proj.bias"},
      {"layers.*.attention.out.gamma", "layers.*.self_attn_layer_norm.weight"},
      {"layers.*.attention.out.beta", "layers.*.self_attn_layer_norm.bias"},
      {"layers.*.feed_forward.up.weight", "layers.*.ffn.fc1.weight"},
      {"layers.*.feed_forward.up.bias", "layers.*.ffn.fc1.bias"},
      {"layers.*.feed_forward.down.weight", "layers.*.ffn.fc2.weight"},
      {"layers.*.feed_forward.down.bias", "layers.*.ffn.fc2.bias"},
      {"layers.*.feed_forward.out.gamma", "layers.*.final_layer_norm.weight"},
      {"layers.*.feed_forward.out.beta", "layers.*.final_layer_norm.bias"},
      {"embedding.weight", "output_projection.weight", Stored::copy},
  };
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
