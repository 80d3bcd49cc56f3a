// SPDX-License-Identifier: MIT
// Weights packed once: the same bits as without, whatever the shape, the workers and how the weights lie.
#include <norma/testing/allocation_counter.hpp>

#include <surface_helpers.hpp>

#include "../../examples/pool.hpp"
#include "own_product.hpp"

namespace {

using namespace surface;
using norma::Call;
using norma::Dimensions;

// Panels of 48 columns or fewer: none of these widths is a whole number of them.
constexpr Index kWidth = 50;
constexpr Shape kLargest{2, 33}, kShapes[] = {{1, 1}, {1, 16}, {1, 17}, {2, 33}};

template <class Net>
void expect_same_bits(const Net& net) {
  const auto weights = some_weights(net);
  const auto packed = net.pack(weights);
  EXPECT_GT(packed.bytes(), 0);
  Pool pool(3);
  for (const auto& executor : {norma::Executor{}, pool.executor()}) {
    auto workspace = net.inference_workspace(kLargest, executor);
    for (const Shape s : kShapes) {
      const auto x = numbers(s.rows() * kWidth, "x");
      std::vector<float> plain(x.size()), y(x.size());
      net.forward(weights, view(x, s, kWidth), view(plain, s, kWidth), workspace);
      const norma::testing::AllocationCounter counter;
      net.forward(weights, view(x, s, kWidth), view(y, s, kWidth), workspace, {.packed = &packed});
      EXPECT_TRUE(counter.count() == 0 || !norma::testing::kCountsAllocations || !norma::kernels::kOwnProduct<float>);
      EXPECT_TRUE(same_bits(plain, y)) << s.batch << " x " << s.tokens << ", " << executor.workers << " workers";
    }
  }
}

const Dimensions kDims{.width = kWidth, .heads = 5, .hidden = 130};

TEST(Packed, SameBits) { expect_same_bits(norma::Encoder<norma::Block<norma::PreLN>>(kDims, 2)); }

// Groups of a fused weight begin at a panel, or nowhere near one.
TEST(Packed, SameBitsOfFusedWeights) {
  using Block = norma::Block<norma::PreLN, float, norma::RMSNorm, norma::Attention, norma::SwiGLU>;
  for (const auto projections : {norma::Projections::fused, norma::Projections::fused_per_head})
    for (const Index head_dim : {10, 48}) {
      Dimensions dims{.width = kWidth, .heads = 4, .hidden = 96, .kv_heads = 2, .head_dim = head_dim};
      dims.projections = projections;
      dims.packed_gate = true;
      expect_same_bits(Block(dims));
    }
}

TEST(Packed, SameBitsOverSeveralBlocksAlongK) {
  const Shape s{1, 3};
  const norma::Standalone<norma::Linear<float>> net(norma::Linear<float>(70, norma::Kind::up), 1100);
  const auto weights = some_weights(net);
  const auto packed = net.pack(weights);
  auto workspace = net.inference_workspace(s);
  const auto x = numbers(3 * 1100, "x");
  std::vector<float> plain(3 * 70), y(3 * 70);
  net.forward(weights, view(x, s, 1100), view(plain, s, 70), workspace);
  net.forward(weights, view(x, s, 1100), view(y, s, 70), workspace, {.packed = &packed});
  EXPECT_TRUE(same_bits(plain, y));
}

TEST(Packed, HoldsTheMatricesAsTheyWere) {
  NORMA_NEEDS_OWN_PRODUCT(float);
  const Shape s{1, 4};
  const norma::Block<norma::PostLN> net(kDims);
  auto weights = some_weights(net);
  const auto packed = net.pack(weights);
  auto workspace = net.inference_workspace(s);
  const auto x = numbers(s.rows() * kWidth, "x");
  std::vector<float> before(x.size()), after(x.size());
  net.forward(weights, view(x, s, kWidth), view(before, s, kWidth), workspace);
  for (const char* name : {"attention.query.weight", "attention.value.weight", "attention.output.weight",
                           "feed_forward.up.weight", "feed_forward.down.weight"})
    weights[name].setConstant(0.25f);
  net.forward(weights, view(x, s, kWidth), view(after, s, kWidth), workspace, {.packed = &packed});
  EXPECT_TRUE(same_bits(before, after)) << "a matrix was read from the weights";
}

TEST(Packed, BadCalls) {
  const Shape s{1, 4};
  const norma::Block<norma::PreLN> net(kDims), wider({.width = kWidth, .heads = 5, .hidden = 131});
  const norma::Block<norma::PreLN, double> net_of_double(kDims);
  const auto weights = some_weights(net);
  const auto packed = net.pack(weights);
  auto workspace = net.workspace(s), inference = net.inference_workspace(s);
  const auto x = numbers(s.rows() * kWidth, "x");
  auto y = x;
  const auto run = [&](norma::Workspace& w, const norma::PackedWeights& p) {
    return error_of([&] { net.forward(weights, view(x, s, kWidth), view(y, s, kWidth), w, {.packed = &p}); });
  };
  EXPECT_NE(run(workspace, packed).find("inference_workspace"), std::string::npos);
  EXPECT_NE(run(inference, wider.pack(wider.initialize(norma::Rng(1)))).find("another network"), std::string::npos);
  EXPECT_NE(run(inference, net_of_double.pack(net_of_double.initialize(norma::Rng(1)))).find("another scalar"),
            std::string::npos);
  EXPECT_TRUE(same_bits(x, y)) << "something was written";
  EXPECT_NE(error_of([&] { wider.pack(weights); }).find("another network"), std::string::npos);
}

}  // namespace
