// SPDX-License-Identifier: MIT
// Windows, caps, biases by distance, prefixes and scaled rotary positions: against the equations with the whole matrix
// of scores, against central differences, and against each other where they must agree.
#include <functional>
#include <numbers>

#include "kernel_attention.hpp"
#include "kernel_network.hpp"

namespace {

using namespace norma_test;
using norma::Dimensions;
using norma::RelativeBias;
using norma::Rotary;
using norma::Standalone;
using Matrix = Eigen::MatrixXd;

constexpr Index kWidth = 11, kTokens = 7;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Three query heads on one key head; nothing fills a lane.
Dimensions with(const std::function<void(Dimensions&)>& change) {
  Dimensions d{.width = kWidth, .heads = 3, .kv_heads = 1, .head_dim = 5};
  change(d);
  return d;
}
auto network(const Dimensions& dims) { return Standalone(norma::Attention<double>(dims), dims.width); }

struct Case {
  const char* name;
  Dimensions dims;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"window", with([](auto& d) { d.window.size = 3; })},
      {"cap", with([](auto& d) { d.score_cap = 0.8; })},
      {"alibi", with([](auto& d) { d.alibi = true; })},
      {"relative bias", with([](auto& d) { d.relative_bias = {.buckets = 6, .max_distance = 5}; })},
      {"factor", with([](auto& d) { d.score_factor = 0.4; })},
      {"linear rotary", with([](auto& d) { d.rotary = {.width = 4, .base = 7, .factor = 2.5}; })},
      {"LLaMA rotary", with([](auto& d) {
         d.rotary = {.width = 4, .base = 7, .factor = 8, .original_context = 12, .low_turns = 0.6, .high_turns = 3};
       })},
      {"all", with([](auto& d) {
         d.window.size = 4;
         d.score_cap = 0.9;
         d.alibi = true;
         d.relative_bias = {.buckets = 6, .max_distance = 5};
         d.rotary = {.width = 4, .base = 7, .factor = 3};
         d.score_scale = 0.6;
         d.score_factor = 0.5;
       })},
  };
  return all;
}

const std::vector<Index> kLengths{7, 4}, kPrefix{3, 0};
/// One head's mask for every head; and a bias of every head, that masks, too.
struct Maps {
  bool keep[kTokens * kTokens];
  double bias[3 * kTokens * kTokens];
  Maps() {
    for (int i = 0; i < 49; ++i) keep[i] = i % 8 == 0 || i % 5 != 3;
    for (int i = 0; i < 3 * 49; ++i) bias[i] = i % 49 % 8 != 0 && i % 13 == 3 ? -kInfinity : 0.1 * (i % 7);
  }
};
const Maps kMaps;
const std::vector<Call>& calls() {
  static const std::vector<Call> all{
      {},
      {.causal = true},
      {.causal = true, .prefix = kPrefix},
      {.lengths = kLengths},
      {.causal = true,
       .prefix = kPrefix,
       .lengths = kLengths,
       .keep = {kMaps.keep, 1, 1, kTokens, kTokens},
       .bias = norma::AttentionMap<double>{kMaps.bias, 1, 3, kTokens, kTokens}},
  };
  return all;
}

/// As T5's code has it, but for its float.
Index bucket(const RelativeBias& r, Index distance, bool causal) {
  Index buckets = r.buckets, first = 0, away = causal ? std::max<Index>(0, -distance) : std::abs(distance);
  if (!causal) {
    buckets /= 2;
    if (distance > 0) first = buckets;
  }
  const double exact = static_cast<double>(buckets / 2);
  if (away < buckets / 2) return first + away;
  const double range = std::log(static_cast<double>(away) / exact) /
                       std::log(static_cast<double>(r.max_distance) / exact) *
                       static_cast<double>(buckets - buckets / 2);
  return first + std::min<Index>(buckets / 2 + static_cast<Index>(range), buckets - 1);
}
/// As the code of LLaMA 3.1 has it: by wave lengths.
double frequency(const Rotary& r, double pair) {
  const double f = std::pow(r.base, -2 * pair / static_cast<double>(r.width));
  if (r.original_context == 0) return f / r.factor;
  const double length = 2 * std::numbers::pi / f, context = static_cast<double>(r.original_context);
  if (length < context / r.high_turns) return f;
  if (length > context / r.low_turns) return f / r.factor;
  const double smooth = (context / length - r.low_turns) / (r.high_turns - r.low_turns);
  return (1 - smooth) * f / r.factor + smooth * f;
}
/// Press et al. for three heads: those of two heads, then every other one of four.
constexpr double kSlopes[] = {0x1p-4, 0x1p-8, 0x1p-2};

