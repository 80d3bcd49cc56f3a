// SPDX-License-Identifier: MIT
// What a policy does beside the pass: after_step (nGPT's matrices of unit length), calibrate (Admin's measurement), and
// the gains of embedding and head.
#include <gtest/gtest.h>

#include <norma/testing/gradient_check.hpp>

#include "placement_transcription.hpp"

namespace {

using namespace placement;
using norma::Block;
using norma::Encoder;
using norma::Kind;
using norma::LanguageModel;
using plain::kDims;
using plain::kShape;
using plain::Matrix;

/// Length of row or column v of a matrix, along the width of the stream.
double length(const norma::ParameterInfo& info, const auto& map, Index v) {
  const bool columns = contains(norma::kResidualOutput, info.kind);
  return std::sqrt(columns ? map.col(v).squaredNorm() : map.row(v).squaredNorm());
}
template <class T>
int vectors_off_unit_length(const Parameters<T>& weights, const std::string& level = "") {
  int off = 0;
  weights.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
    if (contains(Kind::norm | Kind::bias | Kind::scale, info.kind) || info.name.rfind(level, 0) != 0) return;
    const Index vectors = contains(norma::kResidualOutput, info.kind) ? map.cols() : map.rows();
    for (Index v = 0; v < vectors; ++v) off += std::fabs(length(info, map, v) - 1) > 1e-12;
  });
  return off;
}

TEST(AfterStep, NGPTKeepsMatricesAtUnitLength) {
  norma::Dimensions dims = kDims;
  dims.projections = norma::Projections::fused;
  const LanguageModel<Block<norma::NGPT, double>> model(dims, 2, {.size = 7});
  auto weights = model.initialize(Rng(1));
  EXPECT_EQ(vectors_off_unit_length(weights), 0) << "at init";
  auto moved = perturbed(model);
  EXPECT_GT(vectors_off_unit_length(moved, "embedding"), 0);
  EXPECT_GT(vectors_off_unit_length(moved, "head"), 0);
  const auto before = moved;
  model.after_step(moved);
  EXPECT_EQ(vectors_off_unit_length(moved), 0) << "after a step";
  moved.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
    if (contains(Kind::norm | Kind::bias | Kind::scale, info.kind)) {
      EXPECT_EQ(map, before[info.name]) << info.name;
    }
  });
  // The direction stays.
  const auto row = moved["head.weight"].row(3);
  const auto old = before["head.weight"].row(3);
  EXPECT_NEAR(row.dot(old), old.norm(), 1e-12);
}
TEST(Logits, AModuleOnThemHasGradients) {
  const LanguageModel<Block<norma::NGPT, double>> model(kDims, 1, {.size = 7});
  EXPECT_EQ(model.layout().find("s_z").at.columns, 7);
  auto weights = perturbed(model);
  const std::vector<std::int32_t> ids{0, 1, 2, 3, 4, 5, 6, 5, 4, 3}, targets{1, 2, 3, 4, 5, 6, 0, 1, 2, 3};
  auto workspace = model.workspace(kShape);
  auto gradients = model.gradients();
  const auto loss = [&] { return model.forward(weights, {ids.data(), kShape}, {targets.data(), kShape}, workspace); };
  loss();
  model.backward(weights, gradients, workspace);
  for (const char* name : {"s_z", "head.weight", "embedding.weight"}) {
    auto values = weights[name], d = gradients[name];
    const auto report =
        norma::testing::check_tensor_gradient(name, {values.data(), static_cast<std::size_t>(values.size())},
                                              {d.data(), static_cast<std::size_t>(d.size())}, loss, {});
    EXPECT_LT(report.difference, 1e-6 * report.largest) << name;
    EXPECT_GT(report.largest, 0) << name;
  }
}
TEST(AfterStep, ActsOnItsOwnSideAlone) {
  using Model = norma::EncoderDecoder<Block<norma::NGPT, double>, norma::DecoderBlock<norma::PreLN, double>>;
  const Model model(kDims, 1, 1);
  auto weights = perturbed(model);
  const auto before = weights;
  model.after_step(weights);
  EXPECT_EQ(vectors_off_unit_length(weights, "encoder."), 0);
  weights.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
    if (info.name.rfind("decoder.", 0) == 0) {
      EXPECT_EQ(map, before[info.name]) << info.name;
    }
  });
}
TEST(AfterStep, DoesNothingForMostPolicies) {
  const Block<norma::PreLN, double> block(kDims);
  auto weights = perturbed(block);
  const auto before = weights;
  block.after_step(weights);
  EXPECT_TRUE(std::equal(weights.flat().begin(), weights.flat().end(), before.flat().begin()));
}

