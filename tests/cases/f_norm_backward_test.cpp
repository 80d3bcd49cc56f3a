// SPDX-License-Identifier: MIT
// Cases F: the backward pass of norms.
#include <norma/kernels/residual_norm.hpp>
#include <norma/norma.hpp>

#include "kernel_case_norm.hpp"

namespace {

using namespace norma_test;
using norma::MatrixView;
using norma::TensorView;
using norma::Write;

TEST(CasesF, F01_OneMeanSubtractedOnce) {
  LayerNormCall<> a{4, {1, 2, 4, 9}, 1e-5, {1, -2, 3, 0.5}};
  a.forward().backward({1, 2, -1, 4});
  expect_near(a.dx, {1.033093, -0.717189, -0.648885, 0.332981}, 1e-6);
  expect_near(a.dgamma, {-0.973328, -1.297771, 0, 6.488853}, 1e-6);
  EXPECT_NEAR(a.dx[0] + a.dx[1] + a.dx[2] + a.dx[3], 0, 1e-6);
  LayerNormCall<> ones{4, {1, 2, 4, 9}, 1e-5, {1, 1, 1, 1}};
  ones.forward().backward({1, 1, 1, 1});
  expect_near(ones.dx, {0, 0, 0, 0}, 1e-6);
}

TEST(CasesF, F02_GammaInTheInnerProduct) {
  RMSNormCall<> a{3, {1, 2, 3}, 1e-6, {1, 10, 100}};
  a.forward().backward({1, 1, 1});
  expect_near(a.dx, {-10.150953, -16.598625, 14.449412}, 1e-5);
  expect_near(a.dgamma, {0.462910, 0.925820, 1.388730}, 1e-6);
}

TEST(CasesF, F04_ParameterGradientsAddInputGradientsDoNot) {
  LayerNormCall<> a{3, {1, 2, 4}, 1e-5, {1, 2, 3}};
  a.forward().backward({1, 0, -1}).backward({1, 0, -1});
  expect_near(a.dgamma, {-2.138083, 0, -2.672604}, 1e-6);
  expect_near(a.dbeta, {2, 0, -2}, 0);
  expect_near(a.dx, {-0.114531, 0.171813, -0.057282}, 1e-6);
  a.dgamma.assign(3, 0);
  a.backward({1, 0, -1});
  expect_near(a.dgamma, {-1.069042, 0, -1.336302}, 1e-6);
  // The same through the library's gradient storage.
  const norma::Standalone norm(norma::LayerNorm<float>{}, 3);
  auto weights = norm.initialize(norma::Rng(1));
  weights["gamma"] << 1, 2, 3;
  auto gradients = norm.gradients();
  auto workspace = norm.workspace({1, 1});
  std::vector<float> x{1, 2, 4}, y(3), dy{1, 0, -1}, dx(3);
  const auto view = [](std::vector<float>& v) { return TensorView<float>{{1, 1}, {v.data(), 1, 3}}; };
  norm.forward(weights, view(x), view(y), workspace);
  for (const double calls : {1, 2}) {
    norm.backward(weights, view(x), view(dy), view(dx), gradients, workspace);
    EXPECT_NEAR(gradients["gamma"](0, 0), -1.069042 * calls, 2e-6);
    expect_near(dx, {-0.114531, 0.171813, -0.057282}, 1e-6);
  }
  gradients.set_zero();
  norm.backward(weights, view(x), view(dy), view(dx), gradients, workspace);
  EXPECT_NEAR(gradients["gamma"](0, 0), -1.069042, 1e-6);
}

/// One gamma for both norms of a block.
struct SharedNorm : norma::LayerNorm<double> {
  void declare(norma::Layout& layout, Index width) {
    gamma = layout.shared(norma::Scope::block, "gamma", 1, width, norma::Kind::norm, norma::constant(1));
    beta = layout.shared(norma::Scope::block, "beta", 1, width, norma::Kind::norm, norma::constant(0));
  }
};
struct SharedPolicy {
  auto slots(auto) const { return norma::place().out(SharedNorm{}); }
};
TEST(CasesF, F04_SharedGammaGetsTheSum) {
  const norma::Dimensions dims{.width = 6, .heads = 2, .hidden = 5};
  const norma::Block<SharedPolicy, double> shared(dims);
  const norma::Block<norma::PostLN, double> own(dims);
  auto weights = shared.initialize(norma::Rng(2));
  auto separate = own.initialize(norma::Rng(2));
  // Same values for both: parameters by name, norms from the shared one.
  weights["gamma"] << 1, 2, 0.5, -1, 1.5, 0.7;
  separate.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
    if (info.name.ends_with("gamma"))
      map = weights["gamma"];
    else if (info.name.ends_with("beta"))
      map = weights["beta"];
    else
      map = weights[info.name];
  });
  auto gradients = shared.gradients(), apart = own.gradients();
  Guarded<double> x(3, 6), y(3, 6), dy(3, 6), dx(3, 6), dx_apart(3, 6);
  Random random(1);
  for (auto* m : {&x, &dy}) m->fill([&](Index, Index) { return random.normal(); });
  const auto view = [&](Guarded<double>& m) { return TensorView<double>{{1, 3}, m.view()}; };
  auto w1 = shared.workspace({1, 3}), w2 = own.workspace({1, 3});
  shared.forward(weights, view(x), view(y), w1);
  shared.backward(weights, view(x), view(dy), view(dx), gradients, w1);
  own.forward(separate, view(x), view(y), w2);
  own.backward(separate, view(x), view(dy), view(dx_apart), apart, w2);
  int norms = 0;
  std::vector<double> sum(6);
  apart.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
    if (!info.name.ends_with("gamma")) return;
    ++norms;
    for (std::size_t i = 0; i < 6; ++i) sum[i] += map(0, static_cast<Index>(i));
  });
  EXPECT_EQ(norms, 2);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(gradients["gamma"](0, static_cast<Index>(i)), sum[i], 1e-12);
    EXPECT_GT(std::fabs(sum[i]), 1e-3);
  }
}

