// SPDX-License-Identifier: MIT
#include "kernel_network.hpp"

namespace {

using namespace norma_test;
using norma::Kind;
using norma::Linear;
using norma::Standalone;

TEST(Linear, Gradients) {
  for (const auto& [in, out] : {std::pair<Index, Index>{12, 21}, {21, 12}, {21, 1}, {1, 21}})
    for (const bool bias : {true, false}) {
      const Standalone linear(Linear<double>(out, Kind::up, bias), in);
      expect_gradients(linear, moved(linear), in, out);
    }
}

TEST(Linear, AgainstThePlainSum) {
  const Standalone linear(Linear<double>(12, Kind::up), 21);
  const auto weights = moved(linear);
  Trial<double> run(linear, {2, 7}, 21, 12);
  run.pass(linear, weights);
  for (Index r = 0; r < 14; ++r)
    for (Index o = 0; o < 12; ++o) {
      double sum = weights["bias"](0, o);
      for (Index i = 0; i < 21; ++i) sum += run.x(r, i) * weights["weight"](o, i);  // [out, in]
      EXPECT_NEAR(run.y(r, o), sum, 1e-13);
    }
}

TEST(Linear, FloatAgreesWithDouble) {
  expect_float_agrees(Standalone(Linear<float>(12, Kind::up), 21), Standalone(Linear<double>(12, Kind::up), 21), 21, 12,
                      8);
}

TEST(Linear, NoBatchMates) {
  expect_no_batch_mates(Standalone(Linear<float>(300, Kind::up), 21), 21, 300);
  expect_no_batch_mates(Standalone(Linear<double>(12, Kind::up), 300), 300, 12);
}

TEST(Linear, Parameters) {
  const Standalone with(Linear<float>(12, Kind::query), 21), without(Linear<float>(12, Kind::query, false), 21);
  EXPECT_EQ(with.layout().count(), 12 * 21 + 12);
  EXPECT_EQ(without.layout().count(), 12 * 21);
  EXPECT_EQ(with.layout().find("weight").at.rows, 12);
  EXPECT_EQ(with.layout().find("weight").kind, Kind::query);
  const auto weights = with.initialize(norma::Rng(1));
  for (Index i = 0; i < 12; ++i) EXPECT_EQ(weights["bias"](0, i), 0.0f);
}

}  // namespace
