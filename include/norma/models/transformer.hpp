// SPDX-License-Identifier: MIT
#pragma once

#include <norma/block/sequence_to_sequence.hpp>
#include <norma/models/system.hpp>
#include <norma/residual/policy/post_ln.hpp>

#include <cmath>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

/// The Transformer (Vaswani et al., arXiv 1706.03762, section 3 and table 3): an encoder and a decoder, Post-LN without
/// a closing norm, ReLU, sinusoids, embeddings times sqrt(width), one matrix for both embeddings and the head, dropout
/// of every branch and of both sums of embeddings and places. Projections of attention have no biases, as in section
/// 3.2.2. Initial weights are not in the paper: Xavier uniform, and N(0, 1 / width) for the shared matrix, so that the
/// embeddings come to 1 (from general knowledge of the authors' code, as eps 1e-6 is). Places are as many as is asked
/// for: they are computed. Names as in torch.nn.Transformer, which has no embedding (ours: embedding.weight), and whose
/// encoder.norm and decoder.norm are not the paper's.
struct Transformer {
  Index width = 512, heads = 8;
  int layers = 6;  ///< of each side
  Index hidden = 2048, vocabulary = 37000, positions = 1024;
  bool attention_bias = false;
  double dropout = 0.1, eps = 1e-6;

  static constexpr Transformer base() { return {}; }
  static constexpr Transformer big() { return {.width = 1024, .heads = 16, .hidden = 4096, .dropout = 0.3}; }

  template <class T>
  SequenceToSequence<Block<PostLN, T, LayerNorm, Attention, ReLU>, DecoderBlock<PostLN, T, LayerNorm, Attention, ReLU>>
  network() const {
    return {{.width = width,
             .heads = heads,
             .hidden = hidden,
             .attention_bias = attention_bias,
             .dropout = {.input = dropout, .branch = dropout}},
            layers,
            layers,
            {.size = vocabulary,
             .tied = true,
             .scale = std::sqrt(static_cast<double>(width)),
             .positions = {PositionTable::sinusoid, positions}},
            {},
            {},
            {.eps = eps},
            {.eps = eps}};
  }
  auto init() const {
    return ForKinds{Kind::embedding, Normal{1 / std::sqrt(static_cast<double>(width))}, XavierUniform{}};
  }

  static constexpr Name kNames[] = {
      {"embedding.weight", "embedding.weight"},
      {"encoder.layers.*.attention.query.weight", "encoder.layers.*.self_attn.in_proj_weight"},
      {"encoder.layers.*.attention.key.weight", "encoder.layers.*.self_attn.in_proj_weight"},
      {"encoder.layers.*.attention.value.weight", "encoder.layers.*.self_attn.in_proj_weight"},
      {"encoder.layers.*.attention.query.bias", "encoder.layers.*.self_attn.in_proj_bias"},
      {"encoder.layers.*.attention.key.bias", "encoder.layers.*.self_attn.in_proj_bias"},
      {"encoder.layers.*.attention.value.bias", "encoder.layers.*.self_attn.in_proj_bias"},
      {"encoder.layers.*.attention.output.weight", "encoder.layers.*.self_attn.out_proj.weight"},
      {"encoder.layers.*.attention.output.bias", "encoder.layers.*.self_attn.out_proj.bias"},
      {"encoder.layers.*.attention.out.gamma", "encoder.layers.*.norm1.weight"},
      {"encoder.layers.*.attention.out.beta", "encoder.layers.*.norm1.bias"},
      {"encoder.layers.*.feed_forward.up.weight", "encoder.layers.*.linear1.weight"},
      {"encoder.layers.*.feed_forward.up.bias", "encoder.layers.*.linear1.bias"},
      {"encoder.layers.*.feed_forward.down.weight", "encoder.layers.*.linear2.weight"},
      {"encoder.layers.*.feed_forward.down.bias", "encoder.layers.*.linear2.bias"},
      {"encoder.layers.*.feed_forward.out.gamma", "encoder.layers.*.norm2.weight"},
      {"encoder.layers.*.feed_forward.out.beta", "encoder.layers.*.norm2.bias"},
      {"decoder.layers.*.attention.query.weight", "decoder.layers.*.self_attn.in_proj_weight"},
      {"decoder.layers.*.attention.key.weight", "decoder.layers.*.self_attn.in_proj_weight"},
      {"decoder.layers.*.attention.value.weight", "decoder.layers.*.self_attn.in_proj_weight"},
      {"decoder.layers.*.attention.query.bias", "decoder.layers.*.self_attn.in_proj_bias"},
      {"decoder.layers.*.attention.key.bias", "decoder.layers.*.self_attn.in_proj_bias"},
      {"decoder.layers.*.attention.value.bias", "decoder.layers.*.self_attn.in_proj_bias"},
      {"decoder.layers.*.attention.output.weight", "decoder.layers.*.self_attn.out_proj.weight"},
      {"decoder.layers.*.attention.output.bias", "decoder.layers.*.self_attn.out_proj.bias"},
      {"decoder.layers.*.attention.out.gamma", "decoder.layers.*.norm1.weight"},
      {"decoder.layers.*.attention.out.beta", "decoder.layers.*.norm1.bias"},
      {"decoder.layers.*.cross_attention.query.weight", "decoder.layers.*.multihead_attn.in_proj_weight"},
      {"decoder.layers.*.cross_attention.key.weight", "decoder.layers.*.multihead_attn.in_proj_weight"},
      {"decoder.layers.*.cross_attention.value.weight", "decoder.layers.*.multihead_attn.in_proj_weight"},
      {"decoder.layers.*.cross_attention.query.bias", "decoder.layers.*.multihead_attn.in_proj_bias"},
      {"decoder.layers.*.cross_attention.key.bias", "decoder.layers.*.multihead_attn.in_proj_bias"},
      {"decoder.layers.*.cross_attention.value.bias", "decoder.layers.*.multihead_attn.in_proj_bias"},
      {"decoder.layers.*.cross_attention.output.weight", "decoder.layers.*.multihead_attn.out_proj.weight"},
      {"decoder.layers.*.cross_attention.output.bias", "decoder.layers.*.multihead_attn.out_proj.bias"},
      {"decoder.layers.*.cross_attention.out.gamma", "decoder.layers.*.norm2.weight"},
      {"decoder.layers.*.cross_attention.out.beta", "decoder.layers.*.norm2.bias"},
      {"decoder.layers.*.feed_forward.up.weight", "decoder.layers.*.linear1.weight"},
      {"decoder.layers.*.feed_forward.up.bias", "decoder.layers.*.linear1.bias"},
      {"decoder.layers.*.feed_forward.down.weight", "decoder.layers.*.linear2.weight"},
      {"decoder.layers.*.feed_forward.down.bias", "decoder.layers.*.linear2.bias"},
      {"decoder.layers.*.feed_forward.out.gamma", "decoder.layers.*.norm3.weight"},
      {"decoder.layers.*.feed_forward.out.beta", "decoder.layers.*.norm3.bias"},
  };
};

/// Table 3 prints 65 and 213 million. Without the embedding, whose vocabulary is only said to be about 37000, the sum
/// is 44.1 and 176.3 million, so that it would have to be about 40800 and 35900.
template <>
inline constexpr auto kSizes<Transformer> = std::array{
    Size<Transformer>{"base", Transformer::base(), 63'045'632},
    Size<Transformer>{"big", Transformer::big(), 214'171'648},
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
