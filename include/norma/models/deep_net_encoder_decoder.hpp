// SPDX-License-Identifier: MIT
#pragma once

#include <norma/block/sequence_to_sequence.hpp>
#include <norma/models/system.hpp>
#include <norma/residual/policy/deep_norm.hpp>

#include <cmath>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

/// The paper's own DeepNets (Wang et al., arXiv 2203.00555, sections 4 to 6): the first Transformer with DeepNorm in
/// place of Post-LN, to 500 layers a side. Sizes from general knowledge of the paper. How many tokens there are it does
/// not say, as far as we know; 250 000 are what its counts of parameters come to with one matrix for both sides and the
/// head. Initial weights and names as of DeepNet: torchscale's EncoderDecoder.
struct DeepNetEncoderDecoder {
  Index width = 512, heads = 8;
  int layers = 100;  ///< of each side
  Index hidden = 2048, vocabulary = 250000, positions = 1024;
  double eps = 1e-5;

  /// Of OPUS-100.
  static constexpr DeepNetEncoderDecoder of_200() { return {}; }
  static constexpr DeepNetEncoderDecoder of_1000() { return {.layers = 500}; }
  /// The multilingual one, of 102 languages.
  static constexpr DeepNetEncoderDecoder many() { return {.width = 1024, .heads = 16, .hidden = 4096}; }

  template <class T>
  SequenceToSequence<Block<DeepNorm, T, LayerNorm, Attention, ReLU>,
                     DecoderBlock<DeepNorm, T, LayerNorm, Attention, ReLU>>
  network() const {
    return {{.width = width, .heads = heads, .hidden = hidden},
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
    return ForKinds{Kind::embedding, Normal{1 / std::sqrt(static_cast<double>(width))}, XavierNormal{}};
  }

  static constexpr Name kNames[] = {
      {"embedding.weight", "encoder.embed_tokens.weight"},
      {"embedding.weight", "decoder.embed_tokens.weight", Stored::copy},
      {"embedding.weight", "decoder.output_projection.weight", Stored::copy},
      {"encoder.layers.*.attention.query.weight", "encoder.layers.*.self_attn.q_proj.weight"},
      {"encoder.layers.*.attention.query.bias", "encoder.layers.*.self_attn.q_proj.bias"},
      {"encoder.layers.*.attention.key.weight", "encoder.layers.*.self_attn.k_proj.weight"},
      {"encoder.layers.*.attention.key.bias", "encoder.layers.*.self_attn.k_proj.bias"},
      {"encoder.layers.*.attention.value.weight", "encoder.layers.*.self_attn.v_proj.weight"},
      {"encoder.layers.*.attention.value.bias", "encoder.layers.*.self_attn.v_proj.bias"},
      {"encoder.layers.*.attention.output.weight", "encoder.layers.*.self_attn.out_proj.weight"},
      {"encoder.layers.*.attention.output.bias", "encoder.layers.*.self_attn.out_proj.bias"},
      {"encoder.layers.*.attention.out.gamma", "encoder.layers.*.self_attn_layer_norm.weight"},
      {"encoder.layers.*.attention.out.beta", "encoder.layers.*.self_attn_layer_norm.bias"},
      {"encoder.layers.*.feed_forward.up.weight", "encoder.layers.*.ffn.fc1.weight"},
      {"encoder.layers.*.feed_forward.up.bias", "encoder.layers.*.ffn.fc1.bias"},
      {"encoder.layers.*.feed_forward.down.weight", "encoder.layers.*.ffn.fc2.weight"},
      {"encoder.layers.*.feed_forward.down.bias", "encoder.layers.*.ffn.fc2.bias"},
      {"encoder.layers.*.feed_forward.out.gamma", "encoder.layers.*.final_layer_norm.weight"},
      {"encoder.layers.*.feed_forward.out.beta", "encoder.layers.*.final_layer_norm.bias"},
      {"decoder.layers.*.attention.query.weight", "decoder.layers.*.self_attn.q_proj.weight"},
      {"decoder.layers.*.attention.query.bias", "decoder.layers.*.self_attn.q_proj.bias"},
      {"decoder.layers.*.attention.key.weight", "decoder.layers.*.self_attn.k_proj.weight"},
      {"decoder.layers.*.attention.key.bias", "decoder.layers.*.self_attn.k_proj.bias"},
      {"decoder.layers.*.attention.value.weight", "decoder.layers.*.self_attn.v_proj.weight"},
      {"decoder.layers.*.attention.value.bias", "decoder.layers.*.self_attn.v_proj.bias"},
      {"decoder.layers.*.attention.output.weight", "decoder.layers.*.self_attn.out_proj.weight"},
      {"decoder.layers.*.attention.output.bias", "decoder.layers.*.self_attn.out_proj.bias"},
      {"decoder.layers.*.attention.out.gamma", "decoder.layers.*.self_attn_layer_norm.weight"},
      {"decoder.layers.*.attention.out.beta", "decoder.layers.*.self_attn_layer_norm.bias"},
      {"decoder.layers.*.cross_attention.query.weight", "decoder.layers.*.encoder_attn.q_proj.weight"},
      {"decoder.layers.*.cross_attention.query.bias", "decoder.layers.*.encoder_attn.q_proj.bias"},
      {"decoder.layers.*.cross_attention.key.weight", "decoder.layers.*.encoder_attn.k_proj.weight"},
      {"decoder.layers.*.cross_attention.key.bias", "decoder.layers.*.encoder_attn.k_proj.bias"},
      {"decoder.layers.*.cross_attention.value.weight", "decoder.layers.*.encoder_attn.v_proj.weight"},
      {"decoder.layers.*.cross_attention.value.bias", "decoder.layers.*.encoder_attn.v_proj.bias"},
      {"decoder.layers.*.cross_attention.output.weight", "decoder.layers.*.encoder_attn.out_proj.weight"},
      {"decoder.layers.*.cross_attention.output.bias", "decoder.layers.*.encoder_attn.out_proj.bias"},
      {"decoder.layers.*.cross_attention.out.gamma", "decoder.layers.*.encoder_attn_layer_norm.weight"},
      {"decoder.layers.*.cross_attention.out.beta", "decoder.layers.*.encoder_attn_layer_norm.bias"},
      {"decoder.layers.*.feed_forward.up.weight", "decoder.layers.*.ffn.fc1.weight"},
      {"decoder.layers.*.feed_forward.up.bias", "decoder.layers.*.ffn.fc1.bias"},
      {"decoder.layers.*.feed_forward.down.weight", "decoder.layers.*.ffn.fc2.weight"},
      {"decoder.layers.*.feed_forward.down.bias", "decoder.layers.*.ffn.fc2.bias"},
      {"decoder.layers.*.feed_forward.out.gamma", "decoder.layers.*.final_layer_norm.weight"},
      {"decoder.layers.*.feed_forward.out.beta", "decoder.layers.*.final_layer_norm.bias"},
  };
};

template <>
inline constexpr auto kSizes<DeepNetEncoderDecoder> = std::array{
    Size<DeepNetEncoderDecoder>{"of_200", DeepNetEncoderDecoder::of_200(), 863'641'600},
    Size<DeepNetEncoderDecoder>{"of_1000", DeepNetEncoderDecoder::of_1000(), 3'806'208'000},
    Size<DeepNetEncoderDecoder>{"many", DeepNetEncoderDecoder::many(), 3'195'289'600},
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
