// SPDX-License-Identifier: MIT
// Cases J: where residuals, norms and constants go. Depths and parameter lists of the policies: tests/residual.
#include <norma/norma.hpp>

#include "kernel_case_norm.hpp"

namespace {

using namespace norma_test;
using norma::MatrixView;
using norma::TensorView;
using norma::Write;

const norma::Dimensions kSmall{.width = 4, .heads = 2, .hidden = 6};

/// Weights whose sublayers give nothing: output matrices zero.
template <class Network>
norma::Parameters<float> silent(const Network& network) {
  auto weights = network.initialize(norma::Rng(7));
  weights.for_each_parameter([](const norma::ParameterInfo& info, auto map) {
    if (norma::contains(norma::kResidualOutput, info.kind)) map.setZero();
  });
  return weights;
}

struct Result {
  std::vector<float> y, dx;
};
template <class Network>
Result run(const Network& network, const norma::Parameters<float>& weights, std::vector<float> x,
           std::vector<float> dy = {4, -3, 2, 1}) {
  Result r{std::vector<float>(4), std::vector<float>(4)};
  const auto view = [](std::vector<float>& v) { return TensorView<float>{{1, 1}, {v.data(), 1, 4}}; };
  auto workspace = network.workspace({1, 1});
  auto gradients = network.gradients();
  network.forward(weights, view(x), view(r.y), workspace);
  network.backward(weights, view(x), view(dy), view(r.dx), gradients, workspace);
  return r;
}

/// y = x, and nothing learned.
template <class T, class Inner = norma::Entries<>>
struct Identity {
  using Scalar = T;
  using takes = norma::Takes<>;
  static constexpr bool needs_x = false;
  struct Tape {};
  Identity(const norma::Dimensions&, const Inner&) {}
  void declare(norma::Layout&, Index) {}
  Tape plan(norma::Plan&, const norma::Pass&) const { return {}; }
  void forward(const T*, MatrixView<const T> x, MatrixView<T> y, const Tape&) const { norma::kernels::copy(x, y); }
  void backward(const T*, MatrixView<const T>, MatrixView<const T> dy, MatrixView<T> dx, Write write, T*,
                const Tape&) const {
    norma::kernels::scale_write(dy, T(1), dx, write);
  }
};

TEST(CasesJ, J01_PreLNKeepsTheStreamItself) {
  const norma::Block<norma::PreLN> block(kSmall);
  const Result a = run(block, silent(block), {1, 2, 3, 4});
  EXPECT_EQ(a.y, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(a.dx, (std::vector<float>{4, -3, 2, 1}));
  // Attention replaced by the identity, the feed-forward silent.
  const norma::Block<norma::PreLN, float, norma::LayerNorm, Identity> one(kSmall);
  expect_near(run(one, silent(one), {1, 2, 3, 4}).y, {-0.341635, 1.552788, 3.447212, 5.341635}, 1e-6);
}

TEST(CasesJ, J02_PostLNsSecondResidual) {
  const norma::Block<norma::PostLN> block(kSmall);
  auto weights = silent(block);
  weights["feed_forward.down.bias"](0, 3) = 8;
  expect_near(run(block, weights, {1, 2, 3, 4}).y, {-0.779732, -0.571029, -0.362325, 1.713086}, 2e-6);
}

TEST(CasesJ, J03_FinalNorm) {
  const norma::Encoder<norma::Block<norma::PreLN>> pre(kSmall, 2);
  expect_near(run(pre, silent(pre), {1, 2, 3, 4}).y, {-1.341635, -0.447212, 0.447212, 1.341635}, 1e-6);
  const norma::Block<norma::PreLN> alone(kSmall, {.layer = 2, .layers = 2});
  expect_near(run(alone, silent(alone), {1, 2, 3, 4}).y, {1, 2, 3, 4}, 0);
  // A Post-LN stack adds none: its last norm is the block's own, and there is no parameter of another.
  const norma::Encoder<norma::Block<norma::PostLN>> post(kSmall, 2);
  auto weights = silent(post);
  int norms = 0;
  weights.for_each_parameter([&](const norma::ParameterInfo& info, auto) { norms += info.name.ends_with("gamma"); });
  EXPECT_EQ(norms, 4);
  weights["layers.1.feed_forward.out.beta"].setConstant(0.25f);
  expect_near(run(post, weights, {1, 2, 3, 4}).y,
              {-1.341631 + 0.25, -0.447210 + 0.25, 0.447210 + 0.25, 1.341631 + 0.25}, 2e-5);
}

TEST(CasesJ, J04_AlphaOnTheSkip) {
  const norma::Block<norma::DeepNorm> block(kSmall, {}, {.alpha = 2.0});
  auto weights = silent(block);
  weights["attention.output.bias"](0, 0) = 4;
  // The second site scales by two and normalises again: the same but for eps.
  expect_near(run(block, weights, {1, 2, 3, 4}).y, {0, -1.414210, 0, 1.414210}, 1e-5);
}

double deviation(const norma::Parameters<float>& weights, const char* name) {
  const auto m = weights[name];
  double sum = 0;
  for (Index i = 0; i < m.size(); ++i) sum += static_cast<double>(m.data()[i]) * static_cast<double>(m.data()[i]);
  return std::sqrt(sum / static_cast<double>(m.size()));
}

TEST(CasesJ, J06_GainOnTheRightMatrices) {
  for (const auto& [layers, alpha, beta] :
       {std::tuple{12, 2.2133638, 0.3194716}, {6, 1.8612097, 0.3799178}, {100, 3.7606031, 0.1880302}}) {
    const auto c = norma::DeepNorm::constants({.layer = 1, .layers = layers});
    EXPECT_NEAR(c.alpha, alpha, 1e-7);
    EXPECT_NEAR(c.beta, beta, 1e-7);
  }
  const norma::Block<norma::DeepNorm> block({.width = 64, .heads = 4, .hidden = 256}, {.layer = 1, .layers = 12});
  const auto weights = block.initialize(norma::Rng(3));
  for (const auto& [name, right] : {std::pair{"attention.query.weight", 0.125},
                                    {"attention.key.weight", 0.125},
                                    {"attention.value.weight", 0.0399339},
                                    {"attention.output.weight", 0.0399339},
                                    {"feed_forward.up.weight", 0.0252564},
                                    {"feed_forward.down.weight", 0.0252564}})
    EXPECT_NEAR(deviation(weights, name), right, 0.05 * right) << name;
}

TEST(CasesJ, J07_OtherConstants) {
  const auto encoder =
      norma::DeepNorm::constants({.side = norma::Side::encoder, .encoder_layers = 12, .decoder_layers = 12});
  EXPECT_NEAR(encoder.alpha, 1.7608776, 1e-7);
  EXPECT_NEAR(encoder.beta, 0.4001982, 1e-7);
  const auto decoder =
      norma::DeepNorm::constants({.side = norma::Side::decoder, .encoder_layers = 12, .decoder_layers = 12});
  EXPECT_NEAR(decoder.alpha, 2.4494897, 1e-7);
  EXPECT_NEAR(decoder.beta, 0.2886751, 1e-7);
  // Settable: ChatGLM's sqrt(2 N) at N = 12. The skip is the stream before the site, as the paper has it.
  const norma::Block<norma::DeepNorm> block(kSmall, {.layer = 1, .layers = 12}, {.alpha = 4.8989795});
  auto weights = silent(block);
  weights["attention.output.bias"](0, 0) = 4;
  LayerNormCall<> first{4, {4.8989795f * 1 + 4, 4.8989795f * 2, 4.8989795f * 3, 4.8989795f * 4}};
  LayerNormCall<> second{4, first.forward().y};
  for (float& v : second.x) v *= 4.8989795f;
  second.forward();
  expect_near(run(block, weights, {1, 2, 3, 4}).y, {second.y.begin(), second.y.end()}, 2e-6);
}

// Attention takes one input, and queries, keys and values are all projected from it: the norm runs once for the three.
TEST(CasesJ, J08_QueryKeyAndValueAreNormedAlike) {
  const norma::Block<norma::PreLN> block({.width = 4, .heads = 1, .hidden = 6});
  auto weights = silent(block);
  for (const char* name : {"query", "key", "value", "output"})
    weights["attention." + std::string(name) + ".weight"].setIdentity();
  std::vector<float> x{1, 2, 3, 4, 4, -1, 0, 2, -3, 5, 1, 1}, y(12);
  const auto view = [](std::vector<float>& v) { return TensorView<float>{{1, 3}, {v.data(), 3, 4}}; };
  auto workspace = block.workspace({1, 3});
  block.forward(weights, view(x), view(y), workspace);
  // With identities n W^T = n: y = x + softmax(n n^T / 2) n.
  const LayerNormCall<> norm = LayerNormCall<>{4, x}.forward();
  const auto n = [&](std::size_t row, std::size_t c) { return static_cast<double>(norm.y[4 * row + c]); };
  for (std::size_t i = 0; i < 3; ++i) {
    double p[3], sum = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      double score = 0;
      for (std::size_t c = 0; c < 4; ++c) score += n(i, c) * n(j, c) / 2;
      sum += p[j] = std::exp(score);
    }
    for (std::size_t c = 0; c < 4; ++c)
      EXPECT_NEAR(y[4 * i + c],
                  static_cast<double>(x[4 * i + c]) + (p[0] * n(0, c) + p[1] * n(1, c) + p[2] * n(2, c)) / sum, 1e-6);
  }
  // A token alone sees itself: x + LN(x), with values that are not normed 2 x.
  expect_near(run(block, weights, {1, 2, 3, 4}).y, {-0.341635, 1.552788, 3.447212, 5.341635}, 1e-6);
}

}  // namespace
