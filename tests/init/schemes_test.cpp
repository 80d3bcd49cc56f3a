// SPDX-License-Identifier: MIT
// Kaiming, small, depth-scaled; and fused weights, whose parts start as they would alone.
#include <cmath>
#include <norma/norma.hpp>

#include <gtest/gtest.h>

namespace {

using namespace norma;

template <class Scheme>
double deviation(const Scheme& scheme, const char* name,
                 const Dimensions& dims = {.width = 64, .heads = 4, .hidden = 256}) {
  const Encoder<Block<PreLN>> net(dims, 4);
  const auto weights = net.initialize(Rng(1), scheme);
  return std::sqrt(static_cast<double>(weights[name].squaredNorm()) / static_cast<double>(weights[name].size()));
}
void expect_within(double value, double wanted) { EXPECT_NEAR(value, wanted, 0.05 * wanted); }

TEST(Schemes, KaimingLooksAtTheInputs) {
  for (const char* name : {"layers.0.feed_forward.up.weight", "layers.2.attention.query.weight"}) {
    expect_within(deviation(KaimingNormal{}, name), std::sqrt(2.0 / 64));
    expect_within(deviation(KaimingUniform{}, name), std::sqrt(2.0 / 64));
  }
  expect_within(deviation(KaimingNormal{}, "layers.1.feed_forward.down.weight"), std::sqrt(2.0 / 256));
}
TEST(Schemes, SmallAndDepthScaled) {
  const char* name = "layers.3.feed_forward.up.weight";
  const double xavier = std::sqrt(2.0 / (64 + 256));
  expect_within(deviation(Small<>{.factor = 0.02}, name), 0.02 * xavier);
  expect_within(deviation(Small<KaimingNormal>{}, name), 0.1 * std::sqrt(2.0 / 64));
  expect_within(deviation(DepthScaled<>{}, name), xavier / 2);  // layer 4
  expect_within(deviation(DepthScaled<>{}, "layers.0.feed_forward.up.weight"), xavier);
}
TEST(Schemes, LeCunSmallAndWang) {
  expect_within(deviation(LeCunNormal{}, "layers.0.feed_forward.down.weight"), 1.0 / 16);
  expect_within(deviation(SmallInit{}, "layers.0.feed_forward.up.weight"), std::sqrt(2.0 / (5 * 64)));
  expect_within(deviation(WangInit{}, "layers.0.feed_forward.down.weight"), 2 / (4 * 8.0));
  expect_within(deviation(Normal{0.1, true}, "layers.0.attention.output.weight"), 0.1 / std::sqrt(8));
  expect_within(deviation(Normal{0.1, true}, "layers.0.attention.value.weight"), 0.1);
}
TEST(Schemes, OneForSomeKinds) {
  const ForKinds scheme{Kind::output | Kind::key, Normal{0.1}, Normal{0.3}};
  expect_within(deviation(scheme, "layers.0.attention.output.weight"), 0.1);
  expect_within(deviation(scheme, "layers.0.attention.key.weight"), 0.1);
  expect_within(deviation(scheme, "layers.0.attention.query.weight"), 0.3);
}
TEST(Schemes, TruncatedIsCutAtTwo) {
  const Encoder<Block<PreLN>> net({.width = 64, .heads = 4}, 1);
  const auto cut = net.initialize(Rng(1), Truncated{LeCunNormal{}});
  const auto whole = net.initialize(Rng(1), LeCunNormal{});
  const auto a = cut["layers.0.attention.query.weight"];
  const auto b = whole["layers.0.attention.query.weight"];
  EXPECT_LE(static_cast<double>(a.cwiseAbs().maxCoeff()), 2.0 / 8);
  for (Index i = 0; i < a.size(); ++i)
    EXPECT_TRUE(a.data()[i] == b.data()[i] || std::fabs(b.data()[i]) > 2.0f / 8) << i;
  EXPECT_GT(b.cwiseAbs().maxCoeff(), 2.0f / 8);
}
// Case J06 and formulas: DeepNorm's gain reaches the value's rows of a fused weight, and the fan is that of each part.
TEST(Schemes, FusedPartsHaveTheStatisticsOfSeparateWeights) {
  Dimensions dims{.width = 64, .heads = 4, .hidden = 256};
  using B = Block<DeepNorm, float, LayerNorm, Attention, SwiGLU>;
  const auto separate = B(dims, {.layer = 1, .layers = 12}).initialize(Rng(1));
  for (const Projections projections : {Projections::fused, Projections::fused_per_head}) {
    dims.projections = projections;
    dims.packed_gate = true;
    const B block(dims, {.layer = 1, .layers = 12});
    const auto fused = block.initialize(Rng(1));
    for (const char* parameter : {"attention.query_key_value.weight", "feed_forward.gate_up.weight"}) {
      Index rows = 0;
      for (const Part& part : block.layout().find(parameter).parts) {
        for (Index o = 0; o < part.rows.outputs; ++o)
          EXPECT_EQ((fused[parameter].row(part.rows.row(o)) - separate[part.name].row(o)).squaredNorm(), 0)
              << part.name << o;
        rows += part.rows.outputs;
        const double d = std::sqrt(static_cast<double>(separate[part.name].squaredNorm()) /
                                   static_cast<double>(separate[part.name].size()));
        if (part.kind == Kind::query || part.kind == Kind::key) expect_within(d, 0.125);
        if (part.kind == Kind::value) expect_within(d, 0.0399339);
        if (part.kind == Kind::up) expect_within(d, 0.0252564);
      }
      EXPECT_EQ(rows, block.layout().find(parameter).at.rows) << "every row belongs to one part";
    }
  }
}

}  // namespace
