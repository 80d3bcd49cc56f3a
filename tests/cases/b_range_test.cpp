// SPDX-License-Identifier: MIT
// Cases B: overflow, underflow, eps.
#include "kernel_case_norm.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace {

using namespace norma_test;

TEST(CasesB, B01_SquaresOverflow) {
  RMSNormCall<> a{8, std::vector<float>(8, 1e20f)};
  expect_near(a.forward().y, std::vector<double>(8, 1), 1e-6);
  a.backward({1, 2, 3, 4, 5, 6, 7, 8});
  // dx = (h - mean(h)) / 1e20: normal numbers still.
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(a.dx[static_cast<std::size_t>(i)] * 1e20, i + 1 - 4.5, 1e-5);
  expect_near(a.dgamma, {1, 2, 3, 4, 5, 6, 7, 8}, 1e-5);

  LayerNormCall<> b{64, {}};
  std::vector<double> right;
  std::vector<float> dy;
  for (int i = 0; i < 64; ++i) {
    b.x.push_back(i % 2 == 0 ? 1e19f : 2e19f);
    right.push_back(i % 2 == 0 ? -1 : 1);
    dy.push_back(static_cast<float>(i % 7) - 3);
  }
  expect_near(b.forward().y, right, 1e-6);
  b.backward(dy);
  double size = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_TRUE(std::isfinite(b.dx[i]));
    EXPECT_NEAR(b.dgamma[i], dy[i] * right[i], 1e-5);
    size += std::fabs(static_cast<double>(b.dx[i]));
  }
  EXPECT_GT(size, 1e-19);  // and not flushed to nothing
}

/// Rows of one value in a 16-bit type.
template <class S>
std::vector<S> constant_row(std::size_t width, float v) {
  return std::vector<S>(width, S(v));
}

TEST(CasesB, B03_SquaresBeyondHalf) {
  using norma::half;
  RMSNormCall<half> a{64, constant_row<half>(64, 300)};
  expect_near(a.forward().y, std::vector<double>(64, 1), 0);
  LayerNormCall<half> b{64, constant_row<half>(64, 300)};
  expect_near(b.forward().y, std::vector<double>(64, 0), 0);
}

TEST(CasesB, B04_EpsInsideTheRoot) {
  RMSNormCall<> a{4, std::vector<float>(4, 1e-3f)};
  expect_near(a.forward().y, std::vector<double>(4, 0.70710678), 1e-7);
}

TEST(CasesB, B05_BiasedVariance) {
  LayerNormCall<> a{4, {1, 0, 0, 0}};
  expect_near(a.forward().y, {1.7320046, -0.5773349, -0.5773349, -0.5773349}, 1e-6);
}

// Every path: full packs, the tail, backward.
TEST(CasesB, B06_EpsReachesEveryPath) {
  for (const int width : {2, 6, 16, 70})
    for (const auto& [eps, right] : {std::pair{1e-12, 0.99995000}, std::pair{1e-5, 0.03160698}}) {
      LayerNormCall<> a{width, {}, eps};
      for (int i = 0; i < width; ++i) a.x.push_back(i % 2 == 0 ? -1e-4f : 1e-4f);
      a.forward();
      for (int i = 0; i < width; ++i)
        EXPECT_NEAR(a.y[static_cast<std::size_t>(i)], i % 2 == 0 ? -right : right, 1e-6) << width << " " << eps;
      std::vector<float> dy(static_cast<std::size_t>(width));
      for (int i = 0; i < width; ++i) dy[static_cast<std::size_t>(i)] = i % 2 == 0 ? -1.0f : 1.0f;
      a.backward(dy);
      // n is +-right, h = +-1: dx = +-rstd (1 - right^2), which eps alone keeps from zero.
      const double rstd = 1 / std::sqrt(1e-8 + eps), dx = rstd * (1 - right * right);
      for (int i = 0; i < width; ++i)
        EXPECT_NEAR(a.dx[static_cast<std::size_t>(i)], i % 2 == 0 ? -dx : dx, 1e-6 * rstd) << width << " " << eps;
    }
}

template <class S, Center C>
void check_b07(float level) {
  NormCall<C, S> a{10, constant_row<S>(10, level), 1e-12};
  a.forward();
  std::vector<S> dy;
  for (int i = 0; i < 10; ++i) dy.push_back(S(static_cast<float>(i % 3) * 1e-3f));
  a.backward(dy);
  const bool zeros = C == Center::mean || level == 0;
  expect_near(a.y, std::vector<double>(10, zeros ? 0 : 1), 0);
  EXPECT_NEAR(static_cast<double>(a.rstd[0]) * (zeros ? 1e-6 : 5), 1, 1e-6);
  const double mean = 9e-3 / 10;
  for (std::size_t i = 0; i < 10; ++i) {
    const double h = value(dy[i]), centred = C == Center::none && level == 0 ? h : h - mean;
    EXPECT_NEAR(value(a.dx[i]), centred * static_cast<double>(a.rstd[0]), 0.01 * static_cast<double>(a.rstd[0]) * 1e-3)
        << i;
    EXPECT_EQ(value(a.dgamma[i]), zeros ? 0 : h);
  }
}
TEST(CasesB, B07_EpsBelowHalf) {
  for (const float level : {0.0f, 5.0f}) {
    check_b07<norma::half, Center::mean>(level);
    check_b07<norma::half, Center::none>(level);
    check_b07<norma::bfloat16, Center::mean>(level);
    check_b07<norma::bfloat16, Center::none>(level);
  }
}

TEST(CasesB, B08_TinyValues) {
#if defined(__SSE2__)
  const unsigned control = _mm_getcsr() & 0xFFC0u;  // all but the exception flags
#endif
  RMSNormCall<> a{4, std::vector<float>(4, 1e-25f), 1e-6};
  expect_near(a.forward().y, std::vector<double>(4, 1e-22), 1e-28);
  RMSNormCall<> b{4, std::vector<float>(4, 1e-25f), 0};
  expect_near(b.forward().y, std::vector<double>(4, 1), 1e-6);
  b.backward({1, 0, 0, 0});
  expect_near(b.dgamma, {1, 0, 0, 0}, 1e-6);
  EXPECT_NEAR(b.dx[0] * 1e-25, 0.75, 1e-6);
  EXPECT_NEAR(b.dx[1] * 1e-25, -0.25, 1e-6);
  LayerNormCall<> c{2, {1e-40f, 3e-40f}};
  c.forward();
  EXPECT_NEAR(c.y[0] * 1e38, -3.1623, 1e-3);
  EXPECT_NEAR(c.y[1] * 1e38, 3.1623, 1e-3);
#if defined(__SSE2__)
  EXPECT_EQ(_mm_getcsr() & 0xFFC0u, control) << "the caller's floating-point mode is left alone";
#endif
}

}  // namespace
