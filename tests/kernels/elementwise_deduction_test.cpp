// SPDX-License-Identifier: MIT
// The scalar type comes from the written view: inputs may be views that could be written, too.
#include <gtest/gtest.h>

#include <norma/kernels/elementwise.hpp>

namespace {

using norma::MatrixView;
namespace kernels = norma::kernels;

TEST(Elementwise, WrittenViewsAreInputsToo) {
  float a[] = {1, 2, 3}, b[] = {10, 20, 30}, y[3] = {};
  const MatrixView<float> va{a, 1, 3}, vb{b, 1, 3}, vy{y, 1, 3};
  const MatrixView<const float> read = vb;
  kernels::add(va, vb, vy);
  kernels::add(vy, read, vy);
  EXPECT_EQ(y[2], 63);
  kernels::scale(vy, 2, vy);
  EXPECT_EQ(y[0], 42);
  kernels::scale_add(va, 2, vb, vy);
  EXPECT_EQ(y[1], 24);
  kernels::scale_write(vy, 0.5, vy, norma::Write::assign);
  EXPECT_EQ(y[1], 12);
  kernels::copy(va, vy);
  EXPECT_EQ(y[0], 1);
}

}  // namespace
