// SPDX-License-Identifier: MIT
// Gains and shapes of the placements' parameters where they depend on side, role or depth; no network runs.
#include <gtest/gtest.h>

#include "placement_laws.hpp"

namespace {

using namespace placement;
using norma::Block;

template <class Policy>
using Stack = norma::Encoder<Block<Policy>>;

/// Blocks of the first placement have its gain, those of the second none.
TEST(PlacementGains, AMixTakesTheGainOfTheBlocksPlacement) {
  const Stack<norma::Mix<norma::DeepNorm, norma::PreLN>> net(kDims, 4, {.share = 0.5});
  for (const auto& p : net.layout().entries()) {
    const bool scaled =
        !p.initial && p.layer <= 2 && contains(norma::Kind::value | norma::Kind::output | norma::kFeedForward, p.kind);
    EXPECT_EQ(p.gain, scaled ? norma::DeepNorm::constants({1, 4}).beta : 1) << p.name;
  }
}
/// The embedding stands before the first block, the head after the last.
TEST(PlacementGains, AMixGivesEachEndOfALanguageModelItsOwn) {
  using First = norma::LanguageModel<Block<norma::Mix<norma::TFixup, norma::Fixup>>>;
  using Last = norma::LanguageModel<Block<norma::Mix<norma::Fixup, norma::TFixup>>>;
  const auto gain = [](const auto& model, const char* name) { return model.layout().find(name).gain; };
  const First first(kDims, 4, {.size = 7}, {.share = 0.5});
  EXPECT_NEAR(gain(first, "embedding.weight"), std::pow(36, -0.25), 1e-15);
  EXPECT_EQ(gain(first, "head.weight"), 0);
  const Last last(kDims, 4, {.size = 7}, {.share = 0.5});
  EXPECT_EQ(gain(last, "embedding.weight"), 1);
  EXPECT_EQ(gain(last, "head.weight"), 1);
}
TEST(PlacementGains, ATiedHeadHasTheGainOfTheEmbedding) {
  const norma::LanguageModel<Block<norma::Fixup>> model(kDims, 4, {.size = 7, .tied = true});
  EXPECT_EQ(model.layout().find("embedding.weight").gain, 1);
}
/// Grouped heads: the key's row is narrower than the query's.
TEST(PlacementGains, WholeRowsOfGroupedHeads) {
  const norma::Block<norma::WithQKNorm<norma::PreLN, norma::WholeQKNorm>> net(
      {.width = 24, .heads = 6, .kv_heads = 2, .head_dim = 3}, {});
  EXPECT_EQ(net.layout().find("attention.query_entry.gamma").at.columns, 18);
  EXPECT_EQ(net.layout().find("attention.key_entry.gamma").at.columns, 6);
}
TEST(PlacementGains, SubLNsGainBySide) {
  // Magneto, table of gains: N = 6, M = 12.
  EXPECT_NEAR(norma::SubLN::gain({1, 12}), std::sqrt(std::log(24.0)), 1e-15);
  EXPECT_NEAR(norma::SubLN::gain({1, 6, norma::Side::encoder, 6, 12}), std::sqrt(std::log(36.0) * std::log(12.0) / 3),
              1e-15);
  EXPECT_NEAR(norma::SubLN::gain({1, 12, norma::Side::decoder, 6, 12}), std::sqrt(std::log(36.0)), 1e-15);
  EXPECT_THROW(norma::SubLN::gain({1, 6, norma::Side::encoder}), norma::Error);
  // Cross-attention has neither the gain nor a norm before its output.
  const norma::DecoderBlock<norma::SubLN> block(kDims, {1, 12, norma::Side::decoder, 6, 12});
  for (const auto& p : block.layout().entries()) {
    const bool cross = p.name.starts_with("cross_attention.");
    EXPECT_FALSE(cross && p.name.find("before_output") != std::string::npos) << p.name;
    if (p.initial || contains(norma::Kind::query | norma::Kind::key, p.kind)) continue;
    EXPECT_NEAR(p.gain, cross ? 1 : std::sqrt(std::log(36.0)), 1e-15) << p.name;
  }
}

}  // namespace