TEST(CasesF, F05_ThreeDimensions) {
  std::vector<float> x, dy, y(24), dx(24);
  for (int j = 0; j < 24; ++j) x.push_back(static_cast<float>(j * j % 7)), dy.push_back(static_cast<float>(j % 4 + 1));
  const norma::Standalone norm(norma::LayerNorm<float>{}, 4);
  const auto weights = norm.initialize(norma::Rng(1));
  std::vector<float> dx_of[2];
  for (const norma::Shape shape : {norma::Shape{2, 3}, norma::Shape{1, 6}}) {
    auto gradients = norm.gradients();
    auto workspace = norm.workspace(shape);
    const auto view = [&](std::vector<float>& v) { return TensorView<float>{shape, {v.data(), 6, 4}}; };
    norm.forward(weights, view(x), view(y), workspace);
    norm.backward(weights, view(x), view(dy), view(dx), gradients, workspace);
    const double dgamma[] = {0.172069, 0.573522, -4.645672, 4.358911}, dbeta[] = {6, 12, 18, 24};
    const double first[] = {-0.405676, -0.077272, -0.444305, 0.927253};
    for (int i = 0; i < 4; ++i) {
      EXPECT_NEAR(gradients["gamma"](0, i), dgamma[i], 2e-6);
      EXPECT_EQ(gradients["beta"](0, i), dbeta[i]);
      EXPECT_NEAR(dx[static_cast<std::size_t>(i)], first[i], 1e-6);
    }
    dx_of[shape.batch - 1] = dx;
  }
  expect_bits(dx_of[0], dx_of[1]);
}

