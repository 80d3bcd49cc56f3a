// SPDX-License-Identifier: MIT
// Gates: what they start as, alone and before a block of a trained model, and sums that do not depend on who adds them.
#include <gtest/gtest.h>

#include "placement_gradients.hpp"

#include <norma/testing/conformance.hpp>

namespace {

using namespace placement;
using norma::Block;
using norma::Encoder;

const Dimensions kDims{12, 3, 10};
const Shape kShape{2, 5};
using Reader = norma::CrossAttentionBlock<norma::GatedCrossAttention, double>;
using WithMemory = norma::testing::detail::WithMemory<Reader>;

TEST(GatedCrossAttention, StartsAsTheIdentityBeforeAHostBlock) {
  const Reader reader(kDims);
  const WithMemory network(reader, kDims.width, kShape.batch);
  const auto weights = reader.initialize(Rng(1));
  const Index size = kShape.rows() * kDims.width;
  const auto x = noise<double>(size, "x");
  const auto r = run(network, weights, kShape, kDims.width);
  EXPECT_EQ(r.y, x);
  EXPECT_EQ(r.dx, noise<double>(size, "dy"));
  // So the host sees what it saw without it. On the first step only the gates learn.
  const Block<norma::PreLN, double> host(kDims);
  const auto own = perturbed(host);
  auto workspace = host.workspace(kShape);
  EXPECT_EQ(forward(host, own, kShape, r.y, workspace), forward(host, own, kShape, x, workspace));
  int gates = 0;
  for (const auto& info : reader.layout().entries())
    for (Index i = 0; i < info.at.rows * info.at.columns; ++i) {
      const double g = r.gradients[static_cast<std::size_t>(info.at.offset + i)];
      if (info.name.ends_with("gate")) {
        EXPECT_NE(g, 0) << info.name;
        ++gates;
      } else {
        EXPECT_EQ(g, 0) << info.name;
      }
    }
  EXPECT_EQ(gates, 2);
}
TEST(GatedCrossAttention, GradientsWithAMemory) {
  const WithMemory network(Reader(kDims), kDims.width, kShape.batch);
  const auto weights = perturbed(network);
  const norma::testing::GradientCheckOptions options{.zero_by_theory = {"key.bias"}};
  const auto report = norma::testing::check_gradients(network, weights, kShape, kDims.width, kDims.width, options);
  EXPECT_TRUE(report.ok()) << report.text();
  const auto memory = norma::testing::detail::check_memory_gradient(network, weights, kShape, kDims.width, options);
  EXPECT_TRUE(memory.ok()) << memory.text();
}

TEST(LayerScale, AtOneIsPreLN) {
  const Encoder<Block<norma::LayerScale, double>> scaled(kDims, 3, {.initial = 1.0});
  const Encoder<Block<norma::PreLN, double>> plain(kDims, 3);
  const auto weights = perturbed(plain);
  auto same = scaled.initialize(Rng(1));
  weights.for_each_parameter([&](const norma::ParameterInfo& info, auto map) { same[info.name] = map; });
  const auto a = run(scaled, same, kShape, kDims.width), b = run(plain, weights, kShape, kDims.width);
  EXPECT_TRUE(same_bits(a.y, b.y));
  EXPECT_TRUE(same_bits(a.dx, b.dx));
  same["layers.1.attention.join.lambda"](0, 4) = 0.5;
  EXPECT_FALSE(same_bits(run(scaled, same, kShape, kDims.width).y, b.y));
}
TEST(LayerScale, StartsByDepth) {
  for (const auto& [layers, wanted] : {std::pair(18, 0.1), {19, 1e-5}, {24, 1e-5}, {25, 1e-6}})
    EXPECT_EQ(norma::LayerScale::initial_of(layers), wanted);
}

/// All that nGPT puts inside: rotary positions before its norms, fewer key heads, a gate.
TEST(NGPT, RotaryGroupedAndGated) {
  using B = Block<norma::NGPT, double, norma::LayerNorm, norma::Attention, norma::SwiGLU>;
  Dimensions dims{.width = 12, .heads = 3, .hidden = 10, .kv_heads = 1};
  dims.rotary = {.width = norma::Rotary::kWholeHead};
  const Encoder<B> net(dims, 2);
  EXPECT_EQ(net.layout().find("layers.0.attention.s_q").at.rows, 3);
  EXPECT_EQ(net.layout().find("layers.0.attention.s_k").at.rows, 1);
  check_network_gradients(net, {dims, kShape, 0}, {}, 0);
}

/// One thread that takes the pieces of several workers one after another.
norma::Executor taking_turns(Index workers) {
  return {.workers = workers, .run = [](void*, Index count, void (*task)(void*, Index), void* data) {
            for (Index i = count; i-- > 0;) task(data, i);
          }};
}
template <class P>
void check_workers(Index tokens) {
  const Encoder<Block<P, float>> net(kDims, 1);
  const auto weights = perturbed(net);
  const Shape shape{1, tokens};
  const auto x = noise<float>(tokens * kDims.width, "x"), dy = noise<float>(tokens * kDims.width, "dy");
  auto alone = net.workspace(shape), shared = net.workspace(shape, taking_turns(3));
  EXPECT_TRUE(same_bits(run(net, weights, shape, x, dy, alone), run(net, weights, shape, x, dy, shared)));
}
/// More rows than a block of partial sums has.
TEST(Gates, GradientsAreTheSameOnAnyNumberOfWorkers) {
  check_workers<norma::ReZero>(600);
  check_workers<norma::DynamicHyperConnections<2>>(600);
}

}  // namespace
