// SPDX-License-Identifier: MIT
// The gradient check against planted faults: it must see each, name its tensor, and be content without any.
#include <cmath>
#include <limits>
#include <norma/norma.hpp>
#include <norma/testing/gradient_check.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using norma::Index;
using norma::Kind;
using norma::Layout;
using norma::MatrixView;
using norma::Write;
namespace testing_ = norma::testing;

enum class Fault { none, slope, tiny_slope, zero, assign, nan, infinity, last_nan, dx_sign, dx_add, theory };

/// y = a x^2 + b per channel, and a parameter `unused`: its gradient is zero by theory.
struct Planted {
  using Scalar = double;
  [[maybe_unused]] static constexpr bool needs_x = true;
  struct Tape {};
  Fault fault = Fault::none;
  norma::Parameter a{}, b{}, unused{};

  void declare(Layout& layout, Index width) {
    a = layout.add("a", 1, width, Kind::scale);
    b = layout.add("b", 1, width, Kind::bias);
    unused = layout.add("unused", 1, width, Kind::bias);
  }
  Tape plan(norma::Plan&, const norma::Pass&) const { return {}; }
  void forward(const double* weights, MatrixView<const double> x, MatrixView<double> y, const Tape&) const {
    for (Index r = 0; r < x.rows; ++r)
      for (Index i = 0; i < x.columns; ++i)
        y.row(r)[i] = a.in(weights).data[i] * x.row(r)[i] * x.row(r)[i] + b.in(weights).data[i];
  }
  void backward(const double* weights, MatrixView<const double> x, MatrixView<const double> dy, MatrixView<double> dx,
                Write write, double* gradients, const Tape&) const {
    double *da = a.in(gradients).data, *db = b.in(gradients).data;
    for (Index i = 0; i < x.columns; ++i) {
      double sum = 0, sum_b = 0;
      for (Index r = 0; r < x.rows; ++r) {
        const double d = dy.row(r)[i],
                     slope = 2 * a.in(weights).data[i] * x.row(r)[i] * (fault == Fault::dx_sign ? -1 : 1);
        sum += d * x.row(r)[i] * x.row(r)[i];
        sum_b += d;
        dx.row(r)[i] = d * slope + (write == Write::add || fault == Fault::dx_add ? dx.row(r)[i] : 0);
      }
      if (fault == Fault::slope) sum *= 1 + 1e-5;
      if (fault == Fault::tiny_slope) sum *= 1 + 1e-8;
      if (fault == Fault::zero) sum = 0;
      if (fault == Fault::nan && i == 0) sum = std::numeric_limits<double>::quiet_NaN();
      if (fault == Fault::last_nan && i + 1 == x.columns) sum = std::numeric_limits<double>::quiet_NaN();
      if (fault == Fault::infinity && i == 0) sum = std::numeric_limits<double>::infinity();
      da[i] = fault == Fault::assign ? sum : da[i] + sum;
      db[i] += sum_b;
      if (fault == Fault::theory) unused.in(gradients).data[i] += 1e-3;
    }
  }
};

testing_::GradientReport check(Fault fault, testing_::GradientCheckOptions options = {.zero_by_theory = {"unused"}}) {
  const norma::Standalone net(Planted{fault}, 5);
  return testing_::check_gradients(net, net.initialize(norma::Rng(3), norma::Normal{1}), {2, 3}, 5, 5, options);
}
/// A report that fails and names this tensor, and no other.
void expect_blames(const testing_::GradientReport& report, const std::string& tensor, const std::string& why) {
  EXPECT_FALSE(report.ok()) << why;
  EXPECT_NE(report.text().find(tensor + ": gradient " + why), std::string::npos) << report.text();
  for (const auto& f : report.failures) EXPECT_TRUE(f.starts_with(tensor + ":")) << f;
}

TEST(GradientCheck, ContentWithoutFault) {
  const auto report = check(Fault::none);
  EXPECT_TRUE(report.ok()) << report.text();
  ASSERT_EQ(report.tensors.size(), 4u);
  EXPECT_EQ(report.tensors[3].name, "x");
  EXPECT_LT(report.worst, 1e-9);
  EXPECT_NE(report.worst_name, "");
  for (const auto& t : report.tensors) EXPECT_EQ(t.largest == 0, t.name == "unused");
}

TEST(GradientCheck, SeesAWrongGradient) {
  const auto report = check(Fault::slope);
  expect_blames(report, "a", "differs");
  EXPECT_NEAR(report.tensors[0].difference / report.tensors[0].largest, 1e-5, 1e-7);
  EXPECT_GE(report.worst, 0.99e-5);  // the direction may be up to sqrt(5) worse than an element
  EXPECT_LE(report.worst, 2.3e-5);
  EXPECT_EQ(report.worst_name, "a");
  EXPECT_TRUE(check(Fault::tiny_slope).ok());  // below the tolerance, which is an option
  expect_blames(check(Fault::tiny_slope, {.tolerance = 1e-9, .zero_by_theory = {"unused"}}), "a", "differs");
  expect_blames(check(Fault::dx_sign), "x", "differs");
}

