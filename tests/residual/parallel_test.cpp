// SPDX-License-Identifier: MIT
// Parallel blocks, and the combinators of sublayers that they are made of.
#include <gtest/gtest.h>

#include "placement_gradients.hpp"
#include "placement_memory.hpp"
#include "placement_transcription.hpp"

namespace {

using namespace placement;
using norma::Encoder;
using norma::ParallelBlock;
using plain::kDims;
using plain::kShape;
using plain::Matrix;

/// An encoder of three against its equations, its gradients and its memory.
template <class Policy, class F>
void check_parallel(F block) {
  using B = ParallelBlock<Policy, double>;
  const Encoder<B> net(kDims, plain::kLayers);
  const auto weights = perturbed(net);
  const auto x = noise<double>(kShape.rows() * kDims.width, "x");
  auto workspace = net.workspace(kShape);
  const plain::Network n{weights, kShape.tokens, kDims.heads};
  const Matrix wanted =
      n.norm("close", plain::blocks(plain::to_rows(x, kDims.width), [&](const std::string& at, int, const Matrix& m) {
               return block(n, at + "parallel.", m);
             }));
  EXPECT_LT(difference(forward(net, weights, kShape, x, workspace), plain::flat(wanted)), 1e-12);
  check_network_gradients(net, {kDims, kShape, 0}, {"key.bias"}, 24);
  check_memory<Encoder<B>, typename B::BodyType>(net, plain::kLayers, kShape, kDims.width);
}
TEST(ParallelBlock, SharedNormIsGPTJ) {
  check_parallel<norma::PreLN>([](const plain::Network& n, const std::string& at, const Matrix& x) {
    const Matrix u = n.norm(at + "pre", x);
    return plain::add(x, plain::add(n.attention(at, u), n.feed_forward(at, u)));
  });
}
TEST(ParallelBlock, NormPerBranchIsGPTNeoX) {
  check_parallel<norma::PreLNPerBranch>([](const plain::Network& n, const std::string& at, const Matrix& x) {
    const Matrix a = n.attention(at, n.norm(at + "attention.norm", x)),
                 f = n.feed_forward(at, n.norm(at + "feed_forward.norm", x));
    return plain::add(x, plain::add(a, f));
  });
}
TEST(ParallelBlock, PaLM) {
  using B = ParallelBlock<norma::PreLN, double, norma::LayerNorm, norma::Attention, norma::SwiGLU>;
  const norma::Dimensions dims{.width = 12,
                               .heads = 3,
                               .hidden = 10,
                               .kv_heads = 1,
                               .attention_bias = false,
                               .feed_forward_bias = false,
                               .rotary = {.width = norma::Rotary::kWholeHead}};
  const Encoder<B> net(dims, 2);
  for (const auto& info : net.layout().entries()) EXPECT_FALSE(info.name.ends_with("bias")) << info.name;
  EXPECT_EQ(net.layout().find("layers.1.parallel.attention.key.weight").at.rows, 4);
  check_network_gradients(net, {dims, kShape, 0}, {}, 24);
}
/// What a policy puts inside a sublayer at its own role it finds there in a parallel block, too.
TEST(ParallelBlock, InnerEntriesAreThoseOfTheirRoles) {
  const Encoder<ParallelBlock<norma::NGPT, double>> net(kDims, 1);
  EXPECT_EQ(net.layout().find("layers.0.parallel.s_qk").at.rows, 3);
  EXPECT_EQ(net.layout().find("layers.0.parallel.s_u").at.columns, 10);
  EXPECT_EQ(net.layout().find("layers.0.parallel.join.alpha").at.columns, 12);
  check_network_gradients(net, {kDims, kShape, 0}, {}, 24);
}

TEST(Sum, OfOneSublayerIsThatSublayer) {
  using F = norma::GELU<double>;
  const norma::Standalone<F> alone(F(kDims), kDims.width);
  const norma::Standalone<norma::Sum<F>> sum(norma::Sum<F>({"only"}, F(kDims)), kDims.width);
  const auto weights = perturbed(alone);
  auto same = sum.gradients();
  weights.for_each_parameter([&](const norma::ParameterInfo& info, auto map) { same["only." + info.name] = map; });
  EXPECT_TRUE(same_bits(run(sum, same, kShape, kDims.width), run(alone, weights, kShape, kDims.width)));
}
TEST(Chain, WithoutAModuleIsItsSublayer) {
  using F = norma::GELU<double>;
  using C = norma::Chain<norma::None, F>;
  const norma::Standalone<F> alone(F(kDims), kDims.width);
  const norma::Standalone<C> chain(C({}, F(kDims)), kDims.width);
  const auto weights = perturbed(alone);
  EXPECT_TRUE(same_bits(run(chain, weights, kShape, kDims.width), run(alone, weights, kShape, kDims.width)));
}
TEST(Sum, ReadsTheMemoryIfATermDoes) {
  static_assert(norma::kReadsMemory<norma::Sum<norma::GELU<float>, norma::CrossAttention<float>>>);
  static_assert(!norma::kReadsMemory<norma::Sum<norma::GELU<float>, norma::Attention<float>>>);
}

}  // namespace
