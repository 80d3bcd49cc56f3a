// SPDX-License-Identifier: MIT
// The parameter lists of the library's placements: names, shapes, initial values, to the last entry and in order.
#include <gtest/gtest.h>

#include "placement_scales.hpp"
#include "placement_tools.hpp"

namespace {

using norma::Index;

/// name [rows x columns] and what it starts from: a constant, or "drawn" with the policy's factor.
std::vector<std::string> listed(const norma::Layout& layout) {
  std::vector<std::string> lines;
  for (const auto& p : layout.entries()) {
    std::string start = p.gain == 1 || p.initial ? "drawn" : "drawn, scaled";
    if (p.initial) start = p.initial(0, 0) == 1 ? "one" : p.initial(0, 0) == 0 ? "zero" : "other";
    lines.push_back(p.name + " [" + std::to_string(p.at.rows) + " x " + std::to_string(p.at.columns) + "] " + start);
  }
  return lines;
}
std::vector<std::string> norm(const std::string& name) {
  return {name + ".gamma [1 x 12] one", name + ".beta [1 x 12] zero"};
}
using List = std::vector<std::string>;
List operator+(List a, const List& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const norma::Dimensions kDims{12, 3, 10};

List pre_ln(const std::string& at) {
  return norm(at + "attention.pre") +
         List{at + "attention.query.weight [12 x 12] drawn",  at + "attention.query.bias [1 x 12] zero",
              at + "attention.key.weight [12 x 12] drawn",    at + "attention.key.bias [1 x 12] zero",
              at + "attention.value.weight [12 x 12] drawn",  at + "attention.value.bias [1 x 12] zero",
              at + "attention.output.weight [12 x 12] drawn", at + "attention.output.bias [1 x 12] zero"} +
         norm(at + "feed_forward.pre") +
         List{at + "feed_forward.up.weight [10 x 12] drawn", at + "feed_forward.up.bias [1 x 10] zero",
              at + "feed_forward.down.weight [12 x 10] drawn", at + "feed_forward.down.bias [1 x 12] zero"};
}
/// `scaled`: what DeepNorm's beta acts on.
List post_ln(const std::string& at, const std::string& scaled = "drawn") {
  return List{at + "attention.query.weight [12 x 12] drawn",      at + "attention.query.bias [1 x 12] zero",
              at + "attention.key.weight [12 x 12] drawn",        at + "attention.key.bias [1 x 12] zero",
              at + "attention.value.weight [12 x 12] " + scaled,  at + "attention.value.bias [1 x 12] zero",
              at + "attention.output.weight [12 x 12] " + scaled, at + "attention.output.bias [1 x 12] zero"} +
         norm(at + "attention.out") +
         List{at + "feed_forward.up.weight [10 x 12] " + scaled, at + "feed_forward.up.bias [1 x 10] zero",
              at + "feed_forward.down.weight [12 x 10] " + scaled, at + "feed_forward.down.bias [1 x 12] zero"} +
         norm(at + "feed_forward.out");
}

TEST(Parameters, PreLN) {
  using B = norma::Block<norma::PreLN>;
  EXPECT_EQ(listed(B(kDims).layout()), pre_ln(""));  // a block alone has no closing norm
  EXPECT_EQ(listed(norma::Encoder<B>(kDims, 2).layout()), pre_ln("layers.0.") + pre_ln("layers.1.") + norm("close"));
  EXPECT_EQ(listed(norma::Decoder<B>(kDims, 1).layout()), pre_ln("layers.0.") + norm("close"));
}
TEST(Parameters, PostLN) {
  using B = norma::Block<norma::PostLN>;
  EXPECT_EQ(listed(B(kDims).layout()), post_ln(""));
  EXPECT_EQ(listed(norma::Encoder<B>(kDims, 2).layout()), post_ln("layers.0.") + post_ln("layers.1."));
}
TEST(Parameters, DeepNorm) {
  using B = norma::Block<norma::DeepNorm>;
  EXPECT_EQ(listed(B(kDims).layout()), post_ln("", "drawn, scaled"));
  EXPECT_EQ(listed(norma::Encoder<B>(kDims, 2).layout()),
            post_ln("layers.0.", "drawn, scaled") + post_ln("layers.1.", "drawn, scaled"));
}
TEST(Parameters, KindsSayWhatDecays) {
  const norma::Block<norma::PreLN> block(kDims);
  for (const auto& p : block.layout().entries()) EXPECT_EQ(p.decays(), p.name.ends_with(".weight")) << p.name;
}

std::vector<std::string> gates(const norma::Layout& layout) {
  std::vector<std::string> names;
  for (const auto& p : layout.entries())
    if (p.name.ends_with("gate")) names.push_back(p.name);
  return names;
}
TEST(Parameters, SharedByBlockOrByStack) {
  using PerBlock = norma::Block<norma::ReZero>;
  using PerStack = norma::Block<user::StackGate>;
  EXPECT_EQ(gates(norma::Encoder<PerBlock>(kDims, 3).layout()),
            (List{"layers.0.gate", "layers.1.gate", "layers.2.gate"}));
  EXPECT_EQ(gates(norma::Encoder<PerStack>(kDims, 3).layout()), List{"gate"});
  EXPECT_EQ(gates(PerBlock(kDims).layout()), List{"gate"});
  EXPECT_EQ(gates(PerStack(kDims).layout()), List{"gate"});
}

}  // namespace
