// SPDX-License-Identifier: MIT
// Cases C: empty and degenerate shapes, and the size of an index.
#include <sys/mman.h>

#include <norma/norma.hpp>

#include "kernel_case_norm.hpp"

namespace {

using namespace norma_test;
using norma::Shape;
using norma::TensorView;

template <class M>
void check_empty(const norma::Standalone<M>& network, Shape shape, Index width) {
  const auto weights = network.initialize(norma::Rng(1));
  auto gradients = network.gradients();
  auto workspace = network.workspace(shape);
  const TensorView<float> nothing{shape, {nullptr, 0, width}};
  network.forward(weights, nothing, nothing, workspace);
  network.backward(weights, nothing, nothing, nothing, gradients, workspace);
  for (Index i = 0; i < gradients.size(); ++i) EXPECT_EQ(gradients.data()[i], 0.0f);
}

TEST(CasesC, C01_NoRows) {
  const norma::Dimensions dims{.width = 10, .heads = 2};
  for (const Shape shape : {Shape{1, 0}, Shape{0, 7}, Shape{0, 0}}) {
    check_empty(norma::Standalone(norma::LayerNorm<float>{}, 10), shape, 10);
    check_empty(norma::Standalone(norma::RMSNorm<float>{}, 10), shape, 10);
    check_empty(norma::Standalone(norma::Attention<float>(dims, {}), 10), shape, 10);
    check_empty(norma::Standalone(norma::SwiGLU<float>(dims, {}), 10), shape, 10);
  }
}

TEST(CasesC, C03_BackwardOfAConstantRow) {
  LayerNormCall<> a{4, {5, 5, 5, 5}};
  a.forward().backward({1, 2, 3, 4});
  expect_near(a.dx, {-474.341649, -158.113883, 158.113883, 474.341649}, 1e-4);
  expect_near(a.dgamma, {0, 0, 0, 0}, 0);
  expect_near(a.dbeta, {1, 2, 3, 4}, 0);
  a.eps = 0;
  a.dgamma.clear();
  a.forward().backward({1, 2, 3, 4});
  for (const float d : a.dx) EXPECT_TRUE(std::isfinite(d));
  expect_near(a.dgamma, {0, 0, 0, 0}, 0);
}

TEST(CasesC, C04_OneFeatureAndAZeroRow) {
  RMSNormCall<> a{1, {1e-3f}}, zero{1, {0.0f}};
  a.forward().backward({1});
  expect_near(a.y, {0.70710678}, 1e-6);
  expect_near(a.dx, {353.553391}, 1e-3);
  expect_near(a.dgamma, {0.70710678}, 1e-6);
  zero.forward().backward({1});
  expect_near(zero.y, {0}, 0);
  expect_near(zero.dx, {1000}, 1e-3);
  expect_near(zero.dgamma, {0}, 0);
}

/// Address space without memory behind it, but for the places that are opened.
class Reserved {
 public:
  explicit Reserved(std::size_t bytes) : bytes_(bytes) {
    base_ = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ~Reserved() {
    if (ok()) munmap(base_, bytes_);
  }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;
  bool ok() const { return base_ != MAP_FAILED; }
  float* data() const { return static_cast<float*>(base_); }
  /// The page of this element becomes memory.
  bool open(Index element) const {
    constexpr Index kPage = 4096;
    auto* const at = static_cast<std::byte*>(base_) + element * 4 / kPage * kPage;
    return mprotect(at, kPage, PROT_READ | PROT_WRITE) == 0;
  }

 private:
  std::size_t bytes_;
  void* base_;
};

TEST(CasesC, C05_RowOffsetBeyond32Bits) {
  constexpr Index kStride = (Index(1) << 31) + 16;
  const Reserved x((kStride + 1024) * 4), y((kStride + 1024) * 4);
  if (!x.ok() || !y.ok() || !x.open(0) || !x.open(kStride) || !y.open(0) || !y.open(kStride))
    GTEST_SKIP() << "no address space to reserve";
  LayerNormCall<> flat{8, {}};
  for (int i = 0; i < 16; ++i) {
    flat.x.push_back(static_cast<float>(i * i % 11));
    x.data()[(i / 8) * kStride + i % 8] = flat.x.back();
  }
  flat.forward().backward({1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 0});
  norma::kernels::norm_forward<Center::mean, float>({x.data(), 2, 8, kStride}, nullptr, nullptr, 1e-5,
                                                    {y.data(), 2, 8, kStride},
                                                    {flat.hi.data(), flat.lo.data(), flat.rstd.data()});
  EXPECT_TRUE(same_bits(y.data(), flat.y.data(), 8));
  EXPECT_TRUE(same_bits(y.data() + kStride, flat.y.data() + 8, 8));
  // Backward, with dy in y's place and dx on top of it.
  const float dy[] = {1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 0};
  for (int i = 0; i < 16; ++i) y.data()[(i / 8) * kStride + i % 8] = dy[i];
  std::vector<float> partial(16);
  std::vector<double> total(16);
  norma::kernels::norm_backward<Center::mean, float>({x.data(), 2, 8, kStride}, {y.data(), 2, 8, kStride}, nullptr,
                                                     1e-5, {flat.hi.data(), flat.lo.data(), flat.rstd.data()},
                                                     {y.data(), 2, 8, kStride}, norma::Write::assign, nullptr, nullptr,
                                                     {partial.data(), total.data(), 16});
  EXPECT_TRUE(same_bits(y.data(), flat.dx.data(), 8));
  EXPECT_TRUE(same_bits(y.data() + kStride, flat.dx.data() + 8, 8));
}

TEST(CasesC, C05_MoreThan65535Rows) {
  for (const std::size_t rows : {65536u, 65537u}) {
    LayerNormCall<> all{8, {}};
    for (std::size_t i = 0; i < rows * 8; ++i) all.x.push_back(static_cast<float>((i * i + i / 8) % 251));
    all.forward();
    for (const std::size_t r : {std::size_t(0), std::size_t(1), std::size_t(65535), rows - 1}) {
      const auto at = static_cast<std::ptrdiff_t>(r * 8);
      LayerNormCall<> one{8, {all.x.begin() + at, all.x.begin() + at + 8}};
      EXPECT_TRUE(same_bits(one.forward().y.data(), all.y.data() + at, 8)) << r;
    }
    all.backward(all.x);
    double sum = 0, size = 0;  // dbeta counts every row
    for (std::size_t r = 0; r < rows; ++r)
      sum += static_cast<double>(all.x[r * 8 + 3]), size += std::fabs(static_cast<double>(all.x[r * 8 + 3]));
    EXPECT_NEAR(all.dbeta[3], sum, 1e-6 * size);
  }
}

}  // namespace
