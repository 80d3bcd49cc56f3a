// SPDX-License-Identifier: MIT
// What every matrix starts from: its standard deviation, bounds and gain, reproducible from a seed.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <surface_helpers.hpp>
#include <utility>
#include <vector>

namespace {

using surface::Index;
using surface::same_bits;
template <class Policy, class T = float>
using GatedBlock = norma::Block<Policy, T, norma::RMSNorm, norma::Attention, norma::SwiGLU>;

constexpr norma::Dimensions kDims{.width = 64, .heads = 4, .hidden = 256};
constexpr norma::Depth kTwelve{.layer = 5, .layers = 12};
const norma::Rng kRng(42);

struct Sample {
  double mean = 0, deviation = 0, largest = 0;
};
template <class Map>
Sample sample(const Map& m) {
  Sample s;
  const auto n = static_cast<double>(m.size());
  for (Index i = 0; i < m.size(); ++i) s.mean += m.data()[i] / n;
  for (Index i = 0; i < m.size(); ++i) {
    const double d = m.data()[i] - s.mean;
    s.deviation += d * d / n;
    s.largest = std::max(s.largest, std::fabs(static_cast<double>(m.data()[i])));
  }
  s.deviation = std::sqrt(s.deviation);
  return s;
}

/// Every matrix of the block, no more and no fewer, within 5 %; means near zero; biases 0, gammas 1, betas 0.
template <class Net, class Scheme = norma::XavierNormal>
void expect_deviations(const Net& net, const std::map<std::string, double>& wanted, const Scheme& scheme = {}) {
  const auto weights = net.initialize(kRng, scheme);
  std::size_t matrices = 0;
  weights.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
    if (map.rows() == 1) {
      const float value = info.name.ends_with("gamma") ? 1 : 0;
      for (Index i = 0; i < map.size(); ++i) EXPECT_EQ(map(0, i), value) << info.name;
      return;
    }
    ++matrices;
    const auto found = wanted.find(info.name);
    ASSERT_NE(found, wanted.end()) << info.name;
    const Sample s = sample(map);
    EXPECT_NEAR(s.deviation / found->second, 1, 0.05) << info.name;
    EXPECT_LT(std::fabs(s.mean), 5 * found->second / std::sqrt(map.size())) << info.name;
  });
  EXPECT_EQ(matrices, wanted.size());
}

std::map<std::string, double> deviations(double query_key, double value_output, double up, double down) {
  return {{"attention.query.weight", query_key},    {"attention.key.weight", query_key},
          {"attention.value.weight", value_output}, {"attention.output.weight", value_output},
          {"feed_forward.up.weight", up},           {"feed_forward.down.weight", down}};
}

// sqrt(2 / (fan in + fan out)): 64 + 64 and 64 + 256.
TEST(Init, XavierNormal) {
  expect_deviations(norma::Block<norma::PreLN>(kDims, kTwelve), deviations(0.125, 0.125, 0.0790569, 0.0790569));
  expect_deviations(norma::Block<norma::PostLN>(kDims, kTwelve), deviations(0.125, 0.125, 0.0790569, 0.0790569));
}

TEST(Init, XavierUniformAndItsBounds) {
  const norma::Block<norma::PreLN> net(kDims);
  expect_deviations(net, deviations(0.125, 0.125, 0.0790569, 0.0790569), norma::XavierUniform{});
  const auto weights = net.initialize(kRng, norma::XavierUniform{});
  for (const auto& [name, deviation] : deviations(0.125, 0.125, 0.0790569, 0.0790569)) {
    const double bound = deviation * std::sqrt(3), largest = sample(weights[name]).largest;
    EXPECT_LE(largest, bound * (1 + 1e-6)) << name;
    EXPECT_GT(largest, bound * 0.99) << name;
  }
}

// A normal cut at 2 keeps 0.8796 of its standard deviation: sqrt(1 - 4 phi(2) / (2 Phi(2) - 1)).
TEST(Init, TruncatedNormal) {
  const double cut = 0.8796257, down = 1 / std::sqrt(24.0);
  const norma::Block<norma::PreLN> net(kDims, kTwelve);
  const double s = 0.02 * cut;
  auto wanted = deviations(s, s, s, s * down);
  wanted["attention.output.weight"] = s * down;
  expect_deviations(net, wanted, norma::TruncatedNormal{});
  const auto weights = net.initialize(kRng, norma::TruncatedNormal{});
  for (const auto& [name, deviation] : wanted) {
    const double bound = 2 * deviation / cut, largest = sample(weights[name]).largest;
    EXPECT_LE(largest, bound * (1 + 1e-6)) << name;
    EXPECT_GT(largest, bound * 0.98) << name;
  }
  expect_deviations(net, deviations(5 * s, 5 * s, 5 * s, 5 * s),
                    norma::TruncatedNormal{.std = 0.1, .scale_residual_outputs = false});
  // The gate is not an output to the stream.
  auto gated = wanted;
  gated["feed_forward.gate.weight"] = s;
  expect_deviations(GatedBlock<norma::PreLN>(kDims, kTwelve), gated, norma::TruncatedNormal{});
}