/// y, with the whole matrix of scores.
Matrix dense(const Dimensions& d, const norma::Parameters<double>& w, const Guarded<double>& x, const Call& call) {
  Matrix y = Matrix::Zero(2 * kTokens, kWidth);
  for (Index b = 0; b < 2; ++b) {
    const Index length = call.lengths.empty() ? kTokens : call.lengths[static_cast<std::size_t>(b)];
    const Index prefix = call.prefix.empty() ? 0 : call.prefix[static_cast<std::size_t>(b)];
    Matrix in = Matrix::Zero(kTokens, kWidth);
    for (Index i = 0; i < length; ++i)
      for (Index c = 0; c < kWidth; ++c) in(i, c) = x(b * kTokens + i, c);
    const auto linear = [&](const char* name, const Matrix& m) {
      const std::string n = name;
      Matrix out = m * w[n + ".weight"].transpose();
      out.rowwise() += w[n + ".bias"].row(0);
      return out;
    };
    Matrix q = linear("query", in), k = linear("key", in), v = linear("value", in), o = Matrix::Zero(kTokens, 15);
    const auto turn = [&](Matrix& m) {
      for (Index p = 0; p < kTokens; ++p)
        for (Index h = 0; h < m.cols(); h += 5)
          for (Index i = 0; i < d.rotary.width / 2; ++i) {
            const double angle = static_cast<double>(p) * frequency(d.rotary, static_cast<double>(i));
            const double a0 = m(p, h + i), a1 = m(p, h + i + d.rotary.width / 2);
            m(p, h + i) = a0 * std::cos(angle) - a1 * std::sin(angle);
            m(p, h + i + d.rotary.width / 2) = a0 * std::sin(angle) + a1 * std::cos(angle);
          }
    };
    turn(q), turn(k);
    for (Index h = 0; h < 3; ++h) {
      Matrix s = q.middleCols(5 * h, 5) * k.transpose() * (d.score_scale != 0 ? d.score_scale : 1 / std::sqrt(5.0)) *
                 d.score_factor;
      if (d.score_cap > 0) s = d.score_cap * (s.array() / d.score_cap).tanh();
      for (Index i = 0; i < kTokens; ++i)
        for (Index j = 0; j < kTokens; ++j) {
          if (d.alibi) s(i, j) -= kSlopes[h] * static_cast<double>(std::abs(i - j));
          if (d.relative_bias.buckets > 0)
            s(i, j) += w["relative_bias.weight"](bucket(d.relative_bias, j - i, call.causal), h);
          if (!call.bias.empty()) s(i, j) += call.bias.as<double>().row(b, h, i)[j];
          const bool later = call.causal && j > i && j >= prefix, far = std::abs(i - j) >= d.window.size;
          if (later || j >= length || (d.window.size > 0 && far) || (!call.keep.empty() && !call.keep.row(b, h, i)[j]))
            s(i, j) = -kInfinity;
        }
      const Matrix p = s.array().exp();
      for (Index i = 0; i < kTokens; ++i)
        if (p.row(i).sum() > 0) o.row(i).segment(5 * h, 5) = p.row(i) / p.row(i).sum() * v;
    }
    y.middleRows(b * kTokens, length) = linear("output", o).topRows(length);
  }
  return y;
}

TEST(AttentionOptions, AgainstTheWholeMatrixOfScores) {
  for (const auto& [name, dims] : cases()) {
    const auto net = network(dims);
    const auto w = moved(net);
    for (std::size_t c = 0; c < calls().size(); ++c) {
      Trial<double> run(net, {2, kTokens}, kWidth, kWidth);
      run.pass(net, w, calls()[c]);
      const Matrix right = dense(dims, w, run.x, calls()[c]);
      for (Index r = 0; r < 2 * kTokens; ++r)
        for (Index i = 0; i < kWidth; ++i)
          EXPECT_NEAR(run.y(r, i), right(r, i), 1e-13) << name << ", call " << c << ", row " << r;
    }
  }
}

TEST(AttentionOptions, Gradients) {
  for (const auto& [name, dims] : cases()) {
    norma::testing::GradientCheckOptions options;
    // What adds the same to all scores of a query does nothing, but for a cap.
    if (dims.rotary.width == 0 && dims.score_cap == 0) options.zero_by_theory = {"key.bias"};
    const auto net = network(dims);
    for (std::size_t c = 0; c < calls().size(); ++c) {
      const auto report =
          norma::testing::check_gradients(net, moved(net), {2, kTokens}, kWidth, kWidth, options, calls()[c]);
      EXPECT_TRUE(report.ok()) << name << ", call " << c << "\n" << report.text();
    }
  }
}

