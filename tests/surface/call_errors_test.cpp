// SPDX-License-Identifier: MIT
// A bad call: the message names what is wrong, what was wanted and given; nothing is written.
#include <surface_helpers.hpp>

namespace {

using namespace surface;
using norma::Call;

class CallErrors : public ::testing::Test {
 protected:
  static constexpr Shape kShape{2, 3};
  norma::Block<norma::PreLN> block{{.width = 8, .heads = 2, .hidden = 8}};
  norma::DecoderBlock<norma::PreLN> decoder{{.width = 8, .heads = 2, .hidden = 8}};
  std::vector<float> x = numbers(48, "x"), y = std::vector<float>(48, 99), m = numbers(64, "m");

  template <class Net>
  std::string error(const Net& net, const Call& call, Shape planned = {2, 3, 4}) {
    const auto weights = net.initialize(norma::Rng(1));
    auto workspace = net.workspace(planned);
    const std::string message =
        error_of([&] { net.forward(weights, view(x, kShape, 8), view(y, kShape, 8), workspace, call); });
    EXPECT_TRUE(message.empty() || same_bits(y, std::vector<float>(48, 99))) << "written before the error";
    return message;
  }
  norma::TensorView<float> memory(Shape s, Index width = 8) { return view(m, s, width); }
};

TEST_F(CallErrors, Lengths) {
  const std::vector<Index> one{3}, beyond{3, 4}, negative{-1, 2}, right{3, 0};
  EXPECT_EQ(error(block, {.lengths = one}), "lengths has 1 values, wanted 2, one per sequence");
  EXPECT_EQ(error(block, {.lengths = beyond}), "lengths[1] is 4, wanted 0 to 3");
  EXPECT_EQ(error(block, {.lengths = negative}), "lengths[0] is -1, wanted 0 to 3");
  EXPECT_EQ(error(block, {.lengths = right}), "");
}
TEST_F(CallErrors, Masks) {
  const bool keep[2 * 2 * 9] = {};
  const float bias[9] = {};
  const double wide[9] = {};
  EXPECT_EQ(error(block, {.keep = {keep, 1, 1, 3, 2}}),
            "keep has shape [1, 1, 3, 2], wanted [2, 2, 3, 3], or 1 for the first or second");
  EXPECT_EQ(error(block, {.keep = {keep, 3, 1, 3, 3}}),
            "keep has shape [3, 1, 3, 3], wanted [2, 2, 3, 3], or 1 for the first or second");
  EXPECT_EQ(error(block, {.bias = norma::AttentionMap<float>{bias, 1, 1, 4, 3}}),
            "bias has shape [1, 1, 4, 3], wanted [2, 2, 3, 3], or 1 for the first or second");
  EXPECT_EQ(error(block, {.bias = norma::AttentionMap<double>{wide, 1, 1, 3, 3}}),
            "bias is of another scalar type than the network");
  y.assign(48, 99);
  EXPECT_EQ(error(block, {.keep = {keep, 2, 2, 3, 3}, .bias = norma::AttentionMap<float>{bias, 1, 1, 3, 3}}), "");
}
TEST_F(CallErrors, Positions) {
  const std::vector<Index> four(4);
  EXPECT_EQ(error(block, {.positions = four}), "positions has 4 values, wanted 3 or 6");
}
TEST_F(CallErrors, Memory) {
  const std::vector<Index> beyond{5, 4};
  const bool keep[12] = {};
  EXPECT_EQ(error(decoder, {}), "memory is missing: give it in the call, Call{.memory = encoded}");
  EXPECT_EQ(error(decoder, {.memory = memory({1, 4})}), "memory has shape [1, 4, 8], wanted [2, 4, 8]");
  EXPECT_EQ(error(decoder, {.memory = memory({2, 4}, 4)}), "memory has shape [2, 4, 4], wanted [2, 4, 8]");
  const std::vector<double> wide(64);
  const norma::TensorView<const double> other{{2, 4}, {wide.data(), 8, 8}};
  EXPECT_EQ(error(decoder, {.memory = other}), "memory is of another scalar type than the network");
  EXPECT_EQ(error(decoder, {.memory = memory({2, 4}), .memory_lengths = beyond}),
            "memory_lengths[0] is 5, wanted 0 to 4");
  EXPECT_EQ(error(decoder, {.memory = memory({2, 4}), .memory_keep = {keep, 1, 1, 3, 3}}),
            "memory_keep has shape [1, 1, 3, 3], wanted [2, 2, 3, 4], or 1 for the first or second");
  EXPECT_NE(error(decoder, {.memory = memory({2, 4})}, {2, 3, 2}).find("and memory_tokens 4"), std::string::npos);
  EXPECT_EQ(error(decoder, {.memory = norma::TensorView<float>{{2, 3}, {y.data(), 6, 8}}}), "y overlaps the memory");
}
TEST_F(CallErrors, MemoryGradient) {
  const auto weights = decoder.initialize(norma::Rng(1));
  auto gradients = decoder.gradients();
  auto workspace = decoder.workspace({2, 3, 4});
  decoder.forward(weights, view(x, kShape, 8), view(y, kShape, 8), workspace, {.memory = memory({2, 4})});
  std::vector<float> dy = numbers(48, "dy"), dx(48), d_memory(64);
  const auto backward = [&](const norma::TensorView<float>& dm) {
    return error_of([&] {
      decoder.backward(weights, view(x, kShape, 8), view(dy, kShape, 8), view(dx, kShape, 8), gradients, workspace, dm);
    });
  };
  EXPECT_EQ(backward({{2, 3}, {d_memory.data(), 6, 8}}), "d_memory has shape [2, 3, 8], wanted [2, 4, 8]");
  EXPECT_EQ(backward(memory({2, 4})), "d_memory overlaps x, dy or the memory");
  EXPECT_EQ(backward({{2, 4}, {d_memory.data(), 8, 8}}), "");
}
TEST_F(CallErrors, TheTapeOfAFreedNetworkIsNotTaken) {
  auto workspace = block.workspace(kShape);
  const auto weights = block.initialize(norma::Rng(1));
  for (int i = 0; i < 20; ++i) {
    {
      const norma::Block<norma::PreLN> other({.width = 8, .heads = 2, .hidden = 8});
      other.forward(weights, view(x, kShape, 8), view(y, kShape, 8), workspace);
    }
    const norma::Block<norma::PreLN> third({.width = 8, .heads = 2, .hidden = 8});
    auto gradients = third.gradients();
    std::vector<float> dx(48);
    EXPECT_EQ(error_of([&] {
                third.backward(weights, view(x, kShape, 8), view(y, kShape, 8), view(dx, kShape, 8), gradients,
                               workspace);
              }),
              "backward: the last forward in this workspace was another network's");
  }
}
TEST_F(CallErrors, GradientsAreNotTheWeights) {
  auto weights = block.initialize(norma::Rng(1));
  auto workspace = block.workspace(kShape);
  block.forward(weights, view(x, kShape, 8), view(y, kShape, 8), workspace);
  std::vector<float> dx(48);
  EXPECT_EQ(error_of([&] {
              block.backward(weights, view(x, kShape, 8), view(y, kShape, 8), view(dx, kShape, 8), weights, workspace);
            }),
            "gradients are the weights themselves");
}

}  // namespace