TEST(Init, Normal) {
  expect_deviations(norma::Block<norma::PreLN>(kDims, kTwelve), deviations(0.3, 0.3, 0.3, 0.3),
                    norma::Normal{.std = 0.3});
}

// J06. The gain is on value, output and both feed-forward matrices, never on query and key; layers, not sublayers.
TEST(Init, DeepNormGain) {
  expect_deviations(norma::Block<norma::DeepNorm>(kDims, kTwelve), deviations(0.125, 0.0399339, 0.0252564, 0.0252564));
  for (const auto& [layers, beta] : {std::pair{6, 0.3799178}, {12, 0.3194716}, {100, 0.1880302}})
    expect_deviations(norma::Block<norma::DeepNorm>(kDims, {.layer = 1, .layers = layers}),
                      deviations(0.125, 0.125 * beta, 0.0790569 * beta, 0.0790569 * beta));
  auto gated = deviations(0.125, 0.0399339, 0.0252564, 0.0252564);
  gated["feed_forward.gate.weight"] = 0.0252564;
  expect_deviations(GatedBlock<norma::DeepNorm>(kDims, kTwelve), gated);
  // It multiplies whatever the scheme draws.
  const double s = 0.02 * 0.8796257, beta = 0.3194716, down = beta / std::sqrt(24.0);
  auto truncated = deviations(s, s * beta, s * beta, s * down);
  truncated["attention.output.weight"] = s * down;
  expect_deviations(norma::Block<norma::DeepNorm>(kDims, kTwelve), truncated, norma::TruncatedNormal{});
  // A user's beta, and the encoder's of J07.
  expect_deviations(norma::Block<norma::DeepNorm>(kDims, kTwelve, {.alpha = 2.0, .beta = 0.5}),
                    deviations(0.125, 0.0625, 0.0790569 / 2, 0.0790569 / 2));
  const norma::Depth encoder{
      .layer = 1, .layers = 12, .side = norma::Side::encoder, .encoder_layers = 12, .decoder_layers = 12};
  expect_deviations(norma::Block<norma::DeepNorm>(kDims, encoder),
                    deviations(0.125, 0.125 * 0.4001982, 0.0790569 * 0.4001982, 0.0790569 * 0.4001982));
}

// The same draws with and without gain, so the ratio is exact.
TEST(Init, GainIsAFactorOnTheSameDraws) {
  const auto plain = norma::Block<norma::PostLN, double>(kDims, kTwelve).initialize(kRng);
  const auto deep = norma::Block<norma::DeepNorm, double>(kDims, kTwelve).initialize(kRng);
  const double beta = std::pow(96, -0.25);
  for (Index i = 0; i < 10; ++i) {
    EXPECT_EQ(deep["attention.query.weight"](i, i), plain["attention.query.weight"](i, i));
    EXPECT_NEAR(deep["attention.value.weight"](i, i) / plain["attention.value.weight"](i, i), beta, 1e-14);
    EXPECT_NEAR(deep["feed_forward.down.weight"](i, i) / plain["feed_forward.down.weight"](i, i), beta, 1e-14);
  }
}

TEST(Init, ReproducibleFromASeed) {
  const norma::Block<norma::DeepNorm> net(kDims, kTwelve), twin(kDims, kTwelve);
  const auto a = net.initialize(norma::Rng(42));
  EXPECT_TRUE(same_bits(a, net.initialize(norma::Rng(42))));
  EXPECT_TRUE(same_bits(a, twin.initialize(norma::Rng(42))));
  EXPECT_FALSE(same_bits(a, net.initialize(norma::Rng(43))));
  // Nor does one matrix depend on what else the network holds.
  const norma::Block<norma::PreLN> narrow({.width = 64, .heads = 4, .hidden = 8});
  const norma::Block<norma::PreLN> wide({.width = 64, .heads = 4, .hidden = 300});
  EXPECT_EQ(narrow.initialize(kRng)["attention.output.weight"], wide.initialize(kRng)["attention.output.weight"]);
}

TEST(Init, FloatIsDoubleRounded) {
  const norma::Block<norma::DeepNorm, float> f(kDims, kTwelve);
  const norma::Block<norma::DeepNorm, double> d(kDims, kTwelve);
  EXPECT_TRUE(same_bits(f.initialize(kRng), d.initialize(kRng).cast<float>()));
  EXPECT_TRUE(same_bits(f.initialize(kRng, norma::TruncatedNormal{}),
                        d.initialize(kRng, norma::TruncatedNormal{}).cast<float>()));
}

