// SPDX-License-Identifier: MIT
#pragma once

#include <norma/block/layers.hpp>
#include <norma/models/system.hpp>
#include <norma/residual/policy/post_ln.hpp>
#include <norma/residual/policy/with_embedding_norm.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

/// Q-Former (Li et al., BLIP-2, arXiv 2301.12597, section 3.1): BERT-base on 32 learned queries, with cross-attention
/// to an image encoder's output (Call::memory) in every second layer, from the first on. It gives the queries' vectors.
/// That is the path of queries; its text path, which has feed-forwards and embeddings of its own, is not here. Initial
/// weights N(0, 0.02), as in the authors' code, which takes BERT's trained ones except for queries and cross-attention.
/// Names as in transformers' Blip2Model, of whose files the rest is passed over: the image encoder, the language model,
/// heads, and the text path.
struct QFormer {
  using Placement = WithEmbeddingNorm<PostLN>;
  Index width = 768, heads = 12;
  int layers = 12;
  Index hidden = 3072, queries = 32, memory_width = 1408;
  int memory_every = 2;
  double dropout = 0.1, eps = 1e-12;

  /// Beside ViT-g/14 of EVA-CLIP, or ViT-L/14 of CLIP.
  static constexpr QFormer vit_g() { return {}; }
  static constexpr QFormer vit_l() { return {.memory_width = 1024}; }

  template <class T>
  QueryModel<Alternating<DecoderBlock<Placement, T>, Block<Placement, T>>> network() const {
    return {{.width = width,
             .heads = heads,
             .hidden = hidden,
             .memory_width = memory_width,
             .memory_every = memory_every,
             .dropout = {.input = dropout, .branch = dropout, .attention = dropout}},
            layers,
            {.count = queries},
            {},
            {.eps = eps}};
  }
  Normal init() const { return {0.02}; }

  static constexpr Name kNames[] = {
      {"queries.weight", "query_tokens", Stored::batch_of_one},
      {"open.gamma", "qformer.layernorm.weight"},
      {"open.beta", "qformer.layernorm.bias"},
      {"layers.*.attention.query.weight", "qformer.encoder.layer.*.attention.attention.query.weight"},
      {"layers.*.attention.query.bias", "qformer.encoder.layer.*.attention.attention.query.bias"},
      {"layers.*.attention.key.weight", "qformer.encoder.layer.*.attention.attention.key.weight"},
      {"layers.*.attention.key.bias", "qformer.encoder.layer.*.attention.attention.key.bias"},
      {"layers.*.attention.value.weight", "qformer.encoder.layer.*.attention.attention.value.weight"},
      {"layers.*.attention.value.bias", "qformer.encoder.layer.*.attention.attention.value.bias"},
      {"layers.*.attention.output.weight", "qformer.encoder.layer.*.attention.output.dense.weight"},
      {"layers.*.attention.output.bias", "qformer.encoder.layer.*.attention.output.dense.bias"},
      {"layers.*.attention.out.gamma", "qformer.encoder.layer.*.attention.output.LayerNorm.weight"},
      {"layers.*.attention.out.beta", "qformer.encoder.layer.*.attention.output.LayerNorm.bias"},
      {"layers.*.cross_attention.query.weight", "qformer.encoder.layer.*.crossattention.attention.query.weight"},
      {"layers.*.cross_attention.query.bias", "qformer.encoder.layer.*.crossattention.attention.query.bias"},
      {"layers.*.cross_attention.key.weight", "qformer.encoder.layer.*.crossattention.attention.key.weight"},
      {"layers.*.cross_attention.key.bias", "qformer.encoder.layer.*.crossattention.attention.key.bias"},
      {"layers.*.cross_attention.value.weight", "qformer.encoder.layer.*.crossattention.attention.value.weight"},
      {"layers.*.cross_attention.value.bias", "qformer.encoder.layer.*.crossattention.attention.value.bias"},
      {"layers.*.cross_attention.output.weight", "qformer.encoder.layer.*.crossattention.output.dense.weight"},
      {"layers.*.cross_attention.output.bias", "qformer.encoder.layer.*.crossattention.output.dense.bias"},
      {"layers.*.cross_attention.out.gamma", "qformer.encoder.layer.*.crossattention.output.LayerNorm.weight"},
      {"layers.*.cross_attention.out.beta", "qformer.encoder.layer.*.crossattention.output.LayerNorm.bias"},
      {"layers.*.feed_forward.up.weight", "qformer.encoder.layer.*.intermediate_query.dense.weight"},
      {"layers.*.feed_forward.up.bias", "qformer.encoder.layer.*.intermediate_query.dense.bias"},
      {"layers.*.feed_forward.down.weight", "qformer.encoder.layer.*.output_query.dense.weight"},
      {"layers.*.feed_forward.down.bias", "qformer.encoder.layer.*.output_query.dense.bias"},
      {"layers.*.feed_forward.out.gamma", "qformer.encoder.layer.*.output_query.LayerNorm.weight"},
      {"layers.*.feed_forward.out.beta", "qformer.encoder.layer.*.output_query.LayerNorm.bias"},
      {"", "vision_model.**"},
      {"", "language_model.**"},
      {"", "language_projection.**"},
      {"", "embeddings.**"},  // of Blip2ForImageTextRetrieval
      {"", "qformer.encoder.layer.*.intermediate.**"},
      {"", "qformer.encoder.layer.*.output.**"},
      {"", "vision_projection.**"},
      {"", "text_projection.**"},
      {"", "itm_head.**"},
  };
};

/// The paper says 188 million, with the text path.
template <>
inline constexpr auto kSizes<QFormer> = std::array{
    Size<QFormer>{"vit_g", QFormer::vit_g(), 105'162'240},
    Size<QFormer>{"vit_l", QFormer::vit_l(), 101'623'296},
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
