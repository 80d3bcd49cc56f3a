// SPDX-License-Identifier: MIT
// Weights packed once: the same bits as without, whatever the shape, the workers and how the weights lie.
#include <norma/testing/allocation_counter.hpp>

#include <limits>

#include <surface_helpers.hpp>

#include "../../examples/pool.hpp"
#include "own_product.hpp"

namespace {

using namespace surface;
using norma::Call;
using norma::Dimensions;

// Panels are 48 columns wide or less: none of these widths is a whole number of them.
constexpr Index kWidth = 50;
constexpr Shape kLargest{2, 33}, kShapes[] = {{1, 1}, {1, 16}, {1, 17}, {2, 33}};

template <class Net>
void expect_same_bits(const Net& net) {
  const auto weights = some_weights(net);
  const auto packed = net.pack(weights);
  EXPECT_EQ(packed.bytes() > 0, norma::kernels::kOwnProduct<float>);
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

// The parts of a fused weight begin anywhere.
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

// Of a product, along k and across its columns.
TEST(Packed, SameBitsOverSeveralBlocks) {
  using norma::kernels::detail::kBlockColumns, norma::kernels::detail::kBlockK;
  const Shape s{1, 3};
  constexpr Index kInputs = 2 * kBlockK + 76, kOutputs = 2 * kBlockColumns<float> + 5;
  const norma::Standalone<norma::Linear<float>> net(norma::Linear<float>(kOutputs, norma::Kind::up), kInputs);
  const auto weights = some_weights(net);
  const auto packed = net.pack(weights);
  auto workspace = net.inference_workspace(s);
  const auto x = numbers(3 * kInputs, "x");
  std::vector<float> plain(3 * kOutputs), y(3 * kOutputs);
  net.forward(weights, view(x, s, kInputs), view(plain, s, kOutputs), workspace);
  net.forward(weights, view(x, s, kInputs), view(y, s, kOutputs), workspace, {.packed = &packed});
  EXPECT_TRUE(same_bits(plain, y));
}

// Names and shapes are the same, the rows of the parts are not.
TEST(Packed, PartsThatLieElsewhereAreRefused) {
  norma::Dimensions dims{.width = kWidth, .heads = 5};
  dims.projections = norma::Projections::fused;
  const norma::Block<norma::PreLN> whole(dims);
  dims.projections = norma::Projections::fused_per_head;
  const norma::Block<norma::PreLN> per_head(dims);
  EXPECT_TRUE(whole.layout() == per_head.layout());
  const auto packed = per_head.pack(some_weights(per_head));
  const auto weights = some_weights(whole);
  auto workspace = whole.inference_workspace({1, 2});
  const auto x = numbers(2 * kWidth, "x");
  std::vector<float> y(x.size());
  EXPECT_NE(error_of([&] {
              whole.forward(weights, view(x, {1, 2}, kWidth), view(y, {1, 2}, kWidth), workspace, {.packed = &packed});
            }).find("packed belongs to another network"),
            std::string::npos);
}

/// Every matrix becomes NaN after packing: a pass that still gives the same bits has read none of them.
template <class Net, class Forward>
void expect_reads_none(const Net& net, const Forward& forward) {
  NORMA_NEEDS_OWN_PRODUCT(float);
  auto weights = some_weights(net);
  const auto packed = net.pack(weights);
  const std::vector<float> before = forward(weights, Call{});
  int changed = 0;
  weights.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
    if (!contains(norma::kMatrices | norma::Kind::head, info.kind)) return;
    map.setConstant(std::numeric_limits<float>::quiet_NaN());
    ++changed;
  });
  EXPECT_GT(changed, 1);
  EXPECT_TRUE(same_bits(before, forward(weights, Call{.packed = &packed}))) << "a matrix was read from the weights";
}

