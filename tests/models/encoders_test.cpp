// SPDX-License-Identifier: MIT
// Systems that are more than decoders of tokens: initial weights, by kind those of their headers; and files that hold
// two of them.
#include <norma/core/named_tensors.hpp>
#include <norma/models/bert.hpp>
#include <norma/models/clip.hpp>
#include <norma/models/q_former.hpp>
#include <norma/models/transformer.hpp>
#include <norma/models/vit.hpp>
#include <norma/models/vlm_decoder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

namespace {

using namespace norma::models;
using Weights = norma::Parameters<float>;

double std_of(const Weights& weights, const char* name) {
  const auto map = weights[name];
  return std::sqrt(static_cast<double>(map.squaredNorm()) / static_cast<double>(map.size()));
}
void expect_std(const Weights& weights, const char* name, double wanted) {
  EXPECT_NEAR(std_of(weights, name), wanted, 0.06 * wanted) << name;
}
template <class S>
Weights drawn(const S& system) {
  return build(system).initialize(norma::Rng(1));
}

TEST(InitialWeights, Transformer) {
  const auto w = drawn(Transformer{.width = 64, .heads = 4, .layers = 2, .hidden = 128, .vocabulary = 50});
  expect_std(w, "embedding.weight", 1.0 / 8);
  expect_std(w, "encoder.layers.1.attention.query.weight", std::sqrt(2.0 / 128));
  expect_std(w, "decoder.layers.1.cross_attention.output.weight", std::sqrt(2.0 / 128));
  expect_std(w, "decoder.layers.1.feed_forward.down.weight", std::sqrt(2.0 / 192));
}
TEST(InitialWeights, BERT) {
  const double cut = 0.8796 * 0.02;  // of a normal cut at 2 std
  const BERT small{.width = 64, .heads = 4, .layers = 2, .hidden = 128, .vocabulary = 50, .positions = 50};
  const auto w = drawn(small);
  for (const char* name : {"embedding.weight", "positions.weight", "layers.1.feed_forward.down.weight",
                           "layers.0.attention.output.weight", "head.transform.weight"})
    expect_std(w, name, cut);
  EXPECT_EQ(std_of(w, "open.gamma"), 1);
  const auto masked = drawn(BERTMaskedLM{small});
  expect_std(masked, "head.transform.weight", cut);
  EXPECT_EQ(std_of(masked, "head.bias"), 0);
}
TEST(InitialWeights, CLIP) {
  const auto text = drawn(CLIPText{
      .width = 64, .heads = 4, .layers = 8, .hidden = 128, .vocabulary = 50, .positions = 50, .projection = 50});
  expect_std(text, "embedding.weight", 0.02);
  expect_std(text, "positions.weight", 0.01);
  expect_std(text, "layers.7.attention.value.weight", 1.0 / 8);
  expect_std(text, "layers.7.attention.output.weight", 1.0 / 8 / 4);
  expect_std(text, "layers.7.feed_forward.up.weight", 1 / std::sqrt(128));
  expect_std(text, "layers.7.feed_forward.down.weight", 1.0 / 8 / 4);
  expect_std(text, "head.weight", 1.0 / 8);
  const auto vision =
      drawn(CLIPVision{.width = 64, .heads = 4, .layers = 2, .hidden = 128, .image = 14, .patch = 2, .projection = 50});
  expect_std(vision, "positions.weight", 1.0 / 8);
  expect_std(vision, "head.weight", 1.0 / 8);
}
/// With its gates closed, at first, it is its host.
TEST(InitialWeights, VLMDecoder) {
  const auto w = drawn(VLMDecoder{
      .width = 64, .heads = 4, .layers = 3, .hidden = 128, .vocabulary = 50, .memory_width = 50, .memory_every = 2});
  expect_std(w, "layers.2.before.cross_attention.key.weight", 0.02);
  EXPECT_EQ(std_of(w, "layers.2.before.cross_attention.gate"), 0);
  EXPECT_EQ(std_of(w, "layers.2.before.feed_forward.gate"), 0);
}

template <class A>
bool passes_over(std::string_view tensor) {
  const std::span<const norma::Name> names = A::kNames;
  return std::any_of(names.begin(), names.end(), [&](const norma::Name& line) {
    return line.norma.empty() && norma::detail::match(line.stored, tensor);
  });
}
/// Every tensor of B's file is one of A's own, or passed over.
template <class A, class B>
void expect_passes_over() {
  const auto a = build(A{});
  const auto b = build(B{});
  const auto own = named_tensors(a.layout(), a.names()).tensors;
  for (const norma::StoredTensor& tensor : named_tensors(b.layout(), b.names()).tensors) {
    const auto is = [&](const auto& other) { return other.name == tensor.name; };
    EXPECT_TRUE(std::any_of(own.begin(), own.end(), is) || passes_over<A>(tensor.name)) << tensor.name;
  }
}
TEST(Checkpoints, OfSeveralNetworks) {
  expect_passes_over<CLIPText, CLIPVision>();
  expect_passes_over<CLIPVision, CLIPText>();
  expect_passes_over<BERT, BERTMaskedLM>();
  expect_passes_over<BERTMaskedLM, BERT>();
}

/// A ViT has in memory other names than in files: both are read, the files' are written.
TEST(Checkpoints, ViT) {
  const auto vit = build(ViT{.layers = 1});
  int layers = 0;
  for (const norma::StoredTensor& tensor : named_tensors(vit.layout(), vit.names()).tensors) {
    EXPECT_FALSE(tensor.name.starts_with("vit.layers.")) << tensor.name;
    if (!tensor.name.starts_with("vit.encoder.layer.0.")) continue;
    ++layers;
    EXPECT_EQ(tensor.copies.size(), 1u) << tensor.name;
    for (const std::string& copy : tensor.copies) EXPECT_TRUE(copy.starts_with("vit.layers.0.")) << copy;
  }
  EXPECT_EQ(layers, 16);
  EXPECT_TRUE(passes_over<ViT>("vit.pooler.dense.weight"));
}

/// What the classes around a system have in their files, too; and what would be missed.
TEST(Checkpoints, OfAWholeModel) {
  for (const char* name :
       {"vision_model.embeddings.class_embedding", "vision_model.encoder.layers.0.self_attn.qkv.weight",
        "language_model.model.decoder.layers.0.fc1.weight", "language_projection.weight",
        "embeddings.word_embeddings.weight", "qformer.encoder.layer.1.intermediate.dense.weight",
        "qformer.encoder.layer.1.output.LayerNorm.bias", "vision_projection.bias", "text_projection.weight",
        "itm_head.bias"})
    EXPECT_TRUE(passes_over<QFormer>(name)) << name;
  for (const char* name : {"qformer.encoder.layer.1.attention.output.dense.bias", "qformer.layernorm.weight"})
    EXPECT_FALSE(passes_over<QFormer>(name)) << name;
  for (const char* name : {"model.vision_model.post_layernorm.bias", "model.vision_model.encoder.layers.3.mlp.fc1.bias",
                           "model.perceiver_resampler.blocks.0.1.fc.weight", "model.perceiver_resampler.latents"})
    EXPECT_TRUE(passes_over<VLMDecoder>(name)) << name;
  for (const char* name : {"model.gated_cross_attn_layers.0.cross_attn.q_layer_norm.weight",
                           "lm_head.additional_fc.weight", "model.embed_tokens.additional_embedding.weight"})
    EXPECT_FALSE(passes_over<VLMDecoder>(name)) << name;
  for (const char* name :
       {"classifier.weight", "qa_outputs.bias", "cls.seq_relationship.weight", "bert.embeddings.position_ids"}) {
    EXPECT_TRUE(passes_over<BERT>(name)) << name;
    EXPECT_TRUE(passes_over<BERTMaskedLM>(name)) << name;
  }
  EXPECT_FALSE(passes_over<BERTMaskedLM>("cls.predictions.bias"));
}

}  // namespace