/// A sublayer y = x diag(a) + b, to steer what reaches a norm.
template <class T, class Inner = norma::Entries<>>
struct Affine {
  using Scalar = T;
  using takes = norma::Takes<>;
  static constexpr bool needs_x = true;
  struct Tape {};
  norma::Parameter a{}, b{};
  Affine(const norma::Dimensions&, const Inner&) {}
  void declare(norma::Layout& layout, Index width) {
    a = layout.add("a", 1, width, norma::Kind::scale);
    b = layout.add("b", 1, width, norma::Kind::bias);
  }
  Tape plan(norma::Plan&, const norma::Pass&) const { return {}; }
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape&) const {
    for (Index r = 0; r < x.rows; ++r)
      for (Index i = 0; i < x.columns; ++i) y.row(r)[i] = a.in(weights).data[i] * x.row(r)[i] + b.in(weights).data[i];
  }
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write,
                T* gradients, const Tape&) const {
    for (Index r = 0; r < x.rows; ++r)
      for (Index i = 0; i < x.columns; ++i) {
        const T d = dy.row(r)[i];
        a.in(gradients).data[i] += d * x.row(r)[i];
        b.in(gradients).data[i] += d;
        dx.row(r)[i] = (write == Write::add ? dx.row(r)[i] : T(0)) + d * a.in(weights).data[i];
      }
  }
};

// s = x + r in the first site (a = 0, b = r); the second reads RMSNorm(s), and its a = (0.1, 0, 0) turns the gradient
// 10 into (1, 0, 0) on the norm's output. So 10 comes by the stream, and joins after the norm.
TEST(CasesF, F06_WhereTheTwoGradientsJoin) {
  using Block = norma::Block<norma::PreLN, float, norma::RMSNorm, Affine, Affine>;
  const Block block({.width = 3}, {}, {}, {.eps = 1e-6});
  auto weights = block.initialize(norma::Rng(1));
  weights["attention.a"].setZero();
  weights["attention.b"] << 0.5f, 1, -2;
  weights["feed_forward.a"] << 0.1f, 0, 0;
  weights["feed_forward.b"].setZero();
  auto gradients = block.gradients();
  auto workspace = block.workspace({1, 1});
  std::vector<float> x{0.5f, 1, 5}, y(3), dy{10, 10, 10}, dx(3);
  const auto view = [](std::vector<float>& v) { return TensorView<float>{{1, 1}, {v.data(), 1, 3}}; };
  block.forward(weights, view(x), view(y), workspace);
  block.backward(weights, view(x), view(dy), view(dx), gradients, workspace);
  const std::vector<double> right{10.429845, 9.933870, 9.900805};
  expect_near(dx, right, 2e-6);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(gradients["attention.b"](0, i), right[static_cast<std::size_t>(i)], 2e-6);
}

// The same in the fused kernel: 10 arrives beside y.
TEST(CasesF, F06_TheFusedKernel) {
  const std::vector<float> x{0.5f, 1, 5}, r{0.5f, 1, -2}, dy{1, 0, 0}, ds{10, 10, 10};
  std::vector<float> s(3), y(3), dx(3), dr(3), rstd(1);
  const norma::kernels::ScaledSum<float> sum{{x.data(), 1, 3}, {r.data(), 1, 3}};
  const norma::kernels::SavedStatistics<float> saved{nullptr, nullptr, rstd.data()};
  const auto in = [](const std::vector<float>& v) { return MatrixView<const float>{v.data(), 1, 3}; };
  const auto out = [](std::vector<float>& v) { return MatrixView<float>{v.data(), 1, 3}; };
  const float* const none = nullptr;
  norma::kernels::residual_norm_forward<Center::none>(sum, none, none, 1e-6, out(s), out(y), saved);
  expect_near(s, {1, 2, 3}, 0);
  for (const bool again : {false, true}) {
    const auto backward = [&](const auto& rows) {
      norma::kernels::residual_norm_backward<Center::none>(sum, rows, in(dy), in(ds), none, 1e-6, saved, out(dx),
                                                           Write::assign, out(dr), static_cast<float*>(nullptr),
                                                           static_cast<float*>(nullptr), {});
    };
    if (again)
      backward(sum);
    else
      backward(in(s));
    expect_near(dx, {10.429845, 9.933870, 9.900805}, 1e-6);
    expect_bits(dx, dr);
  }
}