TEST(Packed, EveryMatrixOfABlockIsReadFromIt) {
  const Shape s{1, 4};
  const auto x = numbers(s.rows() * kWidth, "x");
  for (const auto projections :
       {norma::Projections::separate, norma::Projections::fused, norma::Projections::fused_per_head}) {
    Dimensions dims{.width = kWidth, .heads = 4, .hidden = 90, .kv_heads = 2, .head_dim = 10};
    dims.projections = projections;
    dims.packed_gate = projections != norma::Projections::separate;
    const norma::Block<norma::PostLN, float, norma::LayerNorm, norma::Attention, norma::SwiGLU> net(dims);
    expect_reads_none(net, [&](const auto& weights, const Call& call) {
      auto workspace = net.inference_workspace(s);
      std::vector<float> y(x.size());
      net.forward(weights, view(x, s, kWidth), view(y, s, kWidth), workspace, call);
      return y;
    });
  }
}

TEST(Packed, BothStacksReadIt) {
  const norma::EncoderDecoder<norma::Block<norma::PreLN>, norma::DecoderBlock<norma::PreLN>> net(kDims, 1, 1);
  const Shape s{1, 4, 3};
  const auto source = numbers(3 * kWidth, "source"), x = numbers(s.rows() * kWidth, "x");
  expect_reads_none(net, [&](const auto& weights, const Call& call) {
    auto workspace = net.inference_workspace(s);
    std::vector<float> y(x.size());
    net.forward(weights, view(source, {1, 3}, kWidth), view(x, s, kWidth), view(y, s, kWidth), workspace, call);
    return y;
  });
  const auto weights = some_weights(net);
  const auto packed = net.pack(weights);
  auto workspace = net.inference_workspace(s);
  std::vector<float> y(x.size());
  EXPECT_NE(error_of([&] {
              net.forward(weights, view(source, {1, 3}, kWidth), view(x, s, kWidth), view(y, s, kWidth), workspace, {},
                          {.packed = &packed});
            }).find("packed is the call's"),
            std::string::npos);
}

TEST(Packed, AHeadOfItsOwnReadsIt) {
  const norma::LanguageModel<norma::Block<norma::PreLN>> net(kDims, 1, {.size = 70, .tied = false});
  const std::vector<std::int32_t> ids{3, 0, 69};
  expect_reads_none(net, [&](const auto& weights, const Call& call) {
    auto workspace = net.inference_workspace({1, 3});
    const auto logits = net.forward(weights, {ids.data(), {1, 3}}, workspace, call);
    return std::vector<float>(logits.data, logits.data + logits.rows * logits.columns);
  });
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
  // As many elements, and its first weight in the same place.
  Dimensions fused_dims = kDims;
  fused_dims.projections = norma::Projections::fused;
  const norma::Block<norma::PreLN> fused(fused_dims);
  EXPECT_NE(run(inference, fused.pack(fused.initialize(norma::Rng(1)))).find("another network"), std::string::npos);
  EXPECT_NE(run(inference, {}).find("empty"), std::string::npos);
  EXPECT_NE(run(inference, net_of_double.pack(net_of_double.initialize(norma::Rng(1)))).find("another scalar"),
            std::string::npos);
  EXPECT_TRUE(same_bits(x, y)) << "something was written";
  EXPECT_NE(error_of([&] { wider.pack(weights); }).find("another network"), std::string::npos);
}

// Inference plans a pass once, into the workspace itself: what does not fit is an Error, and touches nothing.
TEST(Inference, AModelOfOtherTokensThanTheWorkspaceIsRefused) {
  const norma::QueryModel<norma::CrossAttentionBlock<norma::PreLN>> net({.width = 32, .heads = 4}, 1, {.count = 2});
  const auto weights = some_weights(net);
  auto workspace = net.inference_workspace({1, 64, 4});  // queries are two, whatever the tokens
  const auto x = numbers(64 * 32, "x"), memory = numbers(4 * 32, "memory");
  const Call call{.memory = view(memory, {1, 4}, 32)};
  EXPECT_NE(error_of([&] {
              net.forward_embedded(weights, view(x, {1, 64}, 32), workspace, call);
            }).find("workspace holds"),
            std::string::npos);
  EXPECT_NE(error_of([&] { net.outputs(workspace); }).find("refused"), std::string::npos);
}

}  // namespace
