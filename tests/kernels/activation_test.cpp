// SPDX-License-Identifier: MIT
#include <norma/kernels/activation.hpp>

#include <gtest/gtest.h>

#include <numbers>

#include "kernel_memory.hpp"

namespace {

using namespace norma_test;
namespace act = norma::activation;
using Wide = long double;

struct Oracle {
  Wide (*value)(Wide);
  Wide (*derivative)(Wide);
};

Wide normal_cdf(Wide x) { return std::erfc(-x / std::numbers::sqrt2_v<Wide>) / 2; }
Wide normal_pdf(Wide x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi_v<Wide>); }
Wide logistic(Wide x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
// 0.5 (1 + tanh(u)) is logistic(2 u).
Wide twice_inner(Wide x) { return 2 * std::sqrt(2 / std::numbers::pi_v<Wide>) * (x + 0.044715L * x * x * x); }
Wide twice_slope(Wide x) { return 2 * std::sqrt(2 / std::numbers::pi_v<Wide>) * (1 + 3 * 0.044715L * x * x); }

template <class F>
Oracle oracle();
template <>
Oracle oracle<act::ReLU>() {
  return {[](Wide x) { return x > 0 ? x : 0; }, [](Wide x) { return x > 0 ? 1.0L : 0.0L; }};
}
template <>
Oracle oracle<act::GELU>() {
  return {[](Wide x) { return x * normal_cdf(x); }, [](Wide x) { return normal_cdf(x) + x * normal_pdf(x); }};
}
template <>
Oracle oracle<act::GELUTanh>() {
  return {[](Wide x) { return x * logistic(twice_inner(x)); },
          [](Wide x) {
            const Wide u = twice_inner(x);
            return logistic(u) + x * logistic(u) * logistic(-u) * twice_slope(x);
          }};
}
template <>
Oracle oracle<act::SiLU>() {
  return {[](Wide x) { return x * logistic(x); }, [](Wide x) { return logistic(x) + x * logistic(x) * logistic(-x); }};
}

template <class F>
struct Activation : testing::Test {};
using Functions = testing::Types<act::ReLU, act::GELU, act::GELUTanh, act::SiLU>;
TYPED_TEST_SUITE(Activation, Functions);

/// The error of the value in units of |x|, that of the derivative in units.
template <class F, class T>
void check(const std::vector<Wide>& points) {
  const Oracle o = oracle<F>();
  double worst = 0, worst_slope = 0, worst_tail = 0;
  Wide at = 0, at_slope = 0, at_tail = 0;
  for (const Wide p : points) {
    const T x = static_cast<T>(p);
    const Wide right = o.value(x), slope = o.derivative(x);
    const double error = static_cast<double>(std::fabs(static_cast<Wide>(act::value<F>(x)) - right));
    const double e =
        error / (kUnit<T> * std::max<double>(std::fabs(static_cast<double>(x)), std::numeric_limits<T>::min()));
    const double s = static_cast<double>(std::fabs(static_cast<Wide>(act::derivative<F>(x)) - slope)) / kUnit<T>;
    if (!(e <= worst)) worst = e, at = p;
    if (!(s <= worst_slope)) worst_slope = s, at_slope = p;
    // In the left tail the value keeps its digits, and loses only those that rounding the exponent x^2 / 2 takes.
    if (std::fabs(right) > static_cast<Wide>(std::numeric_limits<T>::min()) * 1e3L && x < 0) {
      const double exponent = std::fabs(static_cast<double>(std::log(std::fabs(right / x)))) + 1;
      const double t = error / (kUnit<T> * static_cast<double>(std::fabs(right)) * exponent);
      if (!(t <= worst_tail)) worst_tail = t, at_tail = p;
    }
  }
  // Measured, float and double, all levels: 0.95, 1.3 and, in the tail, 1.6.
  EXPECT_LE(worst, 2) << "value at " << at;
  EXPECT_LE(worst_slope, 2) << "derivative at " << at_slope;
  EXPECT_LE(worst_tail, 3) << "value in the tail at " << at_tail;
  testing::Test::RecordProperty(
      "worst", std::to_string(worst) + " " + std::to_string(worst_slope) + " " + std::to_string(worst_tail));
}

TYPED_TEST(Activation, ValueAndDerivative) {
  std::vector<Wide> points;
  for (Wide x = -20; x <= 20; x += 0.0078125L) points.push_back(x + 0.001L);
  for (const Wide x :
       {0.0L, -0.0L, 1e-20L, -1e-20L, 1e-38L, -1e-38L, 50.0L, -50.0L, 1e4L, -1e4L, 1e20L, -1e20L, 3e38L, -3e38L})
    points.push_back(x);
  check<TypeParam, float>(points);
  for (const Wide x : {1e-300L, -1e-300L, 1e200L, -1e200L, 1.7e308L, -1.7e308L}) points.push_back(x);
  check<TypeParam, double>(points);
}

TYPED_TEST(Activation, DerivativeIsThatOfTheValue) {
  for (double x = -6.03; x < 6; x += 0.11) {
    const double h = 1e-3;
    const auto f = [](double v) { return act::value<TypeParam>(v); };
    const double numeric = (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h);
    EXPECT_NEAR(act::derivative<TypeParam>(x), numeric, 1e-10) << x;
  }
}

template <class F, class T>
void check_special() {
  const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  EXPECT_TRUE(std::isnan(act::value<F>(nan)));
  EXPECT_TRUE(std::isnan(act::derivative<F>(nan)));
  EXPECT_EQ(act::value<F>(infinity), infinity);
  EXPECT_EQ(act::derivative<F>(infinity), T(1));
  EXPECT_EQ(act::derivative<F>(-infinity), T(0));
  EXPECT_EQ(act::value<F>(T(0)), T(0));
}
TYPED_TEST(Activation, NanAndInfinity) {
  check_special<TypeParam, float>();
  check_special<TypeParam, double>();
}

TEST(ReLU, KinkAtZero) {
  EXPECT_EQ(act::derivative<act::ReLU>(0.0f), 0.0f);
  EXPECT_EQ(act::derivative<act::ReLU>(-0.0f), 0.0f);
  EXPECT_EQ(act::derivative<act::ReLU>(std::numeric_limits<float>::denorm_min()), 1.0f);
}

}  // namespace