TEST(CasesL, L11_OptionalParts) {
  const std::vector<float> x{1, 2, 3}, skip{1, 1, 1}, bias{0, 1, 0}, other{1, 1, -1};
  const auto run = [&]<Center C>(std::integral_constant<Center, C>, const std::vector<float>& w, const float* b,
                                 const std::vector<double>& sum, const std::vector<double>& right) {
    std::vector<float> s(3), y(3);
    norma::kernels::residual_norm_forward<C>(
        norma::kernels::ChannelSum<float, float>{{x.data(), 1, 3}, {w.data(), 1, 3}, {}, {}, b},
        static_cast<const float*>(nullptr), static_cast<const float*>(nullptr), C == Center::mean ? 1e-5 : 1e-6,
        MatrixView<float>{s.data(), 1, 3}, MatrixView<float>{y.data(), 1, 3}, {});
    expect_near(s, sum, 0);
    expect_near(y, right, 1e-6);
  };
  constexpr std::integral_constant<Center, Center::mean> layer_norm;
  constexpr std::integral_constant<Center, Center::none> rms_norm;
  run(layer_norm, skip, bias.data(), {2, 4, 4}, {-1.414206, 0.707103, 0.707103});
  run(layer_norm, skip, nullptr, {2, 3, 4}, {-1.224736, 0, 1.224736});
  run(rms_norm, other, nullptr, {2, 3, 2}, {0.840168, 1.260252, 0.840168});
}

TEST(CasesF, F07_GammaZero) {
  LayerNormCall<> a{4, {1, 2, 3, 6}, 1e-5, {0, 1, 2, 0}};
  a.forward().backward({1, 1, 1, 1});
  expect_near(a.dgamma, {-1.069043, -0.534522, 0, 1.603565}, 1e-6);
  expect_near(a.dx, {-0.477251, 0.095450, 0.668152, -0.286351}, 1e-6);
  RMSNormCall<> b{4, {1, 2, 3, 6}, 1e-6, {0, 1, 2, 0}};
  b.forward().backward({1, 1, 1, 1});
  expect_near(b.dgamma, {0.282843, 0.565685, 0.848528, 1.697056}, 1e-6);
  expect_near(b.dx, {-0.045255, 0.192333, 0.429921, -0.271529}, 1e-6);
}

TEST(CasesF, F08_OptionalGammaAndBeta) {
  const std::vector<double> n{-1.069042, -0.267260, 1.336302};
  LayerNormCall<> neither{3, {1, 2, 4}}, gamma{3, {1, 2, 4}, 1e-5, {1, 2, 3}}, beta{3, {1, 2, 4}, 1e-5, {}, {5, 6, 7}};
  expect_near(neither.forward().y, n, 1e-6);
  expect_near(gamma.forward().y, {n[0], 2 * n[1], 3 * n[2]}, 1e-6);
  expect_near(beta.forward().y, {5 + n[0], 6 + n[1], 7 + n[2]}, 1e-6);
  // No gradient is written for what is absent.
  const std::vector<float> dy{1, 0, -1};
  for (auto* call : {&neither, &gamma, &beta}) {
    const float* g = call->gamma.empty() ? nullptr : call->gamma.data();
    std::vector<float> dx(3), partial(6), dgamma(3, 0), dbeta(3, 0);
    std::vector<double> total(6);
    norma::kernels::norm_backward<Center::mean, float>(
        {call->x.data(), 1, 3}, {dy.data(), 1, 3}, g, 1e-5, {call->hi.data(), call->lo.data(), call->rstd.data()},
        {dx.data(), 1, 3}, Write::assign, g != nullptr ? dgamma.data() : nullptr,
        call == &beta ? dbeta.data() : nullptr, {partial.data(), total.data(), 6});
    if (g != nullptr) expect_near(dx, {-0.114531, 0.171813, -0.057282}, 1e-6);
    expect_near(dgamma, g != nullptr ? std::vector<double>{n[0], 0, -n[2]} : std::vector<double>(3), 1e-6);
    expect_near(dbeta, call == &beta ? std::vector<double>{1, 0, -1} : std::vector<double>(3), 0);
  }
}

}  // namespace
