// SPDX-License-Identifier: MIT
// Laws between placements, and exact results that need no oracle.
#include <gtest/gtest.h>

#include "placement_depth.hpp"
#include "placement_laws.hpp"

namespace {

using namespace placement;
using norma::Block;
using norma::Encoder;

template <class T>
class Laws : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Laws, Scalars);

TYPED_TEST(Laws, DeepNormWithAlphaOneIsPostLN) {
  using D = Block<norma::DeepNorm, TypeParam>;
  using P = Block<norma::PostLN, TypeParam>;
  const Encoder<D> one(kDims, 3, {.alpha = 1.0, .beta = 1.0}), own(kDims, 3, {.beta = 1.0});
  const Encoder<P> post(kDims, 3);
  EXPECT_TRUE(equal_at_init(one, post));
  EXPECT_TRUE(equal(one, post));
  EXPECT_TRUE(equal(D(kDims, {2, 3}, {.alpha = 1.0, .beta = 1.0}), P(kDims, {2, 3})));
  EXPECT_FALSE(equal(own, post));
  EXPECT_FALSE(equal_at_init(Encoder<D>(kDims, 3, {.alpha = 1.0}), post));
}
TYPED_TEST(Laws, MixLNAtItsEndsIsPreLNAndPostLN) {
  const Encoder<Block<norma::MixLN, TypeParam>> all(kDims, 3, {.share = 1.0}), none(kDims, 3, {.share = 0.0});
  EXPECT_TRUE(equal(all, Encoder<Block<norma::PostLN, TypeParam>>(kDims, 3)));
  EXPECT_TRUE(equal(none, Encoder<Block<norma::PreLN, TypeParam>>(kDims, 3)));
  EXPECT_FALSE(equal(Encoder<Block<norma::MixLN, TypeParam>>(kDims, 3, {.share = 0.4}),
                     Encoder<Block<norma::PreLN, TypeParam>>(kDims, 3)));
}
TYPED_TEST(Laws, LayerNormScalingInTheFirstBlockIsPreLN) {
  using S = Block<norma::LayerNormScaling, TypeParam>;
  using P = Block<norma::PreLN, TypeParam>;
  EXPECT_TRUE(equal(S(kDims, {1, 3}), P(kDims, {1, 3})));
  EXPECT_FALSE(equal(S(kDims, {2, 3}), P(kDims, {2, 3})));
}
TYPED_TEST(Laws, PostLNBlockAloneIsAnEncoderOfOne) {
  using B = Block<norma::PostLN, TypeParam>;
  EXPECT_TRUE(equal(B(kDims), Encoder<B>(kDims, 1)));
}
/// The kinds of policy whose gate at one changes nothing; the layouts differ, so only results are compared.
TYPED_TEST(Laws, GateAtOneIsPreLN) {
  const Encoder<Block<user::StackGate, TypeParam>> gated(kDims, 3);
  const Encoder<Block<norma::PreLN, TypeParam>> plain(kDims, 3);
  const auto weights = perturbed(plain);
  auto same = gated.gradients();
  same["gate"](0, 0) = 1;
  weights.for_each_parameter([&](const norma::ParameterInfo& info, auto map) { same[info.name] = map; });
  const auto a = run(gated, same, kShape, kDims.width), b = run(plain, weights, kShape, kDims.width);
  EXPECT_TRUE(same_bits(a.y, b.y));
  EXPECT_TRUE(same_bits(a.dx, b.dx));
}

/// What writes to the stream is zero.
template <class T>
void close_branches(Parameters<T>& weights) {
  weights.for_each_parameter([](const norma::ParameterInfo& info, auto map) {
    if (info.name.find(".output.") != std::string::npos || info.name.find(".down.") != std::string::npos) map.setZero();
  });
}
TYPED_TEST(Laws, PreLNWithoutBranchesIsTheIdentity) {
  const Block<norma::PreLN, TypeParam> block(kDims, {2, 3});
  auto weights = perturbed(block);
  close_branches(weights);
  const auto r = run(block, weights, kShape, kDims.width);
  const Index n = kShape.rows() * kDims.width;
  EXPECT_EQ(r.y, noise<TypeParam>(n, "x"));  // ==, for -0 + 0 is +0
  EXPECT_EQ(r.dx, noise<TypeParam>(n, "dy"));
}
TYPED_TEST(Laws, PreLNStackWithoutBranchesIsItsClosingNorm) {
  const Encoder<Block<norma::PreLN, TypeParam>> encoder({4, 1, 8}, 2);
  auto weights = encoder.initialize(Rng(3));
  close_branches(weights);
  const std::vector<TypeParam> x{1, 2, 3, 4},
      wanted{TypeParam(-1.341635), TypeParam(-0.447212), TypeParam(0.447212), TypeParam(1.341635)};
  auto workspace = encoder.workspace({1, 1});
  EXPECT_LT(difference(forward(encoder, weights, {1, 1}, x, workspace), wanted), 1e-6);
}
TYPED_TEST(Laws, ReZeroStartsAsTheIdentity) {
  const Encoder<Block<norma::ReZero, TypeParam>> encoder(kDims, 3);
  const auto r = run(encoder, encoder.initialize(Rng(2)), kShape, kDims.width);
  const Index n = kShape.rows() * kDims.width;
  EXPECT_EQ(r.y, noise<TypeParam>(n, "x"));
  EXPECT_EQ(r.dx, noise<TypeParam>(n, "dy"));
  // On the first step only the gates learn.
  for (const auto& info : encoder.layout().entries())
    for (Index i = 0; i < info.at.rows * info.at.columns; ++i) {
      const TypeParam g = r.gradients[static_cast<std::size_t>(info.at.offset + i)];
      if (info.name.ends_with("gate")) {
        EXPECT_NE(g, 0) << info.name;
      } else {
        EXPECT_EQ(g, 0) << info.name;
      }
    }
}
TYPED_TEST(Laws, EncoderShowsItsStream) {
  const Encoder<Block<norma::PreLN, TypeParam>> encoder(kDims, 3);
  const auto weights = perturbed(encoder);
  const auto x = noise<TypeParam>(kShape.rows() * kDims.width, "x");
  auto workspace = encoder.workspace(kShape);
  const auto y = forward(encoder, weights, kShape, x, workspace);
  // A block alone on the stream before it gives the stream after it.
  for (Index i = 0; i < 2; ++i) {
    const Block<norma::PreLN, TypeParam> block(kDims, {static_cast<int>(i) + 2, 3});
    auto own = block.gradients();
    own.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
      map = weights["layers." + std::to_string(i + 1) + "." + info.name];
    });
    const auto before = encoder.stream(workspace, i), after = encoder.stream(workspace, i + 1);
    const std::vector<TypeParam> in(before.data, before.data + before.size()),
        out(after.data, after.data + after.size());
    auto space = block.workspace(kShape);
    EXPECT_TRUE(same_bits(forward(block, own, kShape, in, space), out)) << i;
  }
  EXPECT_THROW(encoder.stream(workspace, 3), norma::Error);
  EXPECT_THROW(encoder.stream(workspace, -1), norma::Error);
}

}  // namespace
