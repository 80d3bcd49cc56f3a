// SPDX-License-Identifier: MIT
// Options of attention that are the stack's: a table that its layers share, and numbers that depend on the layer.
#include "kernel_network.hpp"

namespace {

using namespace norma;
using norma_test::moved;
using norma_test::Trial;
using Stack = Encoder<Block<PreLN, double>>;

const Dimensions kDims{.width = 9,
                       .heads = 3,
                       .hidden = 7,
                       .kv_heads = 1,
                       .head_dim = 5,
                       .rotary = {.width = 4, .base = 30, .local_base = 5, .factor = 2},
                       .window = {.size = 3, .global_every = 2},
                       .score_cap = 0.9,
                       .alibi = true,
                       .relative_bias = {.buckets = 6, .max_distance = 5},
                       .scores_over_layer = true};

TEST(StackOptions, GradientsOfThreeLayersThatShareATable) {
  const std::vector<Index> lengths{7, 4}, prefix{2, 3};
  const Stack net(kDims, 3);
  for (const Call& call : {Call{}, Call{.causal = true, .prefix = prefix, .lengths = lengths}}) {
    const auto report = norma::testing::check_gradients(net, moved(net), {2, 7}, 9, 9, {}, call);
    EXPECT_TRUE(report.ok()) << report.text();
  }
}
TEST(StackOptions, OneTableForAllLayers) {
  const Stack net(kDims, 3), without({.width = 9, .heads = 3, .hidden = 7, .kv_heads = 1, .head_dim = 5}, 3);
  EXPECT_EQ(net.layout().count() - without.layout().count(), 6 * 3);
  const ParameterInfo& table = net.layout().find("relative_bias.weight");
  EXPECT_EQ(table.at.rows, 6);
  EXPECT_EQ(table.at.columns, 3);
  EXPECT_EQ(table.kind, Kind::position);
  EXPECT_TRUE(table.decays());
  EXPECT_NE(net.initialize(Rng(1))["relative_bias.weight"](2, 1), 0);
  // Both stacks of two have their own.
  const EncoderDecoder<Block<PreLN, double>, DecoderBlock<PreLN, double>> pair(kDims, 2, 2);
  EXPECT_EQ(pair.layout().find("encoder.relative_bias.weight").at.rows, 6);
  EXPECT_EQ(pair.layout().find("decoder.relative_bias.weight").at.rows, 6);
}

// A decoder is causal whatever the call says, but for the prefix.
TEST(StackOptions, ADecoderSeesThePrefix) {
  Dimensions dims = kDims;
  dims.relative_bias = {};  // whose buckets are others where causal
  const Stack encoder(dims, 2);
  const Decoder<Block<PreLN, double>> decoder(dims, 2);
  const auto weights = moved(encoder);
  const std::vector<Index> all{5, 5}, none{0, 0};
  Trial<double> whole(encoder, {2, 5}, 9, 9), seen(decoder, {2, 5}, 9, 9), hidden(decoder, {2, 5}, 9, 9);
  whole.pass(encoder, weights);
  seen.pass(decoder, weights, {.prefix = all});
  hidden.pass(decoder, weights, {.prefix = none});
  for (Index r = 0; r < 10; ++r) {
    EXPECT_TRUE(norma_test::same_bits(seen.y.row(r), whole.y.row(r), 9)) << r;
    EXPECT_TRUE(norma_test::same_bits(seen.dx.row(r), whole.dx.row(r), 9)) << r;
    EXPECT_FALSE(norma_test::same_bits(hidden.dx.row(r), whole.dx.row(r), 9)) << r;
  }
}

/// y of a stack and of blocks one after another that are given the same weights and what their layer's numbers are.
TEST(StackOptions, ALayerIsABlockOfItsNumbers) {
  Dimensions dims = kDims;
  dims.relative_bias = {};
  const Stack net(dims, 4);
  const auto weights = moved(net);
  Trial<double> whole(net, {2, 7}, 9, 9), part(net, {2, 7}, 9, 9);
  whole.pass(net, weights, {.causal = true});
  for (int layer = 1; layer <= 4; ++layer) {
    const bool global = layer % 2 == 0;
    Dimensions d = dims;
    d.scores_over_layer = false;
    d.score_scale = 1 / std::sqrt(5.0) / layer;
    d.window = {.size = global ? 0 : 3};
    d.rotary = {.width = 4, .base = global ? 30.0 : 5.0, .factor = global ? 2.0 : 1.0};
    const Block<PreLN, double> block(d);
    auto own = block.gradients();
    own.for_each_parameter([&](const ParameterInfo& info, auto map) {
      map = weights["layers." + std::to_string(layer - 1) + "." + info.name];
    });
    if (layer > 1) part.x = part.y;
    Trial<double> step(block, {2, 7}, 9, 9);
    step.x = part.x;
    step.pass(block, own, {.causal = true});
    part.y = step.y;
  }
  const Standalone close(LayerNorm<double>{}, 9);
  auto gamma = close.gradients();
  gamma["gamma"] = weights["close.gamma"];
  gamma["beta"] = weights["close.beta"];
  Trial<double> end(close, {2, 7}, 9, 9);
  end.x = part.y;
  end.pass(close, gamma);
  for (Index r = 0; r < 14; ++r)
    for (Index c = 0; c < 9; ++c) EXPECT_NEAR(end.y(r, c), whole.y(r, c), 1e-13) << r << " " << c;
}

/// A policy's scale of the scores comes first, and is divided by the layer all the same.
struct Scaled {
  double scale = 0.7;
  auto slots(auto at) const { return place().pre(at.norm).score_scale(at.only(attention, scale)).close(at.norm); }
};
TEST(StackOptions, APolicysScaleIsDividedByTheLayer) {
  Dimensions over{.width = 9, .heads = 3, .hidden = 7, .score_scale = 5, .scores_over_layer = true};
  const Dimensions usual{.width = 9, .heads = 3, .hidden = 7};
  const auto y = [](const Dimensions& dims, int layer, double scale) {
    const Block<Scaled, double> net(dims, {.layer = layer, .layers = 2}, Scaled{scale});
    Trial<double> t(net, {2, 5}, 9, 9);
    t.pass(net, moved(net));
    return t.y;
  };
  const auto second = y(over, 2, 0.7), right = y(usual, 2, 0.35), wrong = y(usual, 2, 0.7);
  for (Index r = 0; r < 10; ++r) {
    EXPECT_TRUE(norma_test::same_bits(second.row(r), right.row(r), 9)) << r;
    EXPECT_FALSE(norma_test::same_bits(second.row(r), wrong.row(r), 9)) << r;
  }
}

}  // namespace
