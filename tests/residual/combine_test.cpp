// SPDX-License-Identifier: MIT
// when, either and then, on modules and on readers: what is absent has no parameters and passes its input on.
#include <gtest/gtest.h>

#include "placement_memory.hpp"
#include "placement_streams.hpp"

#include <norma/testing/gradient_check.hpp>

namespace {

using namespace placement;
using norma::either;
using norma::Encoder;
using norma::place;
using norma::then;
using norma::when;

const Dimensions kDims{12, 3, 10};
const Shape kShape{2, 5};

/// Pre-LN by way of a chain whose other member is absent.
template <bool kFirst>
struct HalfChain {
  auto slots(auto at) const {
    const auto there = when(true, at.norm), absent = when(false, at.norm);
    return place().pre(then(kFirst ? there : absent, kFirst ? absent : there)).close(at.norm);
  }
};
template <class P>
Result<double> run_on_pre_ln_weights(const P& policy, const char* inserted) {
  const Encoder<norma::Block<norma::PreLN, double>> plain(kDims, 2);
  const Encoder<norma::Block<P, double>> net(kDims, 2, policy);
  EXPECT_EQ(net.layout().count(), plain.layout().count());
  auto weights = net.gradients();
  perturbed(plain).for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
    std::string name = info.name;
    if (const auto at = name.find(".pre."); at != std::string::npos) name.insert(at + 5, inserted);
    weights[name] = map;
  });
  return run(net, weights, kShape, kDims.width);
}
TEST(Combine, AChainWithoutOneMemberIsTheOther) {
  const Encoder<norma::Block<norma::PreLN, double>> plain(kDims, 2);
  const auto wanted = run(plain, perturbed(plain), kShape, kDims.width);
  EXPECT_TRUE(same_bits(run_on_pre_ln_weights(HalfChain<true>{}, "0."), wanted));
  EXPECT_TRUE(same_bits(run_on_pre_ln_weights(HalfChain<false>{}, "1."), wanted));
}

/// Readers by depth: the first block reads part 0, the second a sum, the others part 1. In the end one of two readers.
struct ReadersByDepth {
  auto slots(auto at) const {
    using Norm = decltype(at.norm);
    const int layer = at.depth.layer;
    return place<2>()
        .pre(when(layer > 1,
                  either(layer == 2, user::SumOf<Norm, Norm>{at.norm, at.norm}, then(user::Part<1>{}, at.norm))))
        .join(user::Affine<2>{{1, 0.5}, {1, -1}})
        .close(either(true, user::SumOf<norma::Scale, Norm>{{2}, at.norm}, at.norm));
  }
};
/// Nothing closes a stream of two: part 0 leaves.
struct NothingCloses {
  auto slots(auto at) const {
    return place<2>()
        .pre(then(when(at.depth.layer > 1, user::SumParts<2>{}), at.norm))
        .join(user::Affine<2>{{1, 0.5}, {1, -1}})
        .close(when(false, user::SumParts<2>{}));
  }
};
template <class P>
void check_gradients_and_memory(const std::vector<std::string>& zero) {
  using B = norma::Block<P, double>;
  const Encoder<B> net(kDims, 3);
  norma::testing::GradientCheckOptions options;
  options.zero_by_theory = zero;
  const auto report = norma::testing::check_gradients(net, perturbed(net), kShape, kDims.width, kDims.width, options);
  EXPECT_TRUE(report.ok()) << report.text();
  check_memory<Encoder<B>, typename B::BodyType>(net, 3, kShape, kDims.width);
}
TEST(Combine, ReadersChosenByDepth) { check_gradients_and_memory<ReadersByDepth>({"key.bias"}); }
TEST(Combine, AStreamOfTwoThatNothingCloses) { check_gradients_and_memory<NothingCloses>({"key.bias"}); }

}  // namespace
