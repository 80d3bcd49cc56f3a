// SPDX-License-Identifier: MIT
// What hyper-connections start as.
#include <gtest/gtest.h>

#include "placement_laws.hpp"

namespace {

using namespace placement;
using norma::Block;
using norma::Encoder;

template <class T>
class HyperConnectionsAtInit : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(HyperConnectionsAtInit, Scalars);

/// Every part is Pre-LN's stream, and their sum differs from it by a factor, which the closing norm takes back up to
/// eps.
TYPED_TEST(HyperConnectionsAtInit, ArePreLN) {
  const Encoder<Block<norma::PreLN, TypeParam>> plain(kDims, 3);
  const auto wanted = run(plain, plain.initialize(Rng(2)), kShape, kDims.width);
  const auto check = [&](const auto& net) {
    const auto r = run(net, net.initialize(Rng(2)), kShape, kDims.width);
    EXPECT_LT(difference(r.y, wanted.y), 1e-5);
    EXPECT_LT(difference(r.dx, wanted.dx), 1e-4);
  };
  check(Encoder<Block<norma::HyperConnections<1>, TypeParam>>(kDims, 3));
  check(Encoder<Block<norma::HyperConnections<2>, TypeParam>>(kDims, 3));
  check(Encoder<Block<norma::HyperConnections<4>, TypeParam>>(kDims, 3));
}
/// One row, mixed by ones: Pre-LN's sums.
TYPED_TEST(HyperConnectionsAtInit, OfOneRowIsPreLN) {
  const Encoder<Block<norma::PreLN, TypeParam>> plain(kDims, 3);
  const Encoder<Block<norma::HyperConnections<1>, TypeParam>> net(kDims, 3);
  const auto weights = plain.initialize(Rng(2));
  const auto a = run(plain, weights, kShape, kDims.width), b = run(net, net.initialize(Rng(2)), kShape, kDims.width);
  EXPECT_TRUE(same_bits(a.y, b.y));
}
/// Nothing moves the coefficients of the dynamic form yet.
TYPED_TEST(HyperConnectionsAtInit, DynamicIsStatic) {
  const Encoder<Block<norma::HyperConnections<2>, TypeParam>> fixed(kDims, 3);
  const Encoder<Block<norma::DynamicHyperConnections<2>, TypeParam>> moved(kDims, 3);
  const auto a = run(fixed, fixed.initialize(Rng(2)), kShape, kDims.width),
             b = run(moved, moved.initialize(Rng(2)), kShape, kDims.width);
  EXPECT_TRUE(same_bits(a.y, b.y));
}

}  // namespace
