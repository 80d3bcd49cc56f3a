// SPDX-License-Identifier: MIT
// No matrix of tokens x tokens is ever planned: memory grows with the tokens as a straight line, whatever attention is
// asked to do.
#include <surface_helpers.hpp>

namespace {

using namespace norma;

TEST(MemoryGrowth, IsLinearInTokens) {
  const Decoder<Block<PreLN>> net({.width = 12,
                                   .heads = 2,
                                   .rotary = {.width = 4},
                                   .window = {.size = 100},
                                   .score_cap = 3,
                                   .alibi = true,
                                   .relative_bias = {.buckets = 8},
                                   .dropout = {.attention = 0.1}},
                                  2);
  const auto bytes = [&](Index tokens, Mode mode) {
    return (mode == Mode::training ? net.workspace({2, tokens}) : net.inference_workspace({2, tokens})).bytes();
  };
  for (const Mode mode : {Mode::training, Mode::inference}) {
    // Multiples of every block, so that nothing is rounded, and beyond what products pack.
    const Index step = bytes(12288, mode) - bytes(8192, mode);
    EXPECT_EQ(bytes(16384, mode) - bytes(12288, mode), step);
    EXPECT_EQ(bytes(20480, mode) - bytes(16384, mode), step);
    EXPECT_LT(step, 4096 * 12 * 4 * 200) << "far more than a few matrices of the stream's size";
  }
}

}  // namespace
