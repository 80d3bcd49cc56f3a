// SPDX-License-Identifier: MIT
#pragma once

#include <norma/models/system.hpp>
#include <norma/residual/policy/pre_ln.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

/// Vision Transformer (Dosovitskiy et al., arXiv 2010.11929, section 3.1 and table 1): Pre-LN with a closing norm, a
/// class token, learned positions, GELU, eps 1e-6; a head of one linear map on the class token. Ti and S are DeiT's
/// (Touvron et al., arXiv 2012.12877, table 1), and so are the initial weights, N(0, 0.02). Names as in the files of
/// transformers' ViTForImageClassification. Of the classes around, a pooler, which the paper has not, and a decoder of
/// masked images are passed over.
struct ViT {
  Index width = 768, heads = 12;
  int layers = 12;
  Index hidden = 3072, image = 224, patch = 16, channels = 3;
  Index classes = 1000;  ///< 0: the class token's vector
  double eps = 1e-6;

  static constexpr ViT tiny16() { return {.width = 192, .heads = 3, .hidden = 768}; }
  static constexpr ViT small16() { return {.width = 384, .heads = 6, .hidden = 1536}; }
  static constexpr ViT small32() { return {.width = 384, .heads = 6, .hidden = 1536, .patch = 32}; }
  static constexpr ViT base16() { return {}; }
  static constexpr ViT base32() { return {.patch = 32}; }
  static constexpr ViT large16() { return {.width = 1024, .heads = 16, .layers = 24, .hidden = 4096}; }
  static constexpr ViT large32() { return {.width = 1024, .heads = 16, .layers = 24, .hidden = 4096, .patch = 32}; }
  static constexpr ViT huge14() { return {.width = 1280, .heads = 16, .layers = 32, .hidden = 5120, .patch = 14}; }

  template <class T>
  ImageModel<Block<PreLN, T>> network() const {
    return {{.width = width, .heads = heads, .hidden = hidden},
            layers,
            {.height = image,
             .width = image,
             .patch = patch,
             .channels = channels,
             .head = {.outputs = classes, .bias = true}},
            {},
            {.eps = eps}};
  }
  Normal init() const { return {0.02}; }

  static constexpr Name kNames[] = {
      {"class_token", "vit.embeddings.cls_token", Stored::batch_of_one},
      {"positions.weight", "vit.embeddings.position_embeddings", Stored::batch_of_one},
      {"patches.weight", "vit.embeddings.patch_embeddings.projection.weight", Stored::patches},
      {"patches.bias", "vit.embeddings.patch_embeddings.projection.bias"},
      {"layers.*.attention.pre.gamma", "vit.encoder.layer.*.layernorm_before.weight"},
      {"layers.*.attention.pre.beta", "vit.encoder.layer.*.layernorm_before.bias"},
      {"layers.*.feed_forward.pre.gamma", "vit.encoder.layer.*.layernorm_after.weight"},
      {"layers.*.feed_forward.pre.beta", "vit.encoder.layer.*.layernorm_after.bias"},
      {"layers.*.attention.query.weight", "vit.encoder.layer.*.attention.attention.query.weight"},
      {"layers.*.attention.query.bias", "vit.encoder.layer.*.attention.attention.query.bias"},
      {"layers.*.attention.key.weight", "vit.encoder.layer.*.attention.attention.key.weight"},
      {"layers.*.attention.key.bias", "vit.encoder.layer.*.attention.attention.key.bias"},
      {"layers.*.attention.value.weight", "vit.encoder.layer.*.attention.attention.value.weight"},
      {"layers.*.attention.value.bias", "vit.encoder.layer.*.attention.attention.value.bias"},
      {"layers.*.attention.output.weight", "vit.encoder.layer.*.attention.output.dense.weight"},
      {"layers.*.attention.output.bias", "vit.encoder.layer.*.attention.output.dense.bias"},
      {"layers.*.feed_forward.up.weight", "vit.encoder.layer.*.intermediate.dense.weight"},
      {"layers.*.feed_forward.up.bias", "vit.encoder.layer.*.intermediate.dense.bias"},
      {"layers.*.feed_forward.down.weight", "vit.encoder.layer.*.output.dense.weight"},
      {"layers.*.feed_forward.down.bias", "vit.encoder.layer.*.output.dense.bias"},
      {"close.gamma", "vit.layernorm.weight"},
      {"close.beta", "vit.layernorm.bias"},
      {"head.weight", "classifier.weight"},
      {"head.bias", "classifier.bias"},
      {"", "vit.pooler.**"},
      {"", "vit.embeddings.mask_token"},
      {"", "decoder.**"},
      // What transformers 5 calls a layer's in memory, but not in files.
      {"layers.*.attention.pre.gamma", "vit.layers.*.layernorm_before.weight", Stored::copy},
      {"layers.*.attention.pre.beta", "vit.layers.*.layernorm_before.bias", Stored::copy},
      {"layers.*.attention.query.weight", "vit.layers.*.attention.q_proj.weight", Stored::copy},
      {"layers.*.attention.query.bias", "vit.layers.*.attention.q_proj.bias", Stored::copy},
      {"layers.*.attention.key.weight", "vit.layers.*.attention.k_proj.weight", Stored::copy},
      {"layers.*.attention.key.bias", "vit.layers.*.attention.k_proj.bias", Stored::copy},
      {"layers.*.attention.value.weight", "vit.layers.*.attention.v_proj.weight", Stored::copy},
      {"layers.*.attention.value.bias", "vit.layers.*.attention.v_proj.bias", Stored::copy},
      {"layers.*.attention.output.weight", "vit.layers.*.attention.o_proj.weight", Stored::copy},
      {"layers.*.attention.output.bias", "vit.layers.*.attention.o_proj.bias", Stored::copy},
      {"layers.*.feed_forward.pre.gamma", "vit.layers.*.layernorm_after.weight", Stored::copy},
      {"layers.*.feed_forward.pre.beta", "vit.layers.*.layernorm_after.bias", Stored::copy},
      {"layers.*.feed_forward.up.weight", "vit.layers.*.mlp.fc1.weight", Stored::copy},
      {"layers.*.feed_forward.up.bias", "vit.layers.*.mlp.fc1.bias", Stored::copy},
      {"layers.*.feed_forward.down.weight", "vit.layers.*.mlp.fc2.weight", Stored::copy},
      {"layers.*.feed_forward.down.bias", "vit.layers.*.mlp.fc2.bias", Stored::copy},
  };
};

template <>
inline constexpr auto kSizes<ViT> = std::array{
    Size<ViT>{"tiny16", ViT::tiny16(), 5'717'416},     Size<ViT>{"small16", ViT::small16(), 22'050'664},
    Size<ViT>{"small32", ViT::small32(), 22'878'952},  Size<ViT>{"base16", ViT::base16(), 86'567'656},
    Size<ViT>{"base32", ViT::base32(), 88'224'232},    Size<ViT>{"large16", ViT::large16(), 304'326'632},
    Size<ViT>{"large32", ViT::large32(), 306'535'400}, Size<ViT>{"huge14", ViT::huge14(), 632'045'800},
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
