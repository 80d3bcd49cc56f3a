// SPDX-License-Identifier: MIT
// The gradients of a placement: block, encoder and decoder against central differences, and float against double.
#pragma once

#include <gtest/gtest.h>

#include "placement_case.hpp"

#include <norma/testing/gradient_check.hpp>

namespace placement {

// Two sizes with tails in every direction: the first is checked element by element, the second at some elements of
// every tensor and along a random direction.
struct GradientSize {
  Dimensions dims;
  Shape shape;
  Index samples;
};
inline constexpr GradientSize kGradientSizes[] = {{{12, 3, 10}, {2, 5}, 0}, {{21, 3, 17}, {2, 7}, 6}};

template <class Net>
void check_network_gradients(const Net& net, const GradientSize& size, const std::vector<std::string>& zero,
                             Index samples, double perturbation = 0.3) {
  norma::testing::GradientCheckOptions options;
  options.zero_by_theory = zero;
  options.samples = samples;
  const auto report = norma::testing::check_gradients(net, perturbed(net, perturbation), size.shape, size.dims.width,
                                                      size.dims.width, options);
  EXPECT_TRUE(report.ok()) << report.text();
}

/// A block, an encoder and a decoder of three.
template <class B, class C, class P>
void check_policy_gradients(const P& policy) {
  for (const GradientSize& size : kGradientSizes) {
    SCOPED_TRACE("width " + std::to_string(size.dims.width));
    {
      SCOPED_TRACE("block");
      check_network_gradients(B(size.dims, {2, 3}, policy), size, C::zero_by_theory(), size.samples, C::perturbation());
    }
    {
      SCOPED_TRACE("encoder");
      check_network_gradients(norma::Encoder<B>(size.dims, 3, policy), size, C::zero_by_theory(), size.samples,
                              C::perturbation());
    }
    SCOPED_TRACE("decoder");
    check_network_gradients(norma::Decoder<B>(size.dims, 3, policy), size, C::zero_by_theory(), 6, C::perturbation());
  }
}

template <class C>
class PlacementGradients : public testing::Test {};
TYPED_TEST_SUITE_P(PlacementGradients);

TYPED_TEST_P(PlacementGradients, LayerNormGELU) {
  using B = norma::Block<typename TypeParam::Policy, double>;
  check_policy_gradients<B, TypeParam>(TypeParam::policy());
}
TYPED_TEST_P(PlacementGradients, RMSNormSwiGLU) {
  using B = norma::Block<typename TypeParam::Gated, double, norma::RMSNorm, norma::Attention, norma::SwiGLU>;
  check_policy_gradients<B, TypeParam>(TypeParam::gated());
}
TYPED_TEST_P(PlacementGradients, FloatAgainstDouble) {
  const norma::Encoder<norma::Block<typename TypeParam::Policy, float>> single({21, 3, 17}, 3, TypeParam::policy());
  const norma::Encoder<norma::Block<typename TypeParam::Policy, double>> precise({21, 3, 17}, 3, TypeParam::policy());
  const auto weights = perturbed(precise, 0.1);
  const auto a = run(single, weights.template cast<float>(), {2, 7}, 21);
  const auto b = run(precise, weights, {2, 7}, 21);
  EXPECT_LT(difference(a.y, b.y), 1e-5);
  EXPECT_LT(difference(a.dx, b.dx), 1e-5);
  EXPECT_LT(difference(a.gradients, b.gradients), 1e-5);
}
REGISTER_TYPED_TEST_SUITE_P(PlacementGradients, LayerNormGELU, RMSNormSwiGLU, FloatAgainstDouble);

}  // namespace placement
