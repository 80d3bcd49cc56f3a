// SPDX-License-Identifier: MIT
#pragma once

#include <norma/models/system.hpp>
#include <norma/residual/policy/pre_ln.hpp>
#include <norma/residual/policy/with_embedding_norm.hpp>

#include <cmath>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

namespace detail {
inline constexpr std::array kCLIPTextNames{
    Name{"embedding.weight", "text_model.embeddings.token_embedding.weight"},
    Name{"positions.weight", "text_model.embeddings.position_embedding.weight"},
    Name{"layers.*.attention.pre.gamma", "text_model.encoder.layers.*.layer_norm1.weight"},
    Name{"layers.*.attention.pre.beta", "text_model.encoder.layers.*.layer_norm1.bias"},
    Name{"layers.*.attention.query.weight", "text_model.encoder.layers.*.self_attn.q_proj.weight"},
    Name{"layers.*.attention.query.bias", "text_model.encoder.layers.*.self_attn.q_proj.bias"},
    Name{"layers.*.attention.key.weight", "text_model.encoder.layers.*.self_attn.k_proj.weight"},
    Name{"layers.*.attention.key.bias", "text_model.encoder.layers.*.self_attn.k_proj.bias"},
    Name{"layers.*.attention.value.weight", "text_model.encoder.layers.*.self_attn.v_proj.weight"},
    Name{"layers.*.attention.value.bias", "text_model.encoder.layers.*.self_attn.v_proj.bias"},
    Name{"layers.*.attention.output.weight", "text_model.encoder.layers.*.self_attn.out_proj.weight"},
    Name{"layers.*.attention.output.bias", "text_model.encoder.layers.*.self_attn.out_proj.bias"},
    Name{"layers.*.feed_forward.pre.gamma", "text_model.encoder.layers.*.layer_norm2.weight"},
    Name{"layers.*.feed_forward.pre.beta", "text_model.encoder.layers.*.layer_norm2.bias"},
    Name{"layers.*.feed_forward.up.weight", "text_model.encoder.layers.*.mlp.fc1.weight"},
    Name{"layers.*.feed_forward.up.bias", "text_model.encoder.layers.*.mlp.fc1.bias"},
    Name{"layers.*.feed_forward.down.weight", "text_model.encoder.layers.*.mlp.fc2.weight"},
    Name{"layers.*.feed_forward.down.bias", "text_model.encoder.layers.*.mlp.fc2.bias"},
    Name{"close.gamma", "text_model.final_layer_norm.weight"},
    Name{"close.beta", "text_model.final_layer_norm.bias"},
    Name{"head.weight", "text_projection.weight"},
    Name{"", "text_model.embeddings.position_ids"},
};
inline constexpr std::array kCLIPVisionNames{
    Name{"class_token", "vision_model.embeddings.class_embedding"},
    Name{"positions.weight", "vision_model.embeddings.position_embedding.weight"},
    Name{"patches.weight", "vision_model.embeddings.patch_embedding.weight", Stored::patches},
    Name{"open.gamma", "vision_model.pre_layrnorm.weight"},  // spelt like this
    Name{"open.beta", "vision_model.pre_layrnorm.bias"},
    Name{"layers.*.attention.pre.gamma", "vision_model.encoder.layers.*.layer_norm1.weight"},
    Name{"layers.*.attention.pre.beta", "vision_model.encoder.layers.*.layer_norm1.bias"},
    Name{"layers.*.attention.query.weight", "vision_model.encoder.layers.*.self_attn.q_proj.weight"},
    Name{"layers.*.attention.query.bias", "vision_model.encoder.layers.*.self_attn.q_proj.bias"},
    Name{"layers.*.attention.key.weight", "vision_model.encoder.layers.*.self_attn.k_proj.weight"},
    Name{"layers.*.attention.key.bias", "vision_model.encoder.layers.*.self_attn.k_proj.bias"},
    Name{"layers.*.attention.value.weight", "vision_model.encoder.layers.*.self_attn.v_proj.weight"},
    Name{"layers.*.attention.value.bias", "vision_model.encoder.layers.*.self_attn.v_proj.bias"},
    Name{"layers.*.attention.output.weight", "vision_model.encoder.layers.*.self_attn.out_proj.weight"},
    Name{"layers.*.attention.output.bias", "vision_model.encoder.layers.*.self_attn.out_proj.bias"},
    Name{"layers.*.feed_forward.pre.gamma", "vision_model.encoder.layers.*.layer_norm2.weight"},
    Name{"layers.*.feed_forward.pre.beta", "vision_model.encoder.layers.*.layer_norm2.bias"},
    Name{"layers.*.feed_forward.up.weight", "vision_model.encoder.layers.*.mlp.fc1.weight"},
    Name{"layers.*.feed_forward.up.bias", "vision_model.encoder.layers.*.mlp.fc1.bias"},
    Name{"layers.*.feed_forward.down.weight", "vision_model.encoder.layers.*.mlp.fc2.weight"},
    Name{"layers.*.feed_forward.down.bias", "vision_model.encoder.layers.*.mlp.fc2.bias"},
    Name{"close.gamma", "vision_model.post_layernorm.weight"},
    Name{"close.beta", "vision_model.post_layernorm.bias"},
    Name{"head.weight", "visual_projection.weight"},
    Name{"", "vision_model.embeddings.position_ids"},
};
inline constexpr std::array kCLIPScale{Name{"", "logit_scale"}};  // of the loss
}  // namespace detail