using AdminStack = Encoder<Block<norma::Admin, double>>;
/// Over all elements of the rows that `counts` names.
template <class F>
double variance(const Matrix& m, F counts) {
  double sum = 0, squares = 0, n = 0;
  for (std::size_t r = 0; r < m.size(); ++r)
    for (double v : m[r])
      if (counts(r)) {
        sum += v;
        squares += v * v;
        n += 1;
      }
  return squares / n - sum / n * (sum / n);
}
/// Every omega by the code's rule, from plain loops.
template <class F>
std::vector<double> omegas(const plain::Network& n, Matrix x, F counts) {
  std::vector<double> found;
  double omega = 1;
  for (int l = 0; l < 2; ++l) {
    const std::string at = "layers." + std::to_string(l) + ".";
    for (const char* site : {"attention", "feed_forward"}) {
      found.push_back(omega);
      const Matrix g = site[0] == 'a' ? n.attention(at, x) : n.feed_forward(at, x);
      const Matrix skip = plain::scale(x, omega);
      x = n.norm(at + site + ".out", plain::add(skip, g));
      omega = std::sqrt(variance(skip, counts) + variance(g, counts));
    }
  }
  return found;
}
std::vector<double> omegas_in(const Parameters<double>& weights, const std::string& level = "") {
  std::vector<double> found;
  weights.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
    if (!info.name.ends_with("omega") || info.name.rfind(level, 0) != 0) return;
    EXPECT_EQ(map.minCoeff(), map.maxCoeff()) << info.name;
    found.push_back(map(0, 0));
  });
  return found;
}