/// y, dx and all gradients of one pass, one after another.
std::vector<double> everything(const Dimensions& dims, const Call& call = {}, const norma::Executor& executor = {}) {
  const auto net = network(dims);
  const auto w = moved(net);
  Trial<double> t(net, {2, kTokens}, kWidth, kWidth);
  auto workspace = net.workspace(t.shape, executor);
  const auto view = [&](Guarded<double>& m) { return Trial<double>::view(t.shape, m); };
  net.forward(w, view(t.x), view(t.y), workspace, call);
  net.backward(w, view(t.x), view(t.dy), view(t.dx), t.gradients, workspace);
  std::vector<double> all(t.gradients.flat().begin(), t.gradients.flat().end());
  for (auto* m : {&t.y, &t.dx})
    for (Index r = 0; r < m->rows(); ++r) all.insert(all.end(), m->row(r), m->row(r) + m->width());
  return all;
}

TEST(AttentionOptions, AWindowOfAllTokensIsNone) {
  const auto none = with([](auto&) {});
  for (const bool causal : {false, true}) {
    const auto right = everything(none, {.causal = causal});
    for (const Index size : {kTokens, kTokens + 1, std::numeric_limits<Index>::max()})
      EXPECT_EQ(everything(with([&](auto& d) { d.window.size = size; }), {.causal = causal}), right) << size;
    EXPECT_NE(everything(with([&](auto& d) { d.window.size = kTokens - 1; }), {.causal = causal}), right);
  }
}
TEST(AttentionOptions, APrefixIsBetweenCausalAndNot) {
  const auto dims = with([](auto& d) { d.alibi = true; });
  const std::vector<Index> none{0, 0}, one{1, 1}, two{2, 0}, all{kTokens, kTokens}, emptied;
  const auto causal = everything(dims, {.causal = true}), both_ways = everything(dims);
  EXPECT_EQ(everything(dims, {.causal = true, .prefix = none}), causal);
  EXPECT_EQ(everything(dims, {.causal = true, .prefix = one}), causal);  // the first token sees itself
  EXPECT_EQ(everything(dims, {.causal = true, .prefix = emptied}), causal);
  EXPECT_EQ(everything(dims, {.causal = true, .prefix = all}), both_ways);
  EXPECT_EQ(everything(dims, {.prefix = two}), both_ways);
  const auto some = everything(dims, {.causal = true, .prefix = two});
  EXPECT_NE(some, causal);
  EXPECT_NE(some, both_ways);
}
TEST(AttentionOptions, ALargeCapIsCloseToNone) {
  const auto none = everything(with([](auto&) {})), large = everything(with([](auto&d) { d.score_cap = 1e4; }));
  EXPECT_NE(large, none);
  for (std::size_t i = 0; i < none.size(); ++i) EXPECT_NEAR(large[i], none[i], 1e-5);
}
TEST(AttentionOptions, NumbersThatChangeNothing) {
  const auto plain = with([](auto& d) { d.rotary.width = 4; });
  EXPECT_EQ(everything(with([](auto& d) {
              d.rotary = {.width = 4, .factor = 1};
              d.window = {.size = 0, .global_every = 3};
              d.score_factor = 1;
            })),
            everything(plain));
}

