// SPDX-License-Identifier: MIT
// Laws between the placements of the library: what one becomes when a part of it is taken away.
#include <gtest/gtest.h>

#include "placement_laws.hpp"

namespace {

using namespace placement;
using norma::Block;
using norma::Identity;
using norma::Mix;

template <class Policy, template <class> class Norm = norma::LayerNorm>
using Stack = norma::Encoder<Block<Policy, float, Norm>>;

/// Sandwich-LN's table with its second norm switched off.
struct SandwichWithoutPost {
  auto slots(auto at) const { return norma::place().pre(at.norm).post(norma::when(false, at.norm)).close(at.norm); }
};
TEST(PlacementLaws, SandwichWithoutPostIsPreLN) {
  const Stack<norma::PreLN> plain(kDims, 3);
  EXPECT_TRUE(equal(Stack<SandwichWithoutPost>(kDims, 3), plain));
  EXPECT_FALSE(equal(Stack<norma::Sandwich>(kDims, 3), plain));
}
TEST(PlacementLaws, WithoutNormsAllAreOneAnother) {
  const Stack<norma::PreLN, Identity> plain(kDims, 3);
  EXPECT_TRUE(equal(Stack<norma::Sandwich, Identity>(kDims, 3), plain));
  EXPECT_TRUE(equal(Stack<norma::OutputNorm, Identity>(kDims, 3), plain));
  EXPECT_TRUE(equal(Stack<norma::HybridNorm, Identity>(kDims, 3), plain));
}
TEST(PlacementLaws, PeriLNWithoutEmbeddingNormIsSandwich) {
  EXPECT_TRUE(equal(Stack<norma::PeriLN>(kDims, 3), Stack<norma::Sandwich>(kDims, 3)));
  EXPECT_FALSE(equal(Stack<norma::PeriLN>(kDims, 3, {.embedding_norm = true}), Stack<norma::Sandwich>(kDims, 3)));
}
TEST(PlacementLaws, GLMDeepNormIsDeepNormWithOtherConstants) {
  const double root = std::sqrt(6.0);  // of twice three layers
  const Stack<norma::GLMDeepNorm> own(kDims, 3);
  const Stack<norma::DeepNorm> other(kDims, 3, {.alpha = root, .beta = 1 / root});
  EXPECT_TRUE(equal(own, other));
  EXPECT_TRUE(equal_at_init(own, other));
  EXPECT_TRUE(equal(Stack<norma::GLMDeepNorm>(kDims, 3, {.alpha = 1.0}), Stack<norma::PostLN>(kDims, 3)));
}
TEST(PlacementLaws, ScaledResidualWithOnesIsPreLN) {
  const Stack<norma::PreLN> plain(kDims, 3);
  EXPECT_TRUE(equal(Stack<norma::ScaledResidual>(kDims, 3), plain));
  EXPECT_FALSE(equal(Stack<norma::ScaledResidual>(kDims, 3, {.branch = 0.5}), plain));
}
TEST(PlacementLaws, KeelStartsAsPreLN) {
  EXPECT_TRUE(equal(Block<norma::Keel>(kDims, {1, 3}), Block<norma::PreLN>(kDims, {1, 3})));
  EXPECT_FALSE(equal(Block<norma::Keel>(kDims, {2, 3}), Block<norma::PreLN>(kDims, {2, 3})));
}
TEST(PlacementLaws, AMixOfOneIsThatOne) {
  using Own = Mix<norma::PostLN, norma::PostLN>;
  EXPECT_TRUE(equal(Stack<Own>(kDims, 3, {.share = 0.5}), Stack<norma::PostLN>(kDims, 3)));
  // At its ends, a mix of two is the one or the other; its fused kernel gives the same bits.
  using Other = Mix<norma::DeepNorm, norma::PreLN>;
  EXPECT_TRUE(equal(Stack<Other>(kDims, 3, {.share = 1}), Stack<norma::DeepNorm>(kDims, 3)));
  EXPECT_TRUE(equal(Stack<Other>(kDims, 3, {.share = 0}), Stack<norma::PreLN>(kDims, 3)));
}
TEST(PlacementLaws, WithNormIsThatNorm) {
  const Stack<norma::WithNorm<norma::PreLN, norma::RMSNorm>> own(kDims, 3);
  EXPECT_TRUE(equal(own, Stack<norma::PreLN, norma::RMSNorm>(kDims, 3)));
}
/// With one head both forms norm the same row.
TEST(PlacementLaws, OneHeadIsTheWholeRow) {
  const Dimensions one{20, 1, 17};
  const norma::Encoder<Block<norma::WithQKNorm<norma::PreLN>>> per_head(one, 2);
  const norma::Encoder<Block<norma::WithQKNorm<norma::PreLN, norma::WholeQKNorm>>> whole(one, 2);
  const auto weights = perturbed(per_head);
  EXPECT_TRUE(same_bits(run(per_head, weights, kShape, 20), run(whole, weights, kShape, 20)));
}

}  // namespace