/// The text encoder of CLIP (Radford et al., arXiv 2103.00020, section 2.4 and table 20): a causal Pre-LN stack with a
/// closing norm, learned positions, QuickGELU; of the end-of-text token, the last of the call's lengths, a projection
/// without a bias into the space that both encoders share. Initial weights as in the authors' code: embeddings N(0,
/// 0.02), positions N(0, 0.01), attention and projection of std width^-1/2, those that write to the stream divided by
/// sqrt(2 layers), the feed-forward's first (2 width)^-1/2. Names as in
/// transformers' CLIPModel, whose other encoder is passed over.
struct CLIPText {
  Index width = 512, heads = 8;
  int layers = 12;
  Index hidden = 2048, vocabulary = 49408, positions = 77, projection = 512;
  double eps = 1e-5;

  static constexpr CLIPText base() { return {}; }
  static constexpr CLIPText large() { return {.width = 768, .heads = 12, .hidden = 3072, .projection = 768}; }

  template <class T>
  LanguageModel<Block<PreLN, T, LayerNorm, Attention, QuickGELU>> network() const {
    return {{.width = width, .heads = heads, .hidden = hidden},
            layers,
            {.size = vocabulary,
             .positions = {PositionTable::learned, positions},
             .head = {.reads = Reads::last_token, .outputs = projection}},
            {},
            {.eps = eps}};
  }
  auto init() const {
    const double w = static_cast<double>(width);
    return ForKinds{Kind::embedding, Normal{0.02},
                    ForKinds{Kind::position, Normal{0.01},
                             ForKinds{Kind::up, Normal{1 / std::sqrt(2 * w)}, Normal{1 / std::sqrt(w), true}}}};
  }

  static constexpr auto kNames =
      joined(joined(detail::kCLIPTextNames, passed_over(detail::kCLIPVisionNames)), detail::kCLIPScale);
};

/// The image encoder of CLIP: a ViT with a norm on what enters the stack, too, patches without a bias, QuickGELU and
/// the projection; the closing norm is on the class token alone, which is the same. Initial weights as of the text
/// encoder; class token and positions of std width^-1/2, as in the authors' code, which leaves the rest of this encoder
/// to PyTorch's defaults.
struct CLIPVision {
  using Placement = WithEmbeddingNorm<PreLN>;
  Index width = 768, heads = 12;
  int layers = 12;
  Index hidden = 3072, image = 224, patch = 32, channels = 3, projection = 512;
  double eps = 1e-5;

  static constexpr CLIPVision base32() { return {}; }
  static constexpr CLIPVision base16() { return {.patch = 16}; }
  static constexpr CLIPVision large14() {
    return {.width = 1024, .heads = 16, .layers = 24, .hidden = 4096, .patch = 14, .projection = 768};
  }
  static constexpr CLIPVision large14_336() {
    CLIPVision larger = large14();
    larger.image = 336;
    return larger;
  }

  template <class T>
  ImageModel<Block<Placement, T, LayerNorm, Attention, QuickGELU>> network() const {
    return {{.width = width, .heads = heads, .hidden = hidden},
            layers,
            {.height = image,
             .width = image,
             .patch = patch,
             .channels = channels,
             .bias = false,
             .head = {.outputs = projection}},
            {},
            {.eps = eps}};
  }
  auto init() const {
    const double w = static_cast<double>(width);
    return ForKinds{Kind::up, Normal{1 / std::sqrt(2 * w)}, Normal{1 / std::sqrt(w), true}};
  }

  static constexpr auto kNames =
      joined(joined(detail::kCLIPVisionNames, passed_over(detail::kCLIPTextNames)), detail::kCLIPScale);
};

template <>
inline constexpr auto kSizes<CLIPText> = std::array{
    Size<CLIPText>{"base", CLIPText::base(), 63'428'096},
    Size<CLIPText>{"large", CLIPText::large(), 123'650'304},
};
template <>
inline constexpr auto kSizes<CLIPVision> = std::array{
    Size<CLIPVision>{"base32", CLIPVision::base32(), 87'849'216},
    Size<CLIPVision>{"base16", CLIPVision::base16(), 86'192'640},
    Size<CLIPVision>{"large14", CLIPVision::large14(), 303'966'208},
    Size<CLIPVision>{"large14_336", CLIPVision::large14_336(), 304'293'888},
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