TEST(Init, EveryMatrixIsDrawnByItself) {
  const norma::Encoder<norma::Block<norma::PreLN>> net(kDims, 3);
  const auto weights = net.initialize(kRng);
  std::vector<std::string> names;
  weights.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
    if (map.rows() == 64 && map.cols() == 64) names.push_back(info.name);
  });
  ASSERT_EQ(names.size(), 12u);
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const auto a = weights[names[i]], b = weights[names[j]];
      double product = 0;
      for (Index k = 0; k < a.size(); ++k) product += static_cast<double>(a.data()[k]) * b.data()[k];
      EXPECT_LT(std::fabs(product / (a.norm() * b.norm())), 5 / std::sqrt(4096.0)) << names[i] << " and " << names[j];
    }
}

// Within a matrix, too: rows do not repeat each other.
TEST(Init, RowsAndColumnsAreDrawnByThemselves) {
  const auto weights = norma::Block<norma::PreLN>(kDims).initialize(kRng);
  const auto m = weights["feed_forward.up.weight"];
  ASSERT_EQ(m.rows(), 256);
  std::vector<float> all(m.data(), m.data() + m.size());
  std::sort(all.begin(), all.end());
  const auto repeated = all.end() - std::unique(all.begin(), all.end());
  EXPECT_LT(repeated, 10);
}

TEST(Init, PaddingIsZero) {
  const auto weights = norma::Block<norma::PreLN>({.width = 12, .heads = 3, .hidden = 21}).initialize(kRng);
  std::vector<bool> used(weights.flat().size());
  weights.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
    for (Index i = 0; i < map.size(); ++i) used[static_cast<std::size_t>(info.at.offset + i)] = true;
  });
  Index padding = 0;
  for (std::size_t i = 0; i < used.size(); ++i)
    if (!used[i]) {
      ++padding;
      EXPECT_EQ(weights.flat()[i], 0);
    }
  EXPECT_EQ(padding, weights.size() - weights.count());
  EXPECT_GT(padding, 0);
}

// A parameter's own initial value counts, by row and column, and takes no gain.
struct Pattern {
  [[maybe_unused]] static constexpr bool needs_x = false;
  using Scalar = float;
  norma::Parameter p{};
  struct Tape {};
  void declare(norma::Layout& layout, Index width) {
    layout.set_gain({100, norma::Kind::scale});
    p = layout.add("p", 3, width, norma::Kind::scale, [](Index r, Index c) { return static_cast<double>(10 * r + c); });
  }
  Tape plan(norma::Plan&, const norma::Pass&) const { return {}; }
  void forward(const float*, norma::MatrixView<const float>, norma::MatrixView<float>, const Tape&) const {}
  void backward(const float*, norma::MatrixView<const float>, norma::MatrixView<const float>, norma::MatrixView<float>,
                norma::Write, float*, const Tape&) const {}
};
TEST(Init, AParametersOwnInitialValue) {
  const auto weights = norma::Standalone(Pattern{}, 4).initialize(kRng);
  for (Index r = 0; r < 3; ++r)
    for (Index c = 0; c < 4; ++c) EXPECT_EQ(weights["p"](r, c), 10 * r + c);
}

// The user's eps is the eps of every norm: a row with variance eps comes out at 1/sqrt(2).
TEST(Init, EpsReachesTheOutput) {
  const double eps = 0.25;
  surface::RowMajor x(1, 4), y(1, 4);
  x << 0.5f, -0.5f, 0.5f, -0.5f;
  const auto run = [&](const auto& net) {
    auto weights = net.initialize(kRng);
    weights.for_each_parameter([](const norma::ParameterInfo&, auto map) {
      if (map.rows() > 1) map.setZero();  // branches add nothing
    });
    auto workspace = net.workspace({1, 1});
    net.forward(weights, x, y, workspace);
  };
  run(norma::Standalone(norma::LayerNorm<float>{.eps = eps}, 4));
  EXPECT_NEAR(y(0, 0), std::sqrt(0.5), 1e-6);
  run(norma::Standalone(norma::RMSNorm<float>{.eps = eps}, 4));
  EXPECT_NEAR(y(0, 0), std::sqrt(0.5), 1e-6);
  const norma::Dimensions dims{.width = 4, .heads = 1, .hidden = 4};
  run(norma::Encoder<norma::Block<norma::PreLN>>(dims, 1, {}, {.eps = eps}));
  EXPECT_NEAR(y(0, 0), std::sqrt(0.5), 1e-6);
  // Twice in a row: 1/2 over its variance 1/2 plus 1/4.
  run(norma::Block<norma::PostLN>(dims, {}, {}, {.eps = eps}));
  EXPECT_NEAR(y(0, 0), std::sqrt(0.5 / 0.75), 1e-6);
  run(norma::Block<norma::PostLN>(dims));
  EXPECT_NEAR(y(0, 0), 1, 1e-4);
}

}  // namespace
