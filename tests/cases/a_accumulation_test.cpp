// SPDX-License-Identifier: MIT
// Cases A: accuracy of the variance and of long sums.
#include "kernel_case_norm.hpp"

namespace {

using namespace norma_test;

TEST(CasesA, A01_SmallSpreadOnALargeMean) {
  LayerNormCall<> a{16, {}}, b{16, {}};
  std::vector<double> right;
  for (int i = 0; i < 16; ++i) {
    a.x.push_back(static_cast<float>(10000 + 0.001 * i));
    b.x.push_back(static_cast<float>(1000 + i / 1024.0));
    right.push_back(-1.331333 + 0.177511 * i);
  }
  expect_near(a.forward().y, right, 2e-3);
  EXPECT_NEAR(b.forward().y[0], -1.331333, 1e-6);
  EXPECT_NEAR(b.y[15], 1.331333, 1e-6);
}

TEST(CasesA, A03_ConstantRow) {
  LayerNormCall<> a{256, std::vector<float>(256, 1234.0f)};
  a.forward();
  for (const float y : a.y) EXPECT_EQ(y, 0.0f);
  EXPECT_NEAR(a.rstd[0], 316.227766, 1e-4);
  a.beta.assign(256, 0.7f);
  a.gamma.assign(256, -3.0f);
  for (const float y : a.forward().y) EXPECT_EQ(y, 0.7f);
}

TEST(CasesA, A04_OneElementDiffers) {
  LayerNormCall<> a{10240, std::vector<float>(10240, 256.0f)};
  a.x.back() = 255.0f;
  a.forward();
  EXPECT_NEAR(a.y[0], 0.00941238, 1e-7);
  EXPECT_NEAR(a.y[10238], 0.00941238, 1e-7);
  EXPECT_NEAR(a.y[10239], -96.373404, 1e-4);
  EXPECT_NEAR(1 / (static_cast<double>(a.rstd[0]) * static_cast<double>(a.rstd[0])) - 1e-5, 9.764671e-5, 1e-10);
}

TEST(CasesA, A05_ConstantRowWhoseSumIsNotExact) {
  for (const auto& [width, value] : {std::pair{256, 1000.1f}, std::pair{1024, 4097.3f}}) {
    LayerNormCall<> a{width, std::vector<float>(static_cast<std::size_t>(width), value)};
    for (const float y : a.forward().y) EXPECT_EQ(y, 0.0f) << value;
  }
}

TEST(CasesA, A06_LongRow) {
  RMSNormCall<> a{1048576, std::vector<float>(1048576, 1.0f)};
  std::fill_n(a.x.begin(), 16, 4096.0f);
  a.forward();
  EXPECT_NEAR(a.y.back(), 0.06237829, 1e-6 * 0.0624);
  EXPECT_NEAR(a.y[0], 255.501467, 1e-6 * 255.5);
  // The same kind in the mean of LayerNorm: mean 63.4842987, variance of the large ones.
  LayerNormCall<> b{1048576, a.x};
  b.forward();
  const double mean = (16 * 4096.0 + 1048560) / 1048576, square = (16 * 4096.0 * 4096.0 + 1048560) / 1048576;
  const double deviation = std::sqrt(square - mean * mean + 1e-5);  // 16
  // A lane rounds its sum of up to 16 differences, a large one among them, to float: 2^-24 of 4096, over the row's
  // length.
  EXPECT_NEAR(static_cast<double>(b.hi[0]) + static_cast<double>(b.lo[0]), mean, 2e-9 * deviation);
  EXPECT_NEAR(b.y.back(), (1 - mean) / deviation, 1e-8);
  EXPECT_NEAR(b.y[0], (4096 - mean) / deviation, 1e-4);
}

}  // namespace