TEST(Calibrate, AdminMeasuresSiteAfterSite) {
  const AdminStack net(kDims, 2);
  auto weights = net.initialize(Rng(5));
  const Index size = kShape.rows() * kDims.width;
  const auto x = noise<double>(size, "x");
  std::vector<double> y(x.size());
  auto workspace = net.workspace(kShape);
  const plain::Network network{weights, kShape.tokens, kDims.heads};
  const auto wanted = omegas(network, plain::to_rows(x, kDims.width), [](std::size_t) { return true; });
  net.calibrate(weights, tensor(x, kShape), tensor(y, kShape), workspace);
  EXPECT_LT(difference(omegas_in(weights), wanted), 1e-12);
  EXPECT_EQ(wanted.size(), 4u);
  EXPECT_GT(wanted[3], wanted[1]);
  // What it wrote is what forward gives with the new weights; a second time changes nothing.
  EXPECT_TRUE(same_bits(y, forward(net, weights, kShape, x, workspace)));
  const auto first = omegas_in(weights);
  net.calibrate(weights, tensor(x, kShape), tensor(y, kShape), workspace);
  EXPECT_EQ(omegas_in(weights), first);
}
TEST(Calibrate, PaddingDoesNotCount) {
  const AdminStack net(kDims, 2);
  auto weights = net.initialize(Rng(5));
  const norma::Shape shape{1, 7};
  const auto x = noise<double>(shape.rows() * kDims.width, "x");
  std::vector<double> y(x.size());
  auto workspace = net.workspace(shape);
  const std::vector<Index> lengths{4};
  net.calibrate(weights, tensor(x, shape), tensor(y, shape), workspace, {.lengths = lengths});
  auto alone = net.initialize(Rng(5));
  const auto few = rows(x, 0, 4, kDims.width);
  std::vector<double> z(few.size());
  net.calibrate(alone, tensor(few, {1, 4}), tensor(z, {1, 4}), workspace);
  EXPECT_LT(difference(omegas_in(weights), omegas_in(alone)), 1e-14);
}
TEST(Calibrate, LanguageModelAndBothSidesOfAnEncoderDecoder) {
  const LanguageModel<Block<norma::Admin, double>> model(kDims, 2, {.size = 7});
  auto weights = model.initialize(Rng(5));
  const std::vector<std::int32_t> ids{0, 1, 2, 3, 4, 5, 6, 5, 4, 3};
  auto workspace = model.workspace(kShape);
  model.calibrate(weights, {ids.data(), kShape}, workspace);
  Matrix embedded;
  for (const auto id : ids) {
    const auto row = weights["embedding.weight"].row(id);
    embedded.emplace_back(row.data(), row.data() + row.size());
  }
  const auto x = plain::flat(embedded);
  auto again = model.initialize(Rng(5));
  const plain::Network network{again, kShape.tokens, kDims.heads, true};
  const auto wanted = omegas(network, embedded, [](std::size_t) { return true; });
  EXPECT_LT(difference(omegas_in(weights), wanted), 1e-12);
  model.calibrate_embedded(again, tensor(x, kShape), workspace);
  EXPECT_EQ(omegas_in(again), omegas_in(weights));

  using Model = norma::EncoderDecoder<Block<norma::Admin, double>, norma::DecoderBlock<norma::Admin, double>>;
  const Model both(kDims, 2, 1);
  auto two = both.initialize(Rng(5));
  const auto source = noise<double>(kShape.rows() * kDims.width, "x");
  std::vector<double> y(source.size());
  auto space = both.workspace({kShape.batch, kShape.tokens, kShape.tokens});
  both.calibrate(two, tensor(source, kShape), tensor(source, kShape), tensor(y, kShape), space);
  for (const char* side : {"encoder.", "decoder."}) {
    const auto found = omegas_in(two, side);
    EXPECT_EQ(found.front(), 1) << side << " starts anew";
    for (std::size_t i = 1; i < found.size(); ++i) EXPECT_GT(found[i], found[i - 1]) << side;
  }
  EXPECT_EQ(omegas_in(two, "decoder.").size(), 3u);
}
TEST(Calibrate, IsForwardForOtherPolicies) {
  const norma::Decoder<Block<norma::PreLN, double>> net(kDims, 2);
  auto weights = perturbed(net);
  const auto before = weights;
  const auto x = noise<double>(kShape.rows() * kDims.width, "x");
  std::vector<double> y(x.size());
  auto workspace = net.workspace(kShape);
  net.calibrate(weights, tensor(x, kShape), tensor(y, kShape), workspace);
  EXPECT_TRUE(std::equal(weights.flat().begin(), weights.flat().end(), before.flat().begin()));
  EXPECT_TRUE(same_bits(y, forward(net, weights, kShape, x, workspace)));
}

TEST(Gains, ReachEmbeddingAndHead) {
  const LanguageModel<Block<norma::TFixup>> fixup({64, 4, 256}, 2, {.size = 300});
  const auto weights = fixup.initialize(Rng(3), norma::TFixup::Scheme{});
  const auto deviation = [](const auto& map) { return std::sqrt(double(map.squaredNorm()) / double(map.size())); };
  EXPECT_NEAR(deviation(weights["embedding.weight"]), 0.125 * std::pow(18, -0.25), 2e-3);
  EXPECT_NEAR(deviation(weights["head.weight"]), std::sqrt(2.0 / 364), 2e-3);
  EXPECT_NEAR(deviation(weights["layers.1.feed_forward.up.weight"]), 0.67 * std::pow(2, -0.25) * std::sqrt(2.0 / 320),
              2e-3);
  EXPECT_DOUBLE_EQ(norma::TFixup::gains({1, 6, norma::Side::encoder, 6, 4}).sublayer, 0.67 * std::pow(6, -0.25));
  EXPECT_DOUBLE_EQ(norma::TFixup::gains({1, 4, norma::Side::decoder, 6, 4}).sublayer, std::pow(36, -0.25));
  EXPECT_DOUBLE_EQ(norma::TFixup::gains({1, 4, norma::Side::decoder, 6, 4}).embedding, std::pow(36, -0.25));

  const LanguageModel<Block<norma::Fixup>> zero(kDims, 2, {.size = 7});
  const auto started = zero.initialize(Rng(3));
  EXPECT_EQ(started["head.weight"].norm(), 0);
  EXPECT_EQ(started["layers.0.feed_forward.down.weight"].norm(), 0);
  EXPECT_NE(started["embedding.weight"].norm(), 0);
  EXPECT_EQ(norma::Fixup::count({1, 6, norma::Side::decoder, 6, 4}), 24);
}

}  // namespace