// A query whose window ends where its keys do, and one whose keys are all masked: zeros, and zero gradients.
TEST(AttentionOptions, AWindowThatLeavesNothing) {
  auto p = norma_test::with_packing<double>({1, 5, 5, 1, 1, 1, 1});
  const Index length = 2;
  const double distances[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  p.key_lengths = &length;
  p.window = 2;
  p.cap = 3;
  p.distance_bias = {distances, 1, 10};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> q{1, 2, 3, 4, 5}, k{1, -1, nan, nan, nan}, v{2, 3, nan, nan, nan}, d_o{1, 1, 2, 3, 4};
  std::vector<double> o(5, 9), lse(5, 9), dq(5, 9), dk(5, 9), dv(5, 9), dd(10, 9);
  const auto in = [](const std::vector<double>& m) { return norma::MatrixView<const double>(m.data(), 5, 1); };
  const auto out = [](std::vector<double>& m) { return norma::MatrixView<double>(m.data(), 5, 1); };
  norma::kernels::attention_forward<double>(p, in(q), in(k), in(v), out(o), out(lse));
  norma::kernels::attention_backward<double>(p, in(q), in(k), in(v), in(o), in(lse), in(d_o), out(dq), out(dk), out(dv),
                                             {dd.data(), 1, 10});
  EXPECT_EQ(o[2], 3);  // of one key
  for (const std::size_t i : {3, 4}) EXPECT_TRUE(o[i] == 0 && dq[i] == 0) << i;
  for (const std::size_t j : {2, 3, 4}) EXPECT_TRUE(dk[j] == 0 && dv[j] == 0) << j;
  EXPECT_NEAR(dv[0] + dv[1], 4, 1e-15);  // what the queries that see a key hand on
  // Distances -1, 0 and 1 alone are seen.
  for (const std::size_t c : {0, 1, 2, 3, 7, 8, 9}) EXPECT_EQ(dd[c], 0) << c;
  EXPECT_NE(dd[4], 0);
}

// Under bottom_right the last query stands on the last key, under top_left the first on the first.
TEST(AttentionOptions, PlacesWhereQueriesAndKeysDifferInNumber) {
  norma::kernels::AttentionProblem<double> p{1, 2, 6, 1, 1, 1, 1};
  const auto sees = [&](Index query, Index first, Index last) {
    const auto seen = p.visible(0, query);
    EXPECT_TRUE(seen.first == first && seen.last == last) << seen.first << " " << seen.last;
  };
  p.window = 2;
  sees(0, 3, 6), sees(1, 4, 6);
  p.causal = true;
  sees(0, 3, 5), sees(1, 4, 6);
  const Index prefix = 5;
  p.prefix = &prefix;
  sees(0, 3, 5), sees(1, 4, 6);
  p.align = norma::Align::top_left;
  sees(0, 0, 2), sees(1, 0, 3);
  p.window = 0;
  sees(0, 0, 5);
}

TEST(DistanceBias, BucketsOfTheT5Code) {
  const auto expect = [](const RelativeBias& bias, bool causal, const std::vector<Index>& first_of_bucket) {
    Index wanted = 0;
    for (Index away = 0; away < 1000; ++away) {
      const auto next = static_cast<std::size_t>(wanted + 1);
      if (next < first_of_bucket.size() && first_of_bucket[next] == away) ++wanted;
      EXPECT_EQ(norma::kernels::relative_bucket(bias, -away, causal), wanted) << away;
      if (away == 0) continue;
      EXPECT_EQ(norma::kernels::relative_bucket(bias, away, causal), causal ? 0 : bias.buckets / 2 + wanted) << away;
    }
  };
  expect({32, 128}, false, {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91});
  expect({32, 128}, true, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                           16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113});
  expect({18, 128}, false, {0, 1, 2, 3, 4, 8, 16, 32, 64});  // whose logarithms fall just short of whole numbers
  expect({6, 9}, false, {0, 1, 3});
  expect({6, 9}, true, {0, 1, 2, 3, 5, 7});
  expect({4, 3}, false, {0, 1});
}
TEST(DistanceBias, SlopesOfTheALiBiCode) {
  const auto expect = [](Index heads, const std::vector<double>& powers) {
    for (Index h = 0; h < heads; ++h)
      EXPECT_DOUBLE_EQ(norma::kernels::alibi_slope(h, heads), std::exp2(-powers[static_cast<std::size_t>(h)]));
  };
  expect(1, {8});
  expect(3, {4, 8, 2});
  expect(5, {2, 4, 6, 8, 1});
  expect(8, {1, 2, 3, 4, 5, 6, 7, 8});
  expect(12, {1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5});
}

TEST(AttentionOptions, TheLayerDecidesInOnePlace) {
  const Dimensions dims{.rotary = {.base = 1e6, .local_base = 1e4, .factor = 8},
                        .window = {.size = 5, .global_every = 3},
                        .scores_over_layer = true};
  for (const int layer : {1, 2, 3, 4, 6}) {
    const bool global = layer % 3 == 0;
    const Dimensions d = dims.in_layer(layer);
    EXPECT_EQ(d.window.size, global ? 0 : 5) << layer;
    EXPECT_EQ(d.rotary.base, global ? 1e6 : 1e4) << layer;
    EXPECT_EQ(d.rotary.factor, global ? 8 : 1) << layer;
    EXPECT_EQ(d.score_factor, 1.0 / layer);
    EXPECT_EQ(d.in_layer(layer).score_factor, d.score_factor);
  }
  const Dimensions without{.rotary = {.base = 5, .factor = 8}, .window = {.size = 5}};
  EXPECT_EQ(without.in_layer(6).window.size, 5);
  EXPECT_EQ(without.in_layer(6).rotary.base, 5);
  EXPECT_EQ(without.in_layer(6).rotary.factor, 8);
  EXPECT_EQ(without.in_layer(6).score_factor, 1);
}

