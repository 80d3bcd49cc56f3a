// SPDX-License-Identifier: MIT
// Matrices, maps and blocks: the same bits as plain pointers, no copies, nothing touched that is not an output.
#include <array>
#include <surface_fixture.hpp>

namespace {

using namespace surface;

template <class Net>
using SurfaceMatrices = Surfaces<Net>;
TYPED_TEST_SUITE(SurfaceMatrices, Nets);

TYPED_TEST(SurfaceMatrices, MatricesMapsAndRefs) {
  RowMajor a(kTokens, kWidth), b = a, c = a, d = a;
  this->check(a, b, c, d);
  using Fixed = Eigen::Matrix<float, kTokens, kWidth, Eigen::RowMajor>;
  this->check(Fixed(), Fixed(), Fixed(), Fixed());
  using Array = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  this->check(Array(kTokens, kWidth), Array(kTokens, kWidth), Array(kTokens, kWidth), Array(kTokens, kWidth));
  std::array<std::vector<float>, 4> m;
  for (auto& v : m) v.resize(kTokens * kWidth + 1);
  const auto at = [&](std::size_t i) { return Eigen::Map<RowMajor>(m[i].data() + 1, kTokens, kWidth); };
  this->check(at(0), at(1), at(2), at(3));
  this->check(Eigen::Ref<RowMajor>(a), Eigen::Ref<RowMajor>(b), Eigen::Ref<RowMajor>(c), Eigen::Ref<RowMajor>(d));
  // A column-major matrix of features x tokens, turned over.
  Eigen::MatrixXf e(kWidth, kTokens), f = e, g = e, h = e;
  this->check(e.transpose(), f.transpose(), g.transpose(), h.transpose());
}

TYPED_TEST(SurfaceMatrices, BlocksLeaveTheRestUntouched) {
  RowMajor a = RowMajor::Constant(kTokens + 4, kWidth + 7, -77), b = a, c = a, d = a;
  const auto outside_is_untouched = [](const RowMajor& m) {
    int inside = 0;
    for (Index r = 0; r < m.rows(); ++r)
      for (Index i = 0; i < m.cols(); ++i) inside += m(r, i) != -77.0f;
    return inside <= kTokens * kWidth;
  };
  const auto block = [](RowMajor& m) { return m.block(3, 2, kTokens, kWidth); };
  this->check(block(a), block(b), block(c), block(d));
  for (auto* m : {&a, &b, &c, &d}) EXPECT_TRUE(outside_is_untouched(*m));
  RowMajor e = RowMajor::Constant(kTokens + 4, kWidth, -77), f = e, g = e, h = e;
  this->check(e.middleRows(2, kTokens), f.middleRows(2, kTokens), g.middleRows(2, kTokens), h.middleRows(2, kTokens));
  for (auto* m : {&e, &f, &g, &h}) EXPECT_TRUE(outside_is_untouched(*m));
}

TYPED_TEST(SurfaceMatrices, StridedMapsUseTheCallersMemory) {
  using Strided = Eigen::Map<RowMajor, 0, Eigen::OuterStride<>>;
  constexpr Index kStride = 17;
  std::array<std::vector<float>, 4> m;
  for (auto& v : m) v.assign(kTokens * kStride + 1, -77);
  const auto at = [&](std::size_t i) {
    return Strided(m[i].data() + 1, kTokens, kWidth, Eigen::OuterStride<>(kStride));
  };
  this->check(at(0), at(1), at(2), at(3));
  for (const auto& v : m) {
    EXPECT_EQ(v[0], -77);
    for (Index r = 0; r < kTokens; ++r)
      for (Index i = kWidth; i < kStride; ++i) EXPECT_EQ(v[static_cast<std::size_t>(1 + r * kStride + i)], -77);
  }
  EXPECT_EQ(m[1][1 + 2 * kStride + 3], this->y_[2 * kWidth + 3]);
}

TYPED_TEST(SurfaceMatrices, ColumnsOfOneMatrix) {
  RowMajor m(kTokens, 4 * kWidth);
  this->check(m.leftCols(kWidth), m.middleCols(kWidth, kWidth), m.middleCols(2 * kWidth, kWidth), m.rightCols(kWidth));
}

}  // namespace