TEST(GradientCheck, SeesAGradientThatIsMissing) {
  expect_blames(check(Fault::zero), "a", "is zero");
  expect_blames(check(Fault::zero), "a", "differs");
}

TEST(GradientCheck, ZeroByTheoryIsNamedAndHeldTo) {
  expect_blames(check(Fault::none, {}), "unused", "is zero");
  expect_blames(check(Fault::theory), "unused", "is zero by theory, but");
  expect_blames(check(Fault::none, {.zero_by_theory = {"unused", "b"}}), "b", "is zero by theory, but");
}

TEST(GradientCheck, SeesAssignInPlaceOfAddAndTheReverse) {
  expect_blames(check(Fault::assign), "a", "differs");
  expect_blames(check(Fault::dx_add), "x", "differs");
}

TEST(GradientCheck, SeesNaNAndInfinity) {
  for (Fault fault : {Fault::nan, Fault::last_nan}) {
    const auto report = check(fault);
    expect_blames(report, "a", "differs");
    EXPECT_TRUE(std::isnan(report.worst));  // and nothing that comes later covers it
    EXPECT_EQ(report.worst_name, "a");
    EXPECT_TRUE(std::isnan(report.tensors[0].difference));
  }
  EXPECT_FALSE(check(Fault::infinity).ok());
}

TEST(GradientCheck, SampledElementsAreNotTheOnlyOnesSeen) {
  for (Index samples : {1, 2, 4}) {
    const testing_::GradientCheckOptions options{.zero_by_theory = {"unused"}, .samples = samples};
    EXPECT_TRUE(check(Fault::none, options).ok());
    expect_blames(check(Fault::slope, options), "a", "differs");
    expect_blames(check(Fault::last_nan, options), "a", "differs");  // no sample: the direction sees it
  }
}

TEST(GradientCheck, AtMostAsManySamplesAsAsked) {
  for (int n : {1, 3, 4, 5, 10, 100})
    for (Index samples : {1, 2, 3, 4, 7}) {
      std::vector<double> values(static_cast<std::size_t>(n), 0.5), analytic(values.size(), 1);
      int calls = 0;
      const auto loss = [&] {
        ++calls;
        double sum = 0;
        for (double v : values) sum += v;
        return sum;
      };
      const auto report = testing_::check_tensor_gradient("t", values, analytic, loss, {.samples = samples});
      EXPECT_LE(calls / 4 - 1, samples) << n;  // four for each element, four for the direction
      EXPECT_GE(calls / 4 - 1, std::min<Index>(n, (samples + 1) / 2)) << n;
      EXPECT_LT(report.difference, 1e-9);
      EXPECT_LT(report.direction, 1e-9);
      EXPECT_EQ(values, std::vector<double>(values.size(), 0.5));  // put back to the last bit
    }
}

// Fourth order: exact on polynomials up to degree four.
TEST(GradientCheck, CentralDifferenceIsOfFourthOrder) {
  const auto quartic = [](double x) { return 1 + 2 * x - 3 * x * x + 4 * x * x * x - 5 * x * x * x * x; };
  EXPECT_NEAR(testing_::central_difference(quartic, 0.5), 2, 1e-13);
  const auto error = [](double h) {
    return std::fabs(testing_::central_difference([](double x) { return std::exp(x); }, h) - 1);
  };
  EXPECT_NEAR(error(0.2) / error(0.1), 16, 0.5);
}

// An error counts against the network's largest gradient where the tensor's own is small, and not more than that.
TEST(GradientCheck, SmallTensorsAreMeasuredAgainstTheNetwork) {
  const std::vector<testing_::TensorReport> tensors = {{"large", 100, 0, 0, 0}, {"small", 0.01, 5e-8, 0, 0}};
  EXPECT_TRUE(testing_::judge(tensors, {}).ok());
  EXPECT_NEAR(testing_::judge(tensors, {}).worst, 5e-8 / 0.1, 1e-12);
  EXPECT_FALSE(testing_::judge({{"large", 100, 0, 0, 0}, {"small", 0.01, 2e-7, 0, 0}}, {}).ok());
  EXPECT_FALSE(testing_::judge({{"large", 100, 0, 0, 0}, {"small", 0.01, 0, 2e-7, 0}}, {}).ok());
  EXPECT_FALSE(testing_::judge({{"nothing", 0, 0, 0, 0}}, {}).ok());
}

// The real thing, and with an argument that travels to forward.
TEST(GradientCheck, ABlock) {
  const norma::Block<norma::PreLN, double> net({.width = 6, .heads = 2, .hidden = 7});
  const auto weights = net.initialize(norma::Rng(3));
  const auto report = testing_::check_gradients(net, weights, {2, 3}, 6, 6, {.zero_by_theory = {"key.bias"}},
                                                norma::Call{.causal = true});
  EXPECT_TRUE(report.ok()) << report.text();
  EXPECT_FALSE(testing_::check_gradients(net, weights, {2, 3}, 6, 6).ok());  // the key bias, not named
}

}  // namespace
