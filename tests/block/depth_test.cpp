// SPDX-License-Identifier: MIT
// What a policy is told: role, depth and site, in a block alone and in stacks.
#include <gtest/gtest.h>

#include <vector>

#include <norma/norma.hpp>

namespace {

struct Asked {
  norma::Role role;
  int layer, layers, site;
  norma::Side side;
  int encoder_layers, decoder_layers;
  bool operator==(const Asked&) const = default;
};

/// Post-LN that writes down what it is asked.
struct Recorder {
  std::vector<Asked>* log = nullptr;
  auto slots(auto at) const {
    const auto& d = at.depth;
    if (log != nullptr)
      log->push_back({at.role, d.layer, d.layers, at.site, d.side, d.encoder_layers, d.decoder_layers});
    return norma::place().out(at.norm);
  }
};
using B = norma::Block<Recorder>;
const norma::Dimensions kDims{6, 2, 5};

std::vector<Asked> sublayers(const std::vector<Asked>& log) {
  std::vector<Asked> r;
  for (const Asked& a : log)
    if (a.role != norma::Role::ends) r.push_back(a);
  return r;
}
using norma::Role;
using norma::Side;

TEST(Depth, ToldToABlockAlone) {
  std::vector<Asked> log;
  const B block(kDims, {2, 3, Side::decoder, 5, 3}, {&log});
  EXPECT_EQ(sublayers(log), (std::vector<Asked>{{Role::attention, 2, 3, 2, Side::decoder, 5, 3},
                                                {Role::feed_forward, 2, 3, 3, Side::decoder, 5, 3}}));
}
TEST(Depth, ToldToEachBlockOfAStack) {
  std::vector<Asked> log, wanted;
  for (int l = 1; l <= 4; ++l) {
    wanted.push_back({Role::attention, l, 4, 2 * l - 2, Side::single, 0, 0});
    wanted.push_back({Role::feed_forward, l, 4, 2 * l - 1, Side::single, 0, 0});
  }
  const norma::Encoder<B> encoder(kDims, 4, {&log});
  EXPECT_EQ(sublayers(log), wanted);
  for (const Asked& a : log) EXPECT_EQ(a.layers, 4);
  log.clear();
  const norma::Decoder<B> decoder(kDims, 4, {&log});
  EXPECT_EQ(sublayers(log), wanted);
}
TEST(Depth, ReachesTheParametersForTheInitialiser) {
  const norma::Encoder<B> encoder(kDims, 3);
  for (const auto& p : encoder.layout().entries()) {
    EXPECT_EQ("layers." + std::to_string(p.layer - 1) + ".", p.name.substr(0, 9)) << p.name;
    EXPECT_EQ(p.layers, 3);
  }
}
TEST(Depth, WhatFollowsTheBlocksBelongsToNone) {
  const norma::LanguageModel<norma::Block<norma::PreLN>> model(kDims, 3, {.size = 5});
  EXPECT_EQ(model.layout().find("layers.2.feed_forward.up.weight").layer, 3);
  for (const char* name : {"close.gamma", "head.weight", "embedding.weight"})
    EXPECT_EQ(model.layout().find(name).layer, 1) << name;
  // So a head is not scaled by depth.
  const auto head = [&](const auto& scheme) { return model.initialize(norma::Rng(1), scheme)["head.weight"](0, 0); };
  EXPECT_EQ(head(norma::DepthScaled<>{}), head(norma::XavierUniform{}));
}
TEST(Depth, OutsideTheStackIsAnError) {
  EXPECT_THROW(B(kDims, {0, 3}), norma::Error);
  EXPECT_THROW(B(kDims, {4, 3}), norma::Error);
  EXPECT_THROW(norma::Encoder<B>(kDims, 0), norma::Error);
  EXPECT_THROW(B({.width = 6, .heads = 4}), norma::Error);
  EXPECT_THROW(B({.width = 0, .heads = 1}), norma::Error);
}

}  // namespace
