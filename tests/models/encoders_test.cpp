// SPDX-License-Identifier: MIT
// Systems that are more than decoders of tokens: initial weights, by kind those of their headers; and files that hold
// two of them.
#include <norma/core/named_tensors.hpp>
#include <norma/models/bert.hpp>
#include <norma/models/clip.hpp>
#include <norma/models/transformer.hpp>
#include <norma/models/vlm_decoder.hpp>

#include <gtest/gtest.h>

#include <cmath>

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

/// Every tensor of B's file is one of A's own, or passed over.
template <class A, class B>
void expect_passes_over() {
  const auto a = build(A{}), b = build(B{});
  const auto own = named_tensors(a.layout(), a.names()).tensors;
  for (const norma::StoredTensor& tensor : named_tensors(b.layout(), b.names()).tensors) {
    const auto is = [&](const auto& other) { return other.name == tensor.name; };
    const auto passes = [&](const norma::Name& line) {
      return line.norma.empty() && norma::detail::match(line.stored, tensor.name);
    };
    const auto names = a.names();
    EXPECT_TRUE(std::any_of(own.begin(), own.end(), is) || std::any_of(names.begin(), names.end(), passes))
        << tensor.name;
  }
}
TEST(Checkpoints, OfSeveralNetworks) {
  expect_passes_over<CLIPText, CLIPVision>();
  expect_passes_over<CLIPVision, CLIPText>();
  expect_passes_over<BERT, BERTMaskedLM>();
  expect_passes_over<BERTMaskedLM, BERT>();
}

}  // namespace
