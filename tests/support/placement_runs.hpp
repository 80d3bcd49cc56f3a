// SPDX-License-Identifier: MIT
// How networks of a placement run, in float: what may not change a result to the last bit, and memory.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include <norma/testing/allocation_counter.hpp>

#include "own_product.hpp"
#include "placement_case.hpp"
#include "placement_memory.hpp"

namespace placement {

inline constexpr Dimensions kRunDims{21, 3, 17};
inline constexpr Index kRunWidth = 21;

template <class C>
class PlacementRuns : public testing::Test {
 public:
  using B = norma::Block<typename C::Policy>;
  using E = norma::Encoder<B>;
  using D = norma::Decoder<B>;
  B block{kRunDims, {2, 3}, C::policy()};
  E encoder{kRunDims, 3, C::policy()};
  D decoder{kRunDims, 3, C::policy()};
};
TYPED_TEST_SUITE_P(PlacementRuns);

TYPED_TEST_P(PlacementRuns, LaterTokensChangeNoEarlierOutput) {
  const Shape shape{2, 9};
  const Index seen = 5;
  const auto weights = perturbed(this->decoder);
  const auto x = noise<float>(shape.rows() * kRunWidth, "x");
  auto changed = x;
  for (Index b = 0; b < shape.batch; ++b)
    for (Index i = (b * shape.tokens + seen) * kRunWidth; i < (b + 1) * shape.tokens * kRunWidth; ++i)
      changed[static_cast<std::size_t>(i)] += 1;
  auto workspace = this->decoder.workspace(shape);
  const auto y = forward(this->decoder, weights, shape, x, workspace);
  const auto z = forward(this->decoder, weights, shape, changed, workspace);
  auto both_ways = this->encoder.workspace(shape);
  const auto u = forward(this->encoder, weights, shape, x, both_ways);
  const auto v = forward(this->encoder, weights, shape, changed, both_ways);
  for (Index b = 0; b < shape.batch; ++b) {
    const Index first = b * shape.tokens;
    EXPECT_TRUE(same_bits(rows(y, first, seen, kRunWidth), rows(z, first, seen, kRunWidth)));
    EXPECT_FALSE(same_bits(rows(y, first + seen, 1, kRunWidth), rows(z, first + seen, 1, kRunWidth)));
    EXPECT_FALSE(same_bits(rows(u, first, 1, kRunWidth), rows(v, first, 1, kRunWidth))) << "not causal, and yet unseen";
  }
}
TYPED_TEST_P(PlacementRuns, BatchMatesChangeNothing) {
  NORMA_NEEDS_OWN_PRODUCT(float);
  const Index tokens = 7;
  const auto weights = perturbed(this->decoder);
  const auto x = noise<float>(5 * tokens * kRunWidth, "x"), dy = noise<float>(5 * tokens * kRunWidth, "dy");
  const auto check = [&](const auto& net) {
    auto workspace = net.workspace({5, tokens});
    const auto all = run(net, weights, {5, tokens}, x, dy, workspace);
    struct Range {
      Index first, count;
    };
    for (const Range& range : {Range{0, 1}, Range{3, 1}, Range{1, 2}, Range{2, 3}}) {
      const Index first = range.first, count = range.count;
      const auto part = [&](const std::vector<float>& v) { return rows(v, first * tokens, count * tokens, kRunWidth); };
      const auto few = run(net, weights, {count, tokens}, part(x), part(dy), workspace);
      EXPECT_TRUE(same_bits(few.y, part(all.y))) << count << " sequences from " << first;
      EXPECT_TRUE(same_bits(few.dx, part(all.dx))) << count << " sequences from " << first;
    }
  };
  check(this->encoder);
  check(this->decoder);
}
TYPED_TEST_P(PlacementRuns, DecoderIsTheCausalEncoder) {
  const auto weights = perturbed(this->decoder);
  const auto a = run(this->decoder, weights, {2, 7}, kRunWidth, norma::Call{.causal = false});
  const auto b = run(this->encoder, weights, {2, 7}, kRunWidth, norma::Call{.causal = true});
  EXPECT_TRUE(same_bits(a, b));
  EXPECT_FALSE(same_bits(run(this->encoder, weights, {2, 7}, kRunWidth).y, b.y));
}
TYPED_TEST_P(PlacementRuns, CopiesAndWorkspacesAreInterchangeable) {
  const Shape large{3, 9}, small{2, 4};
  const auto x = noise<float>(large.rows() * kRunWidth, "x"), dy = noise<float>(large.rows() * kRunWidth, "dy");
  const auto few = rows(x, 0, small.rows(), kRunWidth), few_dy = rows(dy, 0, small.rows(), kRunWidth);
  const auto check = [&](const auto& net) {
    const auto weights = perturbed(net);
    auto workspace = net.workspace(large), fresh = net.workspace(small);
    const auto wanted = run(net, weights, large, x, dy, workspace);
    const auto wanted_few = run(net, weights, small, few, few_dy, fresh);
    EXPECT_TRUE(same_bits(run(net, weights, small, few, few_dy, workspace), wanted_few)) << "a smaller shape";
    EXPECT_TRUE(same_bits(run(net, weights, large, x, dy, workspace), wanted)) << "the larger shape again";
    const auto copy = net;
    EXPECT_TRUE(same_bits(run(copy, weights, large, x, dy, workspace), wanted)) << "a copied network";
    auto inference = net.inference_workspace(large);
    EXPECT_TRUE(same_bits(forward(net, weights, large, x, inference), wanted.y)) << "inference";
    EXPECT_TRUE(same_bits(forward(net, weights, small, few, inference), wanted_few.y)) << "inference, a smaller shape";
    EXPECT_THROW(forward(net, weights, large, x, fresh), norma::Error);

    std::vector<float> y(x.size()), d = dy;  // dx in place of dy
    auto gradients = net.gradients();
    net.forward(weights, tensor(x, large), tensor(y, large), workspace);
    net.backward(weights, tensor(x, large), tensor(d, large), tensor(d, large), gradients, workspace);
    EXPECT_TRUE(same_bits(d, wanted.dx)) << "in place";
    EXPECT_TRUE(same_bits({gradients.flat().begin(), gradients.flat().end()}, wanted.gradients)) << "in place";
  };
  check(this->block);
  check(this->encoder);
}
TYPED_TEST_P(PlacementRuns, MemoryIsPlannedAndTouched) {
  using Body = typename TestFixture::B::BodyType;
  for (const Shape shape : {Shape{2, 5}, Shape{1, 17}, Shape{3, 16}}) {
    SCOPED_TRACE(std::to_string(shape.batch) + " x " + std::to_string(shape.tokens));
    check_memory<typename TestFixture::B, Body>(this->block, 1, shape, kRunWidth);
    check_memory<typename TestFixture::E, Body>(this->encoder, 3, shape, kRunWidth);
    const typename TestFixture::E two(kRunDims, 2, TypeParam::policy());
    check_memory<typename TestFixture::E, Body>(two, 2, shape, kRunWidth);
  }
}
TYPED_TEST_P(PlacementRuns, PlanIsMonotone) {
  check_monotone(this->block);
  check_monotone(this->encoder);
}
TYPED_TEST_P(PlacementRuns, InferenceDoesNotGrowWithDepth) {
  const typename TestFixture::E deep(kRunDims, 12, TypeParam::policy());
  const Shape shape{2, 7};
  using Structs = TapeStructs<typename TestFixture::B::BodyType>;
  EXPECT_EQ(deep.inference_workspace(shape).bytes() - this->encoder.inference_workspace(shape).bytes(),
            Structs::bytes(12) - Structs::bytes(3));
  EXPECT_GT(deep.workspace(shape).bytes(), 3 * this->encoder.workspace(shape).bytes());
}
TYPED_TEST_P(PlacementRuns, TapeBytesPerToken) {
  const Index d = 24, h = 3, f = 40;  // 16 tokens fill whole cache lines: no gaps
  const typename TestFixture::B net({d, h, f}, {2, 3}, TypeParam::policy());
  const auto weights = net.initialize(Rng(1));
  const auto tape = [&](Index tokens) {
    auto workspace = net.workspace({1, tokens});
    const auto y = forward(net, weights, {1, tokens}, noise<float>(tokens * d, "x"), workspace);
    return workspace.usage().tape_bytes;
  };
  EXPECT_EQ(tape(48) - tape(16), 32 * 4 * TypeParam::tape_floats(d, h, f));
}
TYPED_TEST_P(PlacementRuns, NothingIsAllocatedAfterTheFirstCall) {
  NORMA_NEEDS_OWN_PRODUCT(float);
  if (!norma::testing::kCountsAllocations) GTEST_SKIP() << "a sanitizer owns malloc";
  struct Size {
    Dimensions dims;
    Shape shape;
  };
  for (const Size& size :
       {Size{{256, 4, 512}, {2, 128}}, Size{{21, 3, 17}, {2, 7}}, Size{{64, 4, 0}, {3, 33}}, Size{{8, 1, 5}, {1, 1}}}) {
    const typename TestFixture::E net(size.dims, 2, TypeParam::policy());
    const auto weights = net.initialize(Rng(1));
    const Index n = size.shape.rows() * size.dims.width;
    const auto x = noise<float>(n, "x"), dy = noise<float>(n, "dy");
    std::vector<float> y(x.size()), dx(x.size());
    auto gradients = net.gradients();
    auto workspace = net.workspace(size.shape), inference = net.inference_workspace(size.shape);
    const auto pass = [&] {
      net.forward(weights, tensor(x, size.shape), tensor(y, size.shape), workspace);
      net.backward(weights, tensor(x, size.shape), tensor(dy, size.shape), tensor(dx, size.shape), gradients,
                   workspace);
      net.forward(weights, tensor(x, size.shape), tensor(y, size.shape), inference);
    };
    pass();
    const norma::testing::AllocationCounter counter;
    pass();
    EXPECT_EQ(counter.count(), 0) << "width " << size.dims.width;
    void* volatile p = std::malloc(64);
    std::free(p);
    EXPECT_EQ(counter.count(), 1) << "the counter does not count";
  }
}
REGISTER_TYPED_TEST_SUITE_P(PlacementRuns, LaterTokensChangeNoEarlierOutput, BatchMatesChangeNothing,
                            DecoderIsTheCausalEncoder, CopiesAndWorkspacesAreInterchangeable, MemoryIsPlannedAndTouched,
                            PlanIsMonotone, InferenceDoesNotGrowWithDepth, TapeBytesPerToken,
                            NothingIsAllocatedAfterTheFirstCall);

}  // namespace placement
