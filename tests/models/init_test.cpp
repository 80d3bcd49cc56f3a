// SPDX-License-Identifier: MIT
// Initial weights: a system's are those of its header, by kind.
#include <norma/models/glm_130b.hpp>
#include <norma/models/gpt2.hpp>
#include <norma/models/gpt_j.hpp>
#include <norma/models/gpt_neox.hpp>
#include <norma/models/palm.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace {

using namespace norma::models;
using Weights = norma::Parameters<float>;

void expect_std(const Weights& weights, const char* name, double wanted) {
  const auto map = weights[name];
  const double std = std::sqrt(static_cast<double>(map.squaredNorm()) / static_cast<double>(map.size()));
  EXPECT_NEAR(std, wanted, 0.06 * wanted) << name;
}
template <class S>
Weights drawn(const S& system) {
  return build(system).initialize(norma::Rng(1));
}
constexpr double kCut = 0.8796;  // of a normal's std, cut at 2 std

TEST(InitialWeights, GPT2) {
  const auto w = drawn(GPT2{.width = 64, .heads = 4, .layers = 8, .vocabulary = 50, .positions = 50});
  expect_std(w, "embedding.weight", 0.02);
  expect_std(w, "positions.weight", 0.01);
  expect_std(w, "layers.7.attention.query_key_value.weight", 0.02);
  expect_std(w, "layers.0.attention.output.weight", 0.005);
  expect_std(w, "layers.7.feed_forward.down.weight", 0.005);
}
TEST(InitialWeights, GPTJ) {
  const auto w = drawn(GPTJ{.width = 64, .heads = 1, .layers = 4, .vocabulary = 100});
  expect_std(w, "embedding.weight", kCut / 10);
  expect_std(w, "head.weight", kCut / 8);
  expect_std(w, "layers.3.parallel.attention.key.weight", kCut / 8);
  expect_std(w, "layers.3.parallel.feed_forward.up.weight", kCut / 8);
  expect_std(w, "layers.3.parallel.feed_forward.down.weight", kCut / 16);
}
TEST(InitialWeights, GPTNeoX) {
  const auto w = drawn(GPTNeoX{.width = 40, .heads = 5, .layers = 4, .vocabulary = 50});
  for (const char* name : {"embedding.weight", "head.weight", "layers.0.parallel.attention.query_key_value.weight",
                           "layers.3.parallel.feed_forward.up.weight"})
    expect_std(w, name, 0.1);
  expect_std(w, "layers.1.parallel.attention.output.weight", 0.5 / std::sqrt(40));
  expect_std(w, "layers.1.parallel.feed_forward.down.weight", 0.5 / std::sqrt(40));
}
TEST(InitialWeights, PaLM) {
  const auto w = drawn(PaLM{.width = 64, .heads = 2, .head_dim = 50, .layers = 2, .vocabulary = 50});
  expect_std(w, "embedding.weight", 1);
  expect_std(w, "layers.1.parallel.attention.output.weight", 0.1);
  expect_std(w, "layers.1.parallel.feed_forward.gate.weight", 1.0 / 8);
}
TEST(InitialWeights, GLM130B) {
  const auto w = drawn(GLM130B{.width = 48, .heads = 2, .layers = 8, .hidden = 64, .vocabulary = 50});
  expect_std(w, "embedding.weight", 0.0052);
  expect_std(w, "layers.7.attention.query.weight", 0.0052);
  expect_std(w, "layers.7.attention.value.weight", std::sqrt(1.0 / 48) / 4);
  expect_std(w, "layers.7.feed_forward.gate.weight", std::sqrt(2.0 / (48 + 64)) / 4);
}

}  // namespace
