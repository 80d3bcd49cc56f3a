// SPDX-License-Identifier: MIT
// Any norm with any placement: gradients of every norm in the placements that use it in different ways: on the stream
// after the sum, around the branch, on it before the site, inside the sublayers, on part 0 of two, and by depth.
#include "kernel_network.hpp"

namespace {

using namespace norma_test;

template <template <class> class Norm>
struct Of {
  template <class Policy>
  using Stack = norma::Encoder<norma::Block<Policy, double, Norm>>;
};
template <class N>
struct AnyNorm : testing::Test {};
using Norms = testing::Types<Of<norma::RMSNorm>, Of<norma::ScaleNorm>, Of<norma::DyT>, Of<norma::Derf>>;
TYPED_TEST_SUITE(AnyNorm, Norms);

template <class Net>
void check(const Net& net, const std::string& zero) {
  norma::testing::GradientCheckOptions options;
  if (!zero.empty()) options.zero_by_theory = {zero};
  options.samples = 12;
  const auto report = norma::testing::check_gradients(net, moved(net), {2, 5}, 12, 12, options);
  EXPECT_TRUE(report.ok()) << report.text();
}

TYPED_TEST(AnyNorm, InAnyPlacement) {
  const norma::Dimensions dims{.width = 12, .heads = 3, .hidden = 9};
  const auto stack = [&]<class Policy>(const Policy& policy) {
    return typename TypeParam::template Stack<Policy>(dims, 3, policy);
  };
  check(stack(norma::DeepNorm{}), "key.bias");
  check(stack(norma::Sandwich{}), "key.bias");
  check(stack(norma::NormFormer{}), "key.bias");
  check(stack(norma::B2T{}), "key.bias");
  check(stack(norma::MixLN{.share = 0.5}), "key.bias");
  // A constant that is added to all keys after their norm moves no weight of attention; before it, it does.
  const auto hybrid = stack(norma::HybridNorm{.starred = true});
  bool adds = false;
  for (const auto& p : hybrid.layout().entries()) adds = adds || p.name.ends_with("key_entry.beta");
  check(hybrid, adds ? "key_entry.beta" : "");
}

}  // namespace
