// SPDX-License-Identifier: MIT
// What a call and a block's options may hold, in combination, against central differences: every parameter and the
// input.
#include "kernel_network.hpp"

namespace {

using namespace norma;
using norma_test::moved;

const std::vector<Index> kLengths{5, 7}, kMemoryLengths{3, 5};

/// Deterministic masks over [batch, heads, queries, keys]; every query of a valid row keeps its own key.
struct Masks {
  bool keep[2 * 4 * 7 * 7];
  double bias[4 * 7 * 7];
  bool memory_keep[7 * 5];

  Masks() {
    for (int i = 0; i < 2 * 4 * 49; ++i) keep[i] = i % 49 / 7 == i % 7 || (i * 7) % 5 != 0;
    for (int i = 0; i < 4 * 49; ++i) bias[i] = i % 11 == 3 ? -std::numeric_limits<double>::infinity() : 0.1 * (i % 7);
    for (int i = 0; i < 35; ++i) memory_keep[i] = i % 3 != 0;
  }
};

template <class Network>
void expect(const Network& network, Shape shape, const Call& call, std::vector<std::string> zero = {}) {
  norma::testing::GradientCheckOptions options;
  options.zero_by_theory = std::move(zero);
  const auto report = norma::testing::check_gradients(network, moved(network), shape, 12, 12, options, call);
  EXPECT_TRUE(report.ok()) << report.text();
}

// A rotation after the key's bias makes its gradient count.
TEST(Calls, GroupedHeadsRotaryLengthsCausalAndMasksTogether) {
  const Masks masks;
  const std::vector<Index> positions{0, 1, 2, 3, 4, 5, 6, 9, 8, 7, 6, 5, 4, 3};
  const Dimensions dims{.width = 12, .heads = 4, .hidden = 21, .kv_heads = 2, .head_dim = 6, .rotary = {.width = 4}};
  const Encoder<Block<PreLN, double>> net(dims, 2);
  expect(net, {2, 7},
         {.causal = true,
          .lengths = kLengths,
          .keep = {masks.keep, 2, 4, 7, 7},
          .bias = AttentionMap<double>{masks.bias, 1, 4, 7, 7},
          .positions = positions});
  expect(net, {2, 7}, {.keep = {masks.keep, 1, 1, 7, 7}});
}
TEST(Calls, FusedWeightsInterleavedRotaryMultiQuery) {
  Dimensions dims{.width = 12,
                  .heads = 4,
                  .hidden = 9,
                  .kv_heads = 1,
                  .head_dim = 4,
                  .projections = Projections::fused_per_head,
                  .packed_gate = true,
                  .rotary = {.width = 2, .interleaved = true}};
  expect(Encoder<Block<PostLN, double, RMSNorm, Attention, SwiGLU>>(dims, 2), {2, 7},
         {.causal = true, .lengths = kLengths});
  dims.projections = Projections::fused;
  dims.kv_heads = 0;
  dims.rotary = {.width = Rotary::kWholeHead, .base = 100};
  expect(Encoder<Block<PreLN, double, LayerNorm, Attention, ReGLU>>(dims, 2), {2, 5}, {.align = Align::top_left});
}
TEST(Calls, DropoutOfEveryKindWithASeed) {
  const Dimensions dims{.width = 12,
                        .heads = 3,
                        .hidden = 21,
                        .attention_bias = false,
                        .feed_forward_bias = false,
                        .dropout = {.branch = 0.2, .attention = 0.3, .hidden = 0.1, .path = 0.2}};
  const Call call{.causal = true, .training = true, .seed = 4, .step = 7};
  expect(Encoder<Block<PostLN, double, LayerNorm, Attention, GeGLU>>(dims, 2), {2, 7}, call);
  expect(Encoder<Block<DeepNorm, double, LayerNorm, Attention, QuickGELU>>(dims, 2), {2, 5}, call);
}
TEST(Calls, CrossAttentionWithKeepMaskAndLengths) {
  const Masks masks;
  const auto memory = [] {
    std::vector<double> m(10 * 12);
    for (std::size_t i = 0; i < m.size(); ++i) m[i] = Rng(1).normal(i);
    return m;
  }();
  const TensorView<const double> view{{2, 5}, {memory.data(), 10, 12}};
  const Dimensions dims{.width = 12, .heads = 4, .hidden = 13, .kv_heads = 2, .head_dim = 5};
  expect(DecoderBlock<DeepNorm, double>(dims), {2, 7, 5},
         {.causal = true,
          .lengths = kLengths,
          .memory = view,
          .memory_lengths = kMemoryLengths,
          .memory_keep = {masks.memory_keep, 1, 1, 7, 5}},
         {"key.bias"});
  expect(Decoder<DecoderBlock<PreLN, double, LayerNorm, Attention, GeGLUTanh>>(dims, 2), {2, 7, 5}, {.memory = view},
         {"key.bias"});
  expect(Standalone(CrossAttention<double>(dims), 12), {2, 7, 5}, {.memory = view}, {"key.bias"});
}
TEST(Calls, MemoryGetsItsGradientAddedOverBlocks) {
  const Decoder<DecoderBlock<PreLN, double>> net({.width = 12, .heads = 4, .hidden = 13}, 3);
  const auto weights = moved(net);
  std::vector<double> memory(10 * 12), x(14 * 12), y(x), dy(x), dx(x), d_memory(memory.size(), 99);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = Rng(1).normal(i);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = Rng(2).normal(i), dy[i] = Rng(3).normal(i);
  const auto view = [](std::vector<double>& v, Index tokens) {
    return TensorView<double>{{2, tokens}, {v.data(), 2 * tokens, 12}};
  };
  const Call call{.memory = view(memory, 5), .memory_lengths = kMemoryLengths};
  auto workspace = net.workspace({2, 7, 5});
  auto gradients = net.gradients();
  const auto loss = [&] {
    net.forward(weights, view(x, 7), view(y, 7), workspace, call);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
    return sum;
  };
  loss();
  net.backward(weights, view(x, 7), view(dy, 7), view(dx, 7), gradients, workspace, view(d_memory, 5));
  for (std::size_t i = 3 * 12; i < 5 * 12; ++i) EXPECT_EQ(d_memory[i], 0.0) << "padding of the first memory";
  const auto report = norma::testing::check_tensor_gradient("memory", memory, d_memory, loss, {});
  EXPECT_GT(report.largest, 0.1);
  EXPECT_LE(std::max(report.difference, report.direction), 1e-8);
}
// A fused weight is a way to store: the same initial values in other rows, and the same bits out.
TEST(Calls, FusedAndSeparateWeightsGiveTheSameBits) {
  NORMA_NEEDS_OWN_PRODUCT(float);
  Dimensions dims{.width = 12, .heads = 4, .hidden = 10, .kv_heads = 2};
  const auto run = [&](auto policy) {
    using B = Block<decltype(policy), float, LayerNorm, Attention, SwiGLU>;
    const B net(dims);
    norma_test::Trial<float> trial(net, {2, 7}, 12, 12);
    trial.pass(net, net.initialize(Rng(3)), {.causal = true});
    std::vector<float> values;
    for (Index r = 0; r < 14; ++r)
      for (Index c = 0; c < 12; ++c) values.push_back(trial.y(r, c)), values.push_back(trial.dx(r, c));
    return values;
  };
  const auto separate = run(DeepNorm{});
  for (const Projections projections : {Projections::fused, Projections::fused_per_head}) {
    dims.projections = projections;
    dims.packed_gate = true;
    EXPECT_EQ(run(DeepNorm{}), separate);
  }
}

}  // namespace