std::string refusal(const std::function<void(Dimensions&)>& change) {
  try {
    network(with(change));
  } catch (const norma::Error& e) {
    return e.what();
  }
  return "";
}
TEST(AttentionOptions, BadOnes) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refusal([](auto& d) { d.window.size = -1; }),
            "attention: window size is -1, wanted a number of tokens or 0");
  EXPECT_EQ(refusal([](auto& d) { d.window = {.size = 4, .global_every = -2}; }),
            "attention: window global_every is -2, wanted a number of layers or 0");
  for (const double cap : {nan, -1.0, kInfinity})
    EXPECT_EQ(refusal([=](auto& d) { d.score_cap = cap; }),
              "attention: score_cap is " + std::to_string(cap) + ", wanted 0 or a positive number");
  for (const Index buckets : {-2, 2, 7})
    EXPECT_EQ(refusal([=](auto& d) { d.relative_bias.buckets = buckets; }),
              "attention: relative_bias buckets is " + std::to_string(buckets) +
                  ", wanted an even number of at least 4, or 0");
  EXPECT_EQ(refusal([](auto& d) { d.relative_bias = {.buckets = 8, .max_distance = 4}; }),
            "attention: relative_bias max_distance is 4, wanted more than half of 8 buckets");
  EXPECT_EQ(refusal([](auto& d) { d.relative_bias = {.buckets = 8, .max_distance = 5}; }), "");
  EXPECT_EQ(refusal([=](auto& d) { d.score_factor = nan; }), "attention: score_scale is nan");
  EXPECT_EQ(refusal([](auto& d) { d.rotary.local_base = -1; }),
            "attention: rotary local_base is -1.000000, wanted 0 or a positive number");
  for (const double factor : {0.0, nan})
    EXPECT_EQ(refusal([=](auto& d) { d.rotary.factor = factor; }),
              "attention: rotary factor is " + std::to_string(factor) + ", wanted a positive number");
  EXPECT_EQ(refusal([](auto& d) { d.rotary.original_context = -8; }),
            "attention: rotary original_context is -8, wanted a number of tokens or 0");
  EXPECT_EQ(refusal([](auto& d) { d.rotary.low_turns = 4; }),
            "attention: rotary low_turns is 4.000000 and high_turns 4.000000, wanted positive numbers that rise");
}
TEST(AttentionOptions, BadPrefixes) {
  const auto net = network(with([](auto&) {}));
  const auto w = moved(net);
  const auto error = [&](const std::vector<Index>& prefix) -> std::string {
    Trial<double> t(net, {2, kTokens}, kWidth, kWidth);
    try {
      t.pass(net, w, {.causal = true, .prefix = prefix});
    } catch (const norma::Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error({1}), "prefix has 1 values, wanted 2, one per sequence");
  EXPECT_EQ(error({0, 8}), "prefix[1] is 8, wanted 0 to 7");
  EXPECT_EQ(error({-1, 0}), "prefix[0] is -1, wanted 0 to 7");
  EXPECT_EQ(error({0, 7}), "");
}
// Cross-attention has none of them, and none of their parameters.
TEST(AttentionOptions, AreOfSelfAttentionAlone) {
  const norma::CrossAttention<double> cross(cases().back().dims), plain(with([](auto&d) { d.score_scale = 0.6; }));
  EXPECT_EQ(Standalone(cross, kWidth).layout().count(), Standalone(plain, kWidth).layout().count());
  std::vector<double> memory(2 * 5 * kWidth);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = norma::Rng(1).normal(i);
  const auto run = [&](const auto& module) {
    const Standalone net(module, kWidth);
    Trial<double> t(net, {2, kTokens}, kWidth, kWidth);
    auto workspace = net.workspace({2, kTokens, 5});
    net.forward(moved(net), Trial<double>::view(t.shape, t.x), Trial<double>::view(t.shape, t.y), workspace,
                {.memory = TensorView<const double>{{2, 5}, {memory.data(), 10, kWidth}}});
    std::vector<double> y;
    for (Index r = 0; r < 2 * kTokens; ++r) y.insert(y.end(), t.y.row(r), t.y.row(r) + kWidth);
    return y;
  };
  EXPECT_EQ(run(cross), run(plain));
}

}  // namespace
