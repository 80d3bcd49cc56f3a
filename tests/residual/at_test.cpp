// SPDX-License-Identifier: MIT
// What policies make of the place where they are asked.
#include <norma/norma.hpp>

#include <gtest/gtest.h>

namespace {

using namespace norma;

/// A feed-forward, the second of three sublayers.
template <Role R = Role::feed_forward>
At<R, LayerNorm<double>> place_at(int layer, int layers) {
  return {{.layer = layer, .layers = layers}, 4, {}, {.width = 6, .heads = 3}, 3};
}

TEST(At, WithAnotherNormItIsTheSamePlace) {
  const auto at = place_at(2, 5).with_norm(RMSNorm<double>{.eps = 0.5});
  EXPECT_EQ(at.norm.eps, 0.5);
  EXPECT_EQ(at.depth.layer, 2);
  EXPECT_EQ(at.depth.layers, 5);
  EXPECT_EQ(at.site, 4);
  EXPECT_EQ(at.dims.width, 6);
  EXPECT_EQ(at.dims.heads, 3);
  EXPECT_EQ(at.sublayers, 3);
}

struct ScaledByWidth {
  auto slots(auto at) const { return place().post(Scale{static_cast<double>(at.dims.width)}).close(at.norm); }
};
TEST(At, WithNormKeepsTheDimensions) {
  const auto table = WithNorm<ScaledByWidth, RMSNorm>{}.slots(place_at(1, 1));
  EXPECT_EQ(table.get<slot::post>(None{}).factor, 6);
}

TEST(Mix, ShareOfTheBlocksIsNotLostToRounding) {
  const auto first = [](double share, int layers) {
    int count = 0;
    for (int layer = 1; layer <= layers; ++layer)
      count += active(MixLN{.share = share}.slots(place_at(layer, layers)).get<slot::out>(None{}));
    return count;
  };
  EXPECT_EQ(first(0.29, 100), 29);
  EXPECT_EQ(first(0.58, 50), 29);
  EXPECT_EQ(first(0.7, 90), 63);
  EXPECT_EQ(first(1.0 / 49, 49), 1);
  EXPECT_EQ(first(0.25, 7), 1);
  EXPECT_EQ(first(0, 3), 0);
  EXPECT_EQ(first(1, 3), 3);
  for (const double share : {25.0, -1.0, std::nan("")}) EXPECT_THROW(first(share, 4), Error);
}

TEST(CosineQKNorm, RefusesLengthsWithoutALogarithm) {
  const auto at = place_at<Role::attention>(1, 1);
  for (const double length : {1.0, 1.5, -3.0, std::nan("")})
    EXPECT_THROW((WithQKNorm<PreLN, CosineQKNorm>{.qk_norm = {length}}.slots(at)), Error);
}

TEST(Sublayers, ConstantsCountThem) {
  EXPECT_EQ(Keel{}.slots(place_at(2, 5)).get<slot::join>(None{}).alpha, 15);
  EXPECT_EQ(Fixup::count({.layer = 1, .layers = 6}, 3), 18);
  EXPECT_EQ(Fixup::count({.layer = 1, .layers = 8}, 1), 8);
  EXPECT_DOUBLE_EQ(TFixup::gains({.layer = 1, .layers = 6}, 3).sublayer, std::pow(54, -0.25));
}

struct Counted {
  auto slots(auto at) const {
    using T = typename decltype(at)::Scalar;
    return place().post(LearnedScale<T>{.name = "sublayers", .initial = static_cast<double>(at.sublayers)});
  }
};
template <class B>
double sublayers_of() {
  const B block({.width = 4, .heads = 2});
  double count = 0;
  block.initialize(Rng(1)).for_each_parameter([&](const ParameterInfo& parameter, const auto& values) {
    if (parameter.name.ends_with("sublayers")) count = values(0, 0);
  });
  return count;
}
TEST(Sublayers, ABlockTellsHowManyItHas) {
  EXPECT_EQ(sublayers_of<Block<Counted>>(), 2);
  EXPECT_EQ(sublayers_of<DecoderBlock<Counted>>(), 3);
  EXPECT_EQ(sublayers_of<ParallelBlock<Counted>>(), 1);
}

TEST(HybridNorm, FillsNothingInsideAParallelBlock) {
  using Table = decltype(HybridNorm{}.slots(place_at<Role::parallel>(1, 1)));
  EXPECT_FALSE(Table::has<slot::query>);
}

}  // namespace
